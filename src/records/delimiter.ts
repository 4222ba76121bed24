import { parse } from 'csv-parse/sync';
import { orUndefined } from '../core/value/value.ts';
import { type CellForm, parserOptions } from './cell-form.ts';
import type { TableForm } from './format.ts';
import { maxHeaderBytes } from './record-reader.ts';

/** Tried in this order if the header has no comma. */
const otherDelimiters = [';', '\t', '|'];

/** The first line of files that are made for Excel. A letter or digit there is a name of a column and its content. */
const separatorLine = /^\ufeff*"?sep=([^\w"\r\n])"?(?:\r\n|\r|\n)/i;

/** The beginning of the text can still become a `separatorLine`. */
const openLine = /^\ufeff*"?(?:s(?:e(?:p(?:=(?:[^\w"\r\n]"?\r?)?)?)?)?)?$/i;

interface ToldDelimiter {
  readonly delimiter: string;
  /** It was recognized by the header. */
  readonly isRecognized: boolean;
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
    const found = given ?? stated ?? delimiterIn(withoutLines(text, headerLine - 1), { ...form, isWhole });
    if (found === undefined) continue;
    const skipped = Buffer.byteLength(line);
    const isRecognized = (given ?? stated) === undefined && found !== ',';
    return { delimiter: found, isRecognized, chunks: startingWith(head.subarray(skipped), chunks), skipped };
  }
}

/** Empty if the text has fewer lines. */
function withoutLines(text: string, lines: number): string {
  return new RegExp(`^(?:[^\\r\\n]*(?:\\r\\n|\\r|\\n)){${lines}}`).test(text)
    ? text.replace(new RegExp(`^(?:[^\\r\\n]*(?:\\r\\n|\\r|\\n)){${lines}}`), '')
    : '';
}

/** Undefined if more text is needed. */
function delimiterIn(text: string, { isWhole, ragged, ...form }: TableForm & { readonly isWhole: boolean }): string | undefined {
  const end = isWhole ? text.length : Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r', text.length - 2)) + 1;
  const rows = text.slice(0, end);
  const header = /^\ufeff*[\r\n]*([^\r\n]+)/.exec(withoutQuoted(rows, form))?.[1];
  if (header === undefined) return isWhole ? ',' : undefined;
  const possible = header.includes(',') ? [] : otherDelimiters.filter((delimiter) => header.includes(delimiter));
  if (possible.length === 0) return ',';
  const tables = possible.map((delimiter) => ({ delimiter, rows: orUndefined(() => firstRows(rows, { ...form, delimiter })) }));
  if (!isWhole && tables.some(({ rows = [] }) => rows.length < 2)) return undefined;
  return tables.find(({ rows }) => isTable(rows, ragged))?.delimiter ?? ',';
}

function withoutQuoted(text: string, { escape: escapeChar }: Pick<CellForm, 'escape'>): string {
  const plain = escapeChar === undefined ? text : text.replaceAll(`${escapeChar}"`, '');
  return plain.replace(/"(?:[^"]|"")*"/g, '');
}

function firstRows(text: string, form: CellForm): string[][] {
  return parse(text, { bom: true, ...parserOptions(form), to: 2 }) as unknown as string[][];
}

/** A header without rows is enough. */
function isTable([header = [], next = header]: readonly string[][] = [], ragged = false): boolean {
  const names = header.slice(0, header.findLastIndex((name) => name !== '') + 1);
  const isRow = ragged ? next.length > 1 : next.length >= names.length && next.length <= header.length;
  return new Set(names.filter((name) => name !== '')).size > 1 && isRow;
}

async function* startingWith(head: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  if (head.length > 0) yield head;
  yield* rest;
}
