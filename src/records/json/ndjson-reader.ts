import type { ErrorFacts } from '../../core/error-code.ts';
import type { Item } from '../../core/item.ts';
import { escapedControls } from '../../core/text/quoted-word.ts';
import { parseJson } from '../../core/value/json.ts';
import { isObject } from '../../core/value/value.ts';
import { Unreadable } from '../errors-file.ts';
import { maxRecordBytes, type Position, type RecordReader, tooLong } from '../record-reader.ts';
import { jsonFault } from './json-fault.ts';
import { type RecordContent, recordOf, valueKind } from './json-record.ts';

/** NDJSON has one JSON object per line. Blank lines are skipped. A line that is not a JSON object becomes a failed record. */
export class NdjsonReader implements RecordReader {
  readonly #name: string;
  #offset: number;
  #line: number;
  #records: number;
  /** The chunks of a line whose end has not been read yet. */
  #open: Buffer[] = [];
  #openBytes = 0;

  constructor(name: string, from: Position) {
    this.#name = name;
    this.#offset = from.offset;
    this.#line = from.line;
    this.#records = from.records;
  }

  async write(chunk: Buffer): Promise<Item[]> {
    const items: Item[] = [];
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      this.#take(this.#lineText(chunk, start, end), end + 1 - start, items);
      start = end + 1;
    }
    if (start < chunk.length) this.#addToOpen(chunk.subarray(start));
    return items;
  }

  async end(): Promise<Item[]> {
    const items: Item[] = [];
    if (this.#openBytes > 0) this.#take(Buffer.concat(this.#open).toString(), 0, items);
    return items;
  }

  openFields(): readonly string[] {
    return this.#openBytes === 0 ? [] : [...readLine(Buffer.concat(this.#open).toString(), this.#line + 1).fields.keys()];
  }

  #addToOpen(bytes: Buffer): void {
    this.#open.push(bytes);
    this.#openBytes += bytes.length;
    if (this.#openBytes <= maxRecordBytes) return;
    throw tooLong(this.#name, this.#line + 1, '', 'json');
  }

  #lineText(chunk: Buffer, start: number, end: number): string {
    if (this.#openBytes === 0) return chunk.toString('utf8', start, end);
    return Buffer.concat([...this.#open, chunk.subarray(start, end)]).toString();
  }

  /** `bytes` counts the line's bytes in the current chunk. */
  #take(written: string, bytes: number, items: Item[]): void {
    const text = this.#offset === 0 && written.startsWith('\ufeff') ? written.slice(1) : written;
    this.#offset += this.#openBytes + bytes;
    this.#line++;
    this.#openBytes = 0;
    if (this.#open.length > 0) this.#open = [];
    if (isBlank(text)) return;
    items.push({ number: ++this.#records, end: { offset: this.#offset, line: this.#line }, ...readLine(text, this.#line) });
  }
}

function isBlank(text: string): boolean {
  return /^[ \t\r]*$/.test(text);
}

function readLine(text: string, line: number): RecordContent {
  try {
    const value = parseJson(text);
    if (isObject(value)) return recordOf(value, text);
    const isList = line === 1 && Array.isArray(value);
    return unreadableLine(text, line, `expected an object, found ${valueKind(value)}`, isList ? listOfRecords : undefined);
  } catch (error) {
    const fault = jsonFault(text, 'the end of the line');
    const isOpen = line === 1 && fault?.offset === text.length;
    const reason = fault ? `${fault.message} at column ${fault.offset + 1}` : (error as Error).message;
    const isOther = line === 1 && fault?.offset === 0;
    return unreadableLine(text, line, reason, isOpen ? overLines[text.charAt(0)] : isOther ? otherFormat : undefined);
  }
}

const listOfRecords = { code: 'list-of-records', details: {} } as const;

const otherFormat = { code: 'no-json-line', details: {} } as const;

/** Kinds of JSON text over several lines, by its first character. */
const overLines: Readonly<Record<string, ErrorFacts>> = {
  '{': { code: 'object-over-lines', details: {} },
  '[': listOfRecords,
};

function unreadableLine(text: string, line: number, reason: string, facts?: ErrorFacts): RecordContent {
  const written = escapedControls(text.replace(/\r$/, ''));
  return { fields: new Map(), failure: new Unreadable(`line ${line}: not a JSON object: ${reason}: ${written}`, facts) };
}
