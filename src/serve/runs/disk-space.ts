import { Unfinished } from '../../core/failure.ts';
import type { OutputSpace, SpaceUse } from '../../files/folder.ts';
import { ProblemResponse, statusOf } from '../problem.ts';

/** Disk space that is reserved for a request body while it arrives. */
export interface Reservation {
  /** In bytes. Rejects with a Problem (`disk-full`) if there is not enough space. */
  growTo(bytes: number): Promise<void>;
  /** Ends the reservation. Data that was stored in the meantime is counted separately. */
  release(): void;
}

/** Share of the maximum by which runs may exceed it while they end, before they give up records whose pages still arrive. */
const tolerance = 0.05;

/** Limits the disk space for everything that the server stores for its clients. */
export class DiskSpace {
  readonly #max: number;
  readonly #answers: () => number;
  readonly #freed: (fits: (stored: number) => boolean) => Promise<number>;
  /** Size in bytes of the stored runs when it was last determined. */
  stored = 0;
  #reserved = 0;
  #queue: Promise<unknown> = Promise.resolve();

  /**
   * `answers` returns the size in bytes of the stored responses. `freed` determines the size of the runs, deletes ended runs until the rest
   * fits, and returns the size of the rest.
   */
  constructor(max: number, answers: () => number, freed: (fits: (stored: number) => boolean) => Promise<number>) {
    this.#max = max;
    this.#answers = answers;
    this.#freed = freed;
  }

  /** `looksUp` first determines the current size of the runs. Rejects with a Problem (`disk-full`). */
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

  /**
   * Counts bytes that a run is about to write. With `makesRoom`, first deletes ended runs if the bytes do not fit. Returns `full` if there
   * is not enough space, so the run must end, and `over` if it must also give up records whose pages still arrive.
   */
  async take(bytes: number, makesRoom: boolean): Promise<'fits' | 'full' | 'over'> {
    if (makesRoom && !this.#fits(this.stored, bytes)) await this.#inTurn(() => this.#lookUp(bytes));
    this.stored += bytes;
    if (this.#fits(this.stored, 0)) return 'fits';
    return this.#fits(this.stored, -tolerance * this.#max) ? 'full' : 'over';
  }

  free(bytes: number): void {
    this.stored -= bytes;
  }

  /** Runs `act` after earlier calls of this function have finished, so that `act` counts the space that they have reserved. */
  #inTurn(act: () => Promise<void>): Promise<void> {
    const done = this.#queue.then(act);
    this.#queue = done.catch(() => undefined);
    return done;
  }

  async #makeRoom(bytes: number): Promise<void> {
    await this.#lookUp(bytes);
    if (!this.#fits(this.stored, bytes))
      throw new ProblemResponse('disk-full', 'runs and stored answers have used up their disk space (--max-disk)');
    this.#reserved += bytes;
  }

  async #lookUp(bytes: number): Promise<void> {
    this.stored = await this.#freed((stored) => this.#fits(stored, bytes));
  }

  #fits(stored: number, more: number): boolean {
    return stored + this.#reserved + this.#answers() + more <= this.#max;
  }
}

export const diskFullReason = `${statusOf('disk-full')}: the runs have used up their disk space (--max-disk)
delete runs that are no longer needed, or start the server with a larger --max-disk, then resume this run`;

/** The disk space of a part of a run. It counts what the run writes, and ends the run when the space of all runs is used up. */
export class RunSpace implements OutputSpace {
  readonly #disk: DiskSpace;
  readonly #full: () => void;
  readonly #used: Record<SpaceUse, number> = { output: 0, temporary: 0, unfinished: 0, saved: 0 };
  #isFull = false;

  /** `full` is called once, when there is no space left. */
  constructor(disk: DiskSpace, full: () => void) {
    this.#disk = disk;
    this.#full = full;
  }

  /** Size in bytes of the files that this part of the run has saved, in the folder for files. */
  get saved(): number {
    return this.#used.saved;
  }

  /** Size in bytes of everything that this part of the run has written outside of the run's folder. */
  get outside(): number {
    return this.#used.saved + this.#used.temporary + this.#used.unfinished;
  }

  async take(bytes: number, use: SpaceUse): Promise<void> {
    const room = await this.#disk.take(bytes, !this.#isFull);
    this.#used[use] += bytes;
    if (room === 'fits') return;
    if (!this.#isFull) {
      this.#isFull = true;
      this.#full();
    }
    // Everything else is written even now: a resumed run would send the requests for it again. But a record may have any number of pages.
    if (room === 'over' && use === 'unfinished') throw new Unfinished();
  }

  free(bytes: number): void {
    this.#used.temporary -= bytes;
    this.#disk.free(bytes);
  }
}
