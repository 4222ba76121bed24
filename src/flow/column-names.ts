import { ColumnNames, ownNames } from '../core/column-names.ts';
import type { Problem } from '../core/failure.ts';
import { columnsAfterAll } from '../core/plan.ts';
import { isErrorField } from '../core/record.ts';
import { didYouMean, listedNames } from '../core/text/suggest.ts';
import type { PlacedStep } from './compilation.ts';
import type { FlowSource } from './source.ts';

/** Adds a problem for each name that no record could have without ambiguity. `columns` is the option as it was checked. */
export function columnNamesOf(columns: Readonly<Record<string, string>>, source: FlowSource, problems: Problem[]): ColumnNames {
  const names = new Map<string, string>();
  const aliases = new Map<string, string>();
  for (const [alias, column] of Object.entries(columns)) {
    const first = aliases.get(column);
    if (first !== undefined)
      problems.push(source.at(['columns', alias], `the column "${column}" has the name "${first}" already\nleave one of the two out`));
    else if (isErrorField(column) || isErrorField(alias))
      problems.push(source.atName(['columns', alias], 'names that begin with _error belong to errors files, and are not read'));
    else if (Object.hasOwn(columns, column))
      problems.push(source.atName(['columns', alias], alias === column ? ownName(alias) : chain(alias, column)));
    else names.set(alias, column);
    aliases.set(column, alias);
  }
  return names.size === 0 ? ownNames : new ColumnNames(names);
}

function ownName(column: string): string {
  return `"${column}" is the column's own name, which the flow can use without this line\nleave the line out, or choose another name`;
}

function chain(alias: string, column: string): string {
  return `"${column}" is a name that the flow gives to another column, so "${alias}" would be ambiguous\nchoose another name`;
}

/** The fields of a record with these columns. A name whose column is missing counts, too: the missing column is a problem of its own. */
export function withNames(names: ColumnNames, header: readonly string[]): readonly string[] {
  return names.isEmpty ? header : [...new Set([...names.allInFlow(header), ...[...names.entries()].map(([alias]) => alias)])];
}

/** Finds names that do not fit a table. `header` has the columns' own names. */
export function misfitNames(names: ColumnNames, header: readonly string[], source: FlowSource): Problem[] {
  return [...names.entries()].flatMap(([alias, column]) => [
    ...(header.includes(column) ? [] : [source.at(['columns', alias], `the input has no column "${column}"${choices(column, header)}`)]),
    ...(header.includes(alias)
      ? [source.atName(['columns', alias], `"${alias}" is itself a column of the input\nchoose another name for "${column}"`)]
      : []),
  ]);
}

function choices(column: string, header: readonly string[]): string {
  return didYouMean(column, header) || (header.length === 0 ? '' : `; available: ${listedNames(header)}`);
}

/** Finds fields of nodes whose names are already those of columns in the files. */
export function doubledColumns(names: ColumnNames, steps: readonly PlacedStep[], source: FlowSource): Problem[] {
  const after = new Set(
    columnsAfterAll(
      steps,
      [...names.entries()].map(([alias]) => alias),
    ),
  );
  return [...names.entries()].flatMap(([alias, column]) =>
    after.has(alias) && after.has(column)
      ? [
          source.at(
            ['columns', alias],
            `a node adds a field "${column}", so the output would have this column twice\nlet it write "${alias}", or rename its field`,
          ),
        ]
      : [],
  );
}
