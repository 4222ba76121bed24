import type { Format } from '../format.ts';
import { createCsvWriter } from './csv-writer.ts';
import { createJsonWriter, createNdjsonWriter } from './json-writer.ts';
import type { RecordWriter } from './record-writer.ts';

export type { RecordWriter } from './record-writer.ts';

/** What the user says of the output. */
export interface WriterOptions {
  /** Put `'` in front of texts that a spreadsheet would take for a formula. */
  readonly csvSafe?: boolean | undefined;
}

/** Writes records in a format. `columns` are those of CSV; absent when there is no record. */
export function createWriter(format: Format, columns: readonly string[] | undefined, options: WriterOptions = {}): RecordWriter {
  if (format.kind === 'json') return createJsonWriter();
  if (format.kind === 'ndjson') return createNdjsonWriter();
  return createCsvWriter(columns ?? [], { delimiter: format.kind === 'tsv' ? '\t' : ',', csvSafe: options.csvSafe ?? false });
}
