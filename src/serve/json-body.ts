import { isUtf8 } from 'node:buffer';
import type { Fields } from '../core/record.ts';
import { parseJson } from '../core/value/json.ts';
import { isObject, type JsonObject, type Value } from '../core/value/value.ts';
import { recordOf } from '../records/json/json-record.ts';
import { longNameError } from '../records/record-reader.ts';
import type { ServedFlow } from '../run/flow-folder.ts';
import { ProblemResponse } from './problem.ts';

/** The order of a body's fields can be looked up in its text. */
const texts = new WeakMap<object, string>();

/** Numbers keep all their digits. `encoding` is the value of Content-Encoding. Throws a Problem if the body is not valid. */
export function parseBody(bytes: Buffer, encoding = 'identity'): Value {
  if (encoding.toLowerCase() !== 'identity')
    throw new ProblemResponse('media-type', `expected a body without Content-Encoding, found ${encoding}`, {
      expected: ['application/json'],
    });
  if (bytes.length === 0) throw new ProblemResponse('bad-request', 'expected a body, found none');
  // Invalid bytes are refused. Otherwise, decoding would replace them with other characters, which would be sent to upstream APIs as if the
  // client had written them.
  if (!isUtf8(bytes)) throw new ProblemResponse('bad-request', 'expected JSON in UTF-8, found bytes that are not UTF-8');
  // RFC 8259, 8.1: a byte order mark may be ignored. Windows PowerShell and .NET clients send one.
  const text = bytes.toString('utf8').replace(/^\ufeff/, '');
  let value: Value;
  try {
    value = parseJson(text);
  } catch (error) {
    throw new ProblemResponse('bad-request', `the body is not valid JSON: ${(error as Error).message}`);
  }
  if (typeof value === 'object' && value !== null) texts.set(value, text);
  return value;
}

/** Throws a Problem if the body is not a JSON object. */
export function recordOfBody(body: unknown): Fields {
  if (!isObject(body as Value)) throw new ProblemResponse('bad-request', 'expected one record: a JSON object');
  const long = longNameError(Object.keys(body as JsonObject), 'body');
  if (long) throw new ProblemResponse('input-unreadable', long.message, { line: null });
  return fieldsOf(body as JsonObject, textOfBody(body));
}

/** Gives the fields the names that the flow uses. Throws a Problem if the record has a column under both names. */
export function fieldsForFlow(fields: Fields, { plan }: Pick<ServedFlow, 'plan'>): Fields {
  if (!plan) return fields;
  const twice = plan.names.twiceIn(fields);
  if (twice !== undefined) throw new ProblemResponse('bad-request', twice);
  return plan.names.fieldsInFlow(fields);
}

export function textOfBody(body: unknown): string {
  return texts.get(body as object) ?? '{}';
}

/** Returns the fields of an object. `text` is the object as JSON, which shows the order of fields whose names are numbers. */
export function fieldsOf(object: JsonObject, text: string): Fields {
  return recordOf(object, text).fields;
}
