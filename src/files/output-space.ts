/** The purpose of disk space. Temporary files have no name, so only this count knows them. */
export type SpaceUse = 'output' | 'temporary' | 'saved';

/** The disk space that a run may use. Undefined wherever the space of a run is not limited. */
export interface OutputSpace {
  /** Counts bytes before they are written. Rejects with an AutomateError (`output`) if there is no space for them. */
  take(bytes: number, use: SpaceUse): Promise<void>;
  /** Ends the use of bytes in a temporary file. */
  free(bytes: number): void;
}
