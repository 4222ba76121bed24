import { isObject, type JsonObject, membersOf, type Value, type ValuePath } from '../../core/value/value.ts';

type SchemaReport = (at: ValuePath, message: string) => void;

/** Keywords that OpenAI rejects in a strict schema, according to its guide or to its messages ("not permitted"). */
const refusedKeywords = [
  ...['allOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentRequired', 'dependentSchemas', 'default'],
  ...['propertyNames', 'minProperties', 'maxProperties', 'unevaluatedProperties'],
  ...['uniqueItems', 'contains', 'minContains', 'maxContains', 'unevaluatedItems'],
];

const formats = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'];

const maxDepth = 10;
const maxProperties = 5000;
const maxEnumValues = 1000;

/** Reports every part of a strict schema that OpenAI would reject. https://platform.openai.com/docs/guides/structured-outputs */
export function checkStrictSchema(schema: JsonObject, report: SchemaReport): void {
  const count = { properties: 0, values: 0 };
  if (!typesOf(schema).includes('object') || schema.anyOf !== undefined) {
    report([], 'expected type: object at the top of the schema, and no anyOf there');
  }
  checkPart(schema, { at: [], depth: 1, count, report });
  if (count.properties > maxProperties) report([], `expected at most ${maxProperties} properties, found ${count.properties}`);
  if (count.values > maxEnumValues) report([], `expected at most ${maxEnumValues} values of enum, found ${count.values}`);
}

interface SchemaWalk {
  readonly at: ValuePath;
  /** Number of enclosing objects, including this part of the schema. */
  readonly depth: number;
  readonly count: { properties: number; values: number };
  readonly report: SchemaReport;
}

function checkPart(part: Value | undefined, walk: SchemaWalk): void {
  const { at, count, report } = walk;
  if (!isObject(part)) {
    report(at, 'expected a schema with a type');
    return;
  }
  for (const keyword of refusedKeywords) {
    if (part[keyword] !== undefined) report([...at, keyword], `OpenAI does not accept ${keyword} in a strict schema${insteadOf(keyword)}`);
  }
  if (['type', 'anyOf', '$ref', ...refusedKeywords].every((name) => part[name] === undefined))
    report(at, 'expected a type, which OpenAI requires in every schema');
  if (typeof part.format === 'string' && !formats.includes(part.format)) {
    report([...at, 'format'], `expected one of the formats ${formats.join(', ')}, found "${part.format}"`);
  }
  if (Array.isArray(part.enum)) count.values += part.enum.length;
  if (typesOf(part).includes('object')) checkObject(part, walk);
  if (typesOf(part).includes('array') && !isObject(part.items)) report(at, 'expected items: the schema of an element of the array');
  checkInner(part, walk);
}

function insteadOf(keyword: string): string {
  return keyword === 'oneOf' ? '; use anyOf' : '';
}

function checkObject(part: JsonObject, { at, depth, count, report }: SchemaWalk): void {
  const names = isObject(part.properties) ? membersOf(part.properties).map(([name]) => name) : [];
  const required = Array.isArray(part.required) ? part.required : [];
  count.properties += names.length;
  if (depth === maxDepth + 1) report(at, `expected objects nested at most ${maxDepth} deep`);
  if (part.additionalProperties !== false) {
    const place = part.additionalProperties === undefined ? at : [...at, 'additionalProperties'];
    report(place, 'expected additionalProperties: false, which OpenAI requires for every object');
  }
  const place = part.required === undefined ? at : [...at, 'required'];
  const missing = names.filter((name) => !required.includes(name));
  if (missing.length > 0) {
    const nullable = 'a property that can be null has type: [string, "null"]';
    report(place, `required does not contain ${missing.join(', ')}: OpenAI requires every property in it; ${nullable}`);
  }
  const unknown = required.filter((name) => !names.includes(name as string));
  if (unknown.length > 0) report(place, `required lists ${unknown.join(', ')}, which properties does not have`);
}

function checkInner(part: JsonObject, walk: SchemaWalk): void {
  const depth = walk.depth + (typesOf(part).includes('object') ? 1 : 0);
  const within = (steps: ValuePath, inner: Value | undefined) => checkPart(inner, { ...walk, at: [...walk.at, ...steps], depth });
  for (const group of ['properties', '$defs', 'definitions']) {
    const members = part[group];
    if (isObject(members)) for (const [name, inner] of membersOf(members)) within([group, name], inner);
  }
  if (isObject(part.items)) within(['items'], part.items);
  if (Array.isArray(part.anyOf)) for (const [index, inner] of part.anyOf.entries()) within(['anyOf', index], inner);
}

function typesOf({ type, properties }: JsonObject): readonly Value[] {
  if (type === undefined) return properties === undefined ? [] : ['object'];
  return Array.isArray(type) ? type : [type];
}
