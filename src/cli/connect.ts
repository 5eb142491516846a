/** From options and Temporal's environment configuration to a connection, with a sentence where there is none. */
import { Client, type Connection } from '@temporalio/client';
import type { ClientConnectConfig } from '@temporalio/envconfig';
import type { ConfigOptions } from '../agents/define-config.js';
import { connectTo } from '../client/connect.js';
import { EverlapClient } from '../client/everlap-client.js';
import { temporalEnvironment } from '../connection/temporal-server.js';
import type { CommonFlags } from './options.js';

const DEFAULT_ADDRESS = '127.0.0.1:7233';
export const ADDRESS_OPTION = '--address HOST:PORT';
const CONNECT_MS = 5_000;

/** Which server, and how it is spoken to. */
export interface Target {
  readonly address: string;
  readonly namespace: string;
  /** TLS, API key, metadata. */
  readonly how: Omit<ClientConnectConfig['connectionOptions'], 'address'>;
}

/** An option replaces only what it names; the rest stays as the environment has it (as in the `temporal` command). */
export function targetOf(flags: CommonFlags): Target {
  const { connectionOptions, namespace } = temporalEnvironment();
  const { address, ...how } = connectionOptions;
  return {
    address: flags.address ?? address ?? DEFAULT_ADDRESS,
    namespace: flags.namespace ?? namespace ?? 'default',
    how,
  };
}

/** A client that is connected, and what it is connected to. */
export interface Session {
  readonly target: Target;
  readonly client: EverlapClient;
  readonly connection: Connection;
}

/**
 * Connects, calls `use`, and closes the connection. Who reads a run's payloads needs the config's storage for large ones.
 * @throws Error where no server answers within 5 seconds.
 */
export async function withSession<T>(
  flags: CommonFlags & Pick<ConfigOptions, 'externalStorage'>,
  use: (session: Session) => Promise<T>,
): Promise<T> {
  const target = targetOf(flags);
  const connection = await connectTo(
    { ...target.how, address: target.address, connectTimeout: CONNECT_MS },
    ADDRESS_OPTION,
  );
  try {
    const { taskQueue, externalStorage } = flags;
    const dataConverter = externalStorage && { externalStorage };
    const client = new Client({ connection, namespace: target.namespace, ...(dataConverter && { dataConverter }) });
    return await use({ target, connection, client: new EverlapClient({ client, ...(taskQueue && { taskQueue }) }) });
  } finally {
    await connection.close();
  }
}
