import { expect, test } from 'vitest';
import { extensionOf, formatOfName, formatOfPath } from '../../../src/io/records/format.ts';

test.each([
  ['rows.csv', { kind: 'csv', gzip: false }],
  ['rows.CSV', { kind: 'csv', gzip: false }],
  ['rows.tsv.gz', { kind: 'tsv', gzip: true }],
  ['a.b/rows.json', { kind: 'json', gzip: false }],
  ['rows.errors.jsonl', { kind: 'ndjson', gzip: false }],
  ['rows.ndjson.GZ', { kind: 'ndjson', gzip: true }],
  ['.csv', { kind: 'csv', gzip: false }],
  ['rows.txt', undefined],
  ['rows.gz', undefined],
  ['rows', undefined],
  ['rows.csv/part', undefined],
  ['-', undefined],
])('the name %s says the format', (path, format) => {
  expect(formatOfPath(path)).toEqual(format);
});

test.each([
  ['csv', { kind: 'csv', gzip: false }],
  ['jsonl', { kind: 'ndjson', gzip: false }],
  ['csv.gz', { kind: 'csv', gzip: true }],
  ['.csv', undefined],
  ['xml', undefined],
  ['', undefined],
])('the option %s says the format', (name, format) => {
  expect(formatOfName(name)).toEqual(format);
});

test('a format has a file name extension', () => {
  expect(extensionOf({ kind: 'csv', gzip: false })).toBe('.csv');
  expect(extensionOf({ kind: 'ndjson', gzip: true })).toBe('.ndjson.gz');
});
