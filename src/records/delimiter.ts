import { parse } from 'csv-parse/sync';
import { orUndefined } from '../core/value/value.ts';
import { maxHeaderBytes } from './record-reader.ts';

/** Tried in this order if the header has no comma. */
const otherDelimiters = [';', '\t', '|'];

/** The first line of files that are made for Excel. A letter or digit there is a name of a column and its content. */
const separatorLine = /^\ufeff?"?sep=([^\w"\r\n])"?(?:\r\n|\r|\n)/i;

/** The beginning of the text can still become a `separatorLine`. */
const openLine = /^\ufeff?"?(?:s(?:e(?:p(?:=(?:[^\w"\r\n]"?\r?)?)?)?)?)?$/i;

interface ToldDelimiter {
  readonly delimiter: string;
  /** It was recognized by the header. */
  readonly isRecognized: boolean;
  /** The text from the header on. */
  readonly chunks: AsyncGenerator<Buffer>;
  /** Bytes of the line `sep=;` before the header; 0 without one. */
  readonly skipped: number;
}

/** Reads only as much of a CSV as is necessary. `given` is used in any case. */
export async function tellDelimiter(chunks: AsyncGenerator<Buffer>, given?: string): Promise<ToldDelimiter> {
  let head: Buffer = Buffer.alloc(0);
  for (let isWhole = false; ; ) {
    const { value, done = false } = await chunks.next();
    if (!done) head = Buffer.concat([head, value]);
    isWhole ||= done || head.length > maxHeaderBytes;
    const text = head.toString();
    if (!isWhole && openLine.test(text)) continue;
    const [line = '', stated] = separatorLine.exec(text) ?? [];
    const found = given ?? stated ?? delimiterIn(text, isWhole);
    if (found === undefined) continue;
    const skipped = Buffer.byteLength(line);
    const isRecognized = (given ?? stated) === undefined && found !== ',';
    return { delimiter: found, isRecognized, chunks: startingWith(head.subarray(skipped), chunks), skipped };
  }
}

/** Undefined if more text is needed. */
function delimiterIn(text: string, isWhole: boolean): string | undefined {
  const end = isWhole ? text.length : Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r', text.length - 2)) + 1;
  const rows = text.slice(0, end);
  const header = /^\ufeff?[\r\n]*([^\r\n]+)/.exec(rows.replace(/"(?:[^"]|"")*"/g, ''))?.[1];
  if (header === undefined) return isWhole ? ',' : undefined;
  const possible = header.includes(',') ? [] : otherDelimiters.filter((delimiter) => header.includes(delimiter));
  if (possible.length === 0) return ',';
  const tables = possible.map((delimiter) => ({ delimiter, rows: orUndefined(() => firstRows(rows, delimiter)) }));
  if (!isWhole && tables.some(({ rows = [] }) => rows.length < 2)) return undefined;
  return tables.find(({ rows }) => isTable(rows))?.delimiter ?? ',';
}

function firstRows(text: string, delimiter: string): string[][] {
  const options = { bom: true, delimiter, relax_column_count: true, relax_quotes: true, skip_empty_lines: true, to: 2 };
  return parse(text, options) as unknown as string[][];
}

/** A header without rows is enough. */
function isTable([header = [], next = header]: readonly string[][] = []): boolean {
  return new Set(header.filter((name) => name !== '')).size > 1 && next.length === header.length;
}

async function* startingWith(head: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  if (head.length > 0) yield head;
  yield* rest;
}
