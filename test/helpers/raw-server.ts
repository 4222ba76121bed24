import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A TCP server on loopback that can send any bytes. */
export interface RawServer {
  readonly port: number;
  /** The address `http://127.0.0.1:PORT`. */
  readonly origin: string;
  /** Returns the number of connections accepted so far. */
  connections(): number;
}

/** Starts a raw server for the current test. `answer` is called with each chunk that arrives. */
export async function rawServer(answer: (socket: Socket, request: string) => void): Promise<RawServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk) => answer(socket, chunk.toString('latin1')));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { port, origin: `http://127.0.0.1:${port}`, connections: () => sockets.size };
}

/**
 * Returns a port on which no server listens. It is below the ports that Linux and macOS give to connections and to servers that ask for
 * any port, so that no other test gets it in the meantime.
 */
export async function unusedPort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_000);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
