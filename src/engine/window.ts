import { Failure, Unfinished } from '../core/failure.ts';
import type { Item, Outcome, RowsText, SpilledRows, Success } from '../core/item.ts';
import { allSteps, type Plan } from '../core/plan.ts';
import type { Fields } from '../core/record.ts';
import { type RunPhase, Wakeup } from './phase.ts';

/** A record and its result. */
export interface FinishedRecord {
  readonly item: Item;
  readonly outcome: Outcome;
}

/** The place of a record in the window. A place does not hold a record that was passed on out of order: many records can finish after a slow record. */
interface Place {
  result?: FinishedRecord | 'passed on';
}

/** The settings of a window. */
export interface WindowOptions {
  /** Maximum of records that are under way or not written yet. It may change. */
  size(): number;
  /** True if records are passed on as soon as they are finished. */
  readonly unordered: boolean;
  /** Takes finished records. */
  finish(item: Item, outcome: Outcome): void;
}

/** Maximum of windows that a record may be ahead of the slowest record, in a run without order. Places use memory as well. */
const maxWindowsAhead = 64;

/** Number of free places at the front at which they are removed together. */
const maxFreePlaces = 256;

/**
 * The records under way, in input order. Their number is bounded, so that memory does not grow with the input.
 * In order, no record after an unfinished one is passed on: the output is exactly the beginning of the input.
 */
export class Window {
  readonly #options: WindowOptions;
  readonly #phase: RunPhase;
  readonly #places: Place[] = [];
  /** The first place whose record is not passed on. */
  #head = 0;
  #running = 0;
  #unwritten = 0;
  #waiting = 0;
  #error: unknown;
  readonly #room = new Wakeup();
  readonly #end = new Wakeup();

  constructor(options: WindowOptions, phase: RunPhase) {
    this.#options = options;
    this.#phase = phase;
    phase.onPhase(() => this.#room.wake());
  }

  /** Resolves when another record may begin; `undefined` when it may now. */
  room(): Promise<void> | undefined {
    return this.#hasRoom() || this.#phase.current !== 'open' ? undefined : this.#room.wait();
  }

  /** Begins a record. `task`: its rows; rejects with a Failure, or Unfinished. */
  begin(item: Item, task: Promise<readonly Fields[] | SpilledRows | RowsText>): void {
    const place: Place = {};
    this.#places.push(place);
    this.#running++;
    this.#unwritten++;
    void task.then(
      (rows) => this.#settle(place, { item, outcome: successOf(rows) }),
      (reason) => {
        if (reason instanceof Failure) return this.#settle(place, { item, outcome: { failure: reason } });
        this.#break(reason);
        this.#leave();
      },
    );
  }

  /** Finished records that wait for an earlier one. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Frees the places of records that have been written. */
  free(count: number): void {
    this.#unwritten -= count;
    if (this.#hasRoom()) this.#room.wake();
  }

  /** Resolves when no record is under way. Throws the first error that was neither Failure nor Unfinished. */
  async end(): Promise<void> {
    while (this.#running > 0) await this.#end.wait();
    if (this.#error !== undefined) throw this.#error;
  }

  /** The finished records that were not passed on, because an earlier one was left unfinished. */
  parkable(): readonly FinishedRecord[] {
    return this.#places.slice(this.#head).flatMap(({ result }) => (result && result !== 'passed on' ? [result] : []));
  }

  #hasRoom(): boolean {
    const size = this.#options.size();
    return this.#unwritten < size && this.#places.length - this.#head < size * maxWindowsAhead;
  }

  #settle(place: Place, result: FinishedRecord): void {
    try {
      this.#passOn(place, result);
    } catch (reason) {
      this.#break(reason);
    }
    this.#leave();
  }

  #passOn(place: Place, result: FinishedRecord): void {
    const { unordered, finish } = this.#options;
    place.result = unordered ? 'passed on' : result;
    if (unordered) finish(result.item, result.outcome);
    else this.#waiting++;
    for (let first = this.#places[this.#head]?.result; first; first = this.#places[this.#head]?.result) {
      this.#head++;
      if (first === 'passed on') continue;
      this.#waiting--;
      finish(first.item, first.outcome);
    }
    if (this.#head < maxFreePlaces) return;
    this.#places.splice(0, this.#head);
    this.#head = 0;
    if (unordered && this.#hasRoom()) this.#room.wake();
  }

  #break(reason: unknown): void {
    if (reason instanceof Unfinished && this.#phase.current !== 'open') return;
    // A run must never count as complete while a record is unfinished.
    this.#error ??= reason instanceof Unfinished ? new Error('a record was left unfinished by a run that was not ending') : reason;
    this.#phase.advance('stopped');
  }

  #leave(): void {
    this.#running--;
    if (this.#running === 0) this.#end.wake();
  }
}

function successOf(rows: readonly Fields[] | SpilledRows | RowsText): Success {
  if ('text' in rows) return { rendered: rows };
  return 'drop' in rows ? { spilled: rows } : { rows };
}

/** Size of a window whose records wait for nothing but their calls. */
const defaultSize = 1024;

/** Size of a window whose records may wait between their calls. They hold no slot meanwhile, so that many more can be under way. */
const waitingSize = 8192;

/** Places in addition to the batches in flight, for records that gather for the next batches and for records that wait to be written. */
const extraPlaces = 512;

/** Maximum of places for the records of batches. */
const maxBatchedPlaces = 65_536;

/**
 * The size of a plan's window: more than the concurrency, so that one slow record does not stall the rest.
 * A record makes a call for each node that calls: the more nodes, the fewer records, so that a crash repeats no more calls.
 */
export function windowSize(plan: Plan): number {
  const steps = allSteps(plan.steps);
  const actions = steps.flatMap(({ node }) => node.action ?? []);
  const concurrency = Math.max(1, ...actions.map((action) => action.limit.max));
  const size = steps.some(({ node }) => node.inner?.waits) ? waitingSize : defaultSize;
  const shared = Math.ceil(Math.max(size, concurrency * 8) / Math.max(1, actions.length));
  const inBatches = actions.map(({ batchSize }) => (batchSize === undefined ? 0 : batchSize * concurrency + extraPlaces));
  return Math.max(shared, Math.min(maxBatchedPlaces, Math.max(0, ...inBatches)));
}
