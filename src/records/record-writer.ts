import type { Failure } from '../core/failure.ts';
import type { Fields } from '../core/record.ts';

/**
 * Converts rows to the text of a file. The text consists of the results of `begin`, then `write` (any number of calls), then `end`. If a
 * file ends after a row, it can be continued with `write` and `end`.
 */
export interface RecordWriter {
  begin(): string;
  /** The text that separates a row from the row before it. */
  readonly between: string;
  /** Returns rows as text. `isFirst` is true if they are the first rows in the file. */
  write(rows: readonly Fields[], isFirst: boolean): string;
  end(anyWritten: boolean): string;
  /** Returns the failure of a row that the format cannot represent; undefined if it can. */
  misfit(fields: Fields): Failure | undefined;
}
