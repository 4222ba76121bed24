import type { Value } from './value/value.ts';

/** A record's named fields in their order. A Map: `__proto__` and `7` are names like any other. */
export type Fields = ReadonlyMap<string, Value>;

/** The fields with some added or replaced; a replaced field keeps its place. */
export function withFields(fields: Fields, added: Iterable<readonly [string, Value]>): Fields {
  const result = copyOf(fields);
  for (const [name, value] of added) result.set(name, value);
  return result;
}

/** The same fields, for others to be added. `new Map(fields)` takes twice as long for a few. */
export function copyOf(fields: Fields): Map<string, Value> {
  const copy = new Map<string, Value>();
  for (const [name, value] of fields) copy.set(name, value);
  return copy;
}

/** A column that an errors file adds. Such fields are dropped on reading, so an errors file is a valid input. */
export function isErrorField(name: string): boolean {
  return name === '_error' || name.startsWith('_error_');
}
