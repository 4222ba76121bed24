import type { Fields } from '../../core/record.ts';
import { parseJson } from '../../core/value/json.ts';
import { jsonOf, type Value } from '../../core/value/value.ts';
import type { RecordWriter } from '../format.ts';

export const ndjsonWriter: RecordWriter = {
  between: '',
  begin: () => '',
  write: (rows) => rows.map((fields) => `${objectText(fields)}\n`).join(''),
  end: () => '',
  misfit: () => undefined,
};

/** Reads rows that `ndjsonWriter` has written. */
export function ndjsonRows(text: string): Fields[] {
  return rowsIn(`[${text.trimEnd().split('\n').join(',')}]`);
}

/** A JSON array with one object per line. */
export const jsonWriter: RecordWriter = {
  between: ',',
  begin: () => '[',
  write: (rows, isFirst) => rows.map((fields, index) => (isFirst && index === 0 ? '\n' : ',\n') + objectText(fields)).join(''),
  end: (anyWritten) => (anyWritten ? '\n]\n' : ']\n'),
  misfit: () => undefined,
};

/** Reads rows that `jsonWriter` has written. */
export function jsonRows(text: string): Fields[] {
  return rowsIn(`[${text.replace(/^,/, '')}]`);
}

function rowsIn(list: string): Fields[] {
  return (parseJson(list) as { [name: string]: Value }[]).map((row) => new Map(Object.entries(row)));
}

function objectText(fields: Fields): string {
  let members = '';
  for (const [name, value] of fields) members += `${members === '' ? '' : ','}${JSON.stringify(name)}:${jsonOf(value)}`;
  return `{${members}}`;
}
