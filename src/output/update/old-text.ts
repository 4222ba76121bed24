import { randomUUID } from 'node:crypto';
import { closeSync, createReadStream, openSync, rmSync, writeSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { AutomateError } from '../../core/failure.ts';
import type { Fields } from '../../core/record.ts';
import { parseJson } from '../../core/value/json.ts';
import type { Value } from '../../core/value/value.ts';
import { gunzip } from '../../records/utf8.ts';
import type { FoundMemory, RememberedRows } from './memory-file.ts';
import { WindowReader } from './old-records.ts';

/** Reads the rows of an earlier output, in any order. */
export class OldOutputText {
  readonly #path: string;
  readonly #file: number;
  readonly #memory: FoundMemory;
  readonly #reader: WindowReader;
  /** Undefined for JSON and NDJSON. */
  readonly columns: readonly string[] | undefined;

  private constructor(path: string, file: number, memory: FoundMemory) {
    this.#path = path;
    this.#file = file;
    this.#memory = memory;
    this.#reader = new WindowReader(file);
    this.columns = this.#isTable ? this.#cells(this.#reader.text(0, memory.firstRow) ?? '')[0] : undefined;
  }

  /** Decompresses a gzipped output into an unlinked temporary file, because rows have positions in the decompressed text. */
  static async open(path: string, memory: FoundMemory): Promise<OldOutputText> {
    if (!memory.format.gzip) return new OldOutputText(path, openSync(path, 'r'), memory);
    const temporary = `${path}.${randomUUID()}.part`;
    const file = openSync(temporary, 'wx+', 0o600);
    rmSync(temporary);
    for await (const chunk of gunzip(createReadStream(path), path)) {
      for (let written = 0; written < chunk.length; ) written += writeSync(file, chunk, written);
    }
    return new OldOutputText(path, file, memory);
  }

  /** The text begins with the separator `between`, which is added to the first rows of the file. */
  text({ start, end }: RememberedRows, between: string): string {
    const text = this.#reader.text(start, end - start);
    if (text === undefined) throw new AutomateError('output', `${this.#path} was changed during the run`);
    return start === this.#memory.firstRow && end > start ? between + text : text;
  }

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
    // Text without quotes can be split at every delimiter, which is faster than parsing it.
    if (!text.includes('"') && !text.includes('\r')) {
      const lines = text.endsWith('\n') ? text.slice(0, -1).split('\n') : text.split('\n');
      return lines.map((line) => line.split(this.#delimiter));
    }
    return parse(text, { delimiter: this.#delimiter }) as unknown as string[][];
  }
}
