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
 * phase           how far a run has come to its end: open, finishing, unpaid, stopped (engine/phase.ts)
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

/** The record of a wide table. Fields that have not been set are empty strings, and a copy costs only as much as the set fields. */
export class SparseFields extends Map<string, Value> {
  /** All columns of the table, with their positions. The records of a table share it. */
  columns: ReadonlyMap<string, number>;

  constructor(columns: ReadonlyMap<string, number>) {
    super();
    this.columns = columns;
  }

  /** The fields that have been set, in the order in which they were set. */
  ownFields(): MapIterator<[string, Value]> {
    return super.entries();
  }

  copy(): SparseFields {
    const copy = new SparseFields(this.columns);
    for (const [name, value] of this.ownFields()) copy.set(name, value);
    return copy;
  }

  override get(name: string): Value | undefined {
    const value = super.get(name);
    return value === undefined && this.columns.has(name) ? '' : value;
  }

  override has(name: string): boolean {
    return super.has(name) || this.columns.has(name);
  }

  override delete(name: string): boolean {
    const isColumn = this.columns.has(name);
    if (isColumn) this.columns = new Map([...this.columns].filter(([column]) => column !== name));
    return super.delete(name) || isColumn;
  }

  override clear(): void {
    this.columns = new Map();
    super.clear();
  }

  override get size(): number {
    let { size } = this.columns;
    for (const name of super.keys()) if (!this.columns.has(name)) size++;
    return size;
  }

  override *entries(): Generator<[string, Value], undefined> {
    for (const name of this.columns.keys()) {
      const value = super.get(name);
      yield [name, value === undefined ? '' : value];
    }
    for (const field of this.ownFields()) if (!this.columns.has(field[0])) yield field;
  }

  override *keys(): Generator<string, undefined> {
    for (const [name] of this.entries()) yield name;
  }

  override *values(): Generator<Value, undefined> {
    for (const [, value] of this.entries()) yield value;
  }

  override [Symbol.iterator](): Generator<[string, Value], undefined> {
    return this.entries();
  }

  override forEach(act: (value: Value, name: string, fields: Map<string, Value>) => void): void {
    for (const [name, value] of this.entries()) act(value, name, this);
  }
}

export function filledFields(fields: Fields): Iterable<readonly [string, Value]> {
  return fields instanceof SparseFields ? fields.ownFields() : fields;
}

/** Returns the fields with these names, in the order of the record. */
export function pickedFields(fields: Fields, names: ReadonlySet<string>): Fields {
  if (!(fields instanceof SparseFields)) return new Map([...fields].filter(([name]) => names.has(name)));
  const { columns } = fields;
  const inTable = [...names].filter((name) => columns.has(name)).sort((one, other) => (columns.get(one) ?? 0) - (columns.get(other) ?? 0));
  const others = [...fields.ownFields()].filter(([name]) => names.has(name) && !columns.has(name));
  return new Map([...inTable.map((name) => [name, fields.get(name) as Value] as const), ...others]);
}

/** A replaced field keeps its position. */
export function withFields(fields: Fields, added: Iterable<readonly [string, Value]>): Fields {
  const result = copyOf(fields);
  for (const [name, value] of added) result.set(name, value);
  return result;
}

export function withNulls(fields: Fields, names: readonly string[]): Fields {
  return withFields(
    fields,
    names.map((name) => [name, null] as const),
  );
}

/** Returns a copy of the fields. For a small number of fields, `new Map(fields)` takes twice as long. */
export function copyOf(fields: Fields): Map<string, Value> {
  if (fields instanceof SparseFields) return fields.copy();
  const copy = new Map<string, Value>();
  for (const [name, value] of fields) copy.set(name, value);
  return copy;
}

/** True for a column that is found only in an errors file. Readers drop these columns, so that an errors file is a valid input. */
export function isErrorField(name: string): boolean {
  return name === '_error' || name.startsWith('_error_');
}
