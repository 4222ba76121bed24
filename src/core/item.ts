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
}

/** What came of a record: its output records, or why it failed. */
export type Outcome = { readonly rows: readonly Fields[] } | { readonly failure: Failure };
