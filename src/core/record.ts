/*
 * The words of this program, each with one meaning, in code, messages and documentation:
 *
 * record          one input record on its way through the flow; in code an Item is a record with its number
 * row             one output record; a record has several if a map expands an array
 * batch           records that share one call
 * call            one action with its retries; an attempt is one try of it
 * answer          the response of a server or a tool
 * gate            limits the rate and concurrency of one origin with one credential
 * credit          the price of an action; the ledger counts credits per month
 * plan            a checked flow, ready to run; its steps are nodes in their places
 * phase           how far a run has closed: open, finishing, unpaid, stopped
 * passed through  a failed record that goes on with `_error` (`on_error: keep`)
 * abandoned       a record whose sibling row has failed
 * spilled         rows that wait on disk until their record ends
 * parked          finished before an earlier record: saved, and written by the next run
 * cached          answered from the answer cache
 * stored          a secret in a keychain or in the vault
 * credential      the name of a secret; a connection is a named endpoint and holds no secret
 */

import type { Value } from './value/value.ts';

/** A record's named fields in their order. A Map: `__proto__` and `7` are names like any other. */
export type Fields = ReadonlyMap<string, Value>;

/** A copy of the fields with some fields added or replaced. A replaced field keeps its place. */
export function withFields(fields: Fields, added: Iterable<readonly [string, Value]>): Fields {
  const result = copyOf(fields);
  for (const [name, value] of added) result.set(name, value);
  return result;
}

/** A copy of the fields with null under these names. */
export function withNulls(fields: Fields, names: readonly string[]): Fields {
  return withFields(
    fields,
    names.map((name) => [name, null] as const),
  );
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
