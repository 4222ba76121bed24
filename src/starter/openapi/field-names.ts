import { referable, referableNames } from '../../core/template/template.ts';
import type { Example } from '../starter-references.ts';

/** Finds the record fields from which a request takes its values. */
export interface FieldNames {
  /** Returns the field for a value that the request needs. If no column has a matching name, returns the value's own name. */
  needed(name: string): string;
  /** Returns the field that matches the name of a value; undefined if the records have no such column. */
  known(name: string): string | undefined;
  /** Returns the fields that the request needs although they are not columns. */
  used(): readonly string[];
  /** Returns notes about the fields that are not columns. */
  notes(): readonly string[];
}

/**
 * Matches names with the columns of example records, first exactly, then without regard to case and separators. A name that ends in `id`
 * can also match the column `id`.
 */
export function fieldNames(example: Example | undefined): FieldNames {
  const names = referableNames(example?.columns ?? []);
  const columns = [...names.keys()];
  const notes = new Map<string, string>();
  const known = (name: string) => {
    const column = columns.find((own) => own === name) ?? columns.find((own) => plainFieldName(own) === plainFieldName(name));
    return column === undefined ? undefined : names.get(column);
  };
  const used = new Set<string>();
  return { known, needed, used: () => [...used], notes: () => [...notes.values()] };

  function needed(name: string): string {
    const own = known(name) ?? (/id$/i.test(name) ? known('id') : undefined);
    if (own !== undefined) return own;
    const field = referable(name) || 'field';
    used.add(field);
    if (example)
      notes.set(field, `${example.name} has no column "${field}": rename a column to it, or replace {{${field}}} with another field`);
    return field;
  }
}

function plainFieldName(name: string): string {
  return name.replace(/[^\p{L}\p{M}\p{N}]+/gu, '').toLowerCase();
}
