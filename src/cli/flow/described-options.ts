import type { JsonSchema } from '../../flow/json-schema.ts';

/** An option of a node or a connection, as documentation shows it. */
export interface DescribedOption {
  /** With the options around it: `retry.max`. */
  readonly name: string;
  /** The kinds of values, in the words of the flow file. */
  readonly kind: string;
  readonly isRequired: boolean;
  /** The default; absent if there is none, or if it is in the options inside. */
  readonly value: string | undefined;
  readonly description: string | undefined;
}

/** Lists the options of a mapping but for its type, each before those inside it. Required is what every variant requires. */
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

/** Also the type, for mappings inside. Nothing inside an option is required: that depends on its variants. */
function described(name: string, option: JsonSchema, isRequired: boolean): DescribedOption[] {
  const value = isRequired ? undefined : defaultOf(option);
  return [
    { name, kind: optionKind(option), isRequired, value, description: option.description },
    ...innerOptions(option).flatMap(([inner, of]) => described(`${name}.${inner}`, of, false)),
  ];
}

function defaultOf({ default: value }: JsonSchema): string | undefined {
  return value === undefined || isPlainObject(value) ? undefined : shownValue(value);
}

/** The options of a mapping, or of every mapping among the variants of an option. */
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
  string: 'text',
  number: 'number',
  integer: 'whole number',
  boolean: 'true | false',
  array: 'list',
  object: 'mapping',
};

/** The kind of an option, in the words of the flow file. */
function optionKind(option: JsonSchema): string {
  const kinds = variantsOf(option).flatMap(({ type, const: only, enum: some }) => {
    if (only !== undefined) return [String(only)];
    if (some) return some.map(String);
    return [type ?? 'any'].flat().map((kind) => words[kind] ?? kind);
  });
  return [...new Set(kinds)].join(' | ');
}

function shownValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(shownValue).join(', ')}]`;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isPlainObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
