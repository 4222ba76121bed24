import { Failure, Unfinished } from '../core/failure.ts';
import type { Item, Outcome, RowsText, SpilledRows, Success } from '../core/item.ts';
import { allSteps, type Plan } from '../core/plan.ts';
import type { Fields } from '../core/record.ts';
import { type RunPhase, Wakeup } from './phase.ts';

interface FinishedRecord {
  readonly item: Item;
  readonly outcome: Outcome;
}

/** In an unordered run, many records can finish before an earlier slow one. To save memory, a place drops a result that was passed on. */
interface WindowPlace {
  result?: FinishedRecord | 'passed on';
}

export interface WindowOptions {
  /** Returns the maximum number of records that are in progress or not written yet. This number can change during the run. */
  size(): number;
  readonly unordered: boolean;
  /** Receives each finished record, in the order of the input unless the run is unordered. */
  finish(item: Item, outcome: Outcome): void;
}

/** In an unordered run, a record is at most this many window sizes ahead of the slowest record, because each place uses memory. */
const maxWindowsAhead = 64;

/** Free places at the front are removed only when there are this many, because each removal moves all other places. */
const maxFreePlaces = 256;

/**
 * The records in progress, in order. Their number is limited, so that memory use does not grow with the input. In an ordered run, records
 * after an unfinished one are not passed on, so the output always matches the beginning of the input.
 */
export class Window {
  readonly #options: WindowOptions;
  readonly #phase: RunPhase;
  readonly #places: WindowPlace[] = [];
  /** Index of the first place whose result has not been passed on. */
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

  room(): Promise<void> | undefined {
    return this.#hasRoom() || this.#phase.current !== 'open' ? undefined : this.#room.wait();
  }

  /** `task` rejects with a Failure or Unfinished. */
  begin(item: Item, task: Promise<readonly Fields[] | SpilledRows | RowsText>): void {
    const place: WindowPlace = {};
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

  /** Number of finished records that wait because an earlier record is not finished. */
  get waiting(): number {
    return this.#waiting;
  }

  free(count: number): void {
    this.#unwritten -= count;
    if (this.#hasRoom()) this.#room.wake();
  }

  /** Resolves when no record is in progress. Rejects with the first error that was neither a Failure nor Unfinished. */
  async end(): Promise<void> {
    while (this.#running > 0) await this.#end.wait();
    if (this.#error !== undefined) throw this.#error;
  }

  /** Returns the finished records that were not passed on because an earlier record was left unfinished. */
  parkable(): readonly FinishedRecord[] {
    return this.#places.slice(this.#head).flatMap(({ result }) => (result && result !== 'passed on' ? [result] : []));
  }

  #hasRoom(): boolean {
    const size = this.#options.size();
    return this.#unwritten < size && this.#places.length - this.#head < size * maxWindowsAhead;
  }

  #settle(place: WindowPlace, result: FinishedRecord): void {
    const { unordered, finish } = this.#options;
    place.result = unordered ? 'passed on' : result;
    try {
      if (unordered) finish(result.item, result.outcome);
      else this.#waiting++;
      for (let first = this.#places[this.#head]?.result; first; first = this.#places[this.#head]?.result) {
        this.#head++;
        if (first === 'passed on') continue;
        this.#waiting--;
        finish(first.item, first.outcome);
      }
    } catch (reason) {
      this.#break(reason);
    }
    if (this.#head >= maxFreePlaces) this.#removeFree();
    this.#leave();
  }

  #removeFree(): void {
    this.#places.splice(0, this.#head);
    this.#head = 0;
    if (this.#options.unordered && this.#hasRoom()) this.#room.wake();
  }

  #break(reason: unknown): void {
    if (reason instanceof Unfinished && this.#phase.current !== 'open') return;
    // If a record is left unfinished although the run is open, the run must not count as complete.
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

/** Size of the window (maximum number of open records) if records wait only for their calls. */
const defaultSize = 1024;

/** Applies if records can wait between calls, as in a poll. Waiting records occupy no slot, and far more records can be open. */
const waitingSize = 8192;

/** Additional places in the window if there are batches. They are for records that wait for the next batches, or wait to be written. */
const extraPlaces = 512;

const maxBatchedPlaces = 65_536;

/** Larger than the concurrency, so that one slow record holds nothing up. Smaller if more nodes make calls: a crash repeats them. */
export function windowSize(plan: Plan): number {
  const steps = allSteps(plan.steps);
  const actions = steps.flatMap(({ node }) => node.action ?? []);
  const concurrency = Math.max(1, ...actions.map((action) => action.limit.max));
  const size = steps.some(({ node }) => node.inner?.waits) ? waitingSize : defaultSize;
  const shared = Math.ceil(Math.max(size, concurrency * 8) / Math.max(1, actions.length));
  const inBatches = actions.map(({ batchSize }) => (batchSize === undefined ? 0 : batchSize * concurrency + extraPlaces));
  return Math.max(shared, Math.min(maxBatchedPlaces, Math.max(0, ...inBatches)));
}
