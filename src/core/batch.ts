import type { MakeCall } from './call.ts';
import type { Failure, Unfinished } from './failure.ts';
import type { Fields } from './record.ts';

/** What an entry is found by in an answer, and what it asks for there. */
export interface Twin {
  readonly key: string;
  readonly mark: string;
}

/** How a node asks for many records with one call. */
export interface Batch<Entry, Result> {
  /** Only records with the same key share a call. */
  readonly key: string;
  /** Maximum of records in one call. */
  readonly size: number;
  /** Maximum of the sum of `bytesOf` in one call. */
  readonly maxBytes: number;
  bytesOf(entry: Entry): number;
  /** Entries with the same key and another mark must not share a call; absent where one may share with all. */
  twinOf(entry: Entry): Twin | undefined;
  /** Sends entries; answers one result for each, in their order. Throws what failed all of them. */
  send(entries: readonly Entry[], call: MakeCall): Promise<readonly (Result | Failure | Unfinished)[]>;
}

/** Which records can share a call. */
export interface Sharing {
  /** The same for records that can. */
  key(fields: Fields): string;
  /** Absent where all with the same key can. */
  readonly twinOf: ((fields: Fields) => Twin) | undefined;
  /** Absent where a call holds records of any size. */
  readonly roomOf: ((fields: Fields) => Room) | undefined;
}

/** How much of a call a record takes, of how much there is: the same for all that can share it. */
export interface Room {
  readonly takes: number;
  readonly of: number;
}
