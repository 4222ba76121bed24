/** The keywords of JSON Schema that our schemas use. */
export interface Schema {
  readonly [keyword: string]: unknown;
}

/**
 * Returns the paths at which a value violates a JSON Schema (2020-12). Throws for a keyword that our schemas do not use. `root`:
 * the schema in which references are resolved.
 */
export function breaches(schema: Schema, value: unknown, at = '$', root = schema): string[] {
  return Object.entries(schema).flatMap(([keyword, rule]) => {
    const check = keywords[keyword];
    if (!check) throw new Error(`the schema has an unknown keyword "${keyword}"`);
    return check(rule as never, value, at, schema, root);
  });
}

type Check = (rule: never, value: unknown, at: string, schema: Schema, root: Schema) => string[];

const nothing: Check = () => [];

const keywords: Readonly<Record<string, Check>> = {
  $schema: nothing,
  $ref: (pointer: string, value, at, _schema, root) => breaches(referred(root, pointer), value, at, root),
  title: nothing,
  description: nothing,
  default: nothing,
  type: (types: string | string[], value, at) => ([types].flat().some((type) => isOf(type, value)) ? [] : [`${at}: expected ${types}`]),
  const: (only: unknown, value, at) => (value === only ? [] : [`${at}: expected ${only}`]),
  enum: (some: unknown[], value, at) => (some.includes(value) ? [] : [`${at}: expected one of ${some}`]),
  pattern: (pattern: string, value, at) =>
    typeof value !== 'string' || new RegExp(pattern, 'u').test(value) ? [] : [`${at}: expected ${pattern}`],
  minLength: (least: number, value, at) => (typeof value !== 'string' || value.length >= least ? [] : [`${at}: too short`]),
  minimum: (least: number, value, at) => (typeof value !== 'number' || value >= least ? [] : [`${at}: below ${least}`]),
  maximum: (max: number, value, at) => (typeof value !== 'number' || value <= max ? [] : [`${at}: above ${max}`]),
  minItems: (least: number, value, at) => (!Array.isArray(value) || value.length >= least ? [] : [`${at}: too few`]),
  items: (schema: Schema, value, at, _schema, root) =>
    Array.isArray(value) ? value.flatMap((item, index) => breaches(schema, item, `${at}[${index}]`, root)) : [],
  required: (names: string[], value, at) =>
    isOf('object', value) ? names.filter((name) => !Object.hasOwn(value as object, name)).map((name) => `${at}: no ${name}`) : [],
  properties: (schemas: Record<string, Schema>, value, at, _schema, root) =>
    membersOf(value).flatMap(([name, member]) => (schemas[name] ? breaches(schemas[name], member, `${at}.${name}`, root) : [])),
  propertyNames: (schema: Schema, value, at, _schema, root) =>
    membersOf(value).flatMap(([name]) => breaches(schema, name, `${at}.${name}`, root)),
  additionalProperties: (rule: boolean | Schema, value, at, { properties = {} }, root) =>
    membersOf(value)
      .filter(([name]) => !Object.hasOwn(properties as object, name))
      .flatMap(([name, member]) => {
        if (typeof rule === 'object') return breaches(rule, member, `${at}.${name}`, root);
        return rule ? [] : [`${at}: unknown ${name}`];
      }),
  anyOf: (schemas: Schema[], value, at, _schema, root) => {
    const found = schemas.map((schema) => breaches(schema, value, at, root));
    return found.some((list) => list.length === 0) ? [] : [`${at}: none of ${schemas.length}`, ...found.flat()];
  },
  oneOf: (schemas: Schema[], value, at, _schema, root) => {
    const fitting = schemas.filter((schema) => breaches(schema, value, at, root).length === 0);
    return fitting.length === 1 ? [] : [`${at}: ${fitting.length} of ${schemas.length}`];
  },
};

/** Returns the schema at a JSON pointer such as `#/properties/nodes`. */
function referred(root: Schema, pointer: string): Schema {
  return pointer
    .split('/')
    .slice(1)
    .reduce<Schema>((schema, step) => schema[step] as Schema, root);
}

function isOf(type: string, value: unknown): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return typeof value === type;
}

function membersOf(value: unknown): [string, unknown][] {
  return isOf('object', value) ? Object.entries(value as object) : [];
}
