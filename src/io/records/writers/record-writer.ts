import type { Failure } from '../../../core/failure.ts';
import type { Fields } from '../../../core/record.ts';

/** Turns records into text: begin, any number of writes, end. A file that was cut behind a record goes on with a write. */
export interface RecordWriter {
  begin(): string;
  /** What stands in front of a record but the first. */
  readonly between: string;
  /** `isFirst`: there is no record before these. */
  write(rows: readonly Fields[], isFirst: boolean): string;
  end(anyWritten: boolean): string;
  /** Why the output cannot hold the record; absent when it can. */
  refusal(fields: Fields): Failure | undefined;
}
