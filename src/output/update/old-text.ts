import { randomUUID } from 'node:crypto';
import { closeSync, createReadStream, openSync, rmSync, writeSync } from 'node:fs';
import { AutomateError } from '../../core/failure.ts';
import type { Fields } from '../../core/record.ts';
import type { TextFormat } from '../../records/format.ts';
import { traitsOf } from '../../records/formats.ts';
import { gunzip } from '../../records/utf8.ts';
import type { FoundMemory, RememberedRows } from '../truth-file.ts';
import { WindowReader } from './old-records.ts';

/** Reads the rows of an earlier output, in any order. */
export class OldOutputText {
  readonly #path: string;
  readonly #file: number;
  readonly #memory: FoundMemory;
  readonly #reader: WindowReader;
  readonly #format: TextFormat;
  /** Undefined for JSON and NDJSON. */
  readonly columns: readonly string[] | undefined;

  private constructor(path: string, file: number, memory: FoundMemory) {
    this.#path = path;
    this.#file = file;
    this.#memory = memory;
    this.#reader = new WindowReader(file);
    const { text } = traitsOf(memory.format);
    if (!text) throw new Error('rows of a workbook cannot be read again');
    this.#format = text;
    this.columns = text.columns(this.#reader.text(0, memory.firstRow) ?? '');
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
    return rows.rows === 0 ? [] : this.#format.rows(this.text(rows, ''), this.columns ?? []);
  }

  close(): void {
    closeSync(this.#file);
  }
}
