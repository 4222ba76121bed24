/*
 * Glossary of the terms in code, messages and documentation. Each has one meaning:
 *
 * record          one input record on its way through the flow; in code an Item is a record with its number
 * row             one output record; a record has several if a map expands an array
 * batch           several records that share one call
 * call            one action with its retries; an attempt is one try of it
 * answer          the response of a server or a tool, in the form in which a node reads it
 * gate            limits the rate and concurrency of one origin with one credential
 * credit          the price of an action; the ledger counts credits per month
 * plan            a checked flow, ready to run; each of its steps is a node at its position in the chain
 * phase           how far a run has come to its end: open, finishing, unpaid, stopped (closing.ts)
 * passed through  a failed record that continues with `_error` (`on_error: keep`)
 * abandoned       a row that is not processed further, because another row of its record has failed
 * spilled         rows that wait on disk until their record ends
 * parked          finished before an earlier record: saved, and written by the next run
 * cached          taken from the cache of responses
 * stored          a secret in a keychain or in the vault
 * credential      the name of a secret; a connection is a named endpoint and contains no secret
 */

import type { Value } from './value/value.ts';

/** A record's fields by name, in order. It is a Map because field names such as `__proto__` and `7` must work like any other. */
export type Fields = ReadonlyMap<string, Value>;

/** Returns a copy of the fields with some fields added or replaced. A replaced field keeps its position. */
export function withFields(fields: Fields, added: Iterable<readonly [string, Value]>): Fields {
  const result = copyOf(fields);
  for (const [name, value] of added) result.set(name, value);
  return result;
}

/** Returns a copy of the fields in which the fields with these names are null. */
export function withNulls(fields: Fields, names: readonly string[]): Fields {
  return withFields(
    fields,
    names.map((name) => [name, null] as const),
  );
}

/** Returns a copy of the fields. For a small number of fields, `new Map(fields)` takes twice as long. */
export function copyOf(fields: Fields): Map<string, Value> {
  const copy = new Map<string, Value>();
  for (const [name, value] of fields) copy.set(name, value);
  return copy;
}

/** True for a column that is found only in an errors file. Readers drop these columns, so that an errors file is a valid input. */
export function isErrorField(name: string): boolean {
  return name === '_error' || name.startsWith('_error_');
}
