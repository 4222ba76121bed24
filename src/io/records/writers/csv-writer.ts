import { stringify } from 'csv-stringify/sync';
import { Failure } from '../../../core/failure.ts';
import type { Fields } from '../../../core/record.ts';
import { textOf, type Value } from '../../../core/value/value.ts';
import type { RecordWriter } from './record-writer.ts';

interface CsvWriterOptions {
  readonly delimiter: string;
  readonly csvSafe: boolean;
}

/** A writer of rows under a header: what a row's fields are called is written once, and finds their column. */
export interface TableWriter extends RecordWriter {
  readonly columns: readonly string[];
  /** What a table begins with when its columns are called so. */
  beginAs(names: readonly string[]): string;
}

/** Tells a writer of tables from others. */
export function isTableWriter(writer: RecordWriter): writer is TableWriter {
  return 'columns' in writer;
}

/** The names that a header can hold: one that no UTF-8 has would be another there, and a column without one is refused when it is read. */
export function headerNames(names: readonly string[]): string[] {
  return names.filter((name) => name !== '' && name.isWellFormed());
}

/** Writes CSV (RFC 4180) with a header, lines ended by LF. A field that a record lacks is an empty cell. */
export function createCsvWriter(names: readonly string[], { delimiter, csvSafe }: CsvWriterOptions): TableWriter {
  const columns = headerNames(names);
  const known = new Set(columns);
  const cellOf = csvSafe ? safeCell : cell;
  const options = {
    delimiter,
    // A line with nothing in it would be no row.
    quoted_empty: columns.length === 1,
    // At the start of a file it would be taken for a byte order mark.
    quoted_match: '\ufeff',
  };
  return { columns, between: '', begin: () => beginAs(columns), beginAs, write, end: () => '', refusal };

  function beginAs(names: readonly string[]): string {
    return names.length === 0 ? '' : stringify([names.map(cellOf)], options);
  }

  function write(rows: readonly Fields[]): string {
    return stringify(
      rows.map((fields) => columns.map((name) => cellOf(fields.get(name)))),
      options,
    );
  }

  function refusal(fields: Fields): Failure | undefined {
    for (const [name, value] of fields) {
      if (!known.has(name)) return misfit(name);
      // Objects and arrays become JSON text, which has an escape for it.
      if (typeof value === 'string' && !value.isWellFormed()) return broken(name, 'the value');
    }
    return undefined;
  }
}

/** Why a record cannot be a row of a table that has no column for one of its fields. */
export function misfit(name: string): Failure {
  if (name === '') {
    return new Failure(
      'output',
      'the record has a field whose name is empty, which CSV cannot hold\nwrite JSON or NDJSON, or rename or remove it with a set node',
    );
  }
  if (!name.isWellFormed()) return broken(name, 'the name');
  return new Failure(
    'output',
    `the record has a field "${name}" that the output's columns lack\nwrite NDJSON, or name the field in the flow`,
  );
}

function broken(name: string, what: string): Failure {
  const field = `the field "${withEscapes(name)}"`;
  return new Failure(
    'output',
    `${what} of ${field} has a broken character (a lone surrogate), which CSV cannot hold\nwrite JSON or NDJSON`,
  );
}

/** A text for a cell whatever it holds: lone surrogates as JSON writes them. */
export function withEscapes(text: string): string {
  return text.replace(/\p{Surrogate}/gu, (lone) => `\\u${lone.charCodeAt(0).toString(16)}`);
}

function cell(value: Value | undefined): string {
  return value === undefined ? '' : textOf(value);
}

/** Spreadsheets run what begins like this (owasp.org/www-community/attacks/CSV_Injection). A number is no text. */
function safeCell(value: Value | undefined): string {
  return typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : cell(value);
}
