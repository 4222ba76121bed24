import type { Fields } from '../core/record.ts';
import { jsonOf } from '../core/value/value.ts';
import { createCsvWriter } from './csv-writer.ts';
import type { Format, RecordWriter } from './format.ts';
import { createXlsxWriter } from './xlsx/xlsx-writer.ts';

/** Options for writing rows to a file. */
interface WriterOptions {
  /** True to put a `'` before text that a spreadsheet would run as a formula. */
  readonly csvSafe?: boolean | undefined;
  /** True if the input is a table. Its numbers are then strings. */
  readonly hasTextCells?: boolean;
}

/** Creates the writer for a format. `columns` are the columns of a table; undefined if there are no records. */
export function createWriter({ kind }: Format, columns: readonly string[] | undefined, options: WriterOptions = {}): RecordWriter {
  if (kind === 'json') return jsonWriter;
  if (kind === 'ndjson') return ndjsonWriter;
  if (kind === 'xlsx') return createXlsxWriter(columns ?? [], options.hasTextCells ?? false);
  return createCsvWriter(columns ?? [], { delimiter: kind === 'tsv' ? '\t' : ',', csvSafe: options.csvSafe ?? false });
}

/** A writer for NDJSON, which has one JSON object per line. */
const ndjsonWriter: RecordWriter = {
  between: '',
  begin: () => '',
  write: (rows) => rows.map((fields) => `${objectText(fields)}\n`).join(''),
  end: () => '',
  misfit: () => undefined,
};

/** A writer for a JSON array with one object per line. */
const jsonWriter: RecordWriter = {
  between: ',',
  begin: () => '[',
  write: (rows, isFirst) => rows.map((fields, index) => (isFirst && index === 0 ? '\n' : ',\n') + objectText(fields)).join(''),
  end: (anyWritten) => (anyWritten ? '\n]\n' : ']\n'),
  misfit: () => undefined,
};

function objectText(fields: Fields): string {
  let members = '';
  for (const [name, value] of fields) members += `${members === '' ? '' : ','}${JSON.stringify(name)}:${jsonOf(value)}`;
  return `{${members}}`;
}
