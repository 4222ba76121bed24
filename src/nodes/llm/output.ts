import * as z from 'zod';
import { pathTo, valueAt } from '../../core/answer/path.ts';
import { excerpt } from '../../core/answer/response.ts';
import { fieldName } from '../../core/options/names.ts';
import { dictionary } from '../../core/value/dictionary.ts';
import { parseJson, stringEnd } from '../../core/value/json.ts';
import { isObject, type JsonObject, jsonOf, membersOf, orUndefined, type Value } from '../../core/value/value.ts';

const types = ['string', 'number', 'integer', 'boolean', 'list'] as const;

const expectedMember = `expected a type (${types.join(', ')}), or a mapping such as { enum: [a, b] }`;

const shape = z.strictObject({
  type: z.enum(types).optional().describe('the type; list is a list of strings (default: string)'),
  enum: z.array(z.string()).min(1).optional().describe('the allowed values'),
  optional: z.boolean().optional().describe('true if it can be null'),
  description: z.string().optional().describe('what the model is told about it'),
});

const member = shape.refine(({ type, enum: values }) => type === undefined || values === undefined || type === 'string', {
  error: 'expected type or enum: the values of an enum are strings',
  path: ['type'],
});

/** It is a short form of a JSON Schema. */
export const output = dictionary(fieldName, z.union([z.enum(types), member], { error: expectedMember }));

type OutputMember = z.output<typeof member>;

export function schemaOf(written: z.output<typeof output>): JsonObject {
  const properties = membersOf(written).map(([name, one]) => [name, propertyOf(typeof one === 'string' ? { type: one } : one)] as const);
  return {
    type: 'object',
    properties: Object.fromEntries(properties) as JsonObject,
    required: properties.map(([name]) => name),
    additionalProperties: false,
  };
}

/** Returns the schema for the check: a model that is not forced to follow the schema leaves out what can be null. */
export function checkedSchema(written: z.output<typeof output>): JsonObject {
  const required = membersOf(written).flatMap(([name, one]) => (typeof one !== 'string' && one.optional ? [] : [name]));
  return { ...schemaOf(written), required };
}

function propertyOf({ type = 'string', enum: values, optional = false, description }: OutputMember): JsonObject {
  const base = type === 'list' ? 'array' : type;
  return {
    type: optional ? [base, 'null'] : base,
    ...(type === 'list' && { items: { type: 'string' } }),
    ...(values && { enum: optional ? [...values, null] : values }),
    ...(description !== undefined && { description }),
  };
}

/** Empty for a schema that is not of an object. */
export function propertiesOf(schema: JsonObject): string[] {
  return isObject(schema.properties) ? membersOf(schema.properties).map(([name]) => name) : [];
}

/** Maximum number of places in an answer at which JSON is looked for. It keeps the search linear in the length of the answer. */
const maxStarts = 20;

export class OutputCheck {
  readonly #schema: z.ZodType;

  /** Throws an Error if the schema cannot be compiled. */
  constructor(schema: JsonObject) {
    try {
      this.#schema = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
    } catch (error) {
      throw new Error(`not a usable JSON Schema: ${(error as Error).message}`);
    }
  }

  /** The answer is JSON, or has JSON among other text or in a code fence. Numbers keep their digits. Throws an Error if nothing fits. */
  read(text: string): Value {
    const whole = text.trim();
    const found = orUndefined(() => parseJson(whole)) === undefined ? embedded(whole) : [whole];
    if (found.length === 0) throw new Error('the answer is not JSON');
    const fitting = this.#fitting(found) ?? this.#fitting(found.flatMap((json) => unwrapped(JSON.parse(json) as Value)));
    if (!fitting) throw new Error(this.#issueIn(found.at(-1) as string));
    const [only, ...others] = fitting;
    if (others.length > 0) throw new Error(`the answer has ${fitting.size} different values that fit it`);
    return parseJson(only as string);
  }

  /** Returns the different values that fit the schema; undefined if none does. */
  #fitting(found: readonly string[]): ReadonlySet<string> | undefined {
    const fitting = found.filter((json) => this.#issueIn(json) === undefined);
    return fitting.length === 0 ? undefined : new Set(fitting.map((json) => jsonOf(parseJson(json))));
  }

  #issueIn(json: string): string | undefined {
    const found = JSON.parse(json) as Value;
    const [issue] = this.#schema.safeParse(found).error?.issues ?? [];
    return issue && issueText(issue, found);
  }
}

function issueText(issue: z.core.$ZodIssue, found: Value): string {
  const steps = issue.path as (string | number)[];
  const path = steps.reduce<string>(pathTo, '');
  const value = valueAt(found, steps);
  if (value === undefined) return `${path} is missing`;
  if (issue.code === 'unrecognized_keys') return `the schema does not have ${issue.keys.map((key) => pathTo(path, key)).join(', ')}`;
  const expected = expectedBy(issue).join(' or ');
  return `${path || 'the answer'}: ${expected === '' ? issue.message : `expected ${expected}, found ${excerpt(jsonOf(value))}`}`;
}

/** Returns the types or values that would fit; empty for an issue of another kind. */
function expectedBy(issue: z.core.$ZodIssue): string[] {
  if (issue.code === 'invalid_union') return issue.errors.flatMap(([first]) => (first === undefined ? [] : expectedBy(first)));
  if (issue.code === 'invalid_value') return issue.values.map((value) => JSON.stringify(value));
  return issue.code === 'invalid_type' ? [issue.expected === 'int' ? 'integer' : issue.expected] : [];
}

/** Returns the answer in a value that is JSON text itself, or that looks like a call of a tool: `{ name, arguments }`. */
function unwrapped(value: Value): string[] {
  const inner = isObject(value) && value.name !== undefined ? (value.arguments ?? value.parameters ?? null) : value;
  const json = typeof inner === 'string' ? inner : jsonOf(inner);
  return orUndefined(() => parseJson(json)) === undefined ? [] : [json];
}

/** Returns the JSON objects and lists in a text that are not inside others, in their order. If there are none, the contents of fences. */
function embedded(text: string): string[] {
  const found: string[] = [];
  const start = /\{(?=\s*["}])|\[(?=\s*["[{\]\dtfn-])/g;
  for (let starts = 0, match = start.exec(text); match && starts < maxStarts; match = start.exec(text), starts++) {
    const end = endOfValue(text, match.index);
    const json = text.slice(match.index, end);
    if (orUndefined(() => parseJson(json)) === undefined) continue;
    found.push(json);
    start.lastIndex = match.index + json.length;
  }
  return found.length > 0 ? found : fenced(text);
}

/** Returns the position behind the bracket that closes the one at `from`. Returns `from` if none does. */
function endOfValue(text: string, from: number): number {
  const token = /["[\]{}]/g;
  token.lastIndex = from;
  let depth = 0;
  for (let match = token.exec(text); match; match = token.exec(text)) {
    if (match[0] === '"') {
      const end = stringEnd(text, match.index);
      if (end === 0) return from;
      token.lastIndex = end;
    } else depth += match[0] === '{' || match[0] === '[' ? 1 : -1;
    if (depth === 0) return token.lastIndex;
  }
  return from;
}

/** Returns the contents of code fences (three backticks) that are JSON, for schemas of texts and numbers. */
function fenced(text: string): string[] {
  const contents = [...text.matchAll(/```\w*[^\S\n]*\n([^`]*)\n[^\S\n]*```/g)].map(([, content = '']) => content);
  return contents.filter((content) => orUndefined(() => parseJson(content)) !== undefined);
}
