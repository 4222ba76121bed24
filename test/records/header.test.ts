import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { textBook, textRows, workbook } from '../helpers/workbook.ts';
import { file, openFile, openText, problem, shown } from './reading.ts';

const csv = (text: string, options = {}) => shown(openText('csv', text, options));

let made = 0;
const book = async (rows: readonly (readonly string[])[]) => file(`header-${++made}.xlsx`, await textBook(rows));

describe('empty names in the header of a CSV file', () => {
  test('are no columns at the end, where a record fails if its cell is not empty', async () => {
    const text = 'id,name,,\n1,Ada,,\n2,Bob\n3,Cy,\n4,Dy,,x\n5,Ed,,,\n6\n';
    const advice = ': give the column a name in the header, or clear the cell';
    for (const chunkSize of [1, 100]) {
      expect(await csv(text, { chunkSize })).toEqual([
        { id: '1', name: 'Ada' },
        { id: '2', name: 'Bob' },
        { id: '3', name: 'Cy' },
        `line 5: expected 2 cells, found 4 (extra: "", "x")${advice}`,
        'line 6: expected 2 cells, found 5 (extra: "", "", "")',
        'line 7: expected 2 cells, found 1',
      ]);
    }
  });

  test.each([
    ['their position', 'id,,name,"",x', ['id', 'column_2', 'name', 'column_4', 'x'], ['column_2', 'column_4']],
    ['a free name', ',column_1,x', ['column_1_2', 'column_1', 'x'], ['column_1_2']],
    ['the first free name', 'column_3,column_3_2,,x,,', ['column_3', 'column_3_2', 'column_3_3', 'x'], ['column_3_3']],
    ['their position before the columns of an errors file', 'id,,_error_node', ['id', 'column_2'], ['column_2']],
  ])('are replaced by %s', async (_, header, columns, givenNames) => {
    expect(await openText('csv', `${header}\n`)).toMatchObject({ header: columns, columns, givenNames });
  });

  test('with a single one above it, such as the title of a report, may be in another line', async () => {
    const found = 'found 2 (extra: "name"): is the header in another line?';
    for (const title of ['Report of 2026', 'Report of 2026,'])
      expect(await csv(`${title}\nid,name\n`)).toEqual([`line 2: expected 1 cell, ${found}`]);
    expect(await shown(openFile(await book([['Report'], ['id', 'name']])))).toEqual([
      'sheet "Rows", row 2, column B: expected 1 cell, found one more ("name"): is the header in another row?',
    ]);
  });

  test('do not hide the failure of a record in an errors file', async () => {
    const [record] = await csv('id,,_error_class,_error_message,\n1,2,input,bad,\n');
    expect(record).toContain('could not be read in an earlier run');
  });
});

describe('the line of the header', () => {
  test.each([
    ['sep=;\nReport\nid;name\n1;Ada\n2\n', 3],
    ['\ufeff"sep=;"\r\nid;name\r\n\r\n1;Ada\r\n2\r\n', 2],
    ['sep=;\n\nid;name\n1;Ada\n2\n', 1],
  ])('counts the line sep=; of %j, which is no header itself', async (text, headerLine) => {
    for (const chunkSize of [1, 3, 100]) {
      const records = shown(openText('csv', text, { headerLine, chunkSize }));
      if (headerLine === 1)
        await expect(records).rejects.toThrow('expected a header row with the names of the columns, found an empty line');
      else expect(await records).toEqual([{ id: '1', name: 'Ada' }, 'line 5: expected 2 cells, found 1']);
    }
    expect(await csv('sep=;\nid;name\n1;Ada\n', { headerLine: 1 })).toEqual([{ id: '1', name: 'Ada' }]);
  });

  test.each([
    ['LF', '\n'],
    ['CR LF', '\r\n'],
    ['CR', '\r'],
  ])('is counted as an editor does, whatever is above it (%s)', async (_, end) => {
    const text = ['\ufeffReport "Q3', 'Acme, Inc., "x', '', 'id,name', '1,Ada', '2', ''].join(end);
    for (const chunkSize of [1, 2, 3, 100])
      expect(await csv(text, { headerLine: 4, chunkSize })).toEqual([{ id: '1', name: 'Ada' }, 'line 6: expected 2 cells, found 1']);
  });

  test('can be the first one, or be in a compressed file with another encoding and delimiter', async () => {
    expect(await csv('\ufeffid\n1\n', { headerLine: 1 })).toEqual([{ id: '1' }]);
    const text = gzipSync(Buffer.from('M\xfcller;\nid;n\xe4me\n1;\xe9\n', 'latin1'));
    expect(await shown(openText('csv.gz', text, { headerLine: 2, delimiter: ';', encoding: 'latin1' }))).toEqual([{ id: '1', näme: 'é' }]);
  });

  test('can stand below more text than a header may have', async () => {
    expect(await csv(`${'x'.repeat(2_000_000)}\nid\n1\n`, { headerLine: 2 })).toEqual([{ id: '1' }]);
  });

  test.each([
    ['is empty', 'a\n\nid\n1\n', 2, '2: expected a header row with the names of the columns, found an empty line'],
    ['does not exist', 'a\nid\n', 9, '9: expected a header row with the names of the columns, found none'],
    ['is the end', 'a\n', 2, '2: expected a header row with the names of the columns, found none'],
    ['has a name twice', 'a\nid,id\n', 2, '2: expected a different name for every column, found "id" for columns 1 and 2'],
  ])('is refused if it %s', async (_, text, headerLine, message) => {
    const found = await problem(openText('csv', text, { headerLine }));
    expect(found).toContain(`input: <stdin>:${message}\n`);
    expect(found).toContain('--header-line 4, or --no-header');
  });

  test('is a row in a workbook, and rows above it are not looked at', async () => {
    const path = await book([['Report', '', '', 'x'], [], ['by', 'Acme'], ['id', 'name'], [], ['1', 'Ada'], ['2', '', 'z']]);
    expect(await shown(openFile(path, { headerLine: 4 }))).toEqual([
      { id: '1', name: 'Ada' },
      'sheet "Rows", row 7, column C: expected 2 cells, found one more ("z"): give its column a name, or clear the cell',
    ]);
    const from = { offset: 6, line: 6, records: 1 };
    expect(await shown(openFile(path, { headerLine: 4, from }))).toHaveLength(1);
    const empty = 'expected a header row with the names of the columns, found an empty row';
    expect(await problem(openFile(path, { headerLine: 5 }))).toContain(`sheet "Rows", row 5: ${empty}\n`);
    expect(await problem(openFile(path, { headerLine: 8 }))).toContain(`sheet "Rows", row 8: ${empty}\n`);
  });

  test('is found far below the first part of a sheet that is read', async () => {
    const above = Array.from({ length: 3000 }, (_, at) => [`text ${at}`, `${at * 7919}`]);
    expect(await shown(openFile(await book([...above, ['id'], ['1']]), { headerLine: 3001 }))).toEqual([{ id: '1' }]);
  });
});

describe('merged cells in the header of a workbook', () => {
  test('count for their first column', async () => {
    const rows = textRows([
      ['id', 'name', '', 'city', ''],
      ['1', 'Ada', 'Lovelace', 'London'],
      ['2', 'Bob', '', 'Bonn', 'x'],
    ]);
    const sheet = `<worksheet><sheetData>${rows}</sheetData><mergeCells><mergeCell ref="B1:C1"/><mergeCell ref="D1:E1"/></mergeCells></worksheet>`;
    const path = file('merged.xlsx', await workbook({ sheets: { Rows: '' }, more: { 'xl/worksheets/sheet1.xml': sheet } }));
    const source = openFile(path);
    expect((await source).givenNames).toEqual(['column_3']);
    expect(await shown(source)).toEqual([
      { id: '1', name: 'Ada', column_3: 'Lovelace', city: 'London' },
      expect.stringContaining('row 3, column E: expected 4 cells, found one more ("x")'),
    ]);
  });
});

describe('a table without a header', () => {
  test('has columns that are named by their position', async () => {
    for (const chunkSize of [1, 100]) {
      const source = openText('csv', '\n1,,1,\n2,b\n3,"b\n",c,d\n', { noHeader: true, chunkSize });
      expect(await source).toMatchObject({ columns: ['column_1', 'column_2', 'column_3', 'column_4'], givenNames: [] });
      expect(await shown(source)).toEqual([
        { column_1: '1', column_2: '', column_3: '1', column_4: '' },
        'line 3: expected 4 cells, found 2',
        { column_1: '3', column_2: 'b\n', column_3: 'c', column_4: 'd' },
      ]);
    }
  });

  test('has as many columns as the widest of its first rows in a workbook, which does not contain empty cells', async () => {
    const path = await book([[], ['1'], ['2', '', 'c'], ['3', 'b']]);
    expect(await shown(openFile(path, { noHeader: true }))).toEqual([
      { column_1: '1', column_2: '', column_3: '' },
      { column_1: '2', column_2: '', column_3: 'c' },
      { column_1: '3', column_2: 'b', column_3: '' },
    ]);
    expect(await shown(openFile(path, { noHeader: true, from: { offset: 3, line: 3, records: 2 } }))).toEqual([
      { column_1: '3', column_2: 'b', column_3: '' },
    ]);
  });

  test('is refused if it is empty', async () => {
    const message = 'expected at least one row, which shows how many columns there are, found none';
    expect(await problem(openText('csv', '\n', { noHeader: true }))).toBe(`input: <stdin>: ${message}`);
    expect(await problem(openFile(await book([]), { noHeader: true }))).toContain(`sheet "Rows": ${message}`);
  });
});

test.each([
  ['headerLine', 2],
  ['noHeader', true],
])('JSON has no header, so %s is refused', async (name, value) => {
  const option = name === 'headerLine' ? '--header-line' : '--no-header';
  expect(await problem(openText('json', '[]', { [name]: value }))).toBe(
    `usage: ${option}: expected CSV, TSV or an Excel workbook, found json`,
  );
});

test('a header in a given line and no header exclude each other', async () => {
  expect(await problem(openText('csv', 'a\n', { headerLine: 2, noHeader: true }))).toBe(
    'usage: --no-header: expected a header in a given line or no header, found both',
  );
});
