import { bodyTemplate } from '../core/body.ts';
import { Failure } from '../core/failure.ts';
import { parseJson } from '../core/json.ts';
import type { Fields } from '../core/record.ts';
import { templateParts } from '../core/template.ts';
import { isObject, type JsonObject, type Value } from '../core/value.ts';

/** The arguments of a tool, ready to be rendered. */
export interface ArgumentsTemplate {
  /** Their names, but for those that a record decides. */
  readonly names: readonly string[];
  /** Whether a record decides a name. */
  readonly hasOtherNames: boolean;
  render(fields: Fields): JsonObject;
}

/** Compiles arguments: they are rendered as a request's body is. Throws an Error that says what is wrong. */
export function argumentsTemplate(written: Value, isCell: (field: string) => boolean): ArgumentsTemplate {
  const render = told(() => bodyTemplate(written, isCell));
  const names = Object.keys(typeof written === 'string' ? sampleOf(written) : (written as JsonObject));
  const literal = names.filter((name) => !hasReference(name));
  return {
    names: literal,
    hasOtherNames: literal.length < names.length,
    render: (fields) => objectOf(told(() => render(fields))),
  };
}

function hasReference(text: string): boolean {
  return templateParts(text).some((part) => typeof part !== 'string');
}

/** JSON text with a number for each reference, inside quotes or outside. */
function sampleOf(text: string): JsonObject {
  const sample = templateParts(text).map((part) => (typeof part === 'string' ? part : '0'));
  return objectOf(parseJson(sample.join('')));
}

function objectOf(value: Value | string): JsonObject {
  const object = typeof value === 'string' ? parseJson(value) : value;
  if (isObject(object)) return object;
  throw new Failure('request', 'expected the arguments to be a mapping of names to values', { sent: false });
}

/** What is said of a body is said of arguments. */
function told<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    const { message } = error as Error;
    const retold = message.replace('the body is not', 'the arguments are not').replace('in the body', 'in the arguments');
    throw error instanceof Failure ? error.retold(retold) : new Error(retold);
  }
}
