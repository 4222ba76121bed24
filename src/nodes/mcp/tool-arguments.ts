import { Failure } from '../../core/failure.ts';
import type { Fields } from '../../core/record.ts';
import { bodyTemplate } from '../../core/template/body.ts';
import { templateParts } from '../../core/template/template.ts';
import { parseJson } from '../../core/value/json.ts';
import { isObject, type JsonObject, jsonOf, type Value } from '../../core/value/value.ts';

/** The arguments of a tool, ready to be rendered. */
export interface ArgumentsTemplate {
  /** The names of the arguments, without names that a record decides. */
  readonly names: readonly string[];
  /** True if a record decides a name. */
  readonly hasOtherNames: boolean;
  /** The values that no record decides; empty for JSON text. */
  readonly literals: ReadonlyMap<string, Value>;
  /** Names of the arguments that are texts for every record; empty for JSON text. */
  readonly texts: readonly string[];
  /** Names of the arguments that are cells, so texts for every record of a table. */
  readonly cells: readonly string[];
  render(fields: Fields): JsonObject;
}

/** Compiles arguments, as a request's body is compiled. Throws an Error that says what is wrong. */
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

/** True if a value has references and text around them. */
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

/** The JSON text with a number in place of each reference. */
function sampleOf(text: string): JsonObject {
  const sample = templateParts(text).map((part) => (typeof part === 'string' ? part : '0'));
  return asObject(parseJson(sample.join('')));
}

function asObject(value: Value | string): JsonObject {
  const object = typeof value === 'string' ? parseJson(value) : value;
  if (isObject(object)) return object;
  throw new Failure('request', 'expected the arguments to be a mapping of names to values', { sent: false });
}
