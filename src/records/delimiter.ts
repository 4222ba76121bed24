import { parse } from 'csv-parse/sync';
import { orUndefined } from '../core/value/value.ts';
import { type CellForm, parserOptions } from './cell-form.ts';
import type { TableForm } from './format.ts';
import { maxHeaderBytes } from './record-reader.ts';

/** Tried in this order. */
const otherDelimiters = [';', '\t', '|'];

/** Rows that are looked at if the header and the row after it do not decide. */
const lookedRows = 10;

/** The first line of files that are made for Excel. A letter or digit there is a name of a column and its content. */
const separatorLine = /^\ufeff*"?sep=([^\w"\r\n])"?(?:\r\n|\r|\n)/i;

/** The beginning of the text can still become a `separatorLine`. A byte order mark of which bytes are missing reads as U+FFFD. */
const openLine = /^\ufeff*(?:\ufffd|"?(?:s(?:e(?:p(?:=(?:[^\w"\r\n]"?\r?)?)?)?)?)?)$/i;

export interface ToldDelimiter {
  readonly delimiter: string;
  /** It was recognized by the header. */
  readonly isRecognized: boolean;
  /** Stands in the header as well, and could be the delimiter. */
  readonly doubted?: string;
  /** The text from the header on. */
  readonly chunks: AsyncGenerator<Buffer>;
  /** Bytes of the line `sep=;` before the header; 0 without one. */
  readonly skipped: number;
}

interface TableFacts extends TableForm {
  readonly delimiter?: string;
}

/** Reads only as much of a CSV as is necessary. */
export async function tellDelimiter(
  chunks: AsyncGenerator<Buffer>,
  { delimiter: given, headerLine = 1, ...form }: TableFacts,
): Promise<ToldDelimiter> {
  let head: Buffer = Buffer.alloc(0);
  for (let isWhole = false; ; ) {
    const { value, done = false } = await chunks.next();
    if (!done) head = Buffer.concat([head, value]);
    isWhole ||= done || head.length > maxHeaderBytes;
    const text = head.toString();
    if (!isWhole && openLine.test(text)) continue;
    const [line = '', stated] = separatorLine.exec(text) ?? [];
    const known = given ?? stated;
    const found =
      known === undefined
        ? delimiterIn(withoutLines(text, headerLine - 1), { ...form, isWhole })
        : { delimiter: known, isRecognized: false };
    if (found === undefined) continue;
    const skipped = Buffer.byteLength(line);
    return { ...found, chunks: startingWith(head.subarray(skipped), chunks), skipped };
  }
}

/** Empty if the text has fewer lines. */
function withoutLines(text: string, lines: number): string {
  return new RegExp(`^(?:[^\\r\\n]*(?:\\r\\n|\\r|\\n)){${lines}}`).test(text)
    ? text.replace(new RegExp(`^(?:[^\\r\\n]*(?:\\r\\n|\\r|\\n)){${lines}}`), '')
    : '';
}

type FoundDelimiter = Pick<ToldDelimiter, 'delimiter' | 'isRecognized' | 'doubted'>;

const comma: FoundDelimiter = { delimiter: ',', isRecognized: false };

/** A quoted name with a line break, of which only the first line has arrived. */
const openQuote = /(?:^|[,;\t|])"/;

/** Undefined if more text is needed. */
function delimiterIn(text: string, { isWhole, ...form }: TableForm & { readonly isWhole: boolean }): FoundDelimiter | undefined {
  const end = isWhole ? text.length : Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r', text.length - 2)) + 1;
  const rows = text.slice(0, end);
  const header = /^\ufeff*[\r\n]*([^\r\n]+)/.exec(withoutQuoted(rows, form))?.[1];
  if (header === undefined || (!isWhole && openQuote.test(header))) return isWhole ? comma : undefined;
  const possible = otherDelimiters.filter((delimiter) => header.includes(delimiter));
  if (possible.length === 0) return comma;
  const tables = (count: number) => possible.map((delimiter) => new SampleTable(rows, { ...form, delimiter }, count));
  if (header.includes(','))
    return besideCommas(tables(lookedRows), new SampleTable(rows, { ...form, delimiter: ',' }, lookedRows), isWhole);
  const near = tables(2);
  if (!isWhole && near.some(({ isFull }) => !isFull)) return undefined;
  const fitting = near.filter(({ fits }) => fits).map(({ delimiter }) => delimiter);
  if (fitting.length < 2) return recognized(near.find(({ fits }) => fits)) ?? splitInAnyRow(tables(lookedRows), isWhole);
  return ofMostCells(
    tables(lookedRows).filter(({ delimiter }) => fitting.includes(delimiter)),
    isWhole,
  );
}

/** A name such as "name; first" is in the header of a table with tabs, and can be in the next row by chance. The first of equal ones counts. */
function ofMostCells(tables: readonly SampleTable[], isWhole: boolean): FoundDelimiter | undefined {
  if (!isWhole && tables.some(({ isFull }) => !isFull)) return undefined;
  const most = Math.max(...tables.map(({ fittingCells }) => fittingCells));
  return recognized(tables.find(({ fittingCells }) => fittingCells === most));
}

/** The header is a strong sign: the row after it can be one that lacks cells or has too many. */
function splitInAnyRow(tables: readonly SampleTable[], isWhole: boolean): FoundDelimiter | undefined {
  const first = Math.min(...tables.map(({ firstSplit }) => firstSplit));
  if (first !== Number.POSITIVE_INFINITY) return recognized(tables.find(({ firstSplit }) => firstSplit === first));
  if (!isWhole && tables.some(({ isFull }) => !isFull)) return undefined;
  return { ...comma, doubted: tables[0]?.delimiter };
}

/** A header with commas is read with commas, unless rows do not fit them, and fit a delimiter that gives more columns. */
function besideCommas(tables: readonly SampleTable[], byCommas: SampleTable, isWhole: boolean): FoundDelimiter | undefined {
  const fitting = tables.filter(({ fits, isHeaderAlone }) => fits && !isHeaderAlone);
  const isOpen = !isWhole && tables.some((table) => !table.isFull && (table.fits || table.isHeaderAlone));
  if (isOpen) return undefined;
  const better = fitting.find(({ width }) => !byCommas.fits && width > byCommas.width);
  const doubted = fitting.find(({ width }) => !byCommas.fits || width >= byCommas.width);
  return recognized(better) ?? { ...comma, doubted: doubted?.delimiter };
}

function recognized(table: SampleTable | undefined): FoundDelimiter | undefined {
  return table && { delimiter: table.delimiter, isRecognized: true };
}

/** The first rows of a text, read with one of the possible delimiters. */
class SampleTable {
  readonly delimiter: string;
  readonly #header: readonly string[];
  readonly #next: readonly string[][];
  readonly #hasNames: boolean;
  readonly #isRagged: boolean;
  /** All rows that were asked for are there. */
  readonly isFull: boolean;

  constructor(text: string, { noHeader = false, ragged = false, ...form }: TableForm & CellForm, count: number) {
    const rows = orUndefined(() => parse(text, { bom: true, ...parserOptions(form), to: count }) as unknown as string[][]) ?? [];
    const [header = [], ...next] = rows;
    const names = header.filter((name) => name !== '');
    this.delimiter = form.delimiter;
    this.#header = header;
    this.#next = next;
    this.#hasNames = noHeader ? header.length > 1 : new Set(names).size > 1;
    this.#isRagged = ragged;
    this.isFull = rows.length === count;
  }

  get width(): number {
    return this.#header.length;
  }

  get isHeaderAlone(): boolean {
    return this.#next.length === 0;
  }

  /** A header without rows is enough. */
  get fits(): boolean {
    return this.#hasNames && this.#next.every((row) => this.#isRow(row));
  }

  /** The number of cells in the header and in the rows that fit it. */
  get fittingCells(): number {
    return this.width * (1 + this.#next.filter((row) => this.#isRow(row)).length);
  }

  #isRow({ length }: readonly string[]): boolean {
    const width = this.#header.findLastIndex((name) => name !== '') + 1;
    return this.#isRagged ? length > 1 : length >= width && length <= this.#header.length;
  }

  /** The index of the first row of several cells. Infinite if there is none, or the header would not have several names. */
  get firstSplit(): number {
    const index = this.#hasNames ? this.#next.findIndex(({ length }) => length > 1) : -1;
    return index === -1 ? Number.POSITIVE_INFINITY : index;
  }
}

function withoutQuoted(text: string, { escape: escapeChar }: Pick<CellForm, 'escape'>): string {
  const plain = escapeChar === undefined ? text : text.replaceAll(`${escapeChar}"`, '');
  return plain.replace(/"(?:[^"]|"")*"/g, '');
}

async function* startingWith(head: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  if (head.length > 0) yield head;
  yield* rest;
}
