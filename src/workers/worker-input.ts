import { Wakeup } from '../engine/phase.ts';
import type { UnitItem } from './processes/wire-form.ts';

/** Collects the units (groups of records) that a worker takes, and yields their records as the input of a run. */
export class WorkerInput {
  readonly #waiting: (readonly UnitItem[])[] = [];
  readonly #more = new Wakeup();
  #hasEnded = false;

  add(items: readonly UnitItem[]): void {
    this.#waiting.push(items);
    this.#more.wake();
  }

  /** Ends the input. No more records can be added after that. */
  end(): void {
    this.#hasEnded = true;
    this.#more.wake();
  }

  /** Yields the records, one unit at a time. An empty list means that no record is available at the moment. */
  async *read(): AsyncGenerator<readonly UnitItem[]> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next) yield next;
      else if (this.#hasEnded) return;
      else {
        yield [];
        if (this.#waiting.length === 0 && !this.#hasEnded) await this.#more.wait();
      }
    }
  }
}
