import type { InputHint } from '../../../core/error-code.ts';
import { AutomateError } from '../../../core/failure.ts';
import type { Item } from '../../../core/item.ts';
import { formatCount } from '../../../core/text/number.ts';

/** A place right after a record, from which reading can resume. */
export interface Position {
  /** In bytes of the text: unzipped, as UTF-8, including a byte order mark. In a plain UTF-8 file it is the file's offset. */
  readonly offset: number;
  /** The number of lines before it. */
  readonly line: number;
  /** The number of records before it. */
  readonly records: number;
  /** The 0-based index of its file; absent for a single input. */
  readonly file?: number;
}

/** The start of every input. */
export const beginning: Position = { offset: 0, line: 0, records: 0 };

/** Turns chunks of UTF-8 into records. Throws an AutomateError (`input`) if the rest of the text cannot be read. */
export interface RecordReader {
  /** All cells of the header; absent before it was read. Formats without a header lack the method. */
  header?(): readonly string[] | undefined;
  /** The records that this chunk completes. */
  write(chunk: Buffer): Promise<Item[]>;
  /** The records that only the end of the input completes. */
  end(): Promise<Item[]>;
  /** The error that the next call throws: `write` found it after the records that it returned. Absent in readers that always throw at once. */
  fault?(): AutomateError | undefined;
}

/** The largest record: memory use depends on it. A text of 512 MB is more than Node can hold. */
export const maxRecordBytes = 256 * 1024 * 1024;

/** The longest header of a table, in bytes, and the longest name of a field, in characters. */
export const maxHeaderBytes = 1024 * 1024;
const maxNameLength = 1000;

/** The error for a field name above `maxNameLength`; absent if there is none. */
export function longNameError(names: readonly string[], input: string, line?: number): AutomateError | undefined {
  const index = names.findIndex((name) => name.length > maxNameLength);
  if (index === -1) return undefined;
  const name = names[index] as string;
  const found = `found one of ${formatCount(name.length)} for field ${index + 1} ("${name.slice(0, 60).toWellFormed()}...")`;
  return inputError(
    input,
    `expected names of at most ${formatCount(maxNameLength)} characters, ${found}`,
    line === undefined ? {} : { line },
  );
}

/** The error for a record above `maxRecordBytes` that starts on `line`. */
export function tooLong(name: string, line: number, advice: string, hint?: InputHint): AutomateError {
  const message = 'expected a record of at most 256 MB, found a longer one';
  return inputError(name, advice === '' ? message : `${message}\n${advice}`, { line, hint });
}

/** The place of a fault of an input, counted from 1, its likely reason and its cause. */
interface InputFault {
  readonly line?: number;
  readonly column?: number | undefined;
  readonly hint?: InputHint | undefined;
  /** The path of the list of records in an object. */
  readonly records?: string;
  readonly cause?: unknown;
}

/** The error for an input that cannot be read any further. */
export function inputError(name: string, message: string, { line, column, hint, records, cause }: InputFault = {}): AutomateError {
  const place = [name, line, column].filter((part) => part !== undefined).join(':');
  return new AutomateError('input', `${place}: ${message}`, { code: 'input-unreadable', details: { line, hint, records }, cause });
}
