import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A request as the server received it. */
export interface SeenRequest {
  readonly method: string;
  /** The path and the query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** An HTTP server on loopback that records its requests. */
export interface HttpServer {
  readonly port: number;
  /** The origin of the server: `http://127.0.0.1:PORT`, or https with a certificate. */
  readonly origin: string;
  readonly requests: readonly SeenRequest[];
  /** Returns the number of connections accepted so far. */
  connections(): number;
  /** Closes the connections that have no request in progress. */
  closeIdle(): void;
}

/** Answers a request. If a handler has no response parameter, the server answers with an empty 200. */
export type Handler = (request: SeenRequest, response: ServerResponse) => unknown;

/** The certificate of a server, and the authority of the client certificates that it requires. */
export interface ServerCertificate {
  readonly key: string;
  readonly cert: string;
  readonly ca?: string;
  readonly requestCert?: boolean;
  readonly rejectUnauthorized?: boolean;
}

/** Starts an HTTP server for the current test. It uses TLS if a key and a certificate (PEM) are given. */
export async function httpServer(handler: Handler = () => {}, tls?: ServerCertificate): Promise<HttpServer> {
  const requests: SeenRequest[] = [];
  const sockets = new Set<Socket>();
  const listener: RequestListener = async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const { method = '', url = '', headers } = incoming;
    const seen = { method, path: url, headers, body: Buffer.concat(chunks).toString() };
    requests.push(seen);
    await handler(seen, response);
    if (handler.length < 2) response.end();
  };
  const server = tls ? createTlsServer(tls, listener) : createServer(listener);
  server.on('connection', (socket: Socket) => sockets.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    origin: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    requests,
    connections: () => sockets.size,
    closeIdle: () => server.closeIdleConnections(),
  };
}

/** Answers a request with JSON. */
export function json(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
