import { Failure } from '../../core/failure.ts';
import type { Fields } from '../../core/record.ts';
import { bodyTemplate } from '../../core/template/body.ts';
import { templateParts } from '../../core/template/template.ts';
import { parseJson } from '../../core/value/json.ts';
import { isObject, type JsonObject, jsonOf, type Value } from '../../core/value/value.ts';

/** The compiled arguments for a tool. */
export interface ArgumentsTemplate {
  /** The names of the arguments that are the same for every record. */
  readonly names: readonly string[];
  /** True if a record determines the name of some argument. */
  readonly hasOtherNames: boolean;
  /** The arguments whose values do not depend on the record; empty if the arguments are written as JSON text. */
  readonly literals: ReadonlyMap<string, Value>;
  /** The names of arguments that are strings for every record; empty if the arguments are written as JSON text. */
  readonly texts: readonly string[];
  /**
   * The names of arguments that consist of a single field of a table. Such arguments are always strings if the records are rows of a table.
   */
  readonly cells: readonly string[];
  render(fields: Fields): JsonObject;
}

/** Compiles arguments in the same way as the body of a request. Throws an Error with the reason if the arguments are invalid. */
export function argumentsTemplate(written: Value, isCell: (field: string) => boolean): ArgumentsTemplate {
  const render = bodyTemplate(written, isCell, undefined, 'arguments');
  const names = Object.keys(typeof written === 'string' ? sampleOf(written) : (written as JsonObject));
  const literal = names.filter((name) => !hasReference(name));
  const members = typeof written === 'string' ? [] : Object.entries(written as JsonObject).filter(([name]) => !hasReference(name));
  return {
    names: literal,
    hasOtherNames: literal.length < names.length,
    literals: new Map(members.filter(([, value]) => !hasReference(jsonOf(value)))),
    texts: members.filter(([, value]) => isMixedText(value)).map(([name]) => name),
    cells: members.filter(([, value]) => isCellAlone(value, isCell)).map(([name]) => name),
    render: (fields) => asObject(render(fields)),
  };
}

/** True if a value contains both references and literal text. */
function isMixedText(value: Value): boolean {
  return typeof value === 'string' && hasReference(value) && templateParts(value).length > 1;
}

function isCellAlone(value: Value, isCell: (field: string) => boolean): boolean {
  const [only, ...more] = typeof value === 'string' ? templateParts(value) : [];
  return typeof only === 'object' && more.length === 0 && isCell(only.field);
}

function hasReference(text: string): boolean {
  return templateParts(text).some((part) => typeof part !== 'string');
}

/** Parses the JSON text of arguments, with a number in place of each reference, to find their names. */
function sampleOf(text: string): JsonObject {
  const sample = templateParts(text).map((part) => (typeof part === 'string' ? part : '0'));
  return asObject(parseJson(sample.join('')));
}

function asObject(value: Value | string): JsonObject {
  const object = typeof value === 'string' ? parseJson(value) : value;
  if (isObject(object)) return object;
  throw new Failure('request', 'expected the arguments to be a mapping of names to values', { sent: false });
}
