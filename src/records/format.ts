import type { InputHint } from '../core/error-code.ts';
import type { Failure } from '../core/failure.ts';
import type { Item } from '../core/item.ts';
import type { Fields } from '../core/record.ts';
import type { CellForm } from './cell-form.ts';
import type { HeaderPlace } from './header.ts';
import type { Input } from './input.ts';
import type { Position, RecordReader, TableHeader } from './record-reader.ts';

/** A format of records, and everything that is different about it. `formats.ts` lists all of them. */
export interface RecordFormat {
  /** Names in options, and extensions of files. The first one is written. */
  readonly names: readonly [string, ...string[]];
  readonly mediaTypes: readonly [string, ...string[]];
  /** A table: a header with columns, and cells that are text. */
  readonly hasHeader: boolean;
  /** Undefined for other formats than tables of text. */
  readonly delimiter?: string;
  /** Files of the format often have another delimiter, which is recognized. */
  readonly hasOtherDelimiters?: boolean;
  /** Options of an input that only some formats have. */
  readonly takes: readonly FormatOption[];
  /** True if stdin that begins with these characters has the format. The first character is not whitespace. */
  isBegunBy?(characters: string): boolean;
  /** The four bytes with which an archive begins, in Latin-1. */
  readonly firstBytes?: string;
  /** The way in which text is read; undefined for a format whose files are archives, which are read whole and cannot be continued. */
  readonly text?: TextFormat;
  openArchive?(input: Input, options: ArchiveOptions): Promise<OpenArchive>;
  /** `columns` are those of the output, and empty if there are no records. */
  writer(columns: readonly string[], options: WriterOptions): RecordWriter;
}

export type FormatOption = 'delimiter' | 'encoding' | 'records' | 'sheet' | 'headerLine' | 'noHeader' | 'ragged' | 'escape' | 'trim';

/** A format whose rows are text: it can have any encoding, be compressed with gzip, and be continued after any row. */
export interface TextFormat {
  /** The code of the reader is loaded when it is used. */
  reader(input: TextInput): Promise<(from: Position, header?: TableHeader) => RecordReader>;
  /** Reads rows that the writer has written, in which `columns` are those of the header. */
  rows(text: string, columns: readonly string[]): Fields[];
  /** The columns in the text before the first row; undefined if there is no header. */
  columns(header: string): readonly string[] | undefined;
}

export interface TableForm extends HeaderPlace, Omit<CellForm, 'delimiter'> {
  /** Rows can have fewer cells than the header, and more cells if those are empty. */
  readonly ragged?: boolean;
}

export interface TextInput extends TableForm, CellForm {
  /** For messages. */
  readonly name: string;
  /** Lead to the list of records in a JSON object; empty if the object's values are the records; undefined if the whole text is a list. */
  readonly records: readonly string[] | undefined;
  /** Warns of a likely mistake in the text. `hint` is a code for the remedy. */
  warn(line: number, message: string, hint?: InputHint): void;
}

interface ArchiveOptions extends HeaderPlace {
  /** Undefined for the first visible sheet. */
  readonly sheet?: string;
  readonly from?: Position;
}

/** Has the same members as a RecordSource. */
export interface OpenArchive {
  readonly columns: readonly string[];
  readonly givenNames: readonly string[];
  read(): AsyncGenerator<readonly Item[]>;
  readonly totalBytes: number | undefined;
  readBytes(): number;
  close(): Promise<void>;
}

export interface WriterOptions {
  /** True to put a `'` before text that a spreadsheet would run as a formula. */
  readonly csvSafe?: boolean;
  /** True to begin with a byte order mark. */
  readonly bom?: boolean;
  /** The input is a table, so its numbers are strings. */
  readonly hasTextCells?: boolean;
}

/** A file is `begin`, `write` (any number of times), then `end`. If it ends after a row, `write` and `end` can continue it. */
export interface RecordWriter {
  begin(): string;
  /** Separates a row from the row before it. */
  readonly between: string;
  /** `isFirst`: the rows are the first in the file. */
  write(rows: readonly Fields[], isFirst: boolean): string;
  end(anyWritten: boolean): string;
  /** The failure of a row that the format cannot represent. */
  misfit(fields: Fields): Failure | undefined;
}
