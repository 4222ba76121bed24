import type { Failure } from '../../../core/failure.ts';
import type { Fields } from '../../../core/record.ts';

/** Turns rows into text: `begin`, any number of `write`s, `end`. A file that ends after a row continues with a `write`. */
export interface RecordWriter {
  begin(): string;
  /** The text before every row but the first. */
  readonly between: string;
  /** `isFirst`: these are the first rows of the file. */
  write(rows: readonly Fields[], isFirst: boolean): string;
  end(anyWritten: boolean): string;
  /** The failure of a row that the output cannot hold; absent if it can. */
  misfit(fields: Fields): Failure | undefined;
}
