import { pathTo } from '../../core/answer/path.ts';
import { maxDepth, tooDeep } from '../../core/value/json.ts';
import { orUndefined } from '../../core/value/value.ts';
import { type Expectation, expectations } from './json-fault.ts';
import { tokenKind } from './json-record.ts';

const [quote, backslash, closedObject, closedArray] = [0x22, 0x5c, 0x7d, 0x5d];

/** Longer field names cannot be in the path, so the rest is not needed. */
const maxNameBytes = 4096;

/** Field names of an object that an error message lists. */
const maxShownNames = 5;

/** Invalid JSON syntax, or a value of the wrong kind on the path to the list of records. `index` is the position in the chunk. */
export class WalkFault extends Error {
  constructor(
    readonly index: number,
    message: string,
  ) {
    super(message);
  }
}

/** Reads the JSON around a list of records in chunks, and stops at the list. Other values are checked for valid syntax, but not stored. */
export class JsonWalk {
  /** Leads to the list of records; undefined to search for the first list of objects. */
  readonly #path: readonly string[] | undefined;
  /** The open brackets, with the innermost last. */
  readonly #closing: number[] = [];
  /** The current field name in each open object, with the outermost first. Open arrays are undefined. */
  readonly #names: (string | undefined)[] = [];
  #expected: Expectation = 'value';
  #inside: 'nothing' | 'name' | 'text' | 'scalar' = 'nothing';
  #isEscaped = false;
  #name: Buffer[] = [];
  /** The innermost open object's names, for the error message if the next name of the path is missing there. */
  #namesOnWay: string[] = [];
  #isFound = false;
  #isInList = false;
  #foundPath: string | undefined;
  #emptyPath: string | undefined;

  /** `isInList`: reading resumes within the list of records. */
  constructor(path: readonly string[] | undefined, isInList = false) {
    this.#path = path;
    if (!isInList || !path) return;
    for (const name of path) this.#open(closedObject, name);
    this.#isFound = true;
    this.leaveList();
  }

  /** True from the beginning of the list of records until `leaveList` is called. */
  get isInList(): boolean {
    return this.#isInList;
  }

  /** The outermost JSON value has ended. */
  get isOver(): boolean {
    return this.#expected === 'next' && this.#closing.length === 0 && this.#inside === 'nothing';
  }

  /** The path of the first list of objects or, if there is none, of the first empty list. */
  get foundPath(): string | undefined {
    return this.#foundPath ?? this.#emptyPath;
  }

  /** The next token, as worded in error messages. */
  get expected(): string {
    if (this.#inside === 'name' || this.#inside === 'text') return 'a closing quote';
    if (this.#expected !== 'next') return expectations[this.#expected];
    const closing = this.#closing.at(-1);
    return closing === undefined ? 'nothing more' : `"," or "${String.fromCharCode(closing)}"`;
  }

  /** Called after the list's closing bracket has been read. */
  leaveList(): void {
    this.#isInList = false;
    this.#expected = 'next';
  }

  /**
   * Returns the index after the list's opening bracket, or the chunk's length if the list does not begin in it. Throws a WalkFault for
   * invalid syntax or a value of the wrong kind on the path.
   */
  walk(chunk: Buffer, start: number): number {
    let at = start;
    while (at < chunk.length) {
      if (this.#inside === 'scalar') at = this.#skipScalar(chunk, at);
      else if (this.#inside !== 'nothing') at = this.#skipString(chunk, at);
      else if (isSpace(chunk[at] as number)) at++;
      else {
        this.#take(chunk, at);
        at++;
        if (this.#isInList) return at;
      }
    }
    return at;
  }

  #skipScalar(chunk: Buffer, start: number): number {
    let at = start;
    while (at < chunk.length && isOfScalar(chunk[at] as number)) at++;
    if (at < chunk.length) this.#inside = 'nothing';
    return at;
  }

  #skipString(chunk: Buffer, start: number): number {
    let escaped = this.#isEscaped;
    let at = start;
    for (; at < chunk.length; at++) {
      const byte = chunk[at] as number;
      if (byte < 0x20) throw new WalkFault(at, `expected a closing quote, found ${tokenKind(String.fromCharCode(byte))}`);
      if (escaped) escaped = false;
      else if (byte === backslash) escaped = true;
      else if (byte === quote) break;
    }
    this.#isEscaped = escaped;
    if (this.#inside === 'name') this.#keepName(chunk.subarray(start, at));
    if (at === chunk.length) return at;
    if (this.#inside === 'name') this.#closeName();
    this.#inside = 'nothing';
    return at + 1;
  }

  #keepName(bytes: Buffer): void {
    const kept = this.#name.reduce((sum, part) => sum + part.length, 0);
    if (bytes.length > 0 && kept < maxNameBytes) this.#name.push(bytes.subarray(0, maxNameBytes - kept));
  }

  #closeName(): void {
    const written = Buffer.concat(this.#name).toString();
    const name = orUndefined(() => JSON.parse(`"${written}"`) as string) ?? written;
    this.#name = [];
    this.#names[this.#names.length - 1] = name;
    if (!this.#isFound && this.#isOnWay(this.#names.length - 1)) this.#namesOnWay.push(name);
  }

  /** Reads the first byte of a token, which is not whitespace and not inside a string, number or keyword. */
  #take(chunk: Buffer, at: number): void {
    const byte = chunk[at] as number;
    const refused = () => new WalkFault(at, `expected ${this.expected}, found ${tokenKind(chunk.toString('utf8', at, at + 6))}`);
    const canClose = this.#expected === 'next' || this.#expected.includes(' or ');
    if (canClose && byte === this.#closing.at(-1)) this.#close(at);
    else if (this.#expected === 'next') {
      if (byte !== 0x2c || this.#closing.length === 0) throw refused();
      this.#expected = this.#closing.at(-1) === closedObject ? 'name' : 'value';
    } else if (this.#expected === ':') {
      if (byte !== 0x3a) throw refused();
      this.#expected = 'value';
    } else if (this.#expected.startsWith('name')) {
      if (byte !== quote) throw refused();
      this.#inside = 'name';
      this.#expected = ':';
    } else if (beginsValue(byte)) this.#beginValue(chunk, at);
    else throw refused();
  }

  #beginValue(chunk: Buffer, at: number): void {
    const byte = chunk[at] as number;
    this.#checkPlace(chunk, at);
    if (this.#isInList) return;
    const isFirst = this.#expected === 'value or ]';
    this.#expected = 'next';
    if (byte === 0x7b) this.#openObject(isFirst);
    else if (byte === 0x5b) this.#open(closedArray, undefined);
    else this.#inside = byte === quote ? 'text' : 'scalar';
    if (this.#closing.length > maxDepth) throw new WalkFault(at, tooDeep);
  }

  /** If the path ends here, a list is the list of records. Throws a WalkFault if the value on the path has the wrong kind. */
  #checkPlace(chunk: Buffer, at: number): void {
    const depth = this.#names.length;
    if (!this.#path || !this.#isOnWay(depth)) return;
    const isList = chunk[at] === 0x5b;
    const isEnd = depth === this.#path.length;
    if (this.#isFound) {
      if (isEnd) throw new WalkFault(at, `expected one list at ${this.#pathText(depth)}, found a second one`);
    } else if (isEnd && isList) {
      this.#isFound = true;
      this.#isInList = true;
    } else if (isEnd || chunk[at] !== 0x7b) {
      const place = depth === 0 ? '' : ` at ${this.#pathText(depth)}`;
      const found = tokenKind(chunk.toString('utf8', at, at + 6));
      throw new WalkFault(at, `expected ${isEnd ? 'a list of objects' : 'an object'}${place}, found ${found}`);
    } else this.#namesOnWay = [];
  }

  #openObject(isFirst: boolean): void {
    // This object is the first element of a list, so the list may be the one that the search looks for. `#pathOfList` excludes lists inside
    // other lists.
    if (!this.#path && isFirst) this.#foundPath ??= this.#pathOfList();
    this.#open(closedObject, undefined);
  }

  #open(closing: number, name: string | undefined): void {
    this.#closing.push(closing);
    this.#names.push(name);
    this.#expected = closing === closedObject ? 'name or }' : 'value or ]';
  }

  #close(at: number): void {
    const depth = this.#names.length - 1;
    const isObject = this.#closing.at(-1) === closedObject;
    if (this.#path && !this.#isFound && isObject && this.#isOnWay(depth)) throw new WalkFault(at, this.#missing(depth));
    if (!this.#path && this.#expected === 'value or ]') this.#emptyPath ??= this.#pathOfList();
    this.#closing.pop();
    this.#names.pop();
    this.#expected = 'next';
  }

  /** The names of the outermost `depth` open objects are the first names of the path. */
  #isOnWay(depth: number): boolean {
    const path = this.#path;
    if (!path || depth > path.length) return false;
    for (let at = depth - 1; at >= 0; at--) if (this.#names[at] !== path[at]) return false;
    return true;
  }

  #missing(depth: number): string {
    const found = this.#namesOnWay.slice(0, maxShownNames).map((name) => JSON.stringify(name));
    const more = this.#namesOnWay.length > maxShownNames ? ', ...' : '';
    const place = depth === 0 ? 'the object' : this.#pathText(depth);
    const has = found.length === 0 ? 'is empty' : `has ${found.join(', ')}${more}`;
    return `expected a list of objects at ${this.#pathText(this.#path?.length ?? 0)}, found none: ${place} ${has}`;
  }

  #pathText(depth: number): string {
    return (this.#path ?? []).slice(0, depth).reduce(pathTo, '');
  }

  /** The innermost open list; undefined if that list is inside another list. */
  #pathOfList(): string | undefined {
    const names = this.#names.slice(0, -1);
    if (this.#names.at(-1) !== undefined || names.length === 0 || names.some((name) => name === undefined)) return undefined;
    return (names as string[]).reduce(pathTo, '');
  }
}

export function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** The byte can occur in a number or in `true`, `false` or `null`. */
function isOfScalar(byte: number): boolean {
  return (
    (byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x7a) || byte === 0x45 || byte === 0x2b || byte === 0x2d || byte === 0x2e
  );
}

function beginsValue(byte: number): boolean {
  return byte === quote || byte === 0x7b || byte === 0x5b || isOfScalar(byte);
}
