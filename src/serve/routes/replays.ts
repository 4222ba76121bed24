import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../caller.ts';
import { type EarlierAnswer, maxAnswer, type NamedRequest, readIdempotencyKey } from '../idempotency.ts';
import { type ProblemName, ProblemResponse } from '../problem.ts';
import type { Reservation } from '../runs/disk-space.ts';
import type { Server } from '../server.ts';

/** These calls have sent a request to an upstream API, so their problems are stored like successes, and repeated. */
const paid: readonly ProblemName[] = ['record-failed', 'call-timeout'];

/** Undefined if the request has no Idempotency-Key. */
export function namedRequest(request: FastifyRequest, caller: Caller, flow: string, kind: NamedRequest['kind']): NamedRequest | undefined {
  const name = readIdempotencyKey(request.headers['idempotency-key']);
  return name === undefined ? undefined : { key: caller.key?.id ?? '', name: requestHash(name), flow, kind };
}

/** Hashes the parts of a request that must be equal when it is repeated. */
export function requestHash(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
}

export const jsonType = 'application/json; charset=utf-8';

/** `isReplayed` is true for the stored response to an earlier request. */
export function sendText(reply: FastifyReply, { status, type, body }: EarlierAnswer, isReplayed = false): FastifyReply {
  if (isReplayed) reply.header('idempotency-replayed', 'true');
  return reply
    .code(status)
    .header('content-type', type)
    .serializer((text: unknown) => text as string)
    .send(body);
}

/** Responds to a call. With an Idempotency-Key, processes the call only once and repeats the stored response. */
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
    // Reserves disk space for the response before the call sends a request. If the response could not be stored, a repeated request would
    // be paid for twice.
    space = named && (await runs.space.reserve(maxAnswer, false));
    const ok = { status: 200, type: jsonType, body: await answer() };
    save(ok);
    return sendText(reply, ok);
  } catch (error) {
    if (error instanceof ProblemResponse && paid.includes(error.problem)) {
      const body = JSON.stringify(error.body(request.id));
      save({ status: error.status, type: 'application/problem+json; charset=utf-8', body });
    } else if (named) idempotency.forget(named);
    throw error;
  } finally {
    space?.release();
  }

  /** If storing fails, the client still gets the response it paid for. A repeated request then gets a 504 and sends nothing. */
  function save(answered: EarlierAnswer): void {
    if (!named) return;
    try {
      idempotency.end(named, hash, answered);
    } catch (error) {
      shared.say((error as Error).message);
    }
  }
}
