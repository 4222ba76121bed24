import type { Failure } from '../../../../core/failure.ts';
import type { Item } from '../../../../core/item.ts';
import { isErrorField } from '../../../../core/record.ts';
import { writtenNames } from '../../../../core/value/json.ts';
import { isObject, type JsonObject, type Value } from '../../../../core/value/value.ts';
import { failedAs, otherFields, unreadableBefore } from '../../errors.ts';

/** The part of a record that does not depend on its place in the input. */
export type RecordContent = Pick<Item, 'fields' | 'failure' | 'failedAs'>;

/**
 * The record of an object, without the fields that an errors file added. `text`: the JSON text of the object, which has the order of its
 * fields.
 */
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
  return failure || error !== undefined ? { fields, ...failedAs(error), ...(failure && { failure }) } : { fields };
}

/** A JavaScript object puts names that are whole numbers first; the text has the written order. */
function orderedNames(object: JsonObject, text: string): string[] {
  const names = Object.keys(object);
  return /^\d/.test(names[0] ?? '') ? writtenNames(text) : names;
}

/** The kind of a value, as messages name it. */
export function valueKind(value: Value): string {
  if (Array.isArray(value)) return 'an array';
  if (isObject(value)) return 'an object';
  if (typeof value === 'string') return 'a text';
  if (value === null || typeof value === 'boolean') return String(value);
  return 'a number';
}

/** The kind of token at the start of a text, as messages name it. */
export function tokenKind(text: string): string {
  const [literal] = /^(?:true|false|null)\b/.exec(text) ?? [];
  if (literal !== undefined) return literal;
  if (/^[-\d]/.test(text)) return 'a number';
  const char = String.fromCodePoint(text.codePointAt(0) as number);
  if (char === '\ufffd') return 'another character';
  return { '{': 'an object', '[': 'an array', '"': 'a text' }[char] ?? JSON.stringify(char);
}
