import type { AutomateError } from '../../../core/failure.ts';
import type { Item } from '../../../core/item.ts';
import { parseJson } from '../../../core/value/json.ts';
import type { JsonObject } from '../../../core/value/value.ts';
import { inputError } from './input-error.ts';
import { createElementScanner } from './json-element.ts';
import { jsonFault } from './json-fault.ts';
import { recordOf } from './json-record.ts';
import { maxRecordBytes, type Position, type RecordReader, tooLong } from './record-reader.ts';

const expected = {
  'before the array': 'a JSON array of objects',
  'before the first element': 'an object or "]"',
  'before an element': 'an object',
  'in an element': '',
  'behind an element': '"," or "]"',
  'behind the array': 'nothing more',
};
type State = keyof typeof expected;

const newline = 0x0a;
const byteOrderMark = [0xef, 0xbb, 0xbf];

/**
 * Reads a JSON array of objects, element by element. Takes exactly what JSON.parse takes, and a byte order mark.
 * `from` is the beginning, or just behind an element.
 */
export function createJsonReader(name: string, from: Position): RecordReader {
  let state: State = from.offset === 0 ? 'before the array' : 'behind an element';
  let { offset, line, records } = from;
  // The offset at which the present line starts; unknown when that is before the place where reading began.
  let lineStart = from.offset === 0 ? 0 : Number.NaN;
  let element = { offset, line, lineStart };
  // The beginning of an element that the next chunk goes on with.
  let open: Buffer[] = [];
  const scanner = createElementScanner();
  let fault: AutomateError | undefined;
  return { header: () => undefined, write, end, fault: () => fault };

  async function write(chunk: Buffer): Promise<Item[]> {
    if (fault) throw fault;
    const items: Item[] = [];
    try {
      takeAll(chunk, items);
    } catch (error) {
      if (items.length === 0) throw error;
      fault = error as AutomateError;
      return items;
    }
    offset += chunk.length;
    if (open.length > 0 && offset - element.offset > maxRecordBytes) {
      throw tooLong(name, element.line + 1, 'is a bracket not closed?');
    }
    return items;
  }

  async function end(): Promise<Item[]> {
    if (fault) throw fault;
    if (state === 'in an element') throw broken(Buffer.concat(open).toString());
    if (state !== 'behind the array') throw unexpected('the end of the file', offset);
    return [];
  }

  function takeAll(chunk: Buffer, items: Item[]): void {
    let at = 0;
    while (at < chunk.length) at = state === 'in an element' ? takeElement(chunk, at, items) : takeByte(chunk, at);
  }

  /** Takes a byte that is not part of an element, and answers where to go on. */
  function takeByte(chunk: Buffer, at: number): number {
    const byte = chunk[at] as number;
    if (byte === newline) {
      line++;
      lineStart = offset + at + 1;
    } else if (byte === 0x7b && (state === 'before the first element' || state === 'before an element')) {
      element = { offset: offset + at, line, lineStart };
      state = 'in an element';
      return at;
    } else if (!isSpace(byte) && byte !== byteOrderMark[offset + at]) {
      const next = nextState(byte, state);
      if (next === undefined) throw unexpected(startOf(chunk.toString('utf8', at, at + 6)), offset + at);
      state = next;
    }
    return at + 1;
  }

  /** Takes as much of an element as the chunk has, and answers where to go on. */
  function takeElement(chunk: Buffer, start: number, items: Item[]): number {
    const end = scanner.end(chunk, start);
    if (end === undefined) {
      open.push(chunk.subarray(start));
      return chunk.length;
    }
    const text = open.length === 0 ? chunk.toString('utf8', start, end) : joinedText(chunk.subarray(start, end));
    const record = recordOf(parsed(text), text);
    countLines(text, offset + end);
    records++;
    items.push({ number: records, ...record, end: { offset: offset + end, line } });
    state = 'behind an element';
    return end;
  }

  function joinedText(last: Buffer): string {
    const text = Buffer.concat([...open, last]).toString();
    open = [];
    return text;
  }

  function parsed(text: string): JsonObject {
    try {
      return parseJson(text) as JsonObject;
    } catch (error) {
      throw broken(text, error);
    }
  }

  function countLines(text: string, textEnd: number): void {
    let last = -1;
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) {
      line++;
      last = at;
    }
    if (last !== -1) lineStart = textEnd - Buffer.byteLength(text.slice(last + 1));
  }

  function broken(text: string, cause?: unknown): AutomateError {
    const fault = jsonFault(text, 'the end of the file') ?? { offset: 0, message: `cannot be read: ${(cause as Error).message}` };
    const before = text.slice(0, fault.offset);
    const inLine = before.length - (before.lastIndexOf('\n') + 1);
    const column = before.includes('\n') ? inLine : element.offset - element.lineStart + inLine;
    return inputError(place(element.line + before.split('\n').length, column), fault.message, cause);
  }

  function unexpected(found: string, at: number): AutomateError {
    const hint = state === 'before the array' ? '\nfor one object per line pass --in-format ndjson' : '';
    return inputError(place(line + 1, at - lineStart), `expected ${expected[state]}, found ${found}${hint}`);
  }

  /** Columns before the element count bytes, so they can be too high in a line with other letters than ASCII. */
  function place(line: number, column: number): string {
    return `${name}:${line}${Number.isNaN(column) ? '' : `:${column + 1}`}`;
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === newline || byte === 0x0d || byte === 0x09;
}

function nextState(byte: number, state: State): State | undefined {
  const char = String.fromCharCode(byte);
  if (char === '[' && state === 'before the array') return 'before the first element';
  if (char === ',' && state === 'behind an element') return 'before an element';
  if (char === ']' && (state === 'before the first element' || state === 'behind an element')) return 'behind the array';
  return undefined;
}

/** What starts there, in a message's words. */
function startOf(text: string): string {
  const [literal] = /^(?:true|false|null)\b/.exec(text) ?? [];
  if (literal !== undefined) return literal;
  if (/^[-\d]/.test(text)) return 'a number';
  const char = String.fromCodePoint(text.codePointAt(0) as number);
  if (char === '\ufffd') return 'another character';
  return { '{': 'an object', '[': 'an array', '"': 'a text' }[char] ?? JSON.stringify(char);
}
