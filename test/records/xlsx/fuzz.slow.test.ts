import fc from 'fast-check';
import { writeXlsx } from 'hucre/xlsx';
import { describe, expect, test } from 'vitest';
import { AutomateError } from '../../../src/core/failure.ts';
import type { Item } from '../../../src/core/item.ts';
import { columnName } from '../../../src/records/xlsx/sheet.ts';
import { textRows, type WorkbookParts, workbook, zipOf } from '../../helpers/workbook.ts';
import { file, openFile } from '../reading.ts';

/** Reads a workbook to its end. Returns the records, and the error that ended the reading. Throws an error that is not one of ours. */
async function read(content: Buffer, name = 'fuzz.xlsx'): Promise<{ items: Item[]; error?: AutomateError }> {
  const path = file(name, content);
  const items: Item[] = [];
  try {
    const source = await openFile(path);
    try {
      for await (const some of source.read()) items.push(...some);
    } finally {
      await source.close();
    }
    return { items };
  } catch (error) {
    if (!(error instanceof AutomateError)) throw error;
    return { items, error };
  }
}

/** Checks that every error names its place: the file, with the part or the sheet if it is known; for a record, sheet, row and column. */
async function check(content: Buffer): Promise<void> {
  const { items, error } = await read(content);
  if (error) expect([error.kind, error.message]).toEqual(['input', expect.stringMatching(/fuzz\.xlsx: (?:[^\n]+: )?expected /)]);
  for (const { failure } of items) {
    if (failure) expect(failure.message).toMatch(/^(?:sheet ".*", row \d+, column [A-Z]{1,3}: |this record could not be read)/s);
  }
}

const typical: WorkbookParts = {
  sheets: {
    Rows: `<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>name</t></is></c><c r="D1" t="str"><v>when</v></c><c r="C1"><v>5</v></c></row>${Array.from(
      { length: 30 },
      (_, at) =>
        `<row r="${at + 2}" spans="1:4"><c r="A${at + 2}" s="1"><v>${at}</v></c><c r="B${at + 2}" t="s"><v>${at % 3}</v></c><c t="b"><v>1</v></c><c r="D${at + 2}" s="2"><f>NOW()</f><v>46351.25</v></c></row>`,
    ).join('')}`,
    Other: textRows([['x']]),
  },
  texts: '<si><t>id</t></si><si><r><t xml:space="preserve">rich &amp; </t></r><r><t>text</t></r></si><si><t>_x000D_</t></si>',
  formats: ['00000;[Red]-00000', 'yyyy\\-mm\\-dd', 14],
  hidden: ['Other'],
};

const partNames = [
  '_rels/.rels',
  'xl/workbook.xml',
  'xl/_rels/workbook.xml.rels',
  'xl/styles.xml',
  'xl/sharedStrings.xml',
  'xl/worksheets/sheet1.xml',
];

/** Returns the parts of `typical` as they are in the archive. */
async function typicalParts(): Promise<Record<string, string>> {
  const parts: Record<string, string> = {};
  const { fromBufferPromise } = await import('yauzl');
  const zip = await fromBufferPromise(await workbook(typical), { lazyEntries: true });
  const { text } = await import('node:stream/consumers');
  for await (const entry of zip.eachEntry()) parts[entry.fileName] = await text(await zip.openReadStreamPromise(entry));
  return parts;
}

/** Pieces of XML that change the meaning of what surrounds them. */
const pieces = [
  ...[
    '<',
    '>',
    '/>',
    '"',
    "'",
    '&',
    '&lt;',
    '&#0;',
    '&#x10FFFF;',
    '&x;',
    ']]>',
    '<![CDATA[',
    '<!--',
    '-->',
    '<?',
    '?>',
    '<!DOCTYPE x [',
    '\0',
  ],
  ...[
    '<row>',
    '</row>',
    '<row r="1">',
    '<row r="99999999999">',
    '<c>',
    '</c>',
    '<c r="XFE1">',
    '<c r="">',
    '<v>',
    '</v>',
    '<v/>',
    '<f>',
    '<f/>',
  ],
  ...['<is>', '</is>', '<t>', '</t>', '<rPh>', '<si>', '</si>', '</sheetData>', '<sheetData>', '<xf numFmtId="NaN"/>', '<a '.repeat(50)],
  ...[' t="s"', ' t="e"', ' t="d"', ' t="zzz"', ' r="A0"', ' s="-1"', ' s="1e9"', ' r=""', ' Target="//:%"', ' Target="%zz"', ' Id=""'],
  ...[
    '-1',
    '1e999',
    'NaN',
    '0x10',
    '99999999999999999999',
    '_x0000_',
    '\ud83d\ude00',
    '\ufeff',
    'é',
    '0'.repeat(300),
    '[<=9]0;'.repeat(40),
  ],
];

interface Change {
  readonly at: number;
  readonly length: number;
  readonly text: string;
}

const change: fc.Arbitrary<Change> = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.oneof(fc.constant(0), fc.nat({ max: 3 }), fc.nat({ max: 400 })),
  text: fc.oneof(fc.constant(''), fc.constantFrom(...pieces), fc.string({ maxLength: 5 })),
});

const changed = (text: string, changes: readonly Change[]) =>
  changes.reduce((before, { at, length, text: added }) => {
    const start = Math.floor(at * before.length);
    return before.slice(0, start) + added + before.slice(start + length);
  }, text);

describe('a workbook that has been damaged', () => {
  test('in the bytes of its archive is read, or refused with an error that names the file', async () => {
    const rows = [['id', 'name'], ...Array.from({ length: 40 }, (_, at) => [at, `name ${at}`])];
    const books = [await workbook(typical), Buffer.from(await writeXlsx({ sheets: [{ name: 'Rows', rows }] }))];
    const damage = fc.record({
      book: fc.constantFrom(...books),
      bytes: fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat({ max: 255 })), { maxLength: 8 }),
      end: fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true })),
    });
    const damaged = fc.asyncProperty(damage, async ({ book, bytes, end }) => {
      const content = Buffer.from(book);
      for (const [at, byte] of bytes) content[Math.floor(at * (content.length - 1))] = byte;
      await check(content.subarray(0, Math.ceil(end * content.length)));
    });
    await fc.assert(damaged, { numRuns: 300 });
  });

  test.each(partNames)('in the XML of %s is read, or refused with an error that names the part or the row', async (part) => {
    const parts = await typicalParts();
    const damaged = fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (changes) => {
      await check(await zipOf({ ...parts, [part]: changed(parts[part] ?? '', changes) }));
    });
    await fc.assert(damaged, { numRuns: 100 });
  });

  test.each(partNames)('in the bytes of %s is read, or refused with an error that names the part or the row', async (part) => {
    const parts = await typicalParts();
    const bytes = fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat({ max: 255 })), { minLength: 1, maxLength: 6 });
    const damaged = fc.asyncProperty(bytes, async (all) => {
      const content = Buffer.from(parts[part] ?? '');
      for (const [at, byte] of all) content[Math.floor(at * (content.length - 1))] = byte;
      await check(await zipOf({ ...parts, [part]: content }));
    });
    await fc.assert(damaged, { numRuns: 60 });
  });
});

const repeat = (count: number, make: (at: number) => string) => Array.from({ length: count }, (_, at) => make(at)).join('');

const header = (count: number) => `<row r="1">${repeat(count, (at) => `<c r="${columnName(at)}1" t="str"><v>c${at}</v></c>`)}</row>`;

const cell = (inside: string) => `${header(1)}<row r="2"><c r="A2" t="str">${inside}</c></row>`;

const part = (name: string, content: string): WorkbookParts => ({
  sheets: { Rows: cell('<v>1</v>') },
  texts: '',
  more: { [name]: content },
});

const rowsOf = (rows: string): WorkbookParts => ({ sheets: { Rows: rows } });

/** Workbooks whose size grows with a number, and which try to make the reader work more than in proportion to that size. */
const hostile: Readonly<Record<string, (size: number) => WorkbookParts>> = {
  'rows with one cell in a wide table': (n) => {
    const width = Math.min(n, 16_384);
    return rowsOf(header(width) + repeat(n, (at) => `<row r="${at + 2}"><c r="${columnName(width - 1)}${at + 2}"><v>1</v></c></row>`));
  },
  'rows without cells': (n) => rowsOf(cell('<v>1</v>') + repeat(n * 5, () => '<row/>')),
  'many cells in a row': (n) => rowsOf(header(1) + repeat(Math.ceil(n / 4000), (at) => `<row r="${at + 2}">${'<c/>'.repeat(4000)}</row>`)),
  'the same cell many times': (n) => rowsOf(`${header(1)}<row r="2">${'<c r="A2"><v>1</v></c>'.repeat(n * 3)}</row>`),
  'text in many pieces': (n) => rowsOf(cell(`<v>${'<x/>a'.repeat(n * 8)}</v>`)),
  'text with many references': (n) => rowsOf(cell(`<v>${'&lt;'.repeat(n * 8)}</v>`)),
  'text with many escapes': (n) => rowsOf(cell(`<v>${'_x0041_x00'.repeat(n * 4)}</v>`)),
  'text of many brackets': (n) => rowsOf(cell(`<v>${']'.repeat(n * 30)}</v>`)),
  'a date of many fractions': (n) => rowsOf(cell(`<v>${'.0'.repeat(n * 15)}x</v>`).replace('t="str"><v>.', 't="d"><v>.')),
  'a number of many digits': (n) => rowsOf(cell(`<v>${'1'.repeat(n * 30)}</v>`).replace('t="str"><v>11', 't="n"><v>11')),
  'a cell with many attributes': (n) => rowsOf(cell('<v>1</v>').replace('t="str"><v>1', `${repeat(n * 2, (at) => `a${at}="" `)}><v>1`)),
  'a long attribute': (n) => rowsOf(cell('<v>1</v>').replace('t="str"><v>1', `a="${'&lt;x'.repeat(n * 8)}"><v>1`)),
  'a long place': (n) => rowsOf(cell('<v>1</v>').replace('r="A2"', `r="${'A'.repeat(n * 30)}"`)),
  'many nested elements': (n) => rowsOf(cell(`${'<a>'.repeat(n * 8)}`)),
  'many comments': (n) => rowsOf(cell('<!---->'.repeat(n * 5))),
  'comments that do not end': (n) => rowsOf(cell('<!--'.repeat(n * 8))),
  'CDATA sections that do not end': (n) => rowsOf(cell('<![CDATA['.repeat(n * 4))),
  'processing instructions that do not end': (n) => rowsOf(cell('<?x '.repeat(n * 8))),
  'a document type with many entities': (n) =>
    part('xl/workbook.xml', `<!DOCTYPE x [${repeat(n, (at) => `<!ENTITY e${at} "&e${at - 1};&e${at - 1};">`)}]><x/>`),
  'many merged cells': (n) => {
    const merged = repeat(n * 2, (at) => `<mergeCell ref="A${at + 1}:B${at + 1}"/>`);
    return part(
      'xl/worksheets/sheet1.xml',
      `<worksheet><mergeCells>${merged}</mergeCells><sheetData>${cell('<v>1</v>')}</sheetData></worksheet>`,
    );
  },
  'many number formats': (n) => {
    const formats = repeat(n, (at) => `<numFmt numFmtId="${at}" formatCode=X/>`);
    return part('xl/styles.xml', `<s><numFmts>${formats}</numFmts><cellXfs>${repeat(n, (at) => `<xf numFmtId="${at}"/>`)}</cellXfs></s>`);
  },
  'a long number format': (n) =>
    part('xl/styles.xml', `<s><numFmt numFmtId="1" formatCode="${'['.repeat(n * 30)}"/><cellXfs><xf numFmtId="1"/></cellXfs></s>`),
  'many styles with one number format': (n) =>
    part(
      'xl/styles.xml',
      `<s><numFmt numFmtId="1" formatCode="${'0;'.repeat(120)}"/><cellXfs>${'<xf numFmtId="1"/>'.repeat(n * 4)}</cellXfs></s>`,
    ),
  'many shared strings': (n) => part('xl/sharedStrings.xml', `<sst>${'<si><t>a</t></si>'.repeat(n * 4)}</sst>`),
  'a shared string in many pieces': (n) => part('xl/sharedStrings.xml', `<sst><si>${'<t>a</t>'.repeat(n * 5)}</si></sst>`),
  'many relations': (n) =>
    part('xl/_rels/workbook.xml.rels', `<r>${repeat(n, (at) => `<Relationship Id="r${at}" Target="../${at}" Type="t${at}"/>`)}</r>`),
  'many sheets': (n) => part('xl/workbook.xml', `<w>${repeat(n * 2, (at) => `<sheet name="s${at}" r:id="sheet1"/>`)}</w>`),
  'many files': (n) => ({
    ...rowsOf(cell('<v>1</v>')),
    more: Object.fromEntries(Array.from({ length: Math.ceil(n / 8) }, (_, at) => [`x/${at}`, ''])),
  }),
};

/**
 * Returns the CPU time in ms for reading a workbook, which depends only a little on what else the machine does. The shortest of three
 * counts, or the first that is short enough.
 */
async function cpuMs(content: Buffer, enough = 0): Promise<number> {
  let shortest = Number.POSITIVE_INFINITY;
  for (let at = 0; at < 3 && shortest >= enough; at++) {
    const before = process.cpuUsage();
    await read(content, 'hostile.xlsx');
    const { user, system } = process.cpuUsage(before);
    shortest = Math.min(shortest, (user + system) / 1000);
  }
  return shortest;
}

describe('the work for a workbook grows in proportion to its size', () => {
  test.each(Object.keys(hostile))('%s', async (name) => {
    const make = hostile[name] as (size: number) => WorkbookParts;
    const small = await workbook(make(1000));
    await read(small, 'hostile.xlsx');
    // Sixteen times the size may take 16 times the work. Quadratic work would be 256 times as much.
    const most = 64 * Math.max(await cpuMs(small), 2);
    expect(await cpuMs(await workbook(make(16_000)), most)).toBeLessThan(most);
  });
});
