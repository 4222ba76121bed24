import { isMapping } from '../../core/value/value.ts';
import type { ValuePath } from '../example-marks.ts';
import { listOf, type OpenApi, partOf } from './document.ts';

/**
 * Returns the paths of values in a body that are only examples. Such a value does not come from a field, and the schema allows other
 * values. `path` is the path of `value` in the node.
 */
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
