import { randomUUID } from 'node:crypto';
import { closeSync, createReadStream, openSync, rmSync, writeSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { AutomateError } from '../../core/failure.ts';
import type { Fields } from '../../core/record.ts';
import { parseJson } from '../../core/value/json.ts';
import type { Value } from '../../core/value/value.ts';
import { gunzip } from '../records/readers/encoding.ts';
import type { FoundMemory, RememberedRows } from './memory-file.ts';
import { WindowReader } from './old-records.ts';

/** The rows of an earlier output, in any order. */
export class OldOutputText {
  readonly #path: string;
  readonly #file: number;
  readonly #memory: FoundMemory;
  readonly #reader: WindowReader;
  /** The columns of a table; undefined for JSON. */
  readonly columns: readonly string[] | undefined;

  private constructor(path: string, file: number, memory: FoundMemory) {
    this.#path = path;
    this.#file = file;
    this.#memory = memory;
    this.#reader = new WindowReader(file);
    this.columns = this.#isTable ? this.#cells(this.#reader.read(0, memory.firstRow).toString())[0] : undefined;
  }

  /** Opens an output. A gzipped one is unzipped into a file without a name: places are those in its text. */
  static async open(path: string, memory: FoundMemory): Promise<OldOutputText> {
    if (!memory.format.gzip) return new OldOutputText(path, openSync(path, 'r'), memory);
    const temporary = `${path}.${randomUUID()}.part`;
    const file = openSync(temporary, 'wx+', 0o600);
    rmSync(temporary);
    for await (const chunk of gunzip(createReadStream(path), path)) writeSync(file, chunk);
    return new OldOutputText(path, file, memory);
  }

  /** The text of rows, as it follows other rows. `between`: the text before every row but the first. */
  text({ start, end }: RememberedRows, between: string): string {
    const bytes = this.#reader.read(start, end - start);
    if (bytes.length < end - start) throw new AutomateError('output', `${this.#path} was changed during the run`);
    return (start === this.#memory.firstRow && end > start ? between : '') + bytes.toString();
  }

  /** The fields of rows. */
  rows(rows: RememberedRows): Fields[] {
    if (rows.rows === 0) return [];
    const text = this.text(rows, '');
    const { kind } = this.#memory.format;
    if (!this.#isTable) {
      const objects = kind === 'json' ? `[${text.replace(/^,/, '')}]` : `[${text.trimEnd().split('\n').join(',')}]`;
      return (parseJson(objects) as { [name: string]: Value }[]).map((row) => new Map(Object.entries(row)));
    }
    const columns = this.columns ?? [];
    return this.#cells(text).map((cells) => new Map(columns.map((name, index) => [name, cells[index] ?? ''])));
  }

  close(): void {
    closeSync(this.#file);
  }

  get #isTable(): boolean {
    const { kind } = this.#memory.format;
    return kind === 'csv' || kind === 'tsv';
  }

  get #delimiter(): string {
    return this.#memory.format.kind === 'tsv' ? '\t' : ',';
  }

  #cells(text: string): string[][] {
    // A text without quotes has no other delimiters.
    if (!text.includes('"') && !text.includes('\r')) {
      const lines = text.endsWith('\n') ? text.slice(0, -1).split('\n') : text.split('\n');
      return lines.map((line) => line.split(this.#delimiter));
    }
    return parse(text, { delimiter: this.#delimiter }) as unknown as string[][];
  }
}
