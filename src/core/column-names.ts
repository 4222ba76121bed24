import { type Fields, filledFields, SparseFields } from './record.ts';
import type { Value } from './value/value.ts';

/** The names that a flow gives to columns of its input (`columns`). The nodes see these names, and files have the columns' own. */
export class ColumnNames {
  readonly #columns: ReadonlyMap<string, string>;
  readonly #aliases: ReadonlyMap<string, string>;
  /** The records of a table share their columns, which are renamed only once. */
  readonly #tables = new WeakMap<object, ReadonlyMap<string, number>>();

  /** `columns` maps each name in the flow to the column's own name. */
  constructor(columns: ReadonlyMap<string, string>) {
    this.#columns = columns;
    this.#aliases = new Map([...columns].map(([alias, column]) => [column, alias]));
  }

  get isEmpty(): boolean {
    return this.#columns.size === 0;
  }

  /** The name in the flow, and the column's own name. */
  entries(): Iterable<readonly [alias: string, column: string]> {
    return this.#columns;
  }

  aliasOf(column: string): string | undefined {
    return this.#aliases.get(column);
  }

  inFlow(name: string): string {
    return this.#aliases.get(name) ?? name;
  }

  inFile(name: string): string {
    return this.#columns.get(name) ?? name;
  }

  /** Without duplicates: a record can be given under either name. */
  allInFlow(names: readonly string[]): readonly string[] {
    return this.isEmpty ? names : [...new Set(names.map((name) => this.inFlow(name)))];
  }

  allInFile(names: readonly string[]): readonly string[] {
    return this.isEmpty ? names : names.map((name) => this.inFile(name));
  }

  fieldsInFlow(fields: Fields): Fields {
    return this.isEmpty ? fields : this.#renamed(fields, (name) => this.inFlow(name));
  }

  /** A record that has a column under both names keeps both. */
  fieldsInFile(fields: Fields): Fields {
    if (this.isEmpty) return fields;
    return this.#renamed(fields, (name) => {
      const column = this.inFile(name);
      return column !== name && fields.has(column) ? name : column;
    });
  }

  /** The message about a column that the fields contain under both names; undefined if there is none. */
  twiceIn(fields: Fields): string | undefined {
    const [alias, column] = [...this.#columns].find((names) => names.every((name) => fields.has(name))) ?? [];
    return column === undefined ? undefined : `expected "${column}" or "${alias}", which are the same column in this flow, found both`;
  }

  #renamed(fields: Fields, nameOf: (name: string) => string): Fields {
    if (!(fields instanceof SparseFields)) return new Map<string, Value>([...fields].map(([name, value]) => [nameOf(name), value]));
    const { columns } = fields;
    const table = this.#tables.get(columns) ?? new Map([...columns].map(([name, place]) => [nameOf(name), place]));
    this.#tables.set(columns, table);
    const renamed = new SparseFields(table);
    for (const [name, value] of filledFields(fields)) renamed.set(nameOf(name), value);
    return renamed;
  }
}

export const ownNames = new ColumnNames(new Map());
