import { open } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import { statOf } from '../../files/stat.ts';
import type { RunEvent } from './run-events.ts';
import type { ServedRun } from './served-run.ts';

/** Maximum number of bytes that a listener has not read. If there are more, the connection is closed. */
const maxUnread = 1024 * 1024;

const commentEveryMs = 15_000;

export const eventsType = 'text/event-stream; charset=utf-8';

/** Server-sent events. `after` is the id of the last event that the client has received. */
export function sendEvents(run: ServedRun, reply: FastifyReply, after: number | undefined): void {
  const { raw } = takeOver(reply);
  raw.writeHead(200, { ...headersOf(reply), 'content-type': eventsType, connection: 'close' });
  const send = (event: RunEvent) => {
    if (raw.writableEnded) return;
    raw.write(`id: ${event.id}\nevent: ${event.event}\ndata: ${event.data}\n\n`);
    if (event.event === 'end') raw.end();
    else if (raw.writableLength > maxUnread) raw.destroy();
  };
  for (const event of run.events.after(after)) send(event);
  const stop = run.events.listen(send);
  const comments = setInterval(() => raw.writableEnded || raw.write(':\n\n'), commentEveryMs);
  raw.once('close', () => {
    stop();
    clearInterval(comments);
  });
  if (run.events.hasEnded && !raw.writableEnded) raw.end();
}

const pollMs = 100;

const chunkBytes = 64 * 1024;

/** If the run ends before its output is complete, cuts the connection before the last chunk, so that it never looks complete. */
export async function sendGrowing(run: ServedRun, path: string, reply: FastifyReply, headers: Record<string, string>): Promise<void> {
  const { raw } = takeOver(reply);
  raw.writeHead(200, { ...headersOf(reply), ...headers });
  raw.flushHeaders();
  let at = 0;
  while (!raw.destroyed) {
    const isLast = !run.isOpen;
    at = await sendFrom(path, at, raw);
    if (isLast) break;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  if (run.stored.state === 'finished') raw.end();
  else cutOff(raw);
}

/** HTTP/1.0 does not support chunks, so only a reset of the connection tells the client that the response is incomplete. */
export function cutOff(raw: ServerResponse): void {
  const { socket, req } = raw;
  if (req.httpVersionMinor > 0 || !socket || 'encrypted' in socket) raw.destroy();
  else socket.resetAndDestroy();
}

async function sendFrom(path: string, from: number, raw: ServerResponse): Promise<number> {
  if (!statOf(path)?.isFile()) return from;
  const file = await open(path, 'r');
  let at = from;
  try {
    const buffer = Buffer.alloc(chunkBytes);
    while (!raw.destroyed) {
      const { bytesRead } = await file.read(buffer, 0, chunkBytes, at);
      if (bytesRead === 0) return at;
      at += bytesRead;
      if (!raw.write(Buffer.from(buffer.subarray(0, bytesRead)))) await drained(raw);
    }
    return at;
  } finally {
    await file.close();
  }
}

function drained(raw: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      raw.off('drain', done);
      raw.off('close', done);
      resolve();
    };
    raw.once('drain', done);
    raw.once('close', done);
  });
}

function takeOver(reply: FastifyReply): FastifyReply {
  reply.hijack();
  return reply;
}

function headersOf(reply: FastifyReply): Record<string, string> {
  return Object.fromEntries(Object.entries(reply.getHeaders()).map(([name, value]) => [name, String(value)]));
}
