import * as z from 'zod';
import { pathTo, valueAt } from '../../core/answer/path.ts';
import { fieldName } from '../../core/options/names.ts';
import { dictionary } from '../../core/value/dictionary.ts';
import { parseJson } from '../../core/value/json.ts';
import { isObject, type JsonObject, membersOf, type Value } from '../../core/value/value.ts';

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

export class OutputCheck {
  readonly #schema: z.ZodType;

  /** Throws an Error if the schema cannot be compiled. */
  constructor(schema: JsonObject) {
    this.#schema = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
  }

  /** Keeps the digits of numbers. If the value does not fit the schema, throws an Error that says why. */
  read(text: string): Value {
    const json = unfenced(text);
    const found = parsedOutput(json);
    const [issue] = this.#schema.safeParse(found).error?.issues ?? [];
    if (issue) throw new Error(issueText(issue, found as Value));
    return parseJson(json);
  }
}

function issueText({ path: steps, message }: z.core.$ZodIssue, found: Value): string {
  const path = (steps as (string | number)[]).reduce<string>(pathTo, '');
  if (valueAt(found, steps as (string | number)[]) === undefined) return `${path} is missing`;
  return `${path || 'the answer'}: ${message}`;
}

function parsedOutput(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new Error('the answer is not JSON');
  }
}

/** Removes the code fence (three backticks) that models often put around JSON. */
function unfenced(text: string): string {
  return /^\s*```(?:json)?\s*\n([\s\S]*?)\n?\s*```\s*$/i.exec(text)?.[1] ?? text;
}
