import { isCelName } from '../../core/condition/cel-name.ts';
import { listOf, type OpenApi, type Part, partOf } from './document.ts';
import type { FieldNames } from './field-names.ts';

/** Maximum depth of a sample value. Deeper and recursive parts are left out. */
const maxDepth = 3;

/**
 * Returns the example of a schema, or a sample value generated from its type. `of` specifies whether the sample is for the body of a
 * request or for a response (`answer`). Leaves out `readOnly` members of a body and `writeOnly` members of a response. In objects inside a
 * body, also leaves out members that are not required.
 */
export function sampleOf(document: OpenApi, written: unknown, above: readonly Part[] = [], of: 'body' | 'answer' = 'body'): unknown {
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

/** Returns the type of a schema. OpenAPI 3.1 can list several types, for example `string` and `null`. */
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
 * Inserts a reference for each value that a record field can provide. The field's name consists of the names of the enclosing objects, if
 * any, and of the value's name, as in `category_id`. `isText` is true if all fields are strings. A number in the body is then converted
 * from a string.
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
