/** A connection to the Temporal server, or a sentence on why there is none. */
import { Connection, LOCAL_TARGET, type ConnectionOptions } from '@temporalio/client';
import { whyNoServer } from '../connection/temporal-server.js';

/**
 * @param option by which an address can be given here.
 * @throws Error with the address, and what to do.
 */
export async function connectTo(options: ConnectionOptions, option = 'the option address'): Promise<Connection> {
  const address = options.address ?? LOCAL_TARGET;
  let connection: Connection | undefined;
  try {
    connection = Connection.lazy({ ...options, address });
    await connection.ensureConnected();
    return connection;
  } catch (error) {
    // It would go on trying, and keep the process alive.
    await connection?.close();
    throw new Error(whyNoServer(address, error, option), { cause: error });
  }
}
