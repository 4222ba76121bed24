import type { Failure } from '../../core/failure.ts';
import type { Item } from '../../core/item.ts';
import { isErrorField } from '../../core/record.ts';
import { maxDepth, writtenNames } from '../../core/value/json.ts';
import { isObject, type JsonObject, type Value } from '../../core/value/value.ts';
import { failedAs, otherFields, unreadableBefore } from '../errors-file.ts';

/** The part that does not depend on the record's position in the input. */
export type RecordContent = Pick<Item, 'fields' | 'failure' | 'failedAs'>;

/** Leaves out the fields that an errors file adds. `text` is the object's JSON, which determines the order of the fields. */
export function recordOf(object: JsonObject, text: string): RecordContent {
  const fields = new Map<string, Value>();
  let failure: Failure | undefined;
  let error: Value | undefined;
  for (const name of orderedNames(object, text)) {
    const value = object[name] as Value;
    if (!isErrorField(name)) fields.set(name, value);
    else if (name === '_error' && isObject(value)) {
      failure = unreadableBefore(value.class, value.message);
      error = value.record;
    } else if (name === '_error_record') error = value;
    else if (name === '_error_class') failure ??= unreadableBefore(value, object._error_message, object[otherFields]);
  }
  return failure || error !== undefined ? { fields, ...failedAs(error), failure } : { fields };
}

/** JavaScript moves names that are numbers, such as `1`, to the front. If there are any, the order is read from the text. */
function orderedNames(object: JsonObject, text: string): string[] {
  const names = Object.keys(object);
  return /^\d/.test(names[0] ?? '') ? writtenNames(text) : names;
}

/** For messages, such as `an array`. */
export function valueKind(value: Value): string {
  if (Array.isArray(value)) return 'an array';
  if (isObject(value)) return 'an object';
  if (typeof value === 'string') return 'a string';
  if (value === null || typeof value === 'boolean') return String(value);
  return 'a number';
}

/** For messages, such as `a number`. */
export function tokenKind(text: string): string {
  const [literal] = /^(?:true|false|null)\b/.exec(text) ?? [];
  if (literal !== undefined) return literal;
  if (/^[-\d]/.test(text)) return 'a number';
  const char = String.fromCodePoint(text.codePointAt(0) as number);
  if (char === '\ufffd') return 'another character';
  return { '{': 'an object', '[': 'an array', '"': 'a string' }[char] ?? JSON.stringify(char);
}

const quote = 0x22;
const backslash = 0x5c;

/** Finds the end of each object. Looks only at strings, escapes and brackets, because the JSON parser checks everything else. */
export class ElementScanner {
  /** The open brackets, with the innermost last. */
  readonly #closing: number[] = [];
  #isQuoted = false;
  #isEscaped = false;

  /**
   * The index after the object at `start`; undefined if the object continues in the next chunk. An invalid byte also ends it, because an
   * invalid object could otherwise extend to the end of the file.
   */
  end(chunk: Buffer, start: number): number | undefined {
    // The loop uses local variables, because private fields would make it much slower.
    const closing = this.#closing;
    let quoted = this.#isQuoted;
    let escaped = this.#isEscaped;
    let end: number | undefined;
    for (let at = start; at < chunk.length && end === undefined; at++) {
      const byte = chunk[at] as number;
      if (escaped) escaped = false;
      else if (quoted) {
        if (byte === quote) quoted = false;
        else if (byte === backslash) escaped = true;
        else if (byte < 0x20) end = at + 1;
      } else if (byte === quote) quoted = true;
      else if (isBracket(byte) && endsAt(byte, closing)) end = at + 1;
    }
    this.#isQuoted = quoted;
    this.#isEscaped = escaped;
    return end;
  }
}

function isBracket(byte: number): boolean {
  return byte === 0x7b || byte === 0x5b || byte === 0x7d || byte === 0x5d;
}

/** Updates the open brackets. True if this bracket ends the object, does not match, or is nested too deeply. */
function endsAt(bracket: number, closing: number[]): boolean {
  if (bracket === 0x7b || bracket === 0x5b) return closing.push(bracket + 2) > maxDepth;
  return closing.pop() !== bracket || closing.length === 0;
}
