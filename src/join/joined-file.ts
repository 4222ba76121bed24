import { stat } from 'node:fs/promises';
import { detailsOf, type InputHint } from '../core/error-code.ts';
import { AutomateError, errorOf } from '../core/failure.ts';
import type { JoinedFile, SharedRows } from '../core/node.ts';
import type { Fields } from '../core/record.ts';
import { jsonOf, textOf, type Value } from '../core/value/value.ts';
import { readError } from '../records/input.ts';
import { inputError } from '../records/record-reader.ts';
import { openSource, type SourceOptions } from '../records/source.ts';
import { DiskRows, DiskRowsWriter, MemoryRows, type Rows } from './rows.ts';

type Ignored = 'case' | 'accents';

type Reading = Pick<SourceOptions, 'path' | 'delimiter' | 'encoding' | 'records' | 'sheet' | 'headerLine'>;

/** The parts of a joined file that a flow uses, and the settings with which the file is read. */
export interface JoinOptions {
  /** The path as it is written in the flow. */
  readonly name: string;
  readonly reading: Reading;
  /** Columns that are compared with the record's fields, and those fields in the same order. */
  readonly keyColumns: readonly string[];
  readonly keyFields: readonly string[];
  readonly ignore: ReadonlySet<Ignored>;
  readonly columns: readonly string[];
  /** The fields that get the values of the columns, in the same order. */
  readonly fields: readonly string[];
  /** Maximum number of rows of a key that are needed. */
  readonly most: number;
}

/**
 * The columns of a file; undefined if it has no records, and records of its format have no common columns. Or the reason why it cannot be
 * read.
 */
export type JoinedHead =
  | { readonly columns: readonly string[] | undefined; readonly textCells: boolean }
  | { readonly error: AutomateError };

/** `wanted` are the names to look for: the records of JSON are read until all have occurred. */
export async function readJoinedHead(reading: Reading, wanted: readonly string[]): Promise<JoinedHead> {
  try {
    const source = await opened(reading);
    try {
      if (source.header) return { columns: source.header, textCells: true };
      const names = new Set<string>();
      let isEmpty = true;
      for await (const items of source.read()) {
        for (const { fields } of items) for (const name of fields.keys()) names.add(name);
        isEmpty &&= items.length === 0;
        if (wanted.every((name) => names.has(name))) break;
      }
      return { columns: isEmpty ? undefined : [...names], textCells: false };
    } finally {
      await source.close();
    }
  } catch (error) {
    return { error: withOwnAdvice(error) as AutomateError };
  }
}

/** The remedies for a joined file are options of its node. */
const hints: { readonly [Hint in InputHint]?: string } = {
  'other-encoding': 'if it has a different encoding, add to the node: encoding: latin1',
  'not-this-encoding': 'give its encoding at the node, such as encoding: latin1',
  'utf-8': 'leave out encoding',
  'utf-16': 'add to the node: encoding: utf-16',
  gzip: 'rename the file to .csv.gz or .json.gz',
  ndjson: 'if each line is an object, rename the file to .ndjson',
  json: 'if the file is one JSON array, rename it to .json',
  csv: 'if it is text, rename it to .csv',
  xlsx: 'rename the file to .xlsx',
  'other-header': 'if the header is in another line, add to the node: header_line: 4',
};

/** An error without a code gets no advice about options of the command line, which are about the input. */
function withOwnAdvice(error: unknown): unknown {
  const details = error instanceof AutomateError ? detailsOf(error, 'input-unreadable') : undefined;
  if (!details) return error;
  const { hint, records } = details;
  const advice = records === undefined ? hint && hints[hint] : `add to the node: records: ${records}`;
  return new AutomateError('input', `${(error as Error).message}${advice === undefined ? '' : `\n${advice}`}`);
}

function opened(reading: Reading) {
  return openSource({ ...reading, stdin: process.stdin });
}

/** Reads a file's rows when a run begins, or when the first single record needs them. */
export class JoinedRows implements JoinedFile {
  readonly name: string;
  readonly path: string;
  readonly fields: readonly string[];
  readonly keys: readonly string[];
  readonly #options: JoinOptions;
  readonly #given: SharedRows | undefined;
  #rows: Rows | undefined;
  #coming: Promise<Rows> | undefined;
  #database: string | undefined;
  /** The size and modification time of the file whose rows are in memory. */
  #version = '';
  #users = 0;

  /** `given`: the rows that another process has read. */
  constructor(options: JoinOptions, given: SharedRows | undefined) {
    this.#options = options;
    this.#given = given;
    this.name = options.name;
    this.path = options.reading.path;
    this.fields = options.fields;
    this.keys = options.keyFields;
  }

  /** The rows; undefined until they are read, or unless a run has opened the file. */
  get ready(): Rows | undefined {
    return this.#users > 0 ? this.#rows : undefined;
  }

  async open({ shared }: { readonly shared: boolean }): Promise<void> {
    this.#users++;
    try {
      await this.#read(shared);
    } catch (error) {
      this.#users--;
      throw error;
    }
  }

  close(): void {
    if (this.#users > 0 && --this.#users > 0) return;
    this.#forget();
  }

  shared(): SharedRows | undefined {
    return this.#database === undefined ? undefined : { database: this.#database };
  }

  /** For single records outside a run. A changed file is read again. */
  async current(): Promise<Rows> {
    if (!this.#given && this.#users === 0 && this.#version !== (await versionOf(this.path))) this.#forget();
    return this.#read(false);
  }

  /** The key of a record or, with `of: 'row'`, of a row of the file. Undefined if a part of it is empty, and so never matches. */
  keyOf(fields: Fields, of: 'record' | 'row' = 'record'): string | undefined {
    const { keyFields, keyColumns, ignore } = this.#options;
    const names = of === 'record' ? keyFields : keyColumns;
    if (names.length === 1) return keyText(fields.get(names[0] as string), ignore);
    const parts = names.map((name) => keyText(fields.get(name), ignore));
    return parts.includes(undefined) ? undefined : JSON.stringify(parts);
  }

  async #read(shared: boolean): Promise<Rows> {
    if (this.#rows) return this.#rows;
    this.#coming ??= this.#given ? Promise.resolve(DiskRows.ofOther(this.#given.database)) : this.#readFile(shared);
    try {
      this.#rows = await this.#coming;
      return this.#rows;
    } finally {
      this.#coming = undefined;
    }
  }

  #forget(): void {
    this.#rows?.close();
    this.#rows = undefined;
    this.#database = undefined;
    this.#version = '';
  }

  async #readFile(shared: boolean): Promise<Rows> {
    const version = await versionOf(this.path);
    const reader = new RowsReader(this.path, this.#options.most, shared);
    try {
      const source = await opened(this.#options.reading);
      try {
        for await (const items of source.read()) {
          for (const { fields, failure, number } of items) {
            if (failure) throw inputError(this.path, `record ${number} cannot be read: ${failure.message}`);
            const key = this.keyOf(fields, 'row');
            if (key !== undefined) reader.add(key, this.#rowText(fields));
          }
        }
      } finally {
        await source.close();
      }
      const { rows, database } = reader.end();
      this.#database = database;
      this.#version = version;
      return rows;
    } catch (error) {
      reader.remove();
      throw withOwnAdvice(error);
    }
  }

  #rowText(fields: Fields): string {
    return `[${this.#options.columns.map((column) => jsonOf(fields.get(column) ?? null)).join(',')}]`;
  }
}

async function versionOf(path: string): Promise<string> {
  const { size, mtimeMs } = await stat(path).catch((error) => {
    throw readError(path, error);
  });
  return `${size} ${mtimeMs}`;
}

function keyText(value: Value | undefined, ignore: ReadonlySet<Ignored>): string | undefined {
  const text = textOf(value ?? null);
  if (text === '') return undefined;
  // In upper case, ß equals SS and both forms of a sigma are the same letter.
  const cased = ignore.has('case') ? text.toUpperCase() : text;
  return ignore.has('accents') ? withoutAccents(cased) : cased;
}

/** Letters with a stroke, which Unicode does not decompose. */
const strokes: Readonly<Record<string, string>> = { ø: 'o', Ø: 'O', ł: 'l', Ł: 'L', đ: 'd', Đ: 'D', ħ: 'h', Ħ: 'H', ŧ: 't', Ŧ: 'T' };

function withoutAccents(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: most keys are ASCII, which has no accents
  if (/^[\x00-\x7f]*$/.test(text)) return text;
  return text
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .replace(/[øØłŁđĐħĦŧŦ]/g, (letter) => strokes[letter] as string)
    .normalize('NFC');
}

/** Collects rows in memory, and moves them to disk if they become many. */
class RowsReader {
  readonly #path: string;
  readonly #most: number;
  readonly #shared: boolean;
  #memory: MemoryRows | undefined = new MemoryRows();
  #disk: DiskRowsWriter | undefined;

  constructor(path: string, most: number, shared: boolean) {
    this.#path = path;
    this.#most = most;
    this.#shared = shared;
    if (shared) this.#move();
  }

  add(key: string, row: string): void {
    if (this.#memory) {
      // Otherwise each look-up of a frequent key would pass all its rows.
      if (this.#most < Number.POSITIVE_INFINITY && this.#memory.find(key, this.#most).length >= this.#most) return;
      this.#memory.add(key, row);
      if (this.#memory.isFull) this.#move();
    } else this.#onDisk((disk) => disk.add(key, row));
  }

  end(): { readonly rows: Rows; readonly database?: string } {
    if (this.#memory) return { rows: this.#memory };
    return this.#onDisk((disk) => {
      const { rows, path } = disk.end(this.#shared);
      return { rows, database: this.#shared ? path : undefined };
    });
  }

  remove(): void {
    this.#disk?.remove();
  }

  #move(): void {
    try {
      this.#disk = new DiskRowsWriter();
    } catch (error) {
      throw diskError(this.#path, error);
    }
    const rows = this.#memory?.all() ?? [];
    this.#onDisk((disk) => {
      for (const [key, row] of rows) disk.add(key, row);
    });
    this.#memory = undefined;
  }

  #onDisk<Result>(act: (disk: DiskRowsWriter) => Result): Result {
    try {
      return act(this.#disk as DiskRowsWriter);
    } catch (error) {
      throw diskError(this.#path, error);
    }
  }
}

function diskError(path: string, error: unknown): AutomateError {
  const message = `the rows of ${path} cannot be put into a temporary database: ${(error as Error).message}`;
  return errorOf('output', { message: `${message}\nthe variable TMPDIR names the folder of temporary files` });
}
