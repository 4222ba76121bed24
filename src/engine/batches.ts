import type { Batch, BatchEntry, LastAnswer } from '../core/call.ts';
import { Failure, Unfinished } from '../core/failure.ts';
import type { Step } from '../core/node.ts';
import { isBatched } from '../core/plan.ts';
import type { Clock } from '../core/ports.ts';
import type { CallOwner, Calls, Progress } from './call.ts';

/** The record that joins a batch, and the node where it joins. */
interface BatchPlace {
  readonly caller: CallOwner;
  /**
   * The 0-based index of the record's node in the flow. If that node is inside another node, such as a loop, this is the index of the
   * outermost one.
   */
  readonly step: number;
  /**
   * True if the record is at a node inside the node at `step`, such as a loop. The record might then reach the same node once more, in a
   * later pass.
   */
  readonly isInner: boolean;
}

/**
 * The state of a run's input. `more`: more records will be read. `blocked`: no record can be read until an open record has ended. `ended`:
 * all records have been read.
 */
export type InputState = 'more' | 'blocked' | 'ended';

/** A batch that has not been sent yet. */
interface OpenBatch {
  readonly batch: Batch<unknown>;
  readonly place: BatchPlace;
  readonly members: BatchMember[];
  /** The text to send for each entry, keyed by the value that identifies the entry in the response. */
  readonly questions: Map<string, string>;
  bytes: number;
}

/** Everything that is needed to send a run's batches. */
interface BatchTools {
  /** All steps of the flow in order, including those inside other steps. */
  readonly steps: readonly Step[];
  readonly clock: Pick<Clock, 'nextTurn'>;
  readonly calls: Pick<Calls, 'make'>;
  input(): InputState;
}

/** A run's open batches. Each collects the records that share a call. */
export class Batches {
  /** True if any node of the flow sends records in batches. */
  readonly areAny: boolean;
  readonly #tools: BatchTools;
  readonly #order: ReadonlyMap<string, number>;
  readonly #open = new Map<string, OpenBatch>();
  /** For each node, the number of tasks that work there. `#waiting` counts the tasks that only wait there until a set time. */
  readonly #working: number[] = [];
  readonly #waiting: number[] = [];
  #willCheck = false;

  constructor(tools: BatchTools) {
    this.#tools = tools;
    this.#order = new Map(tools.steps.map(({ id }, index) => [id, index]));
    this.areAny = tools.steps.some(isBatched);
  }

  /**
   * Adds a record to a batch, and resolves with the record's result. The batch is sent when it is full, or when no more records can join
   * it.
   */
  join<Result>(entry: BatchEntry<Result>, place: BatchPlace): Promise<Result> {
    const { batch, bytes, question } = entry;
    const key = `${place.caller.node}\0${batch.key}`;
    const open = this.#openFor(key, entry, place);
    open.bytes += bytes;
    if (question) open.questions.set(question.key, question.text);
    const result = new Promise<Result>((resolve, reject) => {
      open.members.push({ entry, caller: place.caller, resolve, reject });
    });
    if (open.members.length >= batch.size) this.#send(key);
    else this.recheck();
    return result;
  }

  /**
   * Keeps the batches of later nodes open until `work` has ended, because records from `work` might still join them. `step` is the 0-based
   * index of the node in the flow. If `kind` is `waiting`, `work` is only a wait, and batches inside the same node do not stay open for it.
   */
  busyWhile<Result>(step: number, work: Promise<Result>, kind?: 'waiting'): Promise<Result> {
    return this.areAny ? this.#counted(step, work, kind === 'waiting' ? this.#waiting : this.#working) : work;
  }

  async #counted<Result>(step: number, work: Promise<Result>, counts: number[]): Promise<Result> {
    counts[step] = (counts[step] ?? 0) + 1;
    try {
      return await work;
    } finally {
      (counts[step] as number)--;
      this.recheck();
    }
  }

  /**
   * Checks in the next turn of the event loop whether more records can join the open batches. By then, everything that follows from the
   * latest change has started.
   */
  recheck(): void {
    if (this.#willCheck || this.#open.size === 0) return;
    this.#willCheck = true;
    void this.#tools.clock.nextTurn().then(() => {
      this.#willCheck = false;
      this.#sendComplete();
    });
  }

  /**
   * Returns the open batch that an entry can join. If the open batch has no room for the entry, or contains an entry that clashes with it,
   * sends that batch and opens a new one.
   */
  #openFor(key: string, { batch, bytes, question }: BatchEntry<unknown>, place: BatchPlace): OpenBatch {
    const open = this.#open.get(key);
    if (open) {
      const other = question && open.questions.get(question.key);
      const clashes = other !== undefined && other !== question?.text;
      if (!clashes && open.bytes + bytes <= batch.maxBytes) return open;
      this.#send(key);
    }
    const next: OpenBatch = { batch, place, members: [], questions: new Map(), bytes: 0 };
    this.#open.set(key, next);
    return next;
  }

  /**
   * Sends the batches that no more records can join, but only at the first node that has open batches. The records in them might still join
   * batches of later nodes.
   */
  #sendComplete(): void {
    let first = Number.POSITIVE_INFINITY;
    for (const open of this.#open.values()) first = Math.min(first, this.#orderOf(open));
    // Collects all complete batches before it sends the first. Once a batch is being sent, its node counts as busy, so that the other
    // batches would not count as complete.
    const complete = [...this.#open].filter(([, open]) => this.#orderOf(open) === first && this.#isComplete(open.place));
    for (const [key] of complete) this.#send(key);
  }

  #orderOf({ place }: OpenBatch): number {
    return this.#order.get(place.caller.node) ?? 0;
  }

  #isComplete({ step, isInner }: BatchPlace): boolean {
    const state = this.#tools.input();
    if (state === 'more') return false;
    const end = state === 'blocked' ? Number.POSITIVE_INFINITY : step;
    if (isInner) return !isBusy(this.#working, Math.max(end, step + 1)) && !isBusy(this.#waiting, step);
    return !isBusy(this.#working, end) && !isBusy(this.#waiting, end);
  }

  #send(key: string): void {
    const open = this.#open.get(key);
    this.#open.delete(key);
    if (!open) return;
    const members = open.members.sort((a, b) => a.caller.record - b.caller.record);
    void this.busyWhile(open.place.step, sendBatch(open.batch, members, this.#tools.calls));
  }
}

/** True if any task is in progress at a node before index `end`. */
function isBusy(counts: readonly number[], end: number): boolean {
  return counts.slice(0, end).some((count) => count > 0);
}

/** A record that waits for the result of its batch. */
interface BatchMember {
  readonly entry: BatchEntry<unknown>;
  readonly caller: CallOwner;
  readonly resolve: (result: never) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Sends a batch in one call, and resolves or rejects its members with their results. The server does not say which record it refuses. So if
 * it refuses a batch, both halves are sent separately, down to single records.
 */
async function sendBatch(batch: Batch<unknown>, all: readonly BatchMember[], calls: Pick<Calls, 'make'>): Promise<void> {
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
function commonCaller(members: readonly BatchMember[]): CallOwner {
  const callers = members.map(({ caller }) => caller);
  const first = callers[0] as CallOwner;
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
