import { AutomateError } from '../../core/failure.ts';
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
  readonly #used: Record<SpaceUse, number> = { output: 0, temporary: 0, saved: 0 };
  #isFull = false;
  #refused = 0;

  /** `full` is called once, when there is no space left. */
  constructor(disk: DiskSpace, full: () => void) {
    this.#disk = disk;
    this.#full = full;
  }

  /** True if there was no space left for something that this part of the run wrote. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Number of bytes for which there was no space. The ended run counts them, so that no new upload takes the space that it needs. */
  get refused(): number {
    return this.#refused;
  }

  /** Size in bytes of the files that this part of the run has saved, in the folder for files. */
  get saved(): number {
    return this.#used.saved;
  }

  /** Size in bytes of everything that this part of the run has written outside of the run's folder. */
  get outside(): number {
    return this.#used.saved + this.#used.temporary;
  }

  async take(bytes: number, use: SpaceUse): Promise<void> {
    const room = await this.#disk.take(bytes, !this.#isFull);
    // A temporary file frees all bytes that it has asked for.
    if (room !== 'over' || use === 'temporary') this.#used[use] += bytes;
    if (room === 'fits') return;
    if (!this.#isFull) {
      this.#isFull = true;
      this.#full();
    }
    if (room !== 'over') return;
    this.#refused += bytes;
    throw new AutomateError('output', diskFullReason);
  }

  free(bytes: number): void {
    this.#used.temporary -= bytes;
    this.#disk.free(bytes);
  }
}
