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

/** Returns a port on which no server listens. */
export async function unusedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
