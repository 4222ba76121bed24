import type { Failure } from './failure.ts';
import type { Fields } from './record.ts';

/** A record on its way through the chain. */
export interface Item {
  /** 1-based place in the input. For a retried record, the place in the input of the run in which it failed. */
  readonly number: number;
  /** The fields as they were read. */
  readonly fields: Fields;
  /** The place right after the record. */
  readonly end: Place;
  /** 1-based place in the errors file that a retry reads; undefined for other inputs, in which `number` is the place. */
  readonly place?: number;
  /** The number that an errors file gives the record; undefined for other inputs. */
  readonly failedAs?: number;
  /** Set for a record that could not be read: it goes to the errors file and passes no node. */
  readonly failure?: Failure;
  /** Its rows, if an earlier run finished the record and parked it. */
  readonly parked?: SpilledRows | RowsText;
  /** Set for a record that has not changed since an earlier run, whose rows are `parked`: its entry in the memory of the output. */
  readonly unchanged?: object;
}

/** A place in the text of an input: the bytes and lines before it. */
export interface Place {
  readonly offset: number;
  readonly line: number;
  /** The 0-based index of the file; absent for a single input. */
  readonly file?: number;
}

/** The 1-based place of a record in the file that is read. */
export function placeOf({ place, number }: Pick<Item, 'place' | 'number'>): number {
  return place ?? number;
}

/** Rows of one record that wait until the record ends. Many rows wait on disk. */
export interface SpilledRows {
  /** The number of rows so far. */
  readonly rows: number;
  /** Discards the rows. */
  drop(): void;
}

/** Rows of a record that is not finished, such as those of its first pages. */
export interface PartialRows extends SpilledRows {
  /** Adds rows. Throws a Failure (`output`) for a row that the output cannot hold. */
  add(rows: readonly Fields[]): Promise<void>;
}

/** Rows of one record as text of the output, with every secret masked. The text begins with what separates it from earlier rows. */
export interface RowsText {
  readonly rows: number;
  readonly text: string;
}

/** The result of a record: its rows, or its failure. */
export type Outcome = Success | { readonly failure: Failure };

/** The rows of a finished record: in memory, spilled, or rendered. */
export type Success = { readonly rows: readonly Fields[] } | { readonly spilled: SpilledRows } | { readonly rendered: RowsText };
