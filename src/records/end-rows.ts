import { type FileHandle, open } from 'node:fs/promises';
import type { Fields } from '../core/record.ts';
import { orUndefined } from '../core/value/value.ts';
import type { TextFormat } from './format.ts';
import { type Format, traitsOf } from './formats.ts';

interface EndRows<Row> {
  readonly first: readonly Row[];
  readonly last: readonly Row[];
  /** True if there are no rows between the first and the last ones. */
  readonly isWhole: boolean;
}

/** In bytes. Rows beyond are left out, so that neither end of a file can take long. */
const maxSearched = 32 * 1024 * 1024;

/** In bytes. Longer rows are not read. */
const maxRow = 16 * 1024 * 1024;

const chunkBytes = 256 * 1024;

const [lineFeed, quote, brace] = [0x0a, 0x22, 0x7b];

/** The positions of the first byte of a row and behind its line break. */
interface LineAtEnd {
  readonly at: number;
  readonly end: number;
}

/**
 * A file that a writer has written, or its part up to `end`, which is behind a row. Every row is a line, because writers put JSON on one
 * line. Only in a table, a line break within quotes belongs to a row.
 */
export class RowFile {
  readonly #file: FileHandle;
  readonly #end: number;
  readonly #text: TextFormat;
  readonly #hasHeader: boolean;

  private constructor(file: FileHandle, format: Format, end: number) {
    const { text, hasHeader } = traitsOf(format);
    if (!text) throw new Error(`${format.kind} is not text`);
    this.#file = file;
    this.#end = end;
    this.#text = text;
    this.#hasHeader = hasHeader;
  }

  static async open(path: string, format: Format, end: number): Promise<RowFile> {
    return new RowFile(await open(path, 'r'), format, end);
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  /** The columns of a table, and the position at which the rows begin. */
  async start(): Promise<{ readonly columns: readonly string[] | undefined; readonly at: number }> {
    if (!this.#hasHeader) return { columns: undefined, at: 0 };
    const [header] = (await this.#linesFrom(0, 1)).lines;
    if (!header) return { columns: [], at: this.#end };
    return { columns: this.#text.columns(await this.#textOf(header)), at: header.end };
  }

  /** Reads the rows at both ends, without the part between them. `shown` gets no fields for a row that is too long. */
  async ends<Row>(
    { first, last }: { readonly first: number; readonly last: number },
    shown: (fields: Fields | undefined, at: number) => Row,
  ): Promise<EndRows<Row>> {
    const { columns, at } = await this.start();
    const rowsIn = async (lines: readonly LineAtEnd[]) => {
      const rows: Row[] = [];
      for (const line of lines) rows.push(shown(await this.#fieldsOf(line, columns), line.at));
      return rows;
    };
    const head = await this.#linesFrom(at, first);
    const tail = head.isLast ? [] : await this.#linesBefore(head.end, last);
    return { first: await rowsIn(head.lines), last: await rowsIn(tail), isWhole: head.isLast || tail[0]?.at === head.end };
  }

  /** Undefined if no row begins at this position, or if it is too long. */
  async rowAt(at: number): Promise<Fields | undefined> {
    const { columns, at: start } = await this.start();
    if (at < start || at >= this.#end || (at > 0 && (await this.#read(at - 1, at))[0] !== lineFeed)) return undefined;
    const [line] = (await this.#linesFrom(at, 1)).lines;
    return line?.at === at ? this.#fieldsOf(line, columns) : undefined;
  }

  /** `isLast` is true if no other row follows. */
  async #linesFrom(begin: number, count: number): Promise<{ lines: LineAtEnd[]; end: number; isLast: boolean }> {
    const lines: LineAtEnd[] = [];
    let [at, isQuoted] = [begin, false];
    for (let from = begin; from < this.#end; from += chunkBytes) {
      if (from - begin >= maxSearched) return { lines, end: at, isLast: false };
      const chunk = await this.#read(from, Math.min(this.#end, from + chunkBytes));
      for (let index = 0; index < chunk.length; index++) {
        if (chunk[index] === quote) isQuoted = this.#hasHeader && !isQuoted;
        if (chunk[index] !== lineFeed || isQuoted) continue;
        const line = { at, end: from + index + 1 };
        at = line.end;
        if (!(await this.#isRow(line))) continue;
        if (lines.length === count) return { lines, end: line.at, isLast: false };
        lines.push(line);
      }
    }
    // Between two rows of a JSON array is a comma with a line break, so the last row can end without one.
    const rest = { at, end: this.#end };
    if (this.#hasHeader || !(await this.#isRow(rest))) return { lines, end: at, isLast: true };
    return lines.length === count ? { lines, end: at, isLast: false } : { lines: [...lines, rest], end: rest.end, isLast: true };
  }

  /** Searches backwards. A line break is outside quotes if an even number of quotes follows it. */
  async #linesBefore(least: number, count: number): Promise<LineAtEnd[]> {
    const lines: LineAtEnd[] = [];
    let [end, isQuoted] = [this.#end, false];
    for (let to = this.#end; to > least && this.#end - to < maxSearched; to -= chunkBytes) {
      const from = Math.max(least, to - chunkBytes);
      const chunk = await this.#read(from, to);
      for (let index = chunk.length - 1; index >= 0; index--) {
        if (chunk[index] === quote) isQuoted = this.#hasHeader && !isQuoted;
        if (chunk[index] !== lineFeed || isQuoted) continue;
        const line = { at: from + index + 1, end };
        end = line.at;
        if (lines.length < count && (await this.#isRow(line))) lines.unshift(line);
        if (lines.length === count) return lines;
      }
      if (from === least && (await this.#isRow({ at: least, end }))) lines.unshift({ at: least, end });
    }
    return lines;
  }

  /** Undefined if the row is too long. */
  async #fieldsOf(line: LineAtEnd, columns: readonly string[] = []): Promise<Fields | undefined> {
    if (line.end - line.at > maxRow) return undefined;
    const text = await this.#textOf(line);
    return orUndefined(() => this.#text.rows(this.#hasHeader ? text : text.replace(/,?\n?$/, ''), columns)[0]);
  }

  /** False for the brackets around the rows of a JSON array. */
  async #isRow({ at, end }: LineAtEnd): Promise<boolean> {
    return this.#hasHeader ? end > at : (await this.#read(at, Math.min(end, at + 1)))[0] === brace;
  }

  async #textOf({ at, end }: LineAtEnd): Promise<string> {
    return (await this.#read(at, end)).toString();
  }

  async #read(from: number, to: number): Promise<Buffer> {
    const buffer = Buffer.alloc(to - from);
    const { bytesRead } = await this.#file.read(buffer, 0, buffer.length, from);
    return buffer.subarray(0, bytesRead);
  }
}
