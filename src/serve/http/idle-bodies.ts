import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Time without a byte after which a body is cut off. */
export const idleMs = 60_000;

/** Cuts off connections whose request stops in the middle of its body. The time for the answer is not limited. */
export function cutIdleBodies(server: Server, timeoutMs: number): void {
  const answers = new WeakMap<Socket, ServerResponse>();
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => answers.set(socket, response));
  server.setTimeout(timeoutMs, (socket) => {
    const answer = answers.get(socket);
    if (!answer?.req.complete || answer.writableFinished) socket.destroy();
  });
}
