import type { Batch, BatchEntry } from '../../core/batch.ts';
import type { LastAnswer } from '../../core/call.ts';
import { Failure, Unfinished } from '../../core/failure.ts';
import type { Caller, Calls, Progress } from '../call.ts';

/** A record that waits for the result of its batch. */
export interface BatchMember {
  readonly entry: BatchEntry<unknown>;
  readonly caller: Caller;
  readonly resolve: (result: never) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Sends a batch in one call, and resolves or rejects its members with their results. The server does not say which record it refuses. So if
 * it refuses a batch, both halves are sent separately, down to single records.
 */
export async function sendBatch(batch: Batch<unknown>, all: readonly BatchMember[], calls: Pick<Calls, 'make'>): Promise<void> {
  const members = all.filter(({ caller }) => !caller.isAbandoned());
  for (const { caller, reject } of all) if (caller.isAbandoned()) reject(new Unfinished());
  if (members.length === 0) return;
  const entries = members.map(({ entry }) => entry);
  try {
    const answer = await calls.make(batch.callFor(entries), commonCaller(members));
    const results = batch.resultsOf(entries, answer);
    for (const [index, member] of members.entries()) settleMember(member, results[index]);
  } catch (error) {
    if (members.length > 1 && isAboutRecords(error)) {
      const middle = Math.ceil(members.length / 2);
      await Promise.all([members.slice(0, middle), members.slice(middle)].map((half) => sendBatch(batch, half, calls)));
    } else for (const { reject } of members) reject(error);
  }
}

function settleMember({ resolve, reject }: BatchMember, result: unknown): void {
  if (result instanceof Failure) reject(result);
  else resolve(result as never);
}

/**
 * Statuses that do not depend on the records, so that halving the batch would not help: missing credentials (401, 407), request timeout
 * (408), too many requests (429).
 */
const otherStatuses = new Set([401, 407, 408, 429]);

function isAboutRecords(error: unknown): boolean {
  if (!(error instanceof Failure) || error.kind !== 'http' || error.status === undefined) return false;
  return error.status >= 400 && error.status <= 499 && !otherStatuses.has(error.status);
}

/**
 * Combines the members of a batch into one caller, which makes their shared call. The call counts as sent for every member, and every
 * member receives the response.
 */
function commonCaller(members: readonly BatchMember[]): Caller {
  const callers = members.map(({ caller }) => caller);
  const first = callers[0] as Caller;
  const progress: Progress = {
    get hasBegun() {
      return callers.some((caller) => caller.progress.hasBegun);
    },
    begin(node) {
      for (const [index, caller] of callers.entries()) caller.progress.begin(node, index > 0);
    },
  };
  const heard = (answer: LastAnswer) => {
    for (const caller of callers) caller.heard?.(answer);
  };
  const { record, node, http, tools, lookups, documents, spending, continues } = first;
  return {
    ...{ record, node, http, tools, lookups, documents, spending, continues, progress },
    report: (event) => first.report(event),
    // If the same records form a batch once more, the batch gets the same idempotency key.
    idempotencyKey: () => first.idempotencyKey(callers.map((caller) => caller.idempotencyKey()).join(' ')),
    isAbandoned: () => callers.every((caller) => caller.isAbandoned()),
    heard: callers.every((caller) => caller.heard) ? heard : undefined,
  };
}
