import type { Fields } from '../../../core/record.ts';
import { jsonOf } from '../../../core/value/value.ts';
import type { Format } from '../format.ts';
import { createCsvWriter } from './csv-writer.ts';
import type { RecordWriter } from './record-writer.ts';
import { createXlsxWriter } from './xlsx-writer.ts';

/** The user's options for the output. */
export interface WriterOptions {
  /** Puts `'` before texts that a spreadsheet would run as a formula. */
  readonly csvSafe?: boolean | undefined;
  /** True if the numbers of the input are texts, as in a table. */
  readonly hasTextCells?: boolean;
}

/** Creates the writer of a format. `columns`: the columns of a CSV file; undefined if there is no record. */
export function createWriter({ kind }: Format, columns: readonly string[] | undefined, options: WriterOptions = {}): RecordWriter {
  if (kind === 'json') return jsonWriter;
  if (kind === 'ndjson') return ndjsonWriter;
  if (kind === 'xlsx') return createXlsxWriter(columns ?? [], options.hasTextCells ?? false);
  return createCsvWriter(columns ?? [], { delimiter: kind === 'tsv' ? '\t' : ',', csvSafe: options.csvSafe ?? false });
}

/** Writes one JSON object per line. */
const ndjsonWriter: RecordWriter = {
  between: '',
  begin: () => '',
  write: (rows) => rows.map((fields) => `${objectText(fields)}\n`).join(''),
  end: () => '',
  misfit: () => undefined,
};

/** Writes a JSON array, one object per line. */
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
