import { Wakeup } from '../engine/phase.ts';
import type { UnitItem } from './processes/wire-form.ts';

export class WorkerInput {
  readonly #waiting: (readonly UnitItem[])[] = [];
  readonly #more = new Wakeup();
  #hasEnded = false;

  add(items: readonly UnitItem[]): void {
    this.#waiting.push(items);
    this.#more.wake();
  }

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
