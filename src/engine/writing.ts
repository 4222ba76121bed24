import type { Clock, Output } from '../core/ports.ts';
import type { RunPhase } from './phase.ts';

/** The output is flushed once this number of records or characters is waiting, or after this time in ms. */
const flushAfter = { records: 256, characters: 256 * 1024, ms: 100 };

/** Flushes the output while records are processed. Only one flush is active at a time. */
export class Writing {
  readonly #output: Pick<Output, 'flush' | 'waiting'>;
  readonly #clock: Clock;
  readonly #phase: RunPhase;
  readonly #onWritten: (records: number) => void;
  /** Number of records in the output that are not yet part of a flush. */
  #waiting = 0;
  #task: Promise<void> | undefined;
  #error: unknown;
  /** Aborted to end the wait before a flush. */
  #hurry: AbortController | undefined;
  #isEnding = false;

  constructor(output: Pick<Output, 'flush' | 'waiting'>, clock: Clock, phase: RunPhase, onWritten: (records: number) => void) {
    this.#output = output;
    this.#clock = clock;
    this.#phase = phase;
    this.#onWritten = onWritten;
  }

  /** Counts one more record in the output. Does nothing after an error, because the output would have a gap. */
  add(): void {
    if (this.#error !== undefined) return;
    this.#waiting++;
    this.#task ??= this.#write(false);
    if (this.#isEnough()) this.#endWait();
  }

  /** Throws if this flush or an earlier one failed. */
  async end(): Promise<void> {
    this.#isEnding = true;
    this.#endWait();
    await this.#task;
    if (this.#error === undefined) await this.#write(true);
    if (this.#error !== undefined) throw this.#error;
  }

  #endWait(): void {
    this.#hurry?.abort();
    this.#hurry = undefined;
  }

  async #write(isLast: boolean): Promise<void> {
    try {
      do {
        if (!isLast) await this.#waitForMore();
        const records = this.#waiting;
        this.#waiting = 0;
        await this.#output.flush();
        this.#onWritten(records);
      } while (this.#waiting > 0);
    } catch (reason) {
      this.#error ??= reason;
      this.#phase.advance('stopped');
    } finally {
      this.#task = undefined;
    }
  }

  async #waitForMore(): Promise<void> {
    if (this.#isEnding || this.#isEnough()) return;
    this.#hurry = new AbortController();
    await this.#clock.sleepUntil(this.#clock.now() + flushAfter.ms, this.#hurry.signal);
    this.#hurry = undefined;
  }

  #isEnough(): boolean {
    return this.#waiting >= flushAfter.records || this.#output.waiting >= flushAfter.characters;
  }
}
