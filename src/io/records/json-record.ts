import { type Fields, isErrorField } from '../../core/record.ts';
import { isObject, type JsonObject, type Value } from '../../core/value.ts';

/** An object's fields, without those that an errors file added. */
export function fieldsOf(object: JsonObject): Fields {
  const fields = new Map<string, Value>();
  for (const name of Object.keys(object)) {
    if (!isErrorField(name)) fields.set(name, object[name] as Value);
  }
  return fields;
}

/** What a value is, in a message's words. */
export function kindOf(value: Value): string {
  if (Array.isArray(value)) return 'an array';
  if (isObject(value)) return 'an object';
  if (typeof value === 'string') return 'a text';
  if (value === null || typeof value === 'boolean') return String(value);
  return 'a number';
}
