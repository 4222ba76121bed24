import type { Failure } from '../../../core/failure.ts';
import type { Item } from '../../../core/item.ts';
import { isErrorField } from '../../../core/record.ts';
import { writtenNames } from '../../../core/value/json.ts';
import { isObject, type JsonObject, type Value } from '../../../core/value/value.ts';
import { otherFields, unreadableBefore } from '../errors.ts';

/** An object as a record, without the fields that an errors file added. `text`: as it was written, for the order of its fields. */
export function recordOf(object: JsonObject, text: string): Pick<Item, 'fields' | 'failure'> {
  const fields = new Map<string, Value>();
  let failure: Failure | undefined;
  for (const name of namesOf(object, text)) {
    const value = object[name] as Value;
    if (!isErrorField(name)) fields.set(name, value);
    else if (name === '_error' && isObject(value)) failure = unreadableBefore(value.class, value.message);
    else if (name === '_error_class') failure ??= unreadableBefore(value, object._error_message, object[otherFields]);
  }
  return failure ? { fields, failure } : { fields };
}

/** An object puts names that are whole numbers first. */
function namesOf(object: JsonObject, text: string): string[] {
  const names = Object.keys(object);
  return /^\d/.test(names[0] ?? '') ? writtenNames(text) : names;
}

/** What a value is, in a message's words. */
export function kindOf(value: Value): string {
  if (Array.isArray(value)) return 'an array';
  if (isObject(value)) return 'an object';
  if (typeof value === 'string') return 'a text';
  if (value === null || typeof value === 'boolean') return String(value);
  return 'a number';
}
