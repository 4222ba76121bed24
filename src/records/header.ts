import type { AutomateError } from '../core/failure.ts';
import { isErrorField } from '../core/record.ts';
import { freeName, shortName } from '../core/text/suggest.ts';
import { type InputFault, inputError, longNameError, type TableHeader } from './record-reader.ts';

/** The place of the names of a table's columns. Without both, they are in the first row that is not empty. */
export interface HeaderPlace {
  /** The 1-based line of a text, or row of a sheet. What stands above is skipped. */
  readonly headerLine?: number;
  /** The first row is a record already. */
  readonly noHeader?: boolean;
}

/** Columns without a name are called `column_1` and so on, by their position. */
export function headerOf(cells: readonly string[]): TableHeader {
  const taken = new Set(cells);
  const given: string[] = [];
  const names = cells.slice(0, cells.findLastIndex((name) => name !== '') + 1).map((name, index) => {
    if (name !== '') return name;
    const free = freeName(positionName(index), (other) => taken.has(other));
    taken.add(free);
    given.push(free);
    return free;
  });
  const columns = names.map((name, index) => ({ name, index })).filter(({ name }) => !isErrorField(name));
  return { names, given, width: cells.length, columns };
}

/** The header of a table whose first row is a record. */
export function headerOfWidth(width: number): TableHeader {
  const columns = Array.from({ length: width }, (_, index) => ({ name: positionName(index), index }));
  return { names: columns.map(({ name }) => name), given: [], width, columns };
}

function positionName(index: number): string {
  return `column_${index + 1}`;
}

/** The problem with a header without names, or with a name that is too long or used twice. */
export function headerProblem({ names, columns }: TableHeader, input: string, line?: number): AutomateError | undefined {
  if (names.length === 0) return missingHeader(input, 'only empty cells', { line, hint: 'other-header' });
  const long = longNameError(
    columns.map(({ name }) => name),
    input,
    line,
  );
  if (long) return long;
  const seen = new Map<string, number>();
  for (const { name, index } of columns) {
    const first = seen.get(name);
    if (first !== undefined) {
      const found = `found "${shortName(name)}" for columns ${first} and ${index + 1}`;
      const message = `expected a different name for every column, ${found}\nrename one of them`;
      return inputError(input, message, { line, hint: 'other-header' });
    }
    seen.set(name, index + 1);
  }
  return undefined;
}

export function missingHeader(input: string, found: string, at: InputFault = {}): AutomateError {
  return inputError(input, `expected a header row with the names of the columns, found ${found}`, at);
}

/** For a table without a header, whose columns are counted in the first row. */
export function missingFirstRow(input: string): AutomateError {
  return inputError(input, 'expected at least one row, which shows how many columns there are, found none');
}
