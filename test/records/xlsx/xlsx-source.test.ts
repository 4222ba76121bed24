import { writeXlsx } from 'hucre/xlsx';
import { describe, expect, test } from 'vitest';
import { openSource } from '../../../src/records/source.ts';
import { textBook, textRows, type WorkbookParts, workbook, zipOf } from '../../helpers/workbook.ts';
import { file, itemsOf, openFile, openText, problem, shown } from '../reading.ts';

let made = 0;

async function bookFile(parts: WorkbookParts): Promise<string> {
  return file(`${++made}.xlsx`, await workbook(parts));
}

/** Returns the values of the cells in one row. The XML of the cells has no positions. */
async function cells(xml: readonly string[], parts: Partial<WorkbookParts> = {}): Promise<string[]> {
  const header = textRows([xml.map((_, at) => `c${at}`)]);
  const row = `<row r="2">${xml.join('')}</row>`;
  const [record] = await shown(openFile(await bookFile({ sheets: { Rows: header + row }, ...parts })));
  return Object.values(record as Record<string, string>);
}

const number = (value: string | number, style = 0) => `<c s="${style}"><v>${value}</v></c>`;

describe('the cells of an Excel workbook', () => {
  test('can be text of every kind, such as shared, inline, rich or from a formula', async () => {
    const texts =
      '<si><t>first</t></si><si><r><t xml:space="preserve">rich </t></r><r><rPr><b/></rPr><t>text</t></r><rPh sb="0" eb="1"><t>spoken</t></rPh></si><si><t>a_x000D_b_x005F_x0041_</t></si>';
    const all = [
      '<c t="s"><v>1</v></c>',
      '<c t="s"><v>0</v></c>',
      '<c t="s"><v>2</v></c>',
      '<c t="inlineStr"><is><r><t>in</t></r><r><t>line &amp; &lt;x&gt; ä😀</t></r></is></c>',
      '<c t="str"><f>A1&amp;"x"</f><v>made</v></c>',
      '<c t="inlineStr"><is><t><![CDATA[<raw>]]></t></is></c>',
      '<c t="str"><f>""</f><v></v></c>',
    ];
    expect(await cells(all, { texts })).toEqual(['rich text', 'first', 'a\rb_x0041_', 'inline & <x> ä😀', 'made', '<raw>', '']);
  });

  test('can be numbers, which are read without the rounding errors of binary fractions', async () => {
    const all = [
      '0.30000000000000004',
      '110000.00000000001',
      '1.1000000000000001',
      '999999999999999',
      '12345678901234567',
      '1E3',
      '1.5E-3',
    ];
    const more = ['-0.1', '1e20', '4.0', '100', '0'];
    expect(await cells([...all, ...more].map((value) => number(value)))).toEqual([
      ...['0.3', '110000', '1.1', '999999999999999', '12345678901234567', '1000', '0.0015'],
      ...['-0.1', '100000000000000000000', '4', '100', '0'],
    ]);
  });

  test('can be percentages, amounts or fractions, which are read as numbers', async () => {
    const formats = [9, '0.00%', '#,##0.00\\ "days"', '[$€-407] #,##0.00', '[Red]0.0;[Blue]-0.0', '0.00E+00', '"h: "0', '# ?/?', 'General'];
    expect(
      await cells(
        formats.map((_, at) => number(0.255, at + 1)),
        { formats },
      ),
    ).toEqual(formats.map(() => '0.255'));
  });

  test('can be dates in both Excel date systems (1900 and 1904)', async () => {
    const formats = [14, 'dd.mm.yyyy', 'yyyy\\-mm\\-dd hh:mm:ss', '[$-409]d\\-mmm\\-yy;@', 22, 'mmm', 'm/d/yyyy h:mm AM/PM'];
    const all = [
      number(46351, 1),
      number(46351, 2),
      number('46351.416666666664', 3),
      number(46351, 4),
      number(46351, 5),
      number(46351.5, 2),
      number(46351, 6),
      number('46351.416666666664', 7),
    ];
    const texts = ['2026-11-25', '2026-11-25', '2026-11-25T10:00:00', '2026-11-25', '2026-11-25T00:00:00', '2026-11-25T12:00:00'];
    expect(await cells(all, { formats })).toEqual([...texts, '2026-11-25', '2026-11-25T10:00:00']);
    const later = all.map((cell) => cell.replace('46351', '44889'));
    expect(await cells(later, { formats, is1904: true })).toEqual([...texts, '2026-11-25', '2026-11-25T10:00:00']);
  });

  test('can be the first days of both Excel date systems, or values that are not a valid day', async () => {
    const formats = [14];
    const days = [0, 1, 59, 61, 2958465, 2958466, -1, 0.25].map((day) => number(day, 1));
    expect(await cells(days, { formats })).toEqual([
      ...['0', '1900-01-01', '1900-02-28', '1900-03-01', '9999-12-31', '2958466', '-1', '0.25'],
    ]);
    expect(
      await cells(
        [0, 1].map((day) => number(day, 1)),
        { formats, is1904: true },
      ),
    ).toEqual(['1904-01-01', '1904-01-02']);
  });

  test('can be times of day, durations or fractions of seconds', async () => {
    const formats = ['h:mm', '[h]:mm', 'mm:ss.0', 'yyyy-mm-dd hh:mm:ss.000', '[mm]:ss', 'hh:mm'];
    const values = ['0.4375', '1.5', '0.0000347222', '46351.4166694329', '0.5', '46351.4375'];
    expect(
      await cells(
        values.map((value, at) => number(value, at + 1)),
        { formats },
      ),
    ).toEqual([...['10:30:00', '36:00:00', '00:00:03', '2026-11-25T10:00:00.239', '12:00:00', '2026-11-25T10:30:00']]);
  });

  test('can be booleans, errors or dates as text, or empty', async () => {
    const all = ['<c t="b"><v>1</v></c>', '<c t="b"><v>0</v></c>', '<c t="e"><v>#N/A</v></c>', '<c s="1"/>', '<c t="n"/>'];
    const dates = ['<c t="d"><v>2026-11-25T00:00:00</v></c>', '<c t="d"><v>2026-11-25T10:00:00.000Z</v></c>'];
    expect(await cells([...all, ...dates])).toEqual(['true', 'false', '#N/A', '', '', '2026-11-25', '2026-11-25T10:00:00']);
  });

  test('can be formulas whose value Excel has saved; without a saved value, the record fails', async () => {
    const saved = [
      '<c><f>1+1</f><v>2</v></c>',
      '<c><f t="shared" ref="B2:B9" si="0">A2</f><v>3</v></c>',
      '<c><f t="shared" si="0"/><v>4</v></c>',
    ];
    expect(await cells(saved)).toEqual(['2', '3', '4']);
    const rows = `${textRows([['a', 'b']])}<row r="2"><c r="A2"><v>1</v></c><c r="B2"><f>A2</f></c></row><row r="3"><c r="A3"><v>5</v></c></row>`;
    const items = await itemsOf(openFile(await bookFile({ sheets: { Rows: rows } })));
    expect(items.map(({ number, failure }) => [number, failure?.message])).toEqual([
      [1, 'sheet "Rows", row 2, column B: the formula has no saved value: save the file once in Excel or LibreOffice'],
      [2, undefined],
    ]);
  });

  test.each(['n', 's', 'b', 'e', 'd', 'str', 'inlineStr'])('are empty if their value is empty, also with the type %s', async (type) => {
    const all = ['<v/>', '<v></v>', '<v><![CDATA[]]></v>', '<is/>', '<is><t/></is>', ''];
    const texts = '<si><t>first</t></si>';
    const typed = all.map((value) => `<c t="${type}">${value}</c>`);
    const expected = [...all.map(() => ''), '5'];
    expect(await cells([...typed, number(5)], { texts })).toEqual(expected);
    const styled = typed.map((cell) => cell.replace('<c', '<c s="1"'));
    expect(await cells([...styled, number(5)], { texts, formats: ['00000'] })).toEqual(expected);
  });

  test('can have blanks and line breaks around their values', async () => {
    const all = [
      '<c t="s"><v>\n 1 \n</v></c>',
      '<c t="b"><v> 1\n</v></c>',
      '<c><v>\n12\n</v></c>',
      '<c t="e"><v> #N/A </v></c>',
      '<c><v> </v></c>',
    ];
    expect(await cells(all, { texts: '<si><t>a</t></si><si><t>b</t></si>' })).toEqual(['b', 'true', '12', '#N/A', '']);
  });

  test.each([
    ['', '<v></v>'],
    ['', '<v/>'],
    ['', '<v> </v>'],
    [' t="b"', '<v/>'],
    [' t="e"', '<v></v>'],
    [' t="s"', '<v/>'],
    [' t="str"', ''],
  ])('are formulas without a saved value if their value is empty: %j %j', async (type, value) => {
    const rows = `${textRows([['a', 'b']])}<row r="2"><c r="A2"><v>1</v></c><c r="AB2"${type}><f>A2*3</f>${value}</c></row>`;
    const [item] = await itemsOf(openFile(await bookFile({ sheets: { Rows: rows }, texts: '<si><t>first</t></si>' })));
    expect(item?.failure?.message).toBe(
      'sheet "Rows", row 2, column AB: the formula has no saved value: save the file once in Excel or LibreOffice',
    );
    const inHeader = '<row r="3"><c r="B3"><f>A2</f><v></v></c></row>';
    expect(await problem(openFile(await bookFile({ sheets: { Rows: inHeader } })))).toContain(
      '.xlsx: sheet "Rows", row 3, column B: the formula has no saved value',
    );
  });

  test('can be inline text after a cell whose text is not used', async () => {
    const all = ['<c t="n"><is><t>unused</t></is><v>1</v></c>', '<c t="inlineStr"><is><t>b</t></is></c>', '<c t="inlineStr"><v>c</v></c>'];
    expect(await cells(all)).toEqual(['1', 'b', 'c']);
  });
});

describe('a number whose format consists of zeros and text', () => {
  test.each<[format: string, values: Readonly<Record<string, string>>]>([
    ['00000', { 1234: '01234', 0: '00000', 123456: '123456', '0.5': '00001', '0.49': '00000', '1234.5': '01235', '-12': '-00012' }],
    ['00000', { '1E4': '10000', '1.2345E+17': '123450000000000000', '12345678901234567': '12345678901234567', text: 'text' }],
    ['00', { 7: '07' }],
    ['000-00-0000', { 78051120: '078-05-1120', 1234567890: '1234-56-7890', '-5': '-000-00-0005' }],
    ['00000\\-0000', { 12345678: '01234-5678' }],
    ['[$-407]00000', { 1067: '01067' }],
    ['[$-407]\\D\\-00000', { 1067: 'D-01067' }],
    ['"Nr. "0000 [$\u20ac-407]', { 7: 'Nr. 0007 \u20ac' }],
    ['000\\.00\\.000"."000', { 75612345678: '756.12.345.678' }],
    ['0000 0000 0000 0000', { '4.11111111111111E+15': '4111 1111 1111 1110' }],
    ['_-* 00000_-', { 9: '00009' }],
    ['[Blue]00000;[Red]-00000', { 12: '00012', '-12': '-00012', 0: '00000' }],
    ['00000;(00000);@', { '-12': '(00012)', 0: '00000' }],
    ['00000;-00000;"none";@', { 0: '0', 5: '00005' }],
    ['00000;;', { 0: '0', '-3': '-3', 3: '00003' }],
    ['[<=9999999]000\\-0000;\\(000\\)\\ 000\\-0000', { 5551234: '555-1234', 2125551234: '(212) 555-1234', '-5': '-000-0005' }],
    ['[<=999]000;[<=9999]000\\-00;000\\-0000', { 12: '012', 1001: '010-01', 1000001: '100-0001' }],
  ])('becomes the text that Excel shows: %s', async (format, values) => {
    const all = Object.keys(values).map((value) => number(value, 1));
    expect(await cells(all, { formats: [format] })).toEqual(Object.values(values));
  });

  test.each([
    '0',
    '0" items"',
    '0.00',
    '00.00',
    '0,000',
    '#,##0',
    '00%',
    '00E+00',
    '# 00/00',
    '###-####',
    'General',
    '@',
    '[DBNum1]000',
    '"000"0',
    '00000"',
  ])('stays a number in other formats: %s', async (format) => {
    expect(await cells([number(5, 1), number('-5.25', 1)], { formats: [format] })).toEqual(['5', '-5.25']);
  });

  test('is read so in the header, and in a formula; text keeps its zeros', async () => {
    const rows = `<row r="1">${number(1, 1)}${number(2, 0)}</row><row r="2"><c s="1"><f>A1</f><v>1</v></c><c s="1" t="str"><v>7</v></c></row>`;
    expect(await shown(openFile(await bookFile({ sheets: { Rows: rows }, formats: ['00'] })))).toEqual([{ '01': '01', 2: '7' }]);
  });
});

test("a workbook's first non-empty row is the header; empty rows are skipped but count in the row numbers", async () => {
  const book = await textBook([[], ['id', 'name', ''], ['1', 'Ada'], [], ['', ''], ['2'], ['', 'Eve']]);
  const items = await itemsOf(openFile(file('gaps.xlsx', book)));
  expect(items.map(({ number, end, fields }) => [number, end.offset, Object.fromEntries(fields)])).toEqual([
    [1, 3, { id: '1', name: 'Ada' }],
    [2, 6, { id: '2', name: '' }],
    [3, 7, { id: '', name: 'Eve' }],
  ]);
});

test.each(['ns', 'd3p1', 'rel'])('the sheets of a workbook can have relations with the prefix %s', async (prefix) => {
  const [main, relations] = ['spreadsheetml/2006/main', 'officeDocument/2006/relationships'].map((name) => `http://x/${name}`);
  const sheets = ['One', 'Two'].map((name, at) => `<m:sheet name="${name}" sheetId="${at + 1}" ${prefix}:id="sheet${at + 1}"/>`).join('');
  const book = `<m:workbook xmlns:m="${main}" xmlns:${prefix}="${relations}"><m:sheets>${sheets}</m:sheets></m:workbook>`;
  const path = file(
    `prefix-${prefix}.xlsx`,
    await workbook({ sheets: { One: textRows([['a'], ['1']]), Two: textRows([['b'], ['2']]) }, more: { 'xl/workbook.xml': book } }),
  );
  expect(await shown(openFile(path))).toEqual([{ a: '1' }]);
  expect(await shown(openFile(path, { sheet: 'Two' }))).toEqual([{ b: '2' }]);
});

test('a workbook can omit cell positions, and its XML names can have prefixes', async () => {
  const rows = '<row><c t="inlineStr"><is><t>a</t></is></c></row><row><c><v>1</v></c><c/></row><row><c><v>2</v></c></row>';
  expect(await shown(openFile(await bookFile({ sheets: { Rows: rows } })))).toEqual([{ a: '1' }, { a: '2' }]);
  const sheet =
    '<x:worksheet xmlns:x="m"><x:sheetData><x:row r="1"><x:c r="B1" t="str"><x:v>b</x:v></x:c></x:row></x:sheetData></x:worksheet>';
  const path = await bookFile({ sheets: { Rows: '' }, more: { 'xl/worksheets/sheet1.xml': sheet } });
  expect((await openFile(path)).columns).toEqual(['column_1', 'b']);
});

test("a workbook's row with a cell outside the table becomes a failed record", async () => {
  const book = await textBook([['a', 'b'], ['1', '2', '', 'note'], ['3']]);
  expect(await shown(openFile(file('beside.xlsx', book)))).toEqual([
    'sheet "Rows", row 2, column D: expected 2 cells, found one more ("note"): give its column a name, or clear the cell',
    { a: '3', b: '' },
  ]);
});

test('the columns that an errors file adds are handled in a workbook as in CSV', async () => {
  const header = ['id', '_error_node', '_error_class', '_error_status', '_error_message', '_error_attempts', '_error_record'];
  const book = await textBook([header, ['1', 'ask', 'http', '404', 'gone', '1', '7'], ['2', '', 'input', '', 'bad', '0', '9']]);
  const [first, second] = await itemsOf(openFile(file('errors.xlsx', book)));
  expect([[...(first?.fields.keys() ?? [])], first?.failedAs, first?.failure]).toEqual([['id'], 7, undefined]);
  expect(second?.failure?.message).toContain('could not be read in an earlier run');
});

describe('the sheet to read in a workbook', () => {
  const sheets = { Secret: textRows([['s'], ['0']]), 'Customers 2026': textRows([['a'], ['1']]), Orders: textRows([['b'], ['2']]) };

  test('is the first visible sheet, or the sheet in --sheet', async () => {
    const path = await bookFile({ sheets, hidden: ['Secret'] });
    expect(await shown(openFile(path))).toEqual([{ a: '1' }]);
    expect(await shown(openFile(path, { sheet: 'Orders' }))).toEqual([{ b: '2' }]);
    expect(await shown(openFile(path, { sheet: 'orders' }))).toEqual([{ b: '2' }]);
    expect(await shown(openFile(path, { sheet: 'Secret' }))).toEqual([{ s: '0' }]);
    expect(await problem(openFile(path, { sheet: 'Order' }))).toBe(
      `usage: --sheet: expected a sheet of ${path}, found "Order"; it has "Secret", "Customers 2026", "Orders"`,
    );
  });

  test('cannot be chosen for CSV, and a workbook is refused with --encoding and --delimiter', async () => {
    const path = await bookFile({ sheets });
    expect(await problem(openFile(file('a.csv', 'a\n'), { sheet: 'Orders' }))).toBe(
      'usage: --sheet: expected an Excel workbook (.xlsx), found csv',
    );
    expect(await problem(openFile(path, { encoding: 'latin1' }))).toContain(
      'usage: --encoding: expected a text file, found an Excel workbook',
    );
    expect(await problem(openFile(path, { delimiter: ';' }))).toBe('usage: --delimiter: expected CSV or TSV, found xlsx');
  });
});

describe('a workbook that is read from a stream', () => {
  test('is distinguished from text, and read correctly however it is split', async () => {
    const book = await textBook([['a'], ['1'], ['2']]);
    for (const chunkSize of [1, 7, 65_536]) {
      const { stdin } = { stdin: await streamOf(book, chunkSize) };
      const source = await openSource({ path: '-', stdin });
      expect([source.format, await shown(Promise.resolve(source))]).toEqual([{ kind: 'xlsx', gzip: false }, [{ a: '1' }, { a: '2' }]]);
      await source.close();
    }
    expect(await shown(openText('xlsx', book))).toEqual([{ a: '1' }, { a: '2' }]);
  });
});

async function streamOf(content: Buffer, chunkSize: number) {
  const { Readable } = await import('node:stream');
  const count = Math.ceil(content.length / chunkSize);
  const chunks = Array.from({ length: count }, (_, at) => content.subarray(at * chunkSize, (at + 1) * chunkSize));
  return Readable.from(chunks, { objectMode: false });
}

test('reading a workbook can be resumed after any row, with the same record numbers', async () => {
  const path = file('resumed.xlsx', await textBook([['a'], ['1'], [], ['2'], ['3'], ['4']]));
  const all = await itemsOf(openFile(path));
  for (const [index, { end, number }] of all.entries()) {
    const from = { ...end, records: number };
    expect(await itemsOf(openFile(path, { from }))).toEqual(all.slice(index + 1));
  }
});

test('a workbook can be closed without an error, and is read only as fast as records are taken', async () => {
  const rows = Array.from({ length: 20_000 }, (_, at) => [`text ${at} that takes some room in the sheet`]);
  const source = await openFile(file('long.xlsx', await textBook([['a'], ...rows])));
  let taken = 0;
  for await (const items of source.read()) {
    taken += items.length;
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(source.readBytes()).toBeLessThan((source.totalBytes ?? 0) / 2);
    if (taken > 1000) await source.close();
  }
  expect(taken).toBeLessThan(10_000);
});

describe('the workbook reader', () => {
  const sheet = (rows: string) => bookFile({ sheets: { Rows: rows } });
  const head = textRows([['a']]);

  test.each<[name: string, content: string | Buffer, message: string]>([
    ['an empty file', '', 'found an empty file'],
    ['text', 'a,b\n1,2\n', 'found another file\nif it is text, give its format: --in-format csv'],
    ['an old workbook (xls)', container(''), 'found an old one (.xls)\nopen it and save it as .xlsx'],
    ['a workbook with a password', container('EncryptedPackage'), 'found one with a password\nsave it without'],
    ['an incomplete archive', Buffer.from('PK\x03\x04 and so on'), 'found a damaged one: '],
  ])('refuses %s', async (name, content, message) => {
    const path = file(`${name}.xlsx`, content);
    expect(await problem(openFile(path))).toContain(`input: ${path}: expected an Excel workbook (.xlsx), ${message}`);
  });

  test.each([
    [{ 'a.txt': 'x' }, 'found another archive'],
    [{ 'xl/workbook.bin': 'x' }, 'found a binary one (.xlsb)\nopen it and save it as .xlsx'],
    [{ mimetype: 'x', 'content.xml': '<a/>' }, 'found an OpenDocument one\nopen it and save it as .xlsx'],
  ])('refuses an archive that is not a workbook: %j', async (parts, message) => {
    const path = file(`${++made}.xlsx`, await zipOf(parts));
    expect(await problem(openFile(path))).toBe(`input: ${path}: expected an Excel workbook (.xlsx), ${message}`);
  });

  test('refuses a damaged sheet, but only after it has read the records before the damage', async () => {
    const path = await sheet(`${head}<row r="2"><c><v>1</v></c></row><row r="3"><c></row>`);
    const source = await openFile(path);
    const seen: unknown[] = [];
    const reading = (async () => {
      for await (const items of source.read()) seen.push(...items.map(({ fields }) => fields.get('a')));
    })();
    await expect(reading).rejects.toThrow(
      `${path}: sheet "Rows", row 3, column A: expected an Excel workbook (.xlsx), found a damaged one: `,
    );
    expect(seen).toEqual(['1']);
  });

  test('refuses an archive with damaged bytes in a part', async () => {
    const long = Array.from({ length: 5000 }, (_, at) => [`${at} ${Math.sin(at)}`]);
    const book = await textBook([['a'], ...long]);
    const start = book.indexOf('xl/worksheets/sheet1.xml');
    book.fill(0xff, start + 5000, start + 6000);
    expect(await problem(openFile(file('holes.xlsx', book)))).toContain('found a damaged one');
  });

  test('refuses a reference to a missing shared string, or rows that are not in ascending order', async () => {
    const place = (path: string, row: string) => `input: ${path}: sheet "Rows", row ${row}`;
    const missing = await sheet(`${head}<row r="2"><c r="A2" t="s"><v>7</v></c></row>`);
    expect(await problem(openFile(missing))).toBe(
      `${place(missing, '2, column A')}: expected one of the workbook's 0 shared strings, found number 7`,
    );
    const back = await sheet(`${head}<row r="3"><c><v>1</v></c></row><row r="3"><c><v>2</v></c></row>`);
    expect(await problem(openFile(back))).toContain('expected a higher row number, up to 1,048,576, found row 3');
  });

  test('refuses a sheet without a header, or with a repeated column name', async () => {
    const empty = await sheet('');
    expect(await problem(openFile(empty))).toContain(
      'sheet "Rows": expected a header row with the names of the columns, found an empty sheet',
    );
    const twice = await sheet(textRows([[], ['a', 'b', 'a']]));
    expect(await problem(openFile(twice))).toContain('row 2: expected a different name for every column, found "a" for columns 1 and 3');
  });

  test.each<[name: string, rows: () => string]>([
    ['a text that never ends', () => `<row r="2"><c t="inlineStr"><is><t>${'x'.repeat(6_000_000)}</t></is></c></row>`],
    ['a cell that is too long', () => `<row r="2"><c t="inlineStr"><is>${'<t>0123456789012345</t>'.repeat(70_000)}</is></c></row>`],
    ['a row with too many cells', () => `<row r="2">${'<c/>'.repeat(20_000)}</row>`],
    ['an attribute name that never ends', () => `<row r="2"><c ${'a'.repeat(6_000_000)}`],
  ])('refuses %s', async (_, rows) => {
    expect(await problem(openFile(await sheet(head + rows())))).toMatch(/^input: .*: sheet "Rows", row 2.*expected /s);
  });
});

/** Creates the beginning of an OLE container (MS-CFB) whose directory contains this entry. */
function container(part: string): Buffer {
  const bytes = Buffer.alloc(2048);
  bytes.write('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 'latin1');
  bytes.writeUInt16LE(9, 30);
  bytes.writeUInt32LE(1, 48);
  bytes.write(part, 1024, 'utf16le');
  return bytes;
}

test('a workbook that a different program created can be read', async () => {
  const rows = [
    ['id', 'name', 'when', 'ok', 'rate'],
    [1, 'Ada & Söhne', new Date(Date.UTC(2026, 10, 25, 10)), true, 0.1 + 0.2],
    [2, null, new Date(Date.UTC(2026, 10, 26)), false, 1e15],
  ];
  const book = Buffer.from(await writeXlsx({ sheets: [{ name: 'Kunden', rows }] }));
  expect(await shown(openFile(file('other.xlsx', book)))).toEqual([
    { id: '1', name: 'Ada & Söhne', when: '2026-11-25T10:00:00', ok: 'true', rate: '0.3' },
    { id: '2', name: '', when: '2026-11-26', ok: 'false', rate: '1000000000000000' },
  ]);
});
