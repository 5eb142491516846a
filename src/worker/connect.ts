/** A worker's connection to the Temporal server, or a sentence on why there is none. */
import { LOCAL_TARGET } from '@temporalio/client';
import { NativeConnection, type NativeConnectionOptions } from '@temporalio/worker';
import { whyNoServer } from '../connection/temporal-server.js';

/**
 * @param option by which an address can be given here.
 * @throws Error with the address, and what to do.
 */
export async function connectNatively(options: NativeConnectionOptions, option: string): Promise<NativeConnection> {
  try {
    return await NativeConnection.connect(options);
  } catch (error) {
    throw new Error(whyNoServer(options.address ?? LOCAL_TARGET, error, option), { cause: error });
  }
}
