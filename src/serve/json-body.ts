import { isUtf8 } from 'node:buffer';
import type { Fields } from '../core/record.ts';
import { parseJson } from '../core/value/json.ts';
import { isObject, type JsonObject, type Value } from '../core/value/value.ts';
import { recordOf } from '../io/records/readers/json/json-record.ts';
import { longNameError } from '../io/records/readers/record-reader.ts';
import { Problem } from './problem.ts';

/** The texts of bodies, which have the order of their fields. */
const texts = new WeakMap<object, string>();

/** Reads a JSON body; its numbers keep their digits. `encoding`: as Content-Encoding names it. Throws a Problem. */
export function parseBody(bytes: Buffer, encoding = 'identity'): Value {
  if (encoding.toLowerCase() !== 'identity')
    throw new Problem('media-type', `expected a body without Content-Encoding, found ${encoding}`, { expected: ['application/json'] });
  if (bytes.length === 0) throw new Problem('bad-request', 'expected a body, found none');
  // A replaced character would be sent upstream as if the client had written it.
  if (!isUtf8(bytes)) throw new Problem('bad-request', 'expected JSON in UTF-8, found bytes that are not UTF-8');
  const text = bytes.toString('utf8');
  let value: Value;
  try {
    value = parseJson(text);
  } catch (error) {
    throw new Problem('bad-request', `the body is not valid JSON: ${(error as Error).message}`);
  }
  if (typeof value === 'object' && value !== null) texts.set(value, text);
  return value;
}

/** The record that a body is. Throws a Problem. */
export function recordOfBody(body: unknown): Fields {
  if (!isObject(body as Value)) throw new Problem('bad-request', 'expected one record: a JSON object');
  const long = longNameError(Object.keys(body as JsonObject), 'body');
  if (long) throw new Problem('input-unreadable', long.message, { line: null });
  return fieldsOf(body as JsonObject, textOfBody(body));
}

/** The text of a body. */
export function textOfBody(body: unknown): string {
  return texts.get(body as object) ?? '{}';
}

/** The fields of an object. `text`: has the order of fields whose names are numbers. */
export function fieldsOf(object: JsonObject, text: string): Fields {
  return recordOf(object, text).fields;
}
