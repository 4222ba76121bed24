import { Failure, Unfinished } from '../../core/failure.ts';
import type { Item, RowsText, SpilledRows } from '../../core/item.ts';
import { allSteps, type Plan } from '../../core/plan.ts';
import type { Clock } from '../../core/ports.ts';
import type { Closing } from '../../core/workers/closing.ts';
import type { Unit, Units } from '../../core/workers/workers.ts';
import type { InputState } from '../batches/batches.ts';
import type { Passage, PassageTools } from './passage.ts';

/** Maximum of records in a unit of a flow without batches. */
const maxUnit = 500;

/** The first units are small, so that every worker has one soon. */
const firstUnit = 16;

/** Maximum of text in a unit, in bytes of the input. */
const maxUnitBytes = 1_000_000;

/** A unit that is not full waits this long for more records. */
const unitMs = 20;

/** As many records are open as the run finishes in this time. */
const openMs = 10_000;

/** Minimum of open records, for each unit that the workers can hold. */
const minOpen = 16;

/** An open record. */
interface OpenRecord {
  readonly item: Item;
  resolve(rows: RowsText): void;
  reject(reason: unknown): void;
}

/** The records of a unit, by their places. Those with a result are gone. */
type OpenUnit = Map<number, OpenRecord>;

/** Records pass the nodes in workers: they go there in units, and come back one by one. */
export class UnitPassage implements Passage {
  readonly #units: Units;
  readonly #clock: Clock;
  readonly #tools: PassageTools;
  /** The largest batch of the flow: units are multiples of it. 1 without batches. */
  readonly #batch: number;
  readonly #open = new Map<number, OpenUnit>();
  #next: OpenRecord[] = [];
  #nextBytes = 0;
  #lastEnd = 0;
  #lastId = 0;
  #unitSize = firstUnit;
  #timer: AbortController | undefined;
  #hasEnded = false;
  /** True once a record had an answer. */
  #hasAnswer = false;
  /** The error of a worker that has ended the run. */
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
    tools.phase.onPhase((phase) => {
      units.tell({ phase, reason: tools.phase.reason });
      this.#putUnit();
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
    // Records that share calls wait for each other as long as records under way make room for more.
    if (state === 'ended' || this.#batch === 1 || this.#open.size === 0) this.#putUnit();
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

  /** Records that share calls wait for each other as long as more may come. */
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
    this.#unitSize = Math.min(maxUnit, this.#unitSize * 2);
    const unit: Unit = { id, items: wanted.map(({ item }) => item) };
    this.#units.put(unit);
  }

  #finished(unit: number, index: number, result: RowsText | Failure | undefined): void {
    const records = this.#open.get(unit);
    const record = records?.get(index);
    if (!records || !record) return;
    records.delete(index);
    if (records.size === 0) this.#open.delete(unit);
    this.#rate.add();
    if (result) this.#hasAnswer ||= !(result instanceof Failure) || result.status !== undefined;
    if (!result) record.reject(new Unfinished());
    else if (result instanceof Failure) record.reject(result);
    else record.resolve(result);
    if (this.#open.size === 0) this.inputChanged();
  }

  /** Closes the run for the reason of a worker. That no server answers one worker closes no run in which a record has had an answer. */
  #close({ phase, reason }: Closing): void {
    if (reason?.ending === 'unreachable' && this.#hasAnswer) return;
    this.#tools.phase.advance(phase, reason);
  }

  /** Leaves every open record unfinished. */
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

/** The rate at which records finish, over the last second or two. */
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

  /** The records that finish in this time, as far as is known. */
  in(ms: number): number {
    const perMs = Math.max(this.#before / 1000, this.#count / Math.max(1000, this.#clock.now() - this.#startMs));
    return Math.ceil(perMs * ms);
  }
}
