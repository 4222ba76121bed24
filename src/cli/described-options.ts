import { isMapping } from '../core/value/value.ts';
import type { JsonSchema } from '../flow/json-schema.ts';

export interface DescribedOption {
  /** Preceded by the names of the options that contain it, such as `retry.max`. */
  readonly name: string;
  readonly kind: string;
  /** True if the mapping around the option is not valid without it. */
  readonly isRequired: boolean;
  /** Undefined if there is no default in the JSON Schema, or if it is shown with the inner options. */
  readonly value: string | undefined;
  /** A default that depends on other options, from the end of the schema's description: `(default: 60s, or initial if that is longer)`. */
  readonly defaultText: string | undefined;
  readonly description: string | undefined;
}

/** The kinds of values, and how each is written in a flow. The links lead to pages in docs. */
export const valueForms: readonly (readonly [kind: string, form: string])[] = [
  ['string', 'a YAML string. If it contains `{{field}}` or `: `, put it into quotes: `"{{id}}"`'],
  ['mapping', 'names with values: `{ name: value }`, or one name on each line'],
  ['list', '`[a, b]`, or one `- item` on each line'],
  ['duration', '`250ms`, `1s`, `5m`, `24h`, `7d`, or a whole number of milliseconds'],
  ['rate', '`10/s`, `600/min`, `5000/h`'],
  ['size', '`10MB`, `512kB`, or a whole number of bytes'],
  ['distance', '`250m`, `5km`, `2mi`'],
  ['condition', 'a [CEL expression](expressions.md) that is true or false: `status == "done" && progress >= 100`'],
  ['path', 'a [path into an answer](mapping-and-templates.md#paths): `data.user.name`'],
  ['variable', 'a [variable](variables.md) of the flow: `"{{vars.limit}}"`. `rate` and `timeout` accept one as well'],
];

/** Leaves out `type`. Inner options follow their option. An option is required if every variant of the mapping requires it. */
export function describedOptions(schema: JsonSchema): DescribedOption[] {
  const variants = variantsOf(schema);
  return innerOptions(schema)
    .filter(([name]) => name !== 'type')
    .flatMap(([name, option]) =>
      described(
        name,
        option,
        variants.every(({ required = [] }) => required.includes(name)),
      ),
    );
}

/** Inner options follow, also the `type` of inner mappings. An inner option is required if every variant of the mapping requires it. */
function described(name: string, option: JsonSchema, isRequired: boolean): DescribedOption[] {
  const value = isRequired ? undefined : defaultOf(option);
  const [, description, defaultText] = /^(.*?)(?: \(default: ([^()]*)\))?$/s.exec(option.description ?? '') ?? [];
  return [
    { name, kind: optionKind(option), isRequired, value, defaultText, description: description || undefined },
    ...describedInner(name, option),
  ];
}

/** In a mapping with names of the user, such as `map`, `NAME` stands for these names. */
function describedInner(name: string, option: JsonSchema): DescribedOption[] {
  const variants = variantsOf(option);
  const mappings = variants.filter(({ properties }) => properties);
  return [
    ...innerOptions(option).flatMap(([inner, of]) =>
      described(
        `${name}.${inner}`,
        of,
        mappings.every(({ required = [] }) => required.includes(inner)),
      ),
    ),
    ...variants.flatMap(({ additionalProperties: member }) => (typeof member === 'object' ? describedInner(`${name}.NAME`, member) : [])),
  ];
}

function defaultOf({ default: value }: JsonSchema): string | undefined {
  return value === undefined || isMapping(value) ? undefined : shownValue(value);
}

/** If an option accepts several mappings, returns the options of all of them. */
function innerOptions(option: JsonSchema): [string, JsonSchema][] {
  const found = new Map<string, JsonSchema>();
  for (const variant of variantsOf(option)) {
    for (const [name, inner] of Object.entries(variant.properties ?? {})) {
      const other = found.get(name);
      found.set(name, other ? { ...other, anyOf: [...variantsOf(other), inner] } : inner);
    }
  }
  return [...found];
}

function variantsOf({ anyOf, oneOf, ...option }: JsonSchema): JsonSchema[] {
  const variants = [...(anyOf ?? []), ...(oneOf ?? [])];
  return variants.length === 0 ? [option] : variants.flatMap(variantsOf);
}

const words: Readonly<Record<string, string>> = {
  string: 'string',
  number: 'number',
  integer: 'whole number',
  boolean: 'true | false',
  array: 'list',
  object: 'mapping',
};

function optionKind(option: JsonSchema): string {
  return [...new Set(kindsOf(option))].join(' | ');
}

function kindsOf({ title, type, const: only, enum: some, anyOf = [], oneOf = [] }: JsonSchema): string[] {
  const variants = [...anyOf, ...oneOf];
  if (title !== undefined) return [title];
  if (variants.length > 0) return variants.flatMap(kindsOf);
  if (only !== undefined) return [String(only)];
  if (some) return some.map(String);
  return [type ?? 'any'].flat().map((kind) => words[kind] ?? kind);
}

function shownValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(shownValue).join(', ')}]`;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
