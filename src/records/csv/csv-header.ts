import type { AutomateError } from '../../core/failure.ts';
import { isErrorField } from '../../core/record.ts';
import { shortName } from '../../core/text/suggest.ts';
import { failedAs, otherFields, unreadableBefore } from '../errors.ts';
import type { RecordContent } from '../json/json-record.ts';
import { inputError, longNameError } from '../record-reader.ts';

/** A column of an input table. */
export interface Column {
  readonly name: string;
  /** The 0-based position of the column in every row. */
  readonly index: number;
}

/** Returns the columns of the input that become fields of records. The columns that an errors file adds are left out. */
export function fieldColumns(header: readonly string[]): Column[] {
  return header.map((name, index) => ({ name, index })).filter(({ name }) => !isErrorField(name));
}

/** Checks a table's header. Returns an error if a column name is empty, too long or used twice; undefined if the header is valid. */
export function headerProblem(columns: readonly Column[], input: string, line?: number): AutomateError | undefined {
  const long = longNameError(
    columns.map(({ name }) => name),
    input,
    line,
  );
  if (long) return long;
  const at = line === undefined ? {} : { line };
  const seen = new Map<string, number>();
  for (const { name, index } of columns) {
    const number = index + 1;
    const first = seen.get(name);
    if (name === '') {
      const found = `found none for column ${number}`;
      return inputError(input, `expected a name for every column, ${found}\nname it, or remove the column`, at);
    }
    if (first !== undefined) {
      const found = `found "${shortName(name)}" for columns ${first} and ${number}`;
      return inputError(input, `expected a different name for every column, ${found}\nrename one of them`, at);
    }
    seen.set(name, number);
  }
  return undefined;
}

/** Creates a record from a row of a table. `header` contains all columns, and `columns` only those that become fields of the record. */
export function recordOfRow(cells: readonly string[], header: readonly string[], columns: readonly Column[]): RecordContent {
  const fields = new Map<string, string>();
  for (const { name, index } of columns) {
    if (index < cells.length) fields.set(name, cells[index] as string);
  }
  if (columns.length === header.length) return { fields };
  return { fields, ...earlierFailure((name) => cells[header.indexOf(name)]) };
}

/** Returns the content of the columns that an errors file adds. `cell` returns the cell in the column with a name. */
export function earlierFailure(cell: (name: string) => string | undefined): Omit<RecordContent, 'fields'> {
  const failure = unreadableBefore(cell('_error_class'), cell('_error_message'), cell(otherFields));
  return { ...failedAs(cell('_error_record')), ...(failure && { failure }) };
}
