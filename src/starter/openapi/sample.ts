import { isCelName } from '../../core/condition/expression-error.ts';
import { referable, referableNames } from '../../core/template/template.ts';
import { isMapping, type ValuePath } from '../../core/value/value.ts';
import { listOf, partOf } from '../json-parts.ts';
import type { Example } from '../starter-references.ts';
import type { OpenApi, OpenApiObject } from './document.ts';

/** Maximum depth of a sample value. Deeper and recursive parts are left out. */
const maxDepth = 3;

/** Leaves out `readOnly` members of a body, `writeOnly` members of an answer, and optional members of inner objects in a body. */
export function sampleOf(
  document: OpenApi,
  written: unknown,
  above: readonly OpenApiObject[] = [],
  of: 'body' | 'answer' = 'body',
): unknown {
  const schema = document.schema(written);
  const path = [...above, document.at(written)];
  const isWanted = (member: unknown) => above.length < maxDepth && !path.includes(document.at(member));
  const isOther = (member: unknown) => document.schema(member)[of === 'body' ? 'readOnly' : 'writeOnly'] === true;
  const required = above.length === 0 || of === 'answer' ? [] : listOf(schema.required);
  const isNamed = (name: string) => required.length === 0 || required.includes(name);
  const given = [schema.example, listOf(schema.examples)[0], schema.const, schema.default, listOf(schema.enum)[0]];
  const first = given.find((value) => value !== undefined);
  if (first !== undefined) return first;
  switch (typeOf(schema)) {
    case 'object':
      return Object.fromEntries(
        Object.entries(partOf(schema.properties))
          .filter(([name, member]) => isNamed(name) && isWanted(member) && !isOther(member))
          .map(([name, member]) => [name, sampleOf(document, member, path, of)]),
      );
    case 'array':
      return isWanted(schema.items) ? [sampleOf(document, schema.items, path, of)] : [];
    default:
      return sampleScalar(schema);
  }
}

export function typeOf({ type, properties, items }: OpenApiObject): string | undefined {
  const [first] = [type].flat().filter((one) => one !== 'null');
  if (typeof first === 'string') return first;
  return properties ? 'object' : items ? 'array' : undefined;
}

const formats: Readonly<Record<string, string>> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
  email: 'ada@example.com',
  uri: 'https://example.com',
  uuid: '00000000-0000-4000-8000-000000000000',
};

function sampleScalar(schema: OpenApiObject): unknown {
  const type = typeOf(schema);
  if (type === 'integer' || type === 'number') return typeof schema.minimum === 'number' ? schema.minimum : 1;
  return type === 'boolean' ? true : (formats[String(schema.format)] ?? 'string');
}

/** Field names join the names of enclosing objects and the value, as in `category_id`. With `isText`, strings become numbers. */
export function withFields(value: unknown, fields: FieldNames, isText: boolean): unknown {
  return within(value, []);

  function within(member: unknown, names: readonly string[]): unknown {
    if (Array.isArray(member)) return member;
    if (typeof member !== 'object' || member === null) return referenceTo(names, member) ?? member;
    return Object.fromEntries(Object.entries(member).map(([name, inner]) => [name, within(inner, [...names, name])]));
  }

  function referenceTo(names: readonly string[], member: unknown): unknown {
    const field = names.length === 0 ? undefined : fields.known(names.join('_'));
    if (field === undefined) return undefined;
    const convert = isText && isCelName(field) ? conversionOf(member) : undefined;
    return convert === undefined ? `{{${field}}}` : { cel: `${convert}(${field})` };
  }
}

function conversionOf(value: unknown): string | undefined {
  if (typeof value === 'boolean') return 'bool';
  return typeof value !== 'number' ? undefined : Number.isInteger(value) ? 'int' : 'double';
}

/** Values that do not come from a field, although the schema allows other values. `path` is the path of `value` in the node. */
export function exampleValues(document: OpenApi, written: unknown, value: unknown, path: ValuePath): ValuePath[] {
  const schema = document.schema(written);
  if (Array.isArray(value)) return value.flatMap((member, index) => exampleValues(document, schema.items, member, [...path, index]));
  if (isReference(value)) return [];
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([name, member]) =>
      exampleValues(document, partOf(schema.properties)[name], member, [...path, name]),
    );
  const isFixed = schema.const !== undefined || listOf(schema.enum).length === 1;
  return isFixed ? [] : [path];
}

/** True for a value such as `{{field}}` or `{ cel: int(field) }`. */
function isReference(value: unknown): boolean {
  return typeof value === 'string' ? value.includes('{{') : isMapping(value) && Object.keys(value).join() === 'cel';
}

/** Finds a column first exactly, then without regard to case and separators. A name that ends in `id` can also match the column `id`. */
export class FieldNames {
  readonly #example: Example | undefined;
  readonly #names: ReadonlyMap<string, string>;
  readonly #missing = new Set<string>();

  constructor(example: Example | undefined) {
    this.#example = example;
    this.#names = referableNames(example?.columns ?? []);
  }

  /** Undefined if the records have no such column. */
  known(name: string): string | undefined {
    const columns = [...this.#names.keys()];
    const column = columns.find((own) => own === name) ?? columns.find((own) => plainFieldName(own) === plainFieldName(name));
    return column === undefined ? undefined : this.#names.get(column);
  }

  /** The value's own name if no column has a matching name. */
  needed(name: string): string {
    const own = this.known(name) ?? (/id$/i.test(name) ? this.known('id') : undefined);
    if (own !== undefined) return own;
    const field = referable(name) || 'field';
    this.#missing.add(field);
    return field;
  }

  /** The fields that the request needs although they are not columns. */
  get used(): readonly string[] {
    return [...this.#missing];
  }

  get notes(): readonly string[] {
    const { name } = this.#example ?? {};
    if (name === undefined) return [];
    return this.used.map((field) => `${name} has no column "${field}": rename a column to it, or replace {{${field}}} with another field`);
  }
}

function plainFieldName(name: string): string {
  return name.replace(/[^\p{L}\p{M}\p{N}]+/gu, '').toLowerCase();
}
