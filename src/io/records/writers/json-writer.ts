import type { Fields } from '../../../core/record.ts';
import { jsonOf } from '../../../core/value/value.ts';
import type { RecordWriter } from './record-writer.ts';

/** Writes one JSON object per line. */
export function createNdjsonWriter(): RecordWriter {
  return {
    between: '',
    begin: () => '',
    write: (rows) => rows.map((fields) => `${objectText(fields)}\n`).join(''),
    end: () => '',
    refusal: () => undefined,
  };
}

/** Writes a JSON array, one object per line. */
export function createJsonWriter(): RecordWriter {
  return {
    between: ',',
    begin: () => '[',
    write: (rows, isFirst) => rows.map((fields, index) => (isFirst && index === 0 ? '\n' : ',\n') + objectText(fields)).join(''),
    end: (anyWritten) => (anyWritten ? '\n]\n' : ']\n'),
    refusal: () => undefined,
  };
}

function objectText(fields: Fields): string {
  let members = '';
  for (const [name, value] of fields) members += `${members === '' ? '' : ','}${JSON.stringify(name)}:${jsonOf(value)}`;
  return `{${members}}`;
}
