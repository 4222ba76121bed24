import { Problem } from '../problem.ts';

/** Space on disk that is kept for a body under way. */
export interface Reservation {
  /** Keeps space for so many bytes in all. Rejects with a Problem (`disk-full`). */
  growTo(bytes: number): Promise<void>;
  /** Gives the space up: what was stored counts by itself. */
  release(): void;
}

/** The space of everything that the server stores for its callers. */
export class DiskSpace {
  /** Bytes of the stored runs, as they were last looked up. */
  stored = 0;
  #reserved = 0;
  #queue: Promise<unknown> = Promise.resolve();
  readonly #max: number;
  readonly #answers: () => number;
  readonly #freed: (fits: (stored: number) => boolean) => Promise<number>;

  /** `answers`: the bytes of stored answers. `freed`: looks the runs up, deletes ended ones until they fit, and returns the bytes of the others. */
  constructor(max: number, answers: () => number, freed: (fits: (stored: number) => boolean) => Promise<number>) {
    this.#max = max;
    this.#answers = answers;
    this.#freed = freed;
  }

  /** Keeps space for a body of so many bytes. `looksUp`: true if runs under way are looked up before. Rejects with a Problem (`disk-full`). */
  async reserve(bytes: number, looksUp: boolean): Promise<Reservation> {
    let own = 0;
    const grow = async (more: number, isLookedUp: boolean) => {
      if (isLookedUp || !this.#fits(this.stored, more)) await this.#inTurn(() => this.#makeRoom(more));
      else this.#reserved += more;
      own += more;
    };
    await grow(bytes, looksUp);
    return {
      growTo: async (to) => {
        if (to > own) await grow(to - own, false);
      },
      release: () => {
        this.#reserved -= own;
        own = 0;
      },
    };
  }

  /** One after another: what one has reserved, the next one counts. */
  #inTurn(act: () => Promise<void>): Promise<void> {
    const done = this.#queue.then(act);
    this.#queue = done.catch(() => undefined);
    return done;
  }

  async #makeRoom(bytes: number): Promise<void> {
    this.stored = await this.#freed((stored) => this.#fits(stored, bytes));
    if (!this.#fits(this.stored, bytes)) throw new Problem('disk-full', 'runs and answers take all the space that they may (--max-disk)');
    this.#reserved += bytes;
  }

  #fits(stored: number, more: number): boolean {
    return stored + this.#reserved + this.#answers() + more <= this.#max;
  }
}
