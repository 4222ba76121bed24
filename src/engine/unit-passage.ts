import { Failure, Unfinished } from '../core/failure.ts';
import type { Item, RowsText, SpilledRows } from '../core/item.ts';
import { allSteps, type Plan } from '../core/plan.ts';
import type { Clock } from '../core/ports.ts';
import type { InputState } from './batches.ts';
import { isVain, UnreachableWatch } from './failure-limits.ts';
import type { Passage, PassageTools } from './passage.ts';
import type { Closing } from './phase.ts';

/** A unit is a group of records for one worker. With batches, a unit can be larger, so that its last batch is full. */
const maxUnit = 500;

/** Number of records in the first unit. This number is small, so that every worker soon has work. It is at most doubled for each further unit. */
const firstUnit = 16;

/** Maximum size of a unit, in bytes of the input. */
const maxUnitBytes = 1_000_000;

/** A unit that is not full waits this many ms for more records. */
const unitMs = 20;

/** At most as many records are open as the run finishes in this many ms. */
const openMs = 10_000;

/** Minimum number of open records for each unit that the workers can process at once. */
const minOpen = 16;

interface OpenRecord {
  readonly item: Item;
  resolve(rows: RowsText | SpilledRows): void;
  reject(reason: unknown): void;
}

/** The open records of a unit, keyed by index. A record is removed when its result arrives. */
type OpenUnit = Map<number, OpenRecord>;

/** Runs records through worker processes. Workers receive records in units (groups), but return the results one by one. */
export class UnitPassage implements Passage {
  readonly #units: Units;
  readonly #clock: Clock;
  readonly #tools: PassageTools;
  /** The flow's largest batch, or 1. The size of a unit is a multiple of this number, so that batches are full. */
  readonly #batch: number;
  readonly #open = new Map<number, OpenUnit>();
  #next: OpenRecord[] = [];
  #nextBytes = 0;
  #lastEnd = 0;
  #lastId = 0;
  #unitSize = firstUnit;
  #timer: AbortController | undefined;
  #hasEnded = false;
  #hasAnswer = false;
  /**
   * Records that failed because no server responded. Their failures count only once a server has responded, or when there are no more
   * records. If the run ends because no server responds at all, these records stay unfinished.
   */
  #held: { readonly record: OpenRecord; readonly failure: Failure }[] = [];
  readonly #unreachable: UnreachableWatch | undefined;
  #error: unknown;
  readonly #rate: FinishRate;

  constructor(plan: Plan, units: Units, clock: Clock, tools: PassageTools) {
    this.#units = units;
    this.#clock = clock;
    this.#tools = tools;
    this.#batch = Math.max(1, ...allSteps(plan.steps).map(({ node }) => node.action?.batchSize ?? 1));
    this.#rate = new FinishRate(clock);
    units.listen({
      finished: (unit, index, result) => this.#finished(unit, index, result),
      closing: (closing) => this.#close(closing),
      failed: (error) => this.#fail(error),
    });
    const { phase, giveUp } = tools;
    this.#unreachable = giveUp && new UnreachableWatch(giveUp);
    phase.onPhase((entered) => {
      units.tell({ phase: entered, reason: phase.reason }, (record) => phase.wants(record, false));
      this.#putUnit();
      this.#settleHeld();
    });
  }

  get size(): number {
    const { capacity } = this.#units;
    const wanted = Math.max(minOpen * capacity, Math.min(Math.max(maxUnit, this.#batch) * capacity, this.#rate.in(openMs)));
    return Math.max(2, Math.ceil(wanted / this.#batch)) * this.#batch;
  }

  pass(item: Item): Promise<SpilledRows | RowsText> {
    if (item.failure) return Promise.reject(item.failure);
    if (item.parked) return Promise.resolve(item.parked);
    return new Promise((resolve, reject) => {
      this.#next.push({ item, resolve, reject });
      this.#nextBytes += Math.max(0, item.end.offset - this.#lastEnd);
      this.#lastEnd = item.end.offset;
      if (this.#isFull()) this.#putUnit();
      else this.#putSoon();
    });
  }

  room(): Promise<void> | undefined {
    return undefined;
  }

  inputChanged(): void {
    const state: InputState = this.#tools.input();
    if (state === 'more') return;
    // With batches, an incomplete unit waits for more records to fill its batches. It does not wait if no record is open, because then no
    // record can end and make room for more.
    if (state === 'ended' || this.#batch === 1 || this.#open.size === 0) this.#putUnit();
    if (this.#open.size === 0) this.#noneIsOpen(state);
    if (state !== 'ended' || this.#hasEnded) return;
    this.#hasEnded = true;
    this.#units.end();
  }

  async close(): Promise<void> {
    await this.#units.close();
    if (this.#error !== undefined) throw this.#error;
  }

  #isFull(): boolean {
    const { length } = this.#next;
    if (length % this.#batch !== 0) return false;
    return length >= this.#unitSize || this.#nextBytes >= maxUnitBytes;
  }

  /** Sends the next unit after a short wait. With batches, sets no timer: the unit waits as long as there might be more records. */
  #putSoon(): void {
    if (this.#batch > 1 || this.#timer) return;
    const timer = new AbortController();
    this.#timer = timer;
    void this.#clock.sleepUntil(this.#clock.now() + unitMs, timer.signal).then(() => {
      if (!timer.signal.aborted) this.#putUnit();
    });
  }

  #putUnit(): void {
    this.#timer?.abort();
    this.#timer = undefined;
    const { phase } = this.#tools;
    const [wanted, unwanted] = split(this.#next, ({ item }) => phase.wants(item.number, false));
    this.#next = [];
    this.#nextBytes = 0;
    for (const { reject } of unwanted) reject(new Unfinished());
    if (wanted.length === 0) return;
    const id = ++this.#lastId;
    this.#open.set(id, new Map(wanted.entries()));
    // If few large units were open, some workers would have none, and the others would finish them late.
    this.#unitSize = Math.min(maxUnit, this.#unitSize * 2, Math.ceil(this.size / this.#units.capacity));
    const unit: Unit = { id, items: wanted.map(({ item }) => item) };
    this.#units.put(unit);
  }

  #finished(unit: number, index: number, result: RowsText | SpilledRows | Failure | undefined): void {
    const records = this.#open.get(unit);
    const record = records?.get(index);
    if (!records || !record) return;
    records.delete(index);
    if (records.size === 0) this.#open.delete(unit);
    this.#rate.add();
    if (!result) record.reject(new Unfinished());
    else if (result instanceof Failure) this.#failed(record, result);
    else {
      this.#answered();
      record.resolve(result);
    }
    if (this.#open.size === 0) this.inputChanged();
  }

  #failed(record: OpenRecord, failure: Failure): void {
    if (failure.status !== undefined) this.#answered();
    if (!this.#unreachable || this.#hasAnswer || !isVain(failure) || this.#tools.phase.reason) {
      record.reject(failure);
      return;
    }
    this.#held.push({ record, failure });
    // The records of a batch share their attempts. The origin is not known here, so the message, which contains it, is used instead.
    if (this.#held.length % this.#batch !== 0) return;
    for (let attempt = 0; attempt < failure.attempts; attempt++) this.#unreachable.failed(failure, failure.message);
  }

  #answered(): void {
    if (this.#hasAnswer) return;
    this.#hasAnswer = true;
    this.#settleHeld();
  }

  /** Decides about the records for which no server has responded. Called when no record is left in a worker. */
  #noneIsOpen(state: InputState): void {
    const [first] = this.#held;
    if (!first) return;
    // All records of some batches have failed, and no other record can begin before these end.
    if (state === 'blocked' && this.#batch > 1) this.#unreachable?.endRun(first.failure);
    this.#settleHeld();
  }

  /** Ends the records for which no server has responded: as unfinished if this ends the run, otherwise as failed. */
  #settleHeld(): void {
    const held = this.#held;
    this.#held = [];
    const isUnreachable = this.#tools.phase.reason?.ending === 'unreachable';
    for (const { record, failure } of held) record.reject(isUnreachable ? new Unfinished() : failure);
  }

  /**
   * A worker asks for this. If no server responds there, and not just at one step of a `first` node, the run still continues if a server
   * has responded for any record.
   */
  #close({ phase, reason }: Closing): void {
    if (reason?.ending === 'unreachable' && !reason.step && this.#hasAnswer) return;
    this.#tools.phase.advance(phase, reason);
  }

  /** Ends the run because of a worker's error, and leaves every open record unfinished. */
  #fail(error: unknown): void {
    const open = [...this.#open.values()].flatMap((unit) => [...unit.values()]);
    this.#open.clear();
    this.#error ??= error;
    this.#tools.phase.advance('stopped');
    for (const { reject } of open) reject(new Unfinished());
  }
}

function split<Entry>(entries: readonly Entry[], isFirst: (entry: Entry) => boolean): [Entry[], Entry[]] {
  return [entries.filter(isFirst), entries.filter((entry) => !isFirst(entry))];
}

/** Measures how many records finish per unit of time, over the last one to two seconds. */
class FinishRate {
  readonly #clock: Clock;
  #startMs: number;
  #count = 0;
  #before = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startMs = clock.now();
  }

  add(): void {
    const now = this.#clock.now();
    if (now - this.#startMs > 1000) {
      this.#before = (this.#count * 1000) / (now - this.#startMs);
      this.#startMs = now;
      this.#count = 0;
    }
    this.#count++;
  }

  in(ms: number): number {
    const perMs = Math.max(this.#before / 1000, this.#count / Math.max(1000, this.#clock.now() - this.#startMs));
    return Math.ceil(perMs * ms);
  }
}

export interface Unit {
  readonly id: number;
  readonly items: readonly Item[];
}

/** The units (groups of records) of a run and the workers that process them, as the coordinator sees them. */
export interface Units {
  readonly capacity: number;
  /** Called once, before the first unit is sent. */
  listen(listener: UnitListener): void;
  /** Queues a unit for a worker. If that worker is lost, the unit returns to the queue. */
  put(unit: Unit): void;
  /** Tells the workers that the run is ending. Records that no worker has yet stay unfinished, unless `wants` returns true for their number. */
  tell(closing: Closing, wants: (record: number) => boolean): void;
  end(): void;
  /** Resolves once no worker is working on the run. */
  close(): Promise<void>;
}

export interface UnitListener {
  /** Receives the result of a record; undefined if the record was left unfinished. Only the first result of each record counts. */
  finished(unit: number, index: number, result: RowsText | SpilledRows | Failure | undefined): void;
  closing(closing: Closing): void;
  failed(error: unknown): void;
}
