import { stringify } from 'csv-stringify/sync';
import { Failure } from '../../../core/failure.ts';
import type { Fields } from '../../../core/record.ts';
import { shortName } from '../../../core/text/suggest.ts';
import { textOf, type Value } from '../../../core/value/value.ts';
import type { RecordWriter } from './record-writer.ts';

interface CsvWriterOptions {
  readonly delimiter: string;
  readonly csvSafe: boolean;
}

/** A writer of rows under a header. Fields find their column by name. */
export interface TableWriter extends RecordWriter {
  readonly columns: readonly string[];
  /** The header, with other names for the columns. */
  header(names: readonly string[]): string;
}

/** True for a writer of tables. */
export function isTableWriter(writer: RecordWriter): writer is TableWriter {
  return 'columns' in writer;
}

/** The names that a header can hold. Leaves out lone surrogates, which UTF-8 cannot encode, and an empty name, which readers refuse. */
export function headerNames(names: readonly string[]): string[] {
  return names.filter((name) => name !== '' && name.isWellFormed());
}

/** Writes CSV (RFC 4180) with a header and lines that end with LF. A field that a row lacks is an empty cell. */
export function createCsvWriter(names: readonly string[], { delimiter, csvSafe }: CsvWriterOptions): TableWriter {
  const columns = headerNames(names);
  const columnSet = new Set(columns);
  const cellOf = csvSafe ? safeCell : csvCell;
  const options = {
    delimiter,
    // An empty line would not be a row.
    quoted_empty: columns.length === 1,
    // At the start of a file, this character would be read as a byte order mark.
    quoted_match: '\ufeff',
  };
  const header = (names: readonly string[]) => (names.length === 0 ? '' : stringify([names.map(cellOf)], options));
  const cells = (fields: Fields) => columns.map((name) => cellOf(fields.get(name)));
  return {
    columns,
    between: '',
    begin: () => header(columns),
    header,
    write: (rows) => stringify(rows.map(cells), options),
    end: () => '',
    misfit: (fields) => misfitOf(fields, columnSet),
  };
}

/** The failure of a row with a field without a column, or with a broken character; undefined for any other. */
export function misfitOf(fields: Fields, columns: ReadonlySet<string>): Failure | undefined {
  for (const [name, value] of fields) {
    if (!columns.has(name)) return noColumn(name);
    // Objects and arrays become JSON text, which escapes surrogates.
    if (typeof value === 'string' && !value.isWellFormed()) return loneSurrogate(name, 'the value');
  }
  return undefined;
}

/** The failure of a record with a field for which the table has no column. */
export function noColumn(name: string): Failure {
  if (name === '') {
    return new Failure(
      'output',
      'the record has a field whose name is empty, which CSV cannot hold\nwrite JSON or NDJSON, or rename or remove it with a set node',
    );
  }
  if (!name.isWellFormed()) return loneSurrogate(name, 'the name');
  return new Failure(
    'output',
    `the record has a field "${shortName(name)}" that the output's columns lack\nwrite NDJSON, or name the field in the flow`,
  );
}

function loneSurrogate(name: string, where: string): Failure {
  const field = `the field "${escapeSurrogates(name)}"`;
  return new Failure(
    'output',
    `${where} of ${field} has a broken character (a lone surrogate), which CSV cannot hold\nwrite JSON or NDJSON`,
  );
}

/** Escapes lone surrogates as JSON does, so that a cell can hold the text. */
export function escapeSurrogates(text: string): string {
  return text.replace(/\p{Surrogate}/gu, (lone) => `\\u${lone.charCodeAt(0).toString(16)}`);
}

function csvCell(value: Value | undefined): string {
  return value === undefined ? '' : textOf(value);
}

/** Escapes texts that spreadsheets would run (owasp.org/www-community/attacks/CSV_Injection). Numbers are safe. */
function safeCell(value: Value | undefined): string {
  return typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : csvCell(value);
}
