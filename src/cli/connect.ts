/** From options and Temporal's environment configuration to a connection, with a sentence where there is none. */
import { Client, Connection, type ConnectionOptions } from '@temporalio/client';
import { loadClientConnectConfig, type ClientConnectConfig } from '@temporalio/envconfig';
import type { ConfigOptions } from '../agents/define-config.js';
import { EverlapClient } from '../client/everlap-client.js';
import { CliError } from './cli-error.js';
import type { CommonFlags } from './options.js';

const DEFAULT_ADDRESS = '127.0.0.1:7233';
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
  let environment: ClientConnectConfig;
  try {
    environment = loadClientConnectConfig();
  } catch (error) {
    const why = error instanceof Error ? error.message.split('\n')[0] : String(error);
    throw new CliError(
      `Temporal's environment configuration cannot be read (${why}); correct TEMPORAL_CONFIG_FILE, TEMPORAL_PROFILE or the file.`,
      { cause: error },
    );
  }
  const { address, ...how } = environment.connectionOptions;
  return {
    address: flags.address ?? address ?? DEFAULT_ADDRESS,
    namespace: flags.namespace ?? environment.namespace ?? 'default',
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
  const options: ConnectionOptions = { ...how, address, connectTimeout: CONNECT_MS };
  try {
    return await Connection.connect(options);
  } catch (error) {
    throw noServer(address, error);
  }
}

export function noServer(address: string, error: unknown): CliError {
  const said = error instanceof Error ? error.message : String(error);
  if (/Invalid address/.test(said)) {
    return new CliError(`"${address}" is no address of a Temporal server; it must look like 127.0.0.1:7233.`);
  }
  const why = /refused/i.test(said)
    ? 'the connection was refused'
    : /dns|resolve/i.test(said)
      ? 'its name is not known'
      : '';
  return new CliError(
    `No Temporal server answers at ${address}${why && ` (${why})`}: start one with \`everlap dev\`, or name yours with ` +
      '--address HOST:PORT or TEMPORAL_ADDRESS.',
    { cause: error },
  );
}
