import { expect, test } from 'vitest';
import { SparseFields } from '../../../src/core/record.ts';
import { textRows, type WorkbookParts, workbook } from '../../helpers/workbook.ts';
import { file, itemsOf, openFile, problem, shown } from '../reading.ts';

let made = 0;

async function bookFile(parts: Partial<WorkbookParts>): Promise<string> {
  return file(`hostile${++made}.xlsx`, await workbook({ sheets: { Rows: textRows([['a'], ['1']]) }, ...parts }));
}

const formats = (...codes: string[]) =>
  `<styleSheet><numFmts>${codes.map((code, at) => `<numFmt numFmtId="${164 + at}" formatCode="${code}"/>`).join('')}</numFmts><cellXfs>${codes
    .map((_, at) => `<xf numFmtId="${164 + at}"/>`)
    .join('')}</cellXfs></styleSheet>`;

test('a workbook with a number format of more than 255 characters is refused', async () => {
  const whole = await bookFile({ more: { 'xl/styles.xml': formats('['.repeat(255)) } });
  expect(await shown(openFile(whole))).toEqual([{ a: '1' }]);
  const path = await bookFile({ more: { 'xl/styles.xml': formats('['.repeat(256)) } });
  expect(await problem(openFile(path))).toBe(
    `input: ${path}: xl/styles.xml: expected an Excel workbook (.xlsx), found a damaged one: a number format of 256 characters, more than 255\nsave or fetch it again`,
  );
  expect(await problem(openFile(await bookFile({ more: { 'xl/styles.xml': formats('['.repeat(3_000_000)) } })))).toContain('of 3,000,000');
  const many = Array.from({ length: 5001 }, () => '0.0');
  expect(await problem(openFile(await bookFile({ more: { 'xl/styles.xml': formats(...many) } })))).toContain(
    'more than 5,000 number formats',
  );
});

const nested = (depth: number) => `${'<a>'.repeat(depth)}${'</a>'.repeat(depth)}`;

test.each(['_rels/.rels', 'xl/workbook.xml', 'xl/_rels/workbook.xml.rels', 'xl/styles.xml', 'xl/sharedStrings.xml'])(
  'elements nested more than 100 deep are refused in %s',
  async (part) => {
    const path = await bookFile({ texts: '', more: { [part]: nested(101) } });
    expect(await problem(openFile(path))).toContain(
      `${path}: ${part}: expected an Excel workbook (.xlsx), found a damaged one: elements that`,
    );
  },
);

test('elements nested more than 100 deep are refused in a sheet, after the rows before them', async () => {
  const row = (depth: number) => `<row r="2"><c r="A2"><v>1</v>${nested(depth)}</c></row>`;
  const sheets = (depth: number) => ({ Rows: `${textRows([['a']])}${row(depth)}` });
  expect(await shown(openFile(await bookFile({ sheets: sheets(96) })))).toEqual([{ a: '1' }]);
  const path = await bookFile({ sheets: sheets(97) });
  expect(await problem(openFile(path))).toContain(
    `${path}: sheet "Rows", row 2, column A: expected an Excel workbook (.xlsx), found a damaged one: elements that are nested more than 100 deep`,
  );
});

/** Changes the unpacked size that an archive states for a file (APPNOTE.TXT, 4.3.12). */
function stating(bytes: Buffer, part: string, size: number): Buffer {
  bytes.writeUInt32LE(size, bytes.lastIndexOf(part) - 46 + 24);
  return bytes;
}

const [partMax, textsMax] = [64 * 1024 * 1024, 1024 * 1024 * 1024];

test.each([
  ['_rels/.rels', partMax],
  ['xl/workbook.xml', partMax],
  ['xl/_rels/workbook.xml.rels', partMax],
  ['xl/styles.xml', partMax],
  ['xl/sharedStrings.xml', textsMax],
])('a part that unpacks to more than its maximum is refused before it is read: %s', async (part, max) => {
  const whole = await workbook({ sheets: { Rows: textRows([['a']]) }, texts: '' });
  const path = file(`large${++made}.xlsx`, stating(whole, part, max + 1));
  expect(await problem(openFile(path))).toMatch(
    new RegExp(`^input: ${path}: ${part}: expected .* found a damaged one: it has [\\d,]+ bytes, more than [\\d,]+\n`),
  );
});

test('a part that is longer than its archive states is refused', async () => {
  const whole = await workbook({ sheets: { Rows: textRows([['a'], ['1']]) } });
  const path = file('lying.xlsx', stating(whole, 'xl/styles.xml', 10));
  expect(await problem(openFile(path))).toContain('xl/styles.xml: expected an Excel workbook (.xlsx), found a damaged one: too many bytes');
});

test('a shared string of more than a million characters is refused, in however many pieces it comes', async () => {
  const path = await bookFile({ texts: `<si>${'<t>0123456789</t>'.repeat(100_001)}</si>` });
  expect(await problem(openFile(path))).toContain(
    'xl/sharedStrings.xml: expected an Excel workbook (.xlsx), found a damaged one: a text of',
  );
});

test.each([
  ['AAAAAAAAAAAAAAAAAAAA2', 'row 2: expected at most 16,384 columns, found more'],
  [`${'Z'.repeat(10_000)}2`, 'row 2: expected at most 16,384 columns, found more'],
  ['2', 'row 2: expected the place of a cell, such as B2, found "2"'],
  ['', 'row 2: expected the place of a cell, such as B2, found ""'],
])('a cell outside of any sheet is refused: %j', async (place, message) => {
  const rows = `${textRows([['a']])}<row r="2"><c r="${place}"><v>1</v></c></row>`;
  expect(await problem(openFile(await bookFile({ sheets: { Rows: rows } })))).toContain(message);
});

test('a row number that is not an integer is refused', async () => {
  const rows = `${textRows([['a']])}<row r="2.5"><c><v>1</v></c></row>`;
  expect(await problem(openFile(await bookFile({ sheets: { Rows: rows } })))).toContain(
    'expected a higher row number, up to 1,048,576, found row 2.5',
  );
});

test('a message about sheets lists at most 20 of them', async () => {
  const sheets = Object.fromEntries(Array.from({ length: 22 }, (_, at) => [`S${at}`, '']));
  const path = await bookFile({ sheets });
  expect(await problem(openFile(path, { sheet: 'Other' }))).toMatch(/it has "S0", .*"S19", and 2 others$/);
});

/** Returns the name of a column from its 0-based number. */
function columnName(column: number): string {
  const rest = Math.floor(column / 26);
  return (rest === 0 ? '' : columnName(rest - 1)) + String.fromCharCode(65 + (column % 26));
}

const header = (names: readonly string[]) =>
  `<row r="1">${names.map((name, at) => `<c r="${columnName(at)}1" t="str"><v>${name}</v></c>`).join('')}</row>`;

test('a row with few cells in a wide table holds only these cells, and has the same fields as any other', async () => {
  const names = Array.from({ length: 16_384 }, (_, at) => `c${at}`);
  const rows = Array.from({ length: 50 }, (_, at) => `<row r="${at + 2}"><c r="XFD${at + 2}"><v>${at}</v></c></row>`);
  const items = await itemsOf(openFile(await bookFile({ sheets: { Rows: header(names) + rows.join('') } })));
  expect(items).toHaveLength(50);
  for (const [at, { fields }] of items.entries()) {
    expect([fields instanceof SparseFields, fields.size, fields.get('c0'), fields.get('c16383'), fields.get('c16384')]).toEqual([
      ...[true, 16_384, '', String(at), undefined],
    ]);
  }
  expect([...(items[7]?.fields ?? [])]).toEqual(names.map((name, at) => [name, at === 16_383 ? '7' : '']));
});

test('a row with few cells in a wide errors file keeps the number of its record and its failure', async () => {
  const names = [...Array.from({ length: 1000 }, (_, at) => `c${at}`), '_error_class', '_error_message', '_error_record'];
  const row = (number: number, kind: string) =>
    `<row r="${number}"><c r="B${number}"><v>5</v></c><c r="ALM${number}" t="str"><v>${kind}</v></c><c r="ALO${number}"><v>17</v></c></row>`;
  const [first, second] = await itemsOf(openFile(await bookFile({ sheets: { Rows: header(names) + row(2, 'http') + row(3, 'input') } })));
  expect([first?.fields.size, first?.fields.get('c1'), first?.failedAs, first?.failure]).toEqual([1000, '5', 17, undefined]);
  expect(second?.failure?.message).toContain('could not be read in an earlier run');
});
