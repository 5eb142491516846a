/** Which Temporal server is meant, by Temporal's own environment configuration; and why it does not answer, in a sentence. */
import { isGrpcServiceError, ServiceError } from '@temporalio/client';
import { loadClientConnectConfig, type ClientConnectConfig } from '@temporalio/envconfig';

/** @throws Error where the file or the profile cannot be read. */
export function temporalEnvironment(): ClientConnectConfig {
  try {
    return loadClientConnectConfig();
  } catch (error) {
    const why = error instanceof Error ? error.message.split('\n')[0] : String(error);
    throw new Error(
      `Temporal's environment configuration cannot be read (${why}); correct TEMPORAL_CONFIG_FILE, TEMPORAL_PROFILE or the file.`,
      { cause: error },
    );
  }
}

/** Codes of gRPC (grpc/grpc, `doc/statuscodes.md`): PERMISSION_DENIED, UNAUTHENTICATED. */
const REFUSALS: ReadonlySet<number> = new Set([7, 16]);

/** @param option by which an address can be given here. */
export function whyNoServer(address: string, error: unknown, option: string): string {
  const grpc = error instanceof ServiceError ? error.cause : error;
  const said = isGrpcServiceError(grpc) ? grpc.details : error instanceof Error ? error.message : String(error);
  if (/Invalid address/.test(said)) {
    return `"${address}" is no address of a Temporal server; it must look like 127.0.0.1:7233.`;
  }
  // A worker's connection has no codes, only words.
  const refused = isGrpcServiceError(grpc) ? REFUSALS.has(grpc.code) : /permission ?denied|unauthenticated/i.test(said);
  if (refused) {
    return `The Temporal server at ${address} refuses the connection (${reason(said)}); check the API key and the certificates.`;
  }
  return (
    `No Temporal server answers at ${address} (${reason(said)}): start one with \`npx everlap dev\`, or name yours by ${option} ` +
    'or TEMPORAL_ADDRESS. One that wants TLS or an API key answers only where they are configured.'
  );
}

/** What gRPC says of it is long. */
function reason(said: string): string {
  if (/refused/i.test(said)) return 'the connection was refused';
  if (/dns error|name resolution|ENOTFOUND/i.test(said)) return 'its name is not known';
  if (/deadline/i.test(said)) return 'there was no answer in time';
  return said.replace(/\s+/g, ' ').slice(0, 200);
}
