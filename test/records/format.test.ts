import { expect, test } from 'vitest';
import { extensionOf, type Format, formatOfName, formatOfPath } from '../../src/records/formats.ts';

test.each([
  ['rows.csv', { kind: 'csv', gzip: false }],
  ['rows.CSV', { kind: 'csv', gzip: false }],
  ['rows.tsv.gz', { kind: 'tsv', gzip: true }],
  ['a.b/rows.json', { kind: 'json', gzip: false }],
  ['out.errors.jsonl', { kind: 'ndjson', gzip: false }],
  ['rows.ndjson.GZ', { kind: 'ndjson', gzip: true }],
  ['.csv', { kind: 'csv', gzip: false }],
  ['rows.txt', undefined],
  ['rows.gz', undefined],
  ['rows', undefined],
  ['rows.csv/part', undefined],
  ['-', undefined],
])('the format of the file name %s is %o', (path, format) => {
  expect(formatOfPath(path)).toEqual(format);
});

test.each([
  ['csv', { kind: 'csv', gzip: false }],
  ['jsonl', { kind: 'ndjson', gzip: false }],
  ['csv.gz', { kind: 'csv', gzip: true }],
  ['.csv', undefined],
  ['xml', undefined],
  ['', undefined],
])('the format option %j means %o', (name, format) => {
  expect(formatOfName(name)).toEqual(format);
});

test.each([
  ['csv', '-', '.csv'],
  ['ndjson.gz', '-', '.ndjson.gz'],
  ['jsonl', 'rows.jsonl', '.jsonl'],
  ['ndjson', 'rows.jsonl', '.jsonl'],
  ['jsonl.gz', 'a.b/rows.jsonl.gz', '.jsonl.gz'],
  ['jsonl', 'rows.ndjson', '.ndjson'],
  ['csv', 'rows.CSV', '.CSV'],
  ['ndjson', 'rows.csv', '.ndjson'],
  ['jsonl', 'rows.jsonl.gz', '.ndjson'],
  ['jsonl.gz', 'rows.jsonl', '.ndjson.gz'],
  ['jsonl', 'rows.txt', '.ndjson'],
])('an additional file in the format %s gets a suitable extension if the input is %s', (name, path, extension) => {
  expect(extensionOf(formatOfName(name) as Format, path)).toBe(extension);
});
