import { isCelName } from '../../../core/condition/cel-name.ts';
import { listOf, type OpenApi, type Part, partOf } from './document.ts';
import type { FieldNames } from './field-names.ts';

/**
 * The maximum depth of a sample. Deeper parts are left out. So are parts that refer to a part around them, and, inside a body's objects,
 * members that are not required.
 */
const maxDepth = 3;

/** An example of a schema: its own example, else a sample made from its type, without members that only answers have. */
export function sampleOf(document: OpenApi, written: unknown, above: readonly Part[] = []): unknown {
  const schema = document.schema(written);
  const path = [...above, document.at(written)];
  const isWanted = (member: unknown) => above.length < maxDepth && !path.includes(document.at(member));
  const required = above.length === 0 ? [] : listOf(schema.required);
  const isNamed = (name: string) => required.length === 0 || required.includes(name);
  const given = [schema.example, listOf(schema.examples)[0], schema.const, schema.default, listOf(schema.enum)[0]];
  const first = given.find((value) => value !== undefined);
  if (first !== undefined) return first;
  switch (typeOf(schema)) {
    case 'object':
      return Object.fromEntries(
        Object.entries(partOf(schema.properties))
          .filter(([name, member]) => isNamed(name) && isWanted(member) && document.schema(member).readOnly !== true)
          .map(([name, member]) => [name, sampleOf(document, member, path)]),
      );
    case 'array':
      return isWanted(schema.items) ? [sampleOf(document, schema.items, path)] : [];
    default:
      return sampleScalar(schema);
  }
}

/** The type of a schema. OpenAPI 3.1 may list several types, for example `string` and `null`. */
export function typeOf({ type, properties, items }: Part): string | undefined {
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

function sampleScalar(schema: Part): unknown {
  const type = typeOf(schema);
  if (type === 'integer' || type === 'number') return typeof schema.minimum === 'number' ? schema.minimum : 1;
  return type === 'boolean' ? true : (formats[String(schema.format)] ?? 'string');
}

/**
 * A body with a reference for each value that the records have: the field is named as the value is, with the names around it
 * (`category_id`). `isText`: true if all fields are texts, which become numbers again where the body has a number.
 */
export function withFields(value: unknown, { known }: FieldNames, isText: boolean): unknown {
  return within(value, []);

  function within(member: unknown, names: readonly string[]): unknown {
    if (Array.isArray(member)) return member;
    if (typeof member !== 'object' || member === null) return referenceTo(names, member) ?? member;
    return Object.fromEntries(Object.entries(member).map(([name, inner]) => [name, within(inner, [...names, name])]));
  }

  function referenceTo(names: readonly string[], member: unknown): unknown {
    const field = names.length === 0 ? undefined : known(names.join('_'));
    if (field === undefined) return undefined;
    const convert = isText && isCelName(field) ? conversionOf(member) : undefined;
    return convert === undefined ? `{{${field}}}` : { cel: `${convert}(${field})` };
  }
}

function conversionOf(value: unknown): string | undefined {
  if (typeof value === 'boolean') return 'bool';
  return typeof value !== 'number' ? undefined : Number.isInteger(value) ? 'int' : 'double';
}
