import type { AutomateError } from '../../core/failure.ts';
import type { Item } from '../../core/item.ts';
import { parseJson } from '../../core/value/json.ts';
import type { JsonObject } from '../../core/value/value.ts';
import { inputError, maxHeaderBytes, maxRecordBytes, type Position, type RecordReader, tooLong } from '../record-reader.ts';
import { jsonFault } from './json-fault.ts';
import { ElementScanner, recordOf, tokenKind } from './json-record.ts';
import { isSpace, JsonWalk, WalkFault } from './json-walk.ts';

const expected = {
  'before the array': 'a JSON array of objects',
  'before the first element': 'an object or "]"',
  'before a name': 'the name of a record',
  'before an element': 'an object',
  'in an element': '',
  'after an element': '"," or "]"',
  'after the array': 'nothing more',
  'outside the list': '',
};
type State = keyof typeof expected;

/** The first value in the text of an object; undefined if it has none. */
const firstValue = /^(?:\xef\xbb\xbf)?\s*\{\s*(?:"(?:[^"\\]|\\.)*"\s*:\s*(\S)|\})/s;
const laterValue = /^\s*"(?:[^"\\]|\\.)*"\s*:\s*(\S)/s;

const newline = 0x0a;
const byteOrderMark = [0xef, 0xbb, 0xbf];

/** Finds a list of records for the error message if a file begins with an object instead of an array. */
interface ListSearch {
  readonly offset: number;
  /** Thrown if the object contains no list of records. */
  readonly notFound: AutomateError;
  /** Tells the user the path of the list that was found. */
  found(path: string): AutomateError;
}

const oneObject = 'the file contains one object, and no list of records; to run the object, or each object in it, as a record';

/** The part of an object that is searched for a list of records. */
const maxSearchedBytes = 16 * 1024 * 1024;

/**
 * Reads the objects in a JSON array one by one, from the beginning or right after an object. `path` are the field names that lead to an
 * array inside objects. With an empty path, the text is an object: if its first value is an object, the values are the records, and
 * otherwise it is the only record itself. Accepts what JSON.parse accepts, and skips a byte order mark.
 */
export class JsonReader implements RecordReader {
  readonly #name: string;
  readonly #scanner = new ElementScanner();
  #state: State;
  #offset: number;
  #line: number;
  /** NaN if reading began in the middle of the line. */
  #lineStart: number;
  #records: number;
  #element: { readonly offset: number; readonly line: number; readonly lineStart: number };
  /** The chunks of an element whose end has not been read yet. */
  #open: Buffer[] = [];
  #fault: AutomateError | undefined;
  /** For the text around an array inside objects; undefined if the whole text is the array. */
  #walk: JsonWalk | undefined;
  #search: ListSearch | undefined;
  /** True if the text is one object. */
  #isObject: boolean;
  /** True if reading began after a record of one object. */
  readonly #isResumed: boolean;
  /** True if the object itself is the only record. */
  #isOnly = false;
  /** The text before a record in an object: the brace or comma, and the record's name. */
  #head = '';

  constructor(name: string, { offset, line, records }: Position, path?: readonly string[]) {
    this.#name = name;
    this.#isObject = path?.length === 0;
    this.#isResumed = this.#isObject && offset > 0;
    const list = this.#isObject ? undefined : path;
    this.#walk = list && new JsonWalk(list, offset > 0);
    this.#state = offset > 0 ? 'after an element' : list ? 'outside the list' : this.#isObject ? 'before a name' : 'before the array';
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
    if (this.#search) throw this.#resultOf(this.#search);
    if (this.#state === 'outside the list' && this.#walk?.isOver) return [];
    if (this.#state === 'in an element') throw this.#brokenElement(Buffer.concat(this.#open).toString());
    // The record before which reading ended may have been the only one.
    if (this.#isResumed && this.#state === 'after an element') return [];
    if (this.#state !== 'after the array') throw this.#unexpected('the end of the file', this.#offset);
    return [];
  }

  #takeAll(chunk: Buffer, items: Item[]): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#state === 'in an element') at = this.#takeElement(chunk, at, items);
      else if (this.#state === 'outside the list') at = this.#takeOutside(chunk, at, this.#walk as JsonWalk);
      else if (this.#state === 'before a name') at = this.#takeName(chunk, at);
      else at = this.#takeByte(chunk, at);
    }
  }

  /** Reads the text before or after the list of records. Returns the index in the chunk at which to continue. */
  #takeOutside(chunk: Buffer, start: number, walk: JsonWalk): number {
    if (this.#offset + start < 3 && chunk[start] === byteOrderMark[this.#offset + start]) return start + 1;
    try {
      const end = walk.walk(chunk, start);
      this.#countLinesIn(chunk, start, end);
      if (this.#search && this.#offset + end - this.#search.offset > maxSearchedBytes) throw this.#resultOf(this.#search);
      if (walk.isInList) this.#state = 'before the first element';
      return end;
    } catch (error) {
      if (!(error instanceof WalkFault)) throw error;
      // If more text follows the object, the file probably contains one object per line. The error then does not suggest a list in the
      // first object.
      if (this.#search) throw walk.isOver ? this.#search.notFound : this.#resultOf(this.#search);
      this.#countLinesIn(chunk, start, error.index);
      throw inputError(this.#name, error.message, placeOf(this.#line + 1, this.#offset + error.index - this.#lineStart));
    }
  }

  #resultOf({ notFound, found }: ListSearch): AutomateError {
    const path = this.#walk?.foundPath ?? (this.#walk?.isOver ? '[]' : undefined);
    return path === undefined ? notFound : found(path);
  }

  #countLinesIn(chunk: Buffer, start: number, end: number): void {
    for (let at = chunk.indexOf(newline, start); at !== -1 && at < end; at = chunk.indexOf(newline, at + 1)) {
      this.#line++;
      this.#lineStart = this.#offset + at + 1;
    }
  }

  /** Reads the name of a record in an object. Returns the index in the chunk at which its value begins. */
  #takeName(chunk: Buffer, start: number): number {
    const before = this.#head.length;
    this.#head += chunk.toString('latin1', start);
    const textStart = this.#offset + start - before;
    const isFirst = this.#records === 0;
    if (isFirst && /^(?:\xef\xbb\xbf)?\s*[^\s{\xef]/.test(this.#head)) {
      this.#isObject = false;
      this.#state = 'before the array';
      return start;
    }
    const [whole, value] = (isFirst ? firstValue : laterValue).exec(this.#head) ?? [];
    if (whole === undefined) {
      if (this.#head.length > maxHeaderBytes) throw this.#unexpected('another text', textStart);
      return chunk.length;
    }
    if (isFirst && value !== undefined && value !== '{') return this.#takeOnly(start - before, textStart);
    const end = textStart + whole.length - 1;
    this.#countLines(whole.slice(0, -1), end);
    this.#head = '';
    this.#state = value === undefined ? 'after an element' : 'before an element';
    return end - this.#offset;
  }

  /** The object itself is the only record. `textIndex` is the index of the text before it, which can begin in an earlier chunk. */
  #takeOnly(textIndex: number, textStart: number): number {
    const brace = this.#head.indexOf('{');
    this.#countLines(this.#head.slice(0, brace), textStart + brace);
    this.#element = { offset: textStart + brace, line: this.#line, lineStart: this.#lineStart };
    this.#state = 'in an element';
    this.#isOnly = true;
    const index = textIndex + brace;
    const earlier = Buffer.from(this.#head.slice(brace, Math.max(brace, -textIndex)), 'latin1');
    if (earlier.length > 0 && this.#scanner.end(earlier, 0) === undefined) this.#open.push(earlier);
    this.#head = '';
    return Math.max(index, 0);
  }

  /** Reads a comma or bracket outside the elements, for example. Returns the index in the chunk at which to continue. */
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
      const next = nextState(byte, this.#state, this.#isObject);
      if (next === undefined) return this.#takeUnexpected(chunk, at);
      this.#state = next === 'after the array' && this.#walk ? 'outside the list' : next;
      if (this.#state === 'outside the list') this.#walk?.leaveList();
    }
    return at + 1;
  }

  /** If the file begins with an object, starts to search it for a list of records. Otherwise throws an AutomateError (`input`). */
  #takeUnexpected(chunk: Buffer, at: number): number {
    const offset = this.#offset + at;
    const notFound = this.#unexpected(tokenKind(chunk.toString('utf8', at, at + 6)), offset);
    if (this.#state !== 'before the array' || chunk[at] !== 0x7b) throw notFound;
    const place = placeOf(this.#line + 1, offset - this.#lineStart);
    const found = (records: string) =>
      inputError(this.#name, records === '[]' ? oneObject : `the file contains one object; its list of records is at ${records}`, {
        ...place,
        records,
      });
    this.#search = { offset, notFound, found };
    this.#walk = new JsonWalk(undefined);
    this.#state = 'outside the list';
    return at;
  }

  /** Reads the part of an element in this chunk. Returns the index at which to continue. */
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
    this.#state = this.#isOnly ? 'after the array' : 'after an element';
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
    const missing = this.#state === 'outside the list' ? this.#walk?.expected : expected[this.#state];
    return inputError(this.#name, `expected ${missing}, found ${found}`, { ...place, hint });
  }
}

/** Both are 1-based. The column may be too high after non-ASCII characters, because it counts bytes before the current element. */
function placeOf(line: number, column: number) {
  return { line, column: Number.isNaN(column) ? undefined : column + 1 };
}

function nextState(byte: number, state: State, isObject: boolean): State | undefined {
  const char = String.fromCharCode(byte);
  if (char === '[' && state === 'before the array') return 'before the first element';
  if (char === ',' && state === 'after an element') return isObject ? 'before a name' : 'before an element';
  if (char === '}' && isObject && state === 'after an element') return 'after the array';
  if (char === ']' && !isObject && (state === 'before the first element' || state === 'after an element')) return 'after the array';
  return undefined;
}
