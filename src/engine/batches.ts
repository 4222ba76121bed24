import type { Batch, BatchEntry, LastAnswer } from '../core/call.ts';
import { Failure, Unfinished } from '../core/failure.ts';
import type { Step } from '../core/node.ts';
import { isBatched } from '../core/plan.ts';
import type { Clock, KeptQuestion } from '../core/ports.ts';
import type { CallOwner, Calls, Progress } from './call.ts';

export interface BatchPlace {
  readonly caller: CallOwner;
  /** 0-based. For a node inside another node, such as a loop, it is the index of the outermost node. */
  readonly step: number;
  /** True inside the node at `step`, such as a loop. The record might then reach the same node once more, in a later pass. */
  readonly isInner: boolean;
  /** Undefined if the answer is not kept. */
  readonly question?: KeptQuestion;
}

/** `blocked`: no record can be read until an open record has ended. */
export type InputState = 'more' | 'blocked' | 'ended';

interface OpenBatch {
  readonly batch: Batch<unknown>;
  readonly place: BatchPlace;
  readonly members: BatchMember[];
  /** The text to send for each entry, keyed by the value that identifies the entry in the response. */
  readonly questions: Map<string, string>;
  bytes: number;
}

interface BatchTools {
  /** In order, including those inside other steps. */
  readonly steps: readonly Step[];
  readonly clock: Pick<Clock, 'nextTurn'>;
  readonly calls: Pick<Calls, 'make'>;
  input(): InputState;
}

export class Batches {
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

  /** The batch is sent when it is full, or when no more records can join it. */
  join<Result>(entry: BatchEntry<Result>, place: BatchPlace): Promise<Result> {
    const { batch, bytes, question } = entry;
    const key = `${place.caller.node}\0${batch.key}`;
    const open = this.#openFor(key, entry, place);
    open.bytes += bytes;
    if (question) open.questions.set(question.key, question.text);
    const result = new Promise<Result>((resolve, reject) => {
      open.members.push({ entry, caller: place.caller, question: place.question, resolve, reject });
    });
    if (open.members.length >= batch.size) this.#send(key);
    else this.recheck();
    return result;
  }

  /**
   * Keeps the batches of later nodes open, because records from `work` might still join them. If `kind` is `waiting`, `work` is only a
   * wait, and batches inside the same node do not stay open for it.
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

  /** Checks in the next turn of the event loop, when everything that follows from the latest change has started. */
  recheck(): void {
    if (this.#willCheck || this.#open.size === 0) return;
    this.#willCheck = true;
    void this.#tools.clock.nextTurn().then(() => {
      this.#willCheck = false;
      this.#sendComplete();
    });
  }

  /** If the entry does not fit or clashes with an entry in the open batch, sends that batch and opens a new one. */
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

  /** Sends only at the first node that has open batches, because their records might still join batches of later nodes. */
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

function isBusy(counts: readonly number[], end: number): boolean {
  return counts.slice(0, end).some((count) => count > 0);
}

interface BatchMember {
  readonly entry: BatchEntry<unknown>;
  readonly caller: CallOwner;
  readonly question: KeptQuestion | undefined;
  readonly resolve: (result: never) => void;
  readonly reject: (reason: unknown) => void;
}

/** The server does not say which record it refuses. So if it refuses a batch, both halves are sent separately, down to single records. */
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

/** Halving the batch would not help: missing credentials (401, 407), request timeout (408), too many requests (429). */
const otherStatuses = new Set([401, 407, 408, 429]);

function isAboutRecords(error: unknown): boolean {
  if (!(error instanceof Failure) || error.kind !== 'http' || error.status === undefined) return false;
  return error.status >= 400 && error.status <= 499 && !otherStatuses.has(error.status);
}

/** The shared call counts as sent for every member, and every member receives the response. */
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
  const { record, node, step, place, isInPoll, http, tools, lookups, documents, spending, clock, continues, use } = first;
  return {
    ...{ record, node, step, place, isInPoll, http, tools, lookups, documents, spending, clock, continues, use, progress },
    parts: members.flatMap(({ question }) => question ?? []),
    spent: (cost) => first.spent?.(cost),
    report: (event) => first.report(event),
    // If the same records form a batch once more, the batch gets the same idempotency key.
    idempotencyKey: () => first.idempotencyKey(callers.map((caller) => caller.idempotencyKey()).join(' ')),
    isAbandoned: () => callers.every((caller) => caller.isAbandoned()),
    heard: callers.every((caller) => caller.heard) ? heard : undefined,
  };
}
