/** From options and Temporal's environment configuration to a connection, with a sentence where there is none. */
import { Client, type Connection } from '@temporalio/client';
import type { ClientConnectConfig } from '@temporalio/envconfig';
import type { ConfigOptions } from '../agents/define-config.js';
import { connectTo } from '../client/connect.js';
import { EverlapClient } from '../client/everlap-client.js';
import { temporalEnvironment, whyNoServer } from '../connection/temporal-server.js';
import { CliError } from './cli-error.js';
import type { CommonFlags } from './options.js';

const DEFAULT_ADDRESS = '127.0.0.1:7233';
const OPTION = '--address HOST:PORT';
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
  const { connectionOptions, namespace } = environment();
  const { address, ...how } = connectionOptions;
  return {
    address: flags.address ?? address ?? DEFAULT_ADDRESS,
    namespace: flags.namespace ?? namespace ?? 'default',
    how,
  };
}

function environment(): ClientConnectConfig {
  try {
    return temporalEnvironment();
  } catch (error) {
    throw asCliError(error);
  }
}

/** A client that is connected, and what it is connected to. */
export interface Session {
  readonly target: Target;
  readonly client: EverlapClient;
  readonly connection: Connection;
}

/**
 * Connects, calls `use`, and closes the connection. Who reads a run's payloads needs the config's storage for large ones.
 * @throws CliError where no server answers within 5 seconds.
 */
export async function withSession<T>(
  flags: CommonFlags & Pick<ConfigOptions, 'externalStorage'>,
  use: (session: Session) => Promise<T>,
): Promise<T> {
  const target = targetOf(flags);
  const connection = await connect(target);
  try {
    const { taskQueue, externalStorage } = flags;
    const dataConverter = externalStorage && { externalStorage };
    const client = new Client({ connection, namespace: target.namespace, ...(dataConverter && { dataConverter }) });
    return await use({ target, connection, client: new EverlapClient({ client, ...(taskQueue && { taskQueue }) }) });
  } finally {
    await connection.close();
  }
}

async function connect({ address, how }: Target): Promise<Connection> {
  try {
    return await connectTo({ ...how, address, connectTimeout: CONNECT_MS }, OPTION);
  } catch (error) {
    throw asCliError(error);
  }
}

export function noServer(address: string, error: unknown): CliError {
  return new CliError(whyNoServer(address, error, OPTION), { cause: error });
}

/** Its message is a sentence already. */
function asCliError(error: unknown): CliError {
  return new CliError(error instanceof Error ? error.message : String(error), { cause: error });
}
