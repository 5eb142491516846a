// TCP ports of this machine: a free one, and whether one is free.
import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';

/**
 * A port that nobody listens on. On Linux it is not handed out again for a minute: a connection that the listening
 * side closes first stays in TIME_WAIT, which keeps the kernel from giving the number to the next who asks for any
 * port, and does not keep anyone from listening on it by name. (As sdk-core's `get_free_port` does.)
 */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  const server = await listen(0, host);
  server.on('connection', (socket) => socket.end());
  const port = portOf(server);
  const client = connect(port, host).resume();
  await once(client, 'close');
  await close(server);
  return port;
}

/** false where something listens on it, or where it may not be used (below 1024, not one's own address). */
export async function isFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  try {
    await close(await listen(port, host));
    return true;
  } catch {
    return false;
  }
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error(`Not a TCP address: ${address}`);
  return address.port;
}

async function listen(port: number, host: string): Promise<Server> {
  const server = createServer();
  server.listen(port, host);
  await once(server, 'listening');
  return server;
}

async function close(server: Server): Promise<void> {
  server.close();
  await once(server, 'close');
}
