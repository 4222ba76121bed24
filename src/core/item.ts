import type { Failure } from './failure.ts';
import type { Fields } from './record.ts';

/** A record on its way through the chain. */
export interface Item {
  /** 1-based place in the input. */
  readonly number: number;
  /** The fields as they were read. */
  readonly fields: Fields;
  /** The place just behind it: bytes and lines of the text before that place. */
  readonly end: { readonly offset: number; readonly line: number };
  /** Why the record could not even be read; such a record goes to the errors file without passing a node. */
  readonly failure?: Failure;
  /** Its output records, where an earlier part of the run has brought it to its end. */
  readonly earlier?: EndedPart;
}

/** Output records of one record that were gathered outside of memory where they are many. */
export interface EndedPart {
  /** How many there are so far. */
  readonly rows: number;
  /** Forgets them: the record has not come to its end. */
  drop(): void;
}

/** Output records of one record that come before it is done, such as those of its pages. When they are many, they wait outside of memory. */
export interface Part extends EndedPart {
  /** Takes some more. Throws a Failure (`output`) for a record that the output cannot hold. */
  add(rows: readonly Fields[]): Promise<void>;
}

/** What came of a record: its output records, at once or in parts, or why it failed. */
export type Outcome = Success | { readonly failure: Failure };

/** The output records of a record, at once or in parts. */
export type Success = { readonly rows: readonly Fields[] } | { readonly part: EndedPart };
