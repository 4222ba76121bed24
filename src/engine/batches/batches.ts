import type { Batch, BatchEntry } from '../../core/batch.ts';
import type { Step } from '../../core/node.ts';
import { isBatched } from '../../core/plan.ts';
import type { Clock } from '../../core/ports.ts';
import type { Caller, Calls } from '../call.ts';
import { type BatchMember, sendBatch } from './batch-call.ts';

/** The place at which a record joins. */
export interface Place {
  readonly caller: Caller;
  /** Index of the node in the flow, from 0. */
  readonly step: number;
  /** True if the record is inside that node: then it may come again in a later pass. */
  readonly isInner: boolean;
}

/** `more`: records will be read. `blocked`: no record is read until a record under way has ended. `ended`: all records have been read. */
export type InputState = 'more' | 'blocked' | 'ended';

/** A batch that is not sent yet. */
interface OpenBatch {
  readonly batch: Batch<unknown>;
  readonly place: Place;
  readonly members: BatchMember[];
  /** For each key, the text that its entries ask for. */
  readonly questions: Map<string, string>;
  bytes: number;
}

/** The parts of a run that its batches use. */
export interface BatchTools {
  /** The steps of the flow, including inner steps, in their order. */
  readonly steps: readonly Step[];
  readonly clock: Pick<Clock, 'nextTurn'>;
  readonly calls: Pick<Calls, 'make'>;
  input(): InputState;
}

/** Gathers the records that share calls, in the open batches of a run. */
export class Batches {
  /** True if the flow has nodes with batches. */
  readonly areAny: boolean;
  readonly #tools: BatchTools;
  readonly #order: ReadonlyMap<string, number>;
  readonly #open = new Map<string, OpenBatch>();
  /** For each node of the flow, the number of tasks that work there, and the number of tasks that only wait. */
  readonly #working: number[] = [];
  readonly #waiting: number[] = [];
  #willCheck = false;

  constructor(tools: BatchTools) {
    this.#tools = tools;
    this.#order = new Map(tools.steps.map(({ id }, index) => [id, index]));
    this.areAny = tools.steps.some(isBatched);
  }

  /** Adds a record to a batch; resolves with the record's result. A batch is sent when it is full, or when no more records can join it. */
  join<Result>(entry: BatchEntry<Result>, place: Place): Promise<Result> {
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
   * Keeps the batches of later nodes open while `work` lasts: its records may join them. `step`: index of the node in the flow, from 0.
   * `waiting`: the work only waits, so batches inside the same node need not wait for it.
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

  /** Checks one turn later if more records can come: by then, every effect of a change is under way. */
  recheck(): void {
    if (this.#willCheck || this.#open.size === 0) return;
    this.#willCheck = true;
    void this.#tools.clock.nextTurn().then(() => {
      this.#willCheck = false;
      this.#sendComplete();
    });
  }

  /** The open batch for an entry. If the open batch has no room for the entry, or has an entry that clashes with it, that batch is sent first. */
  #openFor(key: string, { batch, bytes, question }: BatchEntry<unknown>, place: Place): OpenBatch {
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

  /** Sends the complete batches of the first node that has open batches: their records may join the batches of later nodes. */
  #sendComplete(): void {
    let first = Number.POSITIVE_INFINITY;
    for (const open of this.#open.values()) first = Math.min(first, this.#orderOf(open));
    // A batch that is sent counts as work under way, so all complete batches are found first.
    const complete = [...this.#open].filter(([, open]) => this.#orderOf(open) === first && this.#isComplete(open.place));
    for (const [key] of complete) this.#send(key);
  }

  #orderOf({ place }: OpenBatch): number {
    return this.#order.get(place.caller.node) ?? 0;
  }

  #isComplete({ step, isInner }: Place): boolean {
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

/** True if anything is under way at the nodes before `end`. */
function isBusy(counts: readonly number[], end: number): boolean {
  return counts.slice(0, end).some((count) => count > 0);
}
