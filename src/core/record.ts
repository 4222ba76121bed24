import type { Value } from './value/value.ts';

/** A record's named fields in their order. A Map: `__proto__` and `7` are names like any other. */
export type Fields = ReadonlyMap<string, Value>;

/** The fields with others added or replaced. A replaced field keeps its place. */
export function withFields(fields: Fields, added: Iterable<readonly [string, Value]>): Fields {
  const result = copyOf(fields);
  for (const [name, value] of added) result.set(name, value);
  return result;
}

/** A copy of the fields. `new Map(fields)` takes twice as long for a few. */
export function copyOf(fields: Fields): Map<string, Value> {
  const copy = new Map<string, Value>();
  for (const [name, value] of fields) copy.set(name, value);
  return copy;
}

/** True for a column that an errors file adds. Readers drop these fields, so an errors file is a valid input. */
export function isErrorField(name: string): boolean {
  return name === '_error' || name.startsWith('_error_');
}
