import { Unfinished } from '../../core/failure.ts';
import type { OutputSpace, SpaceUse } from '../../files/output-space.ts';
import { statusOf } from '../problem.ts';
import type { DiskSpace } from './disk-space.ts';

/** The reason for the end of a run for which there is no more space. */
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
