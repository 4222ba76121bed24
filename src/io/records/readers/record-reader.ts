import type { AutomateError } from '../../../core/failure.ts';
import type { Item } from '../../../core/item.ts';
import { inputError } from './input-error.ts';

/** A place just behind a record, from which reading can go on. */
export interface Position {
  /** In bytes of the text: unzipped, as UTF-8, a byte order mark counted. In a plain UTF-8 file that is the file's offset. */
  readonly offset: number;
  /** The number of lines before it. */
  readonly line: number;
  /** The number of records before it. */
  readonly records: number;
}

/** Where every input starts. */
export const beginning: Position = { offset: 0, line: 0, records: 0 };

/** Turns chunks of UTF-8 into records. Throws an AutomateError (`input`) where the text cannot be read any further. */
export interface RecordReader {
  /** All cells of the header; absent while it was not yet read, and in formats that have none. */
  header(): readonly string[] | undefined;
  /** The records that end in this chunk, or ended too near the end of the last one to be seen there. */
  write(chunk: Buffer): Promise<Item[]>;
  /** The records that only the end of the input ended. */
  end(): Promise<Item[]>;
  /** Why the text cannot be read any further, found behind records that `write` answered: it throws it the next time. Absent where it always throws at once. */
  fault?(): AutomateError | undefined;
}

/** Memory is bounded by the largest record, so that has to be bounded too. A text of 512 MB is more than Node can hold. */
export const maxRecordBytes = 256 * 1024 * 1024;

/** A record has grown beyond `maxRecordBytes`. `line` is where it starts. */
export function tooLong(name: string, line: number, hint: string): AutomateError {
  return inputError(`${name}:${line}`, `expected a record of at most 256 MB, found a longer one\n${hint}`);
}
