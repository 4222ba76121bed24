import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import { Failure } from '../core/failure.ts';
import { type Fields, filledFields, SparseFields } from '../core/record.ts';
import { shortName } from '../core/text/suggest.ts';
import { textOf, type Value } from '../core/value/value.ts';
import type { RecordWriter } from './format.ts';

interface CsvWriterOptions {
  readonly delimiter: string;
  readonly csvSafe: boolean;
  readonly bom?: boolean;
}

/** A writer for a format with columns. A field's name determines its column. */
export interface TableWriter extends RecordWriter {
  readonly columns: readonly string[];
  /** `names` replace the columns' names, because secrets in them may be masked. */
  header(names: readonly string[]): string;
}

export function isTableWriter(writer: RecordWriter): writer is TableWriter {
  return 'columns' in writer;
}

/** Leaves out lone surrogates, which UTF-8 cannot encode, and an empty name, which readers reject. */
export function headerNames(names: readonly string[]): string[] {
  return names.filter((name) => name !== '' && name.isWellFormed());
}

/** CSV (RFC 4180) with a header row and LF line endings. A missing field becomes an empty cell. */
export function createCsvWriter(names: readonly string[], { delimiter, csvSafe, bom = false }: CsvWriterOptions): TableWriter {
  const columns = headerNames(names);
  const positions = new Map(columns.map((name, at) => [name, at]));
  const cellOf = csvSafe ? safeCell : csvCell;
  const options = {
    delimiter,
    // If the table has only one column, empty cells are quoted. Without quotes, such a row would be an empty line, which readers skip.
    quoted_empty: columns.length === 1,
    // Cells with this character are quoted, because it would be taken for a byte order mark at the start of a file.
    quoted_match: '\ufeff',
  };
  const start = bom ? '\ufeff' : '';
  const header = (names: readonly string[]) => (names.length === 0 ? '' : start + stringify([names.map(cellOf)], options));
  const cells = (fields: Fields) => columns.map((name) => cellOf(fields.get(name)));
  const sparseRow = (fields: SparseFields) => {
    const filled = [...fields.ownFields()].map(([name, value]) => ({ at: positions.get(name) ?? -1, text: cellOf(value) }));
    const [row, end] = filled
      .filter(({ at }) => at >= 0)
      .sort((one, other) => one.at - other.at)
      .reduce(([row, end], { at, text }) => [row + delimiter.repeat(at - end) + stringify([[text]], options).slice(0, -1), at], ['', 0]);
    return `${row}${delimiter.repeat(columns.length - 1 - end)}\n`;
  };
  return {
    columns,
    between: '',
    begin: () => header(columns),
    header,
    write: (rows) =>
      rows.some((row) => row instanceof SparseFields)
        ? rows.map((row) => (row instanceof SparseFields ? sparseRow(row) : stringify([cells(row)], options))).join('')
        : stringify(rows.map(cells), options),
    end: () => '',
    misfit: misfitCheck(columns),
  };
}

/** Fails a row if a field has no column or its text contains a lone surrogate. */
export function misfitCheck(names: readonly string[]): (fields: Fields) => Failure | undefined {
  const columns = new Set(names);
  let fitting: SparseFields['columns'] | undefined;
  return (fields) => {
    // Rows of a wide table share their columns, so these are checked only once.
    const isKnown = fields instanceof SparseFields && fields.columns === fitting;
    for (const [name, value] of isKnown ? filledFields(fields) : fields) {
      if (!columns.has(name)) return noColumn(name);
      // Only strings are checked. Objects and arrays are written as JSON, which escapes surrogates.
      if (typeof value === 'string' && !value.isWellFormed()) return loneSurrogate(name, 'the value');
    }
    if (fields instanceof SparseFields) fitting = fields.columns;
    return undefined;
  };
}

/** For a field that has no column in the table. */
export function noColumn(name: string): Failure {
  if (name === '') {
    return new Failure(
      'output',
      'the record has a field whose name is empty, which CSV cannot store\nwrite JSON or NDJSON, or rename or remove it with a set node',
    );
  }
  if (!name.isWellFormed()) return loneSurrogate(name, 'the name');
  return new Failure(
    'output',
    `the record has a field "${shortName(name)}" for which the output has no column\nwrite NDJSON, or add the field in the flow`,
  );
}

function loneSurrogate(name: string, where: string): Failure {
  const field = `the field "${escapeSurrogates(name)}"`;
  return new Failure(
    'output',
    `${where} of ${field} contains a broken character (a lone surrogate), which CSV cannot store\nwrite JSON or NDJSON`,
  );
}

/** Escapes as in JSON, so that the text can be written in UTF-8. */
export function escapeSurrogates(text: string): string {
  return text.replace(/\p{Surrogate}/gu, (lone) => `\\u${lone.charCodeAt(0).toString(16)}`);
}

function csvCell(value: Value | undefined): string {
  return value === undefined ? '' : textOf(value);
}

/** Puts a `'` before text that a spreadsheet would run (owasp.org/www-community/attacks/CSV_Injection). Numbers are never changed. */
function safeCell(value: Value | undefined): string {
  return typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : csvCell(value);
}

/** Reads rows that the writer has written, as lists of cells. */
export function cellsOf(text: string, delimiter: string): string[][] {
  // Text without quotes can be split at every delimiter, which is faster than parsing it.
  if (!text.includes('"') && !text.includes('\r')) {
    const lines = text.endsWith('\n') ? text.slice(0, -1).split('\n') : text.split('\n');
    return lines.map((line) => line.split(delimiter));
  }
  return parse(text, { delimiter }) as unknown as string[][];
}

export function tableRows(rows: readonly (readonly string[])[], columns: readonly string[]): Fields[] {
  return rows.map((cells) => new Map(columns.map((name, index) => [name, cells[index] ?? ''])));
}
