import { isReferable, referable } from '../core/template/template.ts';

/** Returns a unique name for each column that a reference can contain. Such a name has only letters, digits and underscores. */
export function referableNames(columns: readonly string[]): ReadonlyMap<string, string> {
  const used = new Set(columns);
  const names = new Map<string, string>();
  for (const column of columns) {
    if (column !== '') names.set(column, isReferable(column) ? column : nameFor(column));
  }
  return names;

  function nameFor(column: string): string {
    const better = referable(column) || 'field';
    let name = better;
    for (let count = 2; used.has(name); count++) name = `${better}_${count}`;
    used.add(name);
    return name;
  }
}
