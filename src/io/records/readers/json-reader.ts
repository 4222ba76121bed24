import type { AutomateError } from '../../../core/failure.ts';
import type { Item } from '../../../core/item.ts';
import { parseJson } from '../../../core/value/json.ts';
import type { JsonObject } from '../../../core/value/value.ts';
import { ElementScanner } from './json-element.ts';
import { jsonFault } from './json-fault.ts';
import { recordOf } from './json-record.ts';
import { inputError, maxRecordBytes, type Position, type RecordReader, tooLong } from './record-reader.ts';

const expected = {
  'before the array': 'a JSON array of objects',
  'before the first element': 'an object or "]"',
  'before an element': 'an object',
  'in an element': '',
  'after an element': '"," or "]"',
  'after the array': 'nothing more',
};
type State = keyof typeof expected;

const newline = 0x0a;
const byteOrderMark = [0xef, 0xbb, 0xbf];

/**
 * Reads a JSON array of objects, element by element. Accepts what JSON.parse accepts, and a byte order mark.
 * `from` is the beginning, or a place right after an element.
 */
export class JsonReader implements RecordReader {
  readonly #name: string;
  readonly #scanner = new ElementScanner();
  #state: State;
  #offset: number;
  #line: number;
  /** The offset at which the present line starts; NaN if the line starts before the place where reading began. */
  #lineStart: number;
  #records: number;
  /** The start of the present element. */
  #element: { readonly offset: number; readonly line: number; readonly lineStart: number };
  /** The beginning of an element that continues in the next chunk. */
  #open: Buffer[] = [];
  #fault: AutomateError | undefined;

  constructor(name: string, { offset, line, records }: Position) {
    this.#name = name;
    this.#state = offset === 0 ? 'before the array' : 'after an element';
    this.#offset = offset;
    this.#line = line;
    this.#lineStart = offset === 0 ? 0 : Number.NaN;
    this.#records = records;
    this.#element = { offset, line, lineStart: this.#lineStart };
  }

  fault(): AutomateError | undefined {
    return this.#fault;
  }

  async write(chunk: Buffer): Promise<Item[]> {
    if (this.#fault) throw this.#fault;
    const items: Item[] = [];
    try {
      this.#takeAll(chunk, items);
    } catch (error) {
      if (items.length === 0) throw error;
      this.#fault = error as AutomateError;
      return items;
    }
    this.#offset += chunk.length;
    if (this.#open.length > 0 && this.#offset - this.#element.offset > maxRecordBytes) {
      throw tooLong(this.#name, this.#element.line + 1, 'is a bracket not closed?');
    }
    return items;
  }

  async end(): Promise<Item[]> {
    if (this.#fault) throw this.#fault;
    if (this.#state === 'in an element') throw this.#brokenElement(Buffer.concat(this.#open).toString());
    if (this.#state !== 'after the array') throw this.#unexpected('the end of the file', this.#offset);
    return [];
  }

  #takeAll(chunk: Buffer, items: Item[]): void {
    let at = 0;
    while (at < chunk.length) at = this.#state === 'in an element' ? this.#takeElement(chunk, at, items) : this.#takeByte(chunk, at);
  }

  /** Takes a byte outside of the elements. Returns the index at which to continue. */
  #takeByte(chunk: Buffer, at: number): number {
    const byte = chunk[at] as number;
    const offset = this.#offset + at;
    if (byte === newline) {
      this.#line++;
      this.#lineStart = offset + 1;
    } else if (byte === 0x7b && (this.#state === 'before the first element' || this.#state === 'before an element')) {
      this.#element = { offset, line: this.#line, lineStart: this.#lineStart };
      this.#state = 'in an element';
      return at;
    } else if (!isSpace(byte) && byte !== byteOrderMark[offset]) {
      const next = nextState(byte, this.#state);
      if (next === undefined) throw this.#unexpected(tokenKind(chunk.toString('utf8', at, at + 6)), offset);
      this.#state = next;
    }
    return at + 1;
  }

  /** Takes as much of an element as the chunk has. Returns the index at which to continue. */
  #takeElement(chunk: Buffer, start: number, items: Item[]): number {
    const end = this.#scanner.end(chunk, start);
    if (end === undefined) {
      this.#open.push(chunk.subarray(start));
      return chunk.length;
    }
    const text = this.#open.length === 0 ? chunk.toString('utf8', start, end) : this.#closeElement(chunk.subarray(start, end));
    const record = recordOf(this.#parse(text), text);
    this.#countLines(text, this.#offset + end);
    items.push({ number: ++this.#records, ...record, end: { offset: this.#offset + end, line: this.#line } });
    this.#state = 'after an element';
    return end;
  }

  #closeElement(last: Buffer): string {
    const text = Buffer.concat([...this.#open, last]).toString();
    this.#open = [];
    return text;
  }

  #parse(text: string): JsonObject {
    try {
      return parseJson(text) as JsonObject;
    } catch (error) {
      throw this.#brokenElement(text, error);
    }
  }

  #countLines(text: string, textEnd: number): void {
    let last = -1;
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) {
      this.#line++;
      last = at;
    }
    if (last !== -1) this.#lineStart = textEnd - Buffer.byteLength(text.slice(last + 1));
  }

  #brokenElement(text: string, cause?: unknown): AutomateError {
    const fault = jsonFault(text, 'the end of the file') ?? { offset: 0, message: `cannot be read: ${(cause as Error).message}` };
    const before = text.slice(0, fault.offset);
    const inLine = before.length - (before.lastIndexOf('\n') + 1);
    const { offset, line, lineStart } = this.#element;
    const column = before.includes('\n') ? inLine : offset - lineStart + inLine;
    return inputError(this.#name, fault.message, { ...placeOf(line + before.split('\n').length, column), cause });
  }

  #unexpected(found: string, offset: number): AutomateError {
    const hint = this.#state === 'before the array' ? 'ndjson' : undefined;
    const place = placeOf(this.#line + 1, offset - this.#lineStart);
    return inputError(this.#name, `expected ${expected[this.#state]}, found ${found}`, { ...place, hint });
  }
}

/** Columns before an element count bytes, so they are too high in a line with letters outside of ASCII. */
function placeOf(line: number, column: number) {
  return { line, column: Number.isNaN(column) ? undefined : column + 1 };
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === newline || byte === 0x0d || byte === 0x09;
}

function nextState(byte: number, state: State): State | undefined {
  const char = String.fromCharCode(byte);
  if (char === '[' && state === 'before the array') return 'before the first element';
  if (char === ',' && state === 'after an element') return 'before an element';
  if (char === ']' && (state === 'before the first element' || state === 'after an element')) return 'after the array';
  return undefined;
}

/** The kind of token at the start of a text, as messages name it. */
function tokenKind(text: string): string {
  const [literal] = /^(?:true|false|null)\b/.exec(text) ?? [];
  if (literal !== undefined) return literal;
  if (/^[-\d]/.test(text)) return 'a number';
  const char = String.fromCodePoint(text.codePointAt(0) as number);
  if (char === '\ufffd') return 'another character';
  return { '{': 'an object', '[': 'an array', '"': 'a text' }[char] ?? JSON.stringify(char);
}
