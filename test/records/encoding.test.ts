import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { file, openFile, openText, problem, shown } from './reading.ts';

const text = 'id,name\n1,é 漢 😀\n';
const record = [{ id: '1', name: 'é 漢 😀' }];

test('the chunks of an input can end within a character', async () => {
  for (let chunkSize = 1; chunkSize <= 8; chunkSize++) expect(await shown(openText('csv', text, { chunkSize }))).toEqual(record);
});

test.each(['utf-16le', 'UTF-16'])('an input with the encoding %s can be read', async (encoding) => {
  const bytes = Buffer.from(`\ufeff${text}`, 'utf16le');
  for (let chunkSize = 1; chunkSize <= 5; chunkSize++) expect(await shown(openText('csv', bytes, { encoding, chunkSize }))).toEqual(record);
});

test.each([
  ['latin1', [0xe9], 'é'],
  ['windows-1252', [0x80, 0xe9], '€é'],
  ['iso-8859-15', [0xa4], '€'],
  ['shift_jis', [0x8a, 0xbf], '漢'],
  ['CP932', [0x8a, 0xbf], '漢'],
  ['utf-8-sig', [0xc3, 0xa9], 'é'],
  ['utf8', [0xc3, 0xa9], 'é'],
])('bytes in the encoding %s are decoded', async (encoding, bytes, value) => {
  const content = Buffer.concat([Buffer.from('a\n'), Buffer.from(bytes)]);
  for (const chunkSize of [1, 100]) expect(await shown(openText('csv', content, { encoding, chunkSize }))).toEqual([{ a: value }]);
});

test('an unknown encoding is refused before the input is opened', async () => {
  expect(await problem(openFile('missing.csv', { encoding: 'latin-one' }))).toBe(
    'usage: --encoding: expected an encoding such as utf-8, latin1, windows-1252, utf-16 or shift_jis, found "latin-one"',
  );
});

test('bytes that the encoding does not define are refused', async () => {
  const half = Buffer.from('a\nb', 'utf16le').subarray(0, 5);
  expect(await problem(openText('csv', half, { encoding: 'utf-16le' }))).toMatch(
    /^input: <stdin>: expected utf-16le, found other bytes at byte offset/,
  );
  const lone = Buffer.from('a\n\ud800\nb', 'utf16le');
  expect(await problem(openText('csv', lone, { encoding: 'utf-16le' }))).toMatch(
    /^input: <stdin>: expected utf-16le, found other bytes at byte offset/,
  );
});

test.each([
  [
    'latin1',
    'a\ncaf\xe9\n',
    'expected UTF-8, found the byte 0xE9 at byte offset 5\nif the file has a different encoding, give it: --encoding latin1',
  ],
  ['latin1 at the end', 'a\ncaf\xe9', 'expected UTF-8, found the byte 0xE9 at byte offset 5\n'],
  ['a stray byte', 'a\n\x80', 'expected UTF-8, found the byte 0x80 at byte offset 2\n'],
  ['an encoded surrogate', 'a\n\xed\xa0\x80', 'expected UTF-8, found the byte 0xED at byte offset 2\n'],
  ['a code point that is too large', 'a\n\xf5\x80\x80\x80', 'expected UTF-8, found the byte 0xF5 at byte offset 2\n'],
  ['UTF-16', '\xff\xfea\0\n\0', 'expected UTF-8, found the byte order mark of UTF-16\npass --encoding utf-16'],
  ['big-endian UTF-16', '\xfe\xff\0a\0\n', 'expected UTF-8, found the byte order mark of UTF-16\npass --encoding utf-16'],
  [
    'UTF-16 without a byte order mark',
    'i\0d\0\n\0',
    'expected UTF-8, found a zero byte next to each letter, as in UTF-16\npass --encoding utf-16',
  ],
  [
    'big-endian UTF-16 without a byte order mark',
    '\0i\0d\0\n',
    'expected UTF-8, found a zero byte next to each letter, as in UTF-16\npass --encoding utf-16',
  ],
  ['an .xlsx file', 'PK\x03\x04\x14\0\x06\0\xff', 'expected text, found an Excel workbook or another archive\nrename the file to .xlsx'],
  ['an .xls file', '\xd0\xcf\x11\xe0\xa1', 'expected text, found an old Excel workbook (.xls)\nopen it and save it as .xlsx'],
])('an input that is not UTF-8 is refused: %s', async (_, bytes, message) => {
  const content = Buffer.from(bytes, 'latin1');
  expect(await problem(openText('csv', content))).toContain(`input: <stdin>: ${message}`);
});

test('a gzipped input whose name does not end in .gz is refused', async () => {
  expect(await problem(openFile(file('rows.csv', gzipSync(text))))).toContain('rows.csv: expected text, found gzip data\n');
});

test('the first invalid byte of an input is reported exactly, whatever the size of the chunks', () => {
  const parts = fc.array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 5 }).map((good) => Buffer.from(good)),
      fc.uint8Array({ maxLength: 3 }),
    ),
    { maxLength: 6 },
  );
  return fc.assert(
    fc.asyncProperty(parts, fc.integer({ min: 1, max: 7 }), async (pieces, chunkSize) => {
      const bytes = Buffer.concat([Buffer.from('  '), ...pieces]);
      const expected = firstBadByte(bytes);
      const found = await openAll(bytes, chunkSize);
      expect(found).toBe(expected);
    }),
    { numRuns: 40 },
  );
});

/** Returns the length of the longest prefix that the standard decoder accepts; undefined if it accepts all bytes. */
function firstBadByte(bytes: Buffer): number | undefined {
  const decodes = (length: number) => {
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, length));
      return true;
    } catch {
      return false;
    }
  };
  if (decodes(bytes.length)) return undefined;
  let longest = 0;
  for (let length = 0; length < bytes.length; length++) if (decodes(length)) longest = length;
  return longest;
}

async function openAll(bytes: Buffer, chunkSize: number): Promise<number | undefined> {
  const message = await problem(openText('ndjson', bytes, { chunkSize })).catch(() => '');
  const offset = /byte offset (\d+)/.exec(message)?.[1];
  return offset === undefined ? undefined : Number(offset);
}

test('gzipped input is read from a file or stdin, whatever its number of gzip members', async () => {
  const zipped = gzipSync(text);
  expect(await shown(openFile(file('rows.csv.gz', zipped)))).toEqual(record);
  for (const chunkSize of [1, 7, 1000]) expect(await shown(openText('csv.gz', zipped, { chunkSize }))).toEqual(record);
  expect(await shown(openText('csv.gz', Buffer.concat([zipped, gzipSync('2,b\n')])))).toEqual([...record, { id: '2', name: 'b' }]);
});

test('gzipped input can have an encoding other than UTF-8', async () => {
  expect(await shown(openText('csv.gz', gzipSync(Buffer.from('a\n\xe9', 'latin1')), { encoding: 'latin1' }))).toEqual([{ a: 'é' }]);
});

test('gzipped input that is truncated or damaged is refused', async () => {
  const zipped = gzipSync(text.repeat(1000));
  expect(await problem(openText('csv.gz', zipped.subarray(0, 40)))).toMatch(
    /^input: <stdin>: expected the end of the gzip data, found the end of the file/,
  );
  expect(await problem(openText('csv.gz', ''))).toMatch(/^input: <stdin>: expected the end of the gzip data/);
  expect(await problem(openText('csv.gz', text))).toMatch(/^input: <stdin>: expected gzip data, found something else/);
  const damaged = Buffer.from(zipped).fill(0, zipped.length - 8, zipped.length - 4);
  expect(await problem(openText('csv.gz', damaged))).toMatch(
    /^input: <stdin>: expected gzip data, found something else \(incorrect data check\)/,
  );
});

const bigEndian = (written: string) => Buffer.from(written, 'utf16le').swap16();

test('--encoding utf-16 reads either byte order, by its byte order mark or by zero bytes', async () => {
  for (const marked of [text, `\ufeff${text}`]) {
    for (const bytes of [Buffer.from(marked, 'utf16le'), bigEndian(marked)]) {
      for (let chunkSize = 1; chunkSize <= 6; chunkSize++)
        expect(await shown(openText('csv', bytes, { encoding: 'UTF-16', chunkSize }))).toEqual(record);
    }
  }
  const stdin = openText('csv', bigEndian('\ufeff[{"a":1}]'), { encoding: 'utf-16', format: undefined });
  expect(await shown(stdin)).toEqual([{ a: '1' }]);
});

test.each([
  ['latin1', Buffer.from(`\ufeff${text}`), 'expected windows-1252, found the byte order mark of UTF-8\nleave out --encoding'],
  ['latin1', Buffer.from(`\ufeff${text}`, 'utf16le'), 'expected windows-1252, found the byte order mark of UTF-16\npass --encoding utf-16'],
  ['shift_jis', bigEndian(text), 'expected shift_jis, found a zero byte next to each letter, as in UTF-16\npass --encoding utf-16'],
  ['utf-16le', bigEndian(`\ufeff${text}`), 'expected utf-16le, found the byte order mark of utf-16be\npass --encoding utf-16'],
  ['utf-16be', Buffer.from(`\ufeff${text}`, 'utf16le'), 'expected utf-16be, found the byte order mark of utf-16le\npass --encoding utf-16'],
  ['utf-16le', bigEndian(text), 'expected utf-16le, found the other byte order\npass --encoding utf-16'],
  ['utf-16be', Buffer.from(text, 'utf16le'), 'expected utf-16be, found the other byte order\npass --encoding utf-16'],
  ['utf-16', Buffer.from(`\ufeff${text}`), 'expected utf-16, found the byte order mark of UTF-8\nleave out --encoding'],
  [
    'utf-16',
    Buffer.from('id,name\n1,2\n'),
    'expected utf-16, found text in which each letter is one byte, as in UTF-8\nleave out --encoding',
  ],
])('a wrong --encoding %s is refused by the first bytes, case %#', async (encoding, bytes, message) => {
  expect(await problem(openText('csv', bytes, { encoding }))).toBe(`input: <stdin>: ${message}`);
});

test.each([
  ['<!DOCTYPE html>\n<html lang="en">', 'expected records, found an HTML page\nopen it in a browser'],
  ['\ufeff\n <HTML><head>', 'expected records, found an HTML page\n'],
  [
    'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n',
    'expected records, found a Git LFS pointer in place of the file\nfetch the file itself: git lfs pull',
  ],
  ['<!-- export --><table border="1"><tr><td>id</td></tr></table>', 'expected records, found an HTML page\n'],
  ['<?xml version="1.0"?>\n<rows/>', 'expected records, found an XML document'],
  ['<Error>\n <Code>AccessDenied</Code></Error>', 'expected records, found an XML document'],
  ['\xff\xfe\0\0i\0\0\0d\0\0\0', 'expected records, found text in UTF-32\nconvert it first: iconv -f UTF-32 -t UTF-8'],
  ['\0\0\xfe\xff\0\0\0i\0\0\0d', 'expected records, found text in UTF-32\nconvert it first: iconv'],
  ['%PDF-1.7\n%\xe2\xe3\n', 'expected records, found a PDF document\nask its author'],
  ['SQLite format 3\0\x10\0', 'expected records, found an SQLite database\nwrite a table to a file first: sqlite3 -header -csv'],
  ['PAR1\x15\x04\xff', 'expected records, found a Parquet file\nconvert it'],
  ['\x28\xb5\x2f\xfd\x24', 'expected records, found data that zstd compressed\nunpack it first: zstd -d'],
  ['\xfd7zXZ\0', 'expected records, found data that xz compressed\nunpack it first: xz -dk'],
  ['BZh91AY&SY\x12', 'expected records, found data that bzip2 compressed\nunpack it first: bzip2 -dk'],
  ['7z\xbc\xaf\x27\x1c\0\x04', 'expected records, found a 7z archive\nunpack it first: 7z x'],
])('a file that is no table is named: %#', async (content, message) => {
  const bytes = Buffer.from(content, content.startsWith('\ufeff') ? 'utf8' : 'latin1');
  for (const format of ['csv', 'json', 'ndjson'])
    for (const encoding of ['utf-8', content.startsWith('\ufeff') ? 'utf-8' : 'latin1'])
      expect(await problem(openText(format, bytes, { encoding }))).toContain(`input: <stdin>: ${message}`);
});

test.each([
  ['rows.csv.gz', '<!DOCTYPE html>\n<p>Log in</p>', 'expected records, found an HTML page'],
  ['rows.json.gz', 'version https://git-lfs.github.com/spec/v1\n', 'expected records, found a Git LFS pointer'],
  ['rows.csv.gz', '\x28\xb5\x2f\xfd\x24', 'expected records, found data that zstd compressed'],
  ['rows.csv.gz', 'id\n17\n', 'expected gzip data, found something else'],
  ['rows.xlsx', '<!DOCTYPE html>\n<p>Log in</p>', 'expected records, found an HTML page'],
  ['rows.xlsx', 'version https://git-lfs.github.com/spec/v1\n', 'expected records, found a Git LFS pointer'],
  ['rows.xlsx', 'id\n17\n', 'expected an Excel workbook (.xlsx), found another file'],
])('what a download has put into %s is named: %j', async (name, content, message) => {
  expect(await problem(openFile(file(name, Buffer.from(content, 'latin1'))))).toContain(`${name}: ${message}`);
});

test.each(['PAR1,PAR2\n4,5\n', 'BZhour,b\n1,2\n', '[Name],{id}\n1,2\n', '<id>,<name>\n1,2\n', '{id},b\n1,2\n'])(
  'a table may begin with %j',
  async (content) => {
    expect(await shown(openText('csv', content))).toHaveLength(1);
  },
);

test.each([
  ['{"error":"unauthorized","code":401}', 'found JSON: {"error":"unauthorized"\nif each line is an object, pass --in-format ndjson'],
  ['{\n  "error": 1\n}\n', 'found JSON: {\nif each line is an object, pass --in-format ndjson'],
  ['{"id":1}\n{"id":2}\n', 'found JSON: {"id":1}\nif each line is an object, pass --in-format ndjson'],
  ['\ufeff[{"id":1,"n":2}]', 'found JSON: [{"id":1\nif the file is one JSON array, pass --in-format json'],
  ['[\n  {"id": 1}\n]\n', 'found JSON: [\nif the file is one JSON array, pass --in-format json'],
])('JSON in a file that is called CSV is named: %j', async (content, message) => {
  expect(await problem(openText('csv', content))).toBe(`input: <stdin>:1: expected a header row with the names of the columns, ${message}`);
});

test('a ZIP archive that is no workbook is named with its first file', async () => {
  const header = Buffer.from('504b0304140000000800', 'hex');
  const name = 'export/rows.csv';
  const zip = Buffer.concat([header, Buffer.alloc(16), Buffer.from([name.length, 0, 0, 0]), Buffer.from(name), Buffer.from([0xff, 0xfe])]);
  for (const chunkSize of [7, 1000])
    expect(await problem(openText('csv', zip, { chunkSize }))).toContain(
      'found a ZIP archive with "export/rows.csv"\nunpack it first: unzip',
    );
});

test('bytes behind the gzip data are named', async () => {
  const message = 'input: <stdin>: expected the end of the file behind the gzip data, found other bytes\n';
  for (const chunkSize of [7, 1000])
    expect(await problem(openText('csv.gz', Buffer.concat([gzipSync(text), Buffer.from('HTTP/1.1 200')]), { chunkSize }))).toContain(
      message,
    );
});
