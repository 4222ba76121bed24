import { DocumentError, maxParts, tooManyParts } from '../../core/answer/document.ts';
import type { Clock } from '../../core/ports.ts';
import { parseJson } from '../../core/value/json.ts';
import type { Value } from '../../core/value/value.ts';
import { jsonFault } from '../../records/json/json-fault.ts';

/** Number of values that are parsed in one go. */
const valuesPerTurn = 1000;

/**
 * Returns the values of NDJSON, of which each is a line, or of a JSON text sequence (RFC 7464), in which each follows a record separator and
 * may contain line breaks. Rejects with a DocumentError if a value is not valid, or if there are too many.
 */
export async function parseNdjson(text: string, turn: Clock['yieldIfLong']): Promise<Value> {
  const separator = text.includes('\x1e') ? '\x1e' : '\n';
  const values: Value[] = [];
  let line = 1;
  for (let at = 0; at < text.length; ) {
    const next = text.indexOf(separator, at);
    const end = next === -1 ? text.length : next;
    const part = text.slice(at, end);
    if (part.trim() !== '') values.push(valueIn(part, line, next === -1));
    if (values.length > maxParts) throw tooManyParts('values');
    if (values.length % valuesPerTurn === 0) await turn();
    line += separator === '\n' ? 1 : part.split('\n').length - 1;
    at = end + 1;
  }
  return values;
}

/** `isLast` is true if no separator follows. If the value is invalid there, it may be cut off. */
function valueIn(part: string, line: number, isLast: boolean): Value {
  try {
    return parseJson(part);
  } catch (error) {
    const { offset, message } = jsonFault(part, 'the end of the value') ?? { offset: 0, message: (error as Error).message };
    const before = part.slice(0, offset).split('\n');
    const place = { line: line + before.length - 1, column: (before.at(-1) as string).length + 1 };
    throw new DocumentError(message, place, isLast && offset >= part.trimEnd().length);
  }
}
