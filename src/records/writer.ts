import type { Fields } from '../core/record.ts';
import { jsonOf } from '../core/value/value.ts';
import { createCsvWriter } from './csv-writer.ts';
import type { Format, RecordWriter } from './format.ts';
import { createXlsxWriter } from './xlsx/xlsx-writer.ts';

interface WriterOptions {
  /** True to put a `'` before text that a spreadsheet would run as a formula. */
  readonly csvSafe?: boolean;
  /** The input is a table, so its numbers are strings. */
  readonly hasTextCells?: boolean;
}

/** `columns` is undefined if there are no records. */
export function createWriter({ kind }: Format, columns: readonly string[] | undefined, options: WriterOptions = {}): RecordWriter {
  if (kind === 'json') return jsonWriter;
  if (kind === 'ndjson') return ndjsonWriter;
  if (kind === 'xlsx') return createXlsxWriter(columns ?? [], options.hasTextCells ?? false);
  return createCsvWriter(columns ?? [], { delimiter: kind === 'tsv' ? '\t' : ',', csvSafe: options.csvSafe ?? false });
}

const ndjsonWriter: RecordWriter = {
  between: '',
  begin: () => '',
  write: (rows) => rows.map((fields) => `${objectText(fields)}\n`).join(''),
  end: () => '',
  misfit: () => undefined,
};

/** A JSON array with one object per line. */
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
