import type { Failure } from './failure.ts';
import type { Fields } from './record.ts';

export interface Item {
  /** 1-based. For a retried record, it is the number in the input of the run in which the record failed. */
  readonly number: number;
  readonly fields: Fields;
  readonly end: TextPosition;
  /** The 1-based position in the errors file of a retry. For other inputs, `number` is the position. */
  readonly place?: number;
  /** The record number that the errors file states for a retried record; undefined for other inputs. */
  readonly failedAs?: number;
  /** Set if the record could not be read. The record then goes to the errors file, and no node processes it. */
  readonly failure?: Failure;
  /** The rows of the record, if an earlier run finished the record but did not write it yet (parked it). */
  readonly parked?: SpilledRows | RowsText;
  /** Set if the record has not changed since an earlier run: its entry in the output's memory file. `parked` then contains its rows. */
  readonly unchanged?: object;
}

/** A position in the text of an input, as the number of bytes and lines before it. */
export interface TextPosition {
  readonly offset: number;
  readonly line: number;
  /** The 0-based index of the input file; undefined if there is only one. */
  readonly file?: number;
}

/** 1-based, in the file that is being read. */
export function placeOf({ place, number }: Pick<Item, 'place' | 'number'>): number {
  return place ?? number;
}

/** The rows of one record, which are held back until the record ends. If there are many rows, they are kept on disk in the meantime. */
export interface SpilledRows {
  readonly rows: number;
  /** The first row, which a pilot shows. */
  readonly first?: Fields;
  /** Discards the rows, and their file if there is one. */
  drop(): void;
}

/** The rows so far of an unfinished record, such as the rows of its first pages. */
export interface PartialRows extends SpilledRows {
  /** Adds rows. Throws a Failure (`output`) if the output cannot contain a row. */
  add(rows: readonly Fields[]): Promise<void>;
}

/** Partial rows that stay in memory. */
export class HeldRows implements PartialRows {
  readonly held: Fields[] = [];

  get rows(): number {
    return this.held.length;
  }

  async add(rows: readonly Fields[]): Promise<void> {
    for (const row of rows) this.held.push(row);
  }

  drop(): void {
    this.held.length = 0;
  }
}

/** Every secret is masked. The text begins with the separator between these rows and the previous record's rows. */
export interface RowsText {
  readonly rows: number;
  readonly text: string;
}

export type Outcome = Success | { readonly failure: Failure };

export type Success = { readonly rows: readonly Fields[] } | { readonly spilled: SpilledRows } | { readonly rendered: RowsText };
