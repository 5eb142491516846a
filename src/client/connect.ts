/** A connection to the Temporal server, or a sentence on why there is none. */
import { Connection, isGrpcServiceError, LOCAL_TARGET, ServiceError, type ConnectionOptions } from '@temporalio/client';

/** Codes of gRPC. */
const REFUSALS: ReadonlySet<number> = new Set([7, 16]);

/** @throws Error with the address, and what to do. */
export async function connectTo(options: ConnectionOptions): Promise<Connection> {
  const address = options.address ?? LOCAL_TARGET;
  let connection: Connection | undefined;
  try {
    connection = Connection.lazy({ ...options, address });
    await connection.ensureConnected();
    return connection;
  } catch (error) {
    // It would go on trying, and keep the process alive.
    await connection?.close();
    throw new Error(sentence(address, error), { cause: error });
  }
}

function sentence(address: string, error: unknown): string {
  const grpc = error instanceof ServiceError ? error.cause : error;
  const said = isGrpcServiceError(grpc) ? grpc.details : error instanceof Error ? error.message : String(error);
  if (/Invalid address/.test(said)) {
    return `"${address}" is no address of a Temporal server; it must look like 127.0.0.1:7233.`;
  }
  if (isGrpcServiceError(grpc) && REFUSALS.has(grpc.code)) {
    return `The Temporal server at ${address} refuses the connection (${said}); check the API key and the certificates.`;
  }
  return (
    `No Temporal server answers at ${address} (${said}): start one with \`npx everlap dev\`, or name yours by the option ` +
    'address or TEMPORAL_ADDRESS. One that wants TLS or an API key answers only where they are configured.'
  );
}
