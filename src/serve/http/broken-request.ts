import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Problem } from '../problem.ts';
import { newRequestId } from '../request-id.ts';

const answers: Readonly<Record<string, readonly [status: string, detail: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'the headers of the request took too long'],
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'the headers of the request are too large'],
};

/** Sends a problem response to a client whose request is not valid HTTP. */
export function refuseBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const [status, detail] = answers[error.code ?? ''] ?? ['400 Bad Request', 'the request is not valid HTTP'];
  const id = newRequestId();
  const body = JSON.stringify({ ...new Problem('bad-request', detail).body(id), status: Number.parseInt(status, 10) });
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/problem+json; charset=utf-8\r\nX-Request-Id: ${id}\r\nCache-Control: no-store\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

/** Sends a problem response to a request whose header Expect asks for something that this server does not support (RFC 9110, 10.1.1). */
export function refuseExpectation(_request: IncomingMessage, response: ServerResponse): void {
  const id = newRequestId();
  const problem = new Problem('bad-request', 'expected no Expect header other than 100-continue');
  const headers = { 'content-type': 'application/problem+json; charset=utf-8', 'x-request-id': id, 'cache-control': 'no-store' };
  // The connection is closed, because it is not known whether the client will send the body.
  response.writeHead(417, { ...headers, connection: 'close' }).end(JSON.stringify({ ...problem.body(id), status: 417 }));
}

/** Time in ms without received data after which the server stops waiting for the rest of a body. */
export const idleMs = 60_000;

/**
 * Closes connections on which the client stops sending in the middle of a body. The time that a client waits for a response is not limited.
 */
export function cutIdleBodies(server: Server, timeoutMs: number): void {
  const answers = new WeakMap<Socket, ServerResponse>();
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => answers.set(socket, response));
  server.setTimeout(timeoutMs, (socket) => {
    const answer = answers.get(socket);
    if (!answer?.req.complete || answer.writableFinished) socket.destroy();
  });
}
