/**
 * The purpose of disk space. `temporary` and `unfinished` are in temporary files, which have no name, so only this count knows them.
 * `unfinished` are the rows of a record whose requests have not all been answered.
 */
export type SpaceUse = 'output' | 'temporary' | 'unfinished' | 'saved';

/** The disk space that a run may use. Undefined wherever the space of a run is not limited. */
export interface OutputSpace {
  /** Counts bytes before they are written. Rejects with Unfinished if an unfinished record has to be given up. */
  take(bytes: number, use: SpaceUse): Promise<void>;
  /** Ends the use of bytes in a temporary file. */
  free(bytes: number): void;
}
