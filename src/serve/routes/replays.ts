import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../caller.ts';
import { type EarlierAnswer, maxAnswer, type NamedRequest, readIdempotencyKey } from '../idempotency.ts';
import { Problem, type ProblemName } from '../problem.ts';
import type { Reservation } from '../runs/disk-space.ts';
import type { Server } from '../server.ts';

/** Problems of calls that have sent a request: a repeated request gets the same problem. */
const paid: readonly ProblemName[] = ['record-failed', 'call-timeout'];

/** The request with its Idempotency-Key; absent without a key. */
export function namedRequest(request: FastifyRequest, caller: Caller, flow: string, kind: NamedRequest['kind']): NamedRequest | undefined {
  const name = readIdempotencyKey(request.headers['idempotency-key']);
  return name === undefined ? undefined : { key: caller.key?.id ?? '', name: requestHash(name), flow, kind };
}

/** The hash of the parts that a repeated request must have in common with the first request. */
export function requestHash(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
}

/** The type of JSON answers. */
export const jsonType = 'application/json; charset=utf-8';

/** Sends JSON text: a new answer, or the answer of an earlier request. */
export function sendText(reply: FastifyReply, { status, type, body }: EarlierAnswer, isReplayed = false): FastifyReply {
  if (isReplayed) reply.header('idempotency-replayed', 'true');
  return reply
    .code(status)
    .header('content-type', type)
    .serializer((text: unknown) => text as string)
    .send(body);
}

/** Answers a call, once for each Idempotency-Key. */
export async function answerOnce(
  { idempotency, shared, runs }: Server,
  named: NamedRequest | undefined,
  { request, reply, hash }: { readonly request: FastifyRequest; readonly reply: FastifyReply; readonly hash: string },
  answer: () => Promise<string>,
): Promise<FastifyReply> {
  const earlier = named && idempotency.begin(named, hash);
  if (earlier) return sendText(reply, earlier, true);
  let space: Reservation | undefined;
  try {
    // Before anything is sent: a repeat of an answer that cannot be stored would be paid twice.
    space = named && (await runs.space.reserve(maxAnswer, false));
    const ok = { status: 200, type: jsonType, body: await answer() };
    save(ok);
    return sendText(reply, ok);
  } catch (error) {
    if (error instanceof Problem && paid.includes(error.problem)) {
      const body = JSON.stringify(error.body(request.id));
      save({ status: error.status, type: 'application/problem+json; charset=utf-8', body });
    } else if (named) idempotency.forget(named);
    throw error;
  } finally {
    space?.release();
  }

  /** The answer is paid: the client gets it even if it cannot be saved. A repeated request then gets a 504, and sends nothing. */
  function save(answered: EarlierAnswer): void {
    if (!named) return;
    try {
      idempotency.end(named, hash, answered);
    } catch (error) {
      shared.say((error as Error).message);
    }
  }
}
