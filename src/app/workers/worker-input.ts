import { Wakeup } from '../../engine/phase.ts';
import type { UnitItem } from '../../io/workers/wire-form.ts';

/** The records that a worker gets, as the input of its run. */
export class WorkerInput {
  readonly #waiting: (readonly UnitItem[])[] = [];
  readonly #more = new Wakeup();
  #hasEnded = false;

  add(items: readonly UnitItem[]): void {
    this.#waiting.push(items);
    this.#more.wake();
  }

  /** No more records come. */
  end(): void {
    this.#hasEnded = true;
    this.#more.wake();
  }

  /** The records, a unit at a time. An empty list says that no more come for now. */
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
