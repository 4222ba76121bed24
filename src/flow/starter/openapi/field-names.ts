import { referable } from '../../../core/template/template.ts';
import { type Example, referableNames } from '../starter-references.ts';

/** Finds the fields of the records that values of a request come from. */
export interface FieldNames {
  /** The field for a value that the request needs. Without a column of that name: the parameter's own name. */
  needed(name: string): string;
  /** The field with the name of a value. Undefined if the records have no such column. */
  known(name: string): string | undefined;
  /** The fields that the request needs and that are no columns. */
  used(): readonly string[];
  /** Notes about names that are no columns. */
  notes(): readonly string[];
}

/** Matches names with the columns of an example: exactly, else without case and separators, else an id with the column of ids. */
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
      notes.set(field, `${example.name} has no column "${field}": rename one to it, or put another field in place of {{${field}}}`);
    return field;
  }
}

function plainFieldName(name: string): string {
  return name.replace(/[^\p{L}\p{M}\p{N}]+/gu, '').toLowerCase();
}
