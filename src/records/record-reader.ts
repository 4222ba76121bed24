import type { InputHint } from '../core/error-code.ts';
import { AutomateError } from '../core/failure.ts';
import type { Item } from '../core/item.ts';
import { formatCount } from '../core/text/number.ts';

/** A position right after a record, from which reading can resume. */
export interface Position {
  /** In bytes of decompressed UTF-8 text with its byte order mark. For an uncompressed UTF-8 file, it is also the offset in the file. */
  readonly offset: number;
  /** Number of lines before this position. */
  readonly line: number;
  /** Number of records before this position. */
  readonly records: number;
  /** 0-based index of the file; undefined for a single file. */
  readonly file?: number;
}

export const beginning: Position = { offset: 0, line: 0, records: 0 };

/** The names of a table's columns, without empty ones at the end of the header row. */
export interface TableHeader {
  readonly names: readonly string[];
  /** Names that were given to columns because the header row has none for them. */
  readonly given: readonly string[];
  /** Number of cells in the header row. A row can have as many cells if those without a name are empty. */
  readonly width: number;
  /** Leaves out the columns that an errors file adds. */
  readonly columns: readonly Column[];
}

interface Column {
  readonly name: string;
  /** 0-based. */
  readonly index: number;
}

/** Every method throws an AutomateError (`input`) if the rest of the text cannot be read. */
export interface RecordReader {
  /** Undefined until it has been read. Missing for formats without a header. */
  header?(): TableHeader | undefined;
  /** The position after the header row; undefined until it has been read, or if there is none. */
  headerEnd?(): Pick<Position, 'offset' | 'line'> | undefined;
  /** Returns the records that are completed by this chunk. */
  write(chunk: Buffer): Promise<Item[]>;
  /** Returns the last record if it was not complete until the text ended. */
  end(): Promise<Item[]>;
  /**
   * Returns the names of the fields of a record that is complete, although its end has not been read: a last line does not need a line
   * break. Readers that know every record's end do not have this method.
   */
  openFields?(): readonly string[];
  /** The error after the returned records, which the next call of `write` throws. Missing for readers that throw all errors at once. */
  fault?(): AutomateError | undefined;
}

/** Limits memory use. Node cannot create a string of 512 MB or more. */
export const maxRecordBytes = 256 * 1024 * 1024;

/** `maxNameLength` is the maximum length of a field name in characters. */
export const maxHeaderBytes = 1024 * 1024;
const maxNameLength = 1000;

/** For the first field name that is longer than `maxNameLength`. */
export function longNameError(names: readonly string[], input: string, line?: number): AutomateError | undefined {
  const index = names.findIndex((name) => name.length > maxNameLength);
  if (index === -1) return undefined;
  const name = names[index] as string;
  const found = `found one of ${formatCount(name.length)} for field ${index + 1} ("${name.slice(0, 60).toWellFormed()}...")`;
  return inputError(input, `expected names of at most ${formatCount(maxNameLength)} characters, ${found}`, { line });
}

/** For a record of more than `maxRecordBytes`, which starts on `line`. */
export function tooLong(name: string, line: number, advice: string, hint?: InputHint): AutomateError {
  const message = 'expected a record of at most 256 MB, found a longer one';
  return inputError(name, advice === '' ? message : `${message}\n${advice}`, { line, hint });
}

/** Line and column are 1-based. `hint` is a code for the likely reason. */
export interface InputFault {
  readonly line?: number;
  readonly column?: number;
  readonly hint?: InputHint;
  /** Path of a list of records that was found inside an object in the file. */
  readonly records?: string;
  readonly cause?: unknown;
}

/** For an input that cannot be read from a certain position on. */
export function inputError(name: string, message: string, { line, column, hint, records, cause }: InputFault = {}): AutomateError {
  const place = [name, line, column].filter((part) => part !== undefined).join(':');
  return new AutomateError('input', `${place}: ${message}`, { code: 'input-unreadable', details: { line, hint, records }, cause });
}
