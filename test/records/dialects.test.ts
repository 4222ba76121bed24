import { describe, expect, test } from 'vitest';
import { openText, problem, shown } from './reading.ts';

// Options for CSV files that do not follow RFC 4180.

const csv = (text: string, options = {}) => shown(openText('csv', text, options));

describe('--ragged', () => {
  test('fills short rows with empty cells, and leaves out empty cells behind the last column', async () => {
    const text = 'id,name,city\n1\n2,Bob\n3,Cy,Rome,,\n4,Di,Oslo,,x\n5,Ed,Ulm,""\n,\n';
    for (const chunkSize of [1, 100]) {
      expect(await csv(text, { ragged: true, chunkSize })).toEqual([
        { id: '1', name: '', city: '' },
        { id: '2', name: 'Bob', city: '' },
        { id: '3', name: 'Cy', city: 'Rome' },
        'line 5: expected 3 cells, found 5 (extra: "", "x")',
        { id: '5', name: 'Ed', city: 'Ulm' },
        { id: '', name: '', city: '' },
      ]);
    }
    expect((await csv(text)).filter((row) => typeof row === 'string')).toHaveLength(6);
  });

  test('counts the columns in the header, or without one in the first row', async () => {
    expect(await csv('id,,\n1\n2,x\n', { ragged: true })).toEqual([
      { id: '1' },
      'line 3: expected 1 cells, found 2 (extra: "x"): give the column a name in the header, or clear the cell',
    ]);
    expect(await csv('1,2\n3\n4,5,\n6,7,8\n', { ragged: true, noHeader: true })).toEqual([
      { column_1: '1', column_2: '2' },
      { column_1: '3', column_2: '' },
      { column_1: '4', column_2: '5' },
      'line 4: expected 2 cells, found 3 (extra: "8")',
    ]);
  });

  test('lets the delimiter be recognized although the first row has another number of cells', async () => {
    expect(await csv('id;name;city\n1;Ada\n', { ragged: true })).toEqual([{ id: '1', name: 'Ada', city: '' }]);
    expect(await csv('id;name;;\n1;Ada\n')).toEqual([{ id: '1', name: 'Ada' }]);
  });

  test('keeps the failures of an errors file', async () => {
    const [record] = await csv('id,_error_class,_error_message,_error_record\n1,input,bad\n', { ragged: true });
    expect(record).toContain('could not be read in an earlier run');
  });

  test('is refused for other formats', async () => {
    expect(await problem(openText('json', '[]', { ragged: true }))).toBe('usage: --ragged: expected CSV or TSV, found json');
  });
});
