import type { JsonSchema } from '../flow/json-schema.ts';

/** An option of a node or a connection, as documentation shows it. */
export interface DescribedOption {
  /** The option's name, preceded by the names of the options that contain it, such as `retry.max`. */
  readonly name: string;
  /** The kinds of values that the option accepts, in the terms of the flow format. */
  readonly kind: string;
  /** True if the mapping around the option is not valid without it. */
  readonly isRequired: boolean;
  /** The default value according to the JSON Schema. Undefined if there is none, or if it is shown with the inner options. */
  readonly value: string | undefined;
  /**
   * The default in words, for a default that depends on other options. In the schema, it is the end of the description: `(default: 60s, or
   * initial if that is longer)`.
   */
  readonly defaultText: string | undefined;
  /** The description without the default; undefined if the JSON Schema has no description. */
  readonly description: string | undefined;
}

/**
 * Lists the options of a mapping except `type`. Each option is followed by the options inside it. An option is required if every variant of
 * the mapping requires it.
 */
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

/**
 * Lists an option and the options inside it, including the `type` of inner mappings. An inner option is required if every variant of the
 * mapping requires it.
 */
function described(name: string, option: JsonSchema, isRequired: boolean): DescribedOption[] {
  const value = isRequired ? undefined : defaultOf(option);
  const [, description, defaultText] = /^(.*?)(?: \(default: ([^()]*)\))?$/s.exec(option.description ?? '') ?? [];
  return [
    { name, kind: optionKind(option), isRequired, value, defaultText, description: description || undefined },
    ...describedInner(name, option),
  ];
}

/** Lists the options inside an option. In a mapping with names of the user, such as `map`, `NAME` stands for these names. */
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
  return value === undefined || isPlainObject(value) ? undefined : shownValue(value);
}

/** Returns the options of a mapping. If an option accepts several mappings, returns the options of all of them. */
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

/** Returns the kinds of values that an option accepts, in the terms of the flow format. */
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

function isPlainObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
