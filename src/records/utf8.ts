import { isUtf8 } from 'node:buffer';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { inQuotes } from '../core/answer/response.ts';
import { type AutomateError, invalidOption } from '../core/failure.ts';
import { shellWord } from '../core/text/quoted-word.ts';
import { inputError } from './record-reader.ts';

/** Yields the chunks unchanged, from the offset `start`. Throws an AutomateError (`input`) with the offset of an invalid byte. */
export async function* checkedUtf8(chunks: AsyncIterable<Buffer>, name: string, start: number): AsyncGenerator<Buffer> {
  let offset = start;
  // The first bytes of a character that continues in the next chunk.
  let open: Buffer = Buffer.alloc(0);
  let begin = '';
  for await (const chunk of chunks) {
    if (offset < beginBytes) {
      begin += chunk.toString('latin1', 0, beginBytes - offset);
      refuseUtf16(begin.slice(0, 4), name);
      refuseOtherText(begin, name);
    }
    const missing = open.length === 0 ? 0 : characterLength(open[0] as number) - open.length;
    const character = Buffer.concat([open, chunk.subarray(0, missing)]);
    if (chunk.length < missing) open = character;
    else {
      check(character, offset - open.length);
      const rest = chunk.subarray(missing);
      const whole = rest.length - openLength(rest);
      check(rest.subarray(0, whole), offset + missing);
      open = rest.subarray(whole);
    }
    offset += chunk.length;
    yield chunk;
  }
  check(open, offset - open.length);

  function check(bytes: Buffer, at: number): void {
    if (isUtf8(bytes)) return;
    if (begin.startsWith(zipStart)) throw inputError(name, 'expected text, found an Excel workbook or another archive', { hint: 'xlsx' });
    throw begin.startsWith(oldWorkbookStart) ? oldWorkbookError(name) : notUtf8Error(name, bytes, at);
  }
}

/** HTML, even if it is only the table that a web program exports for Excel. */
const htmlStart = /^(?:\xef\xbb\xbf)?\s*(?:<!--[\s\S]*?-->\s*)*<(?:!doctype\s+html|(?:html|head|body|table)[\s>])/i;

/** XML, with its declaration or two elements. A single name in angle brackets can be the name of a column. */
const xmlStart = /^(?:\xef\xbb\xbf)?\s*(?:<\?xml\s|<[a-z][\w.:-]*(?:\s[^<>]*)?>\s*<)/i;

/** Throws an AutomateError (`input`) for text that a download put in place of the file. `begin` has a character for each byte. */
export function refuseOtherText(begin: string, name: string): void {
  if (htmlStart.test(begin))
    throw inputError(
      name,
      'expected records, found an HTML page\nopen it in a browser: it might ask for a login, or say why there is no file',
    );
  if (begin.startsWith('version https://git-lfs.github.com/'))
    throw inputError(name, 'expected records, found a Git LFS pointer in place of the file\nfetch the file itself: git lfs pull');
  if (xmlStart.test(begin)) throw inputError(name, 'expected records, found an XML document');
  const other = otherFiles.find(({ start }) => begin.startsWith(start));
  if (other) throw inputError(name, `expected records, found ${other.is}\n${other.advice(shellWord(name))}`);
  const member = begin.startsWith(zipStart) ? firstMember(begin) : undefined;
  if (member !== undefined && !workbookMember.test(member))
    throw inputError(name, `expected records, found a ZIP archive with ${inQuotes(member)}\nunpack it first: unzip ${shellWord(name)}`);
}

/** Files that are often given in place of a table, by their first bytes. */
const otherFiles: readonly { readonly start: string; readonly is: string; advice(file: string): string }[] = [
  { start: '%PDF-', is: 'a PDF document', advice: () => 'ask its author for the table, as CSV or .xlsx' },
  {
    start: 'SQLite format 3\0',
    is: 'an SQLite database',
    advice: (file) => `write a table to a file first: sqlite3 -header -csv ${file} 'select * from NAME' > rows.csv`,
  },
  // The last byte begins the header of the first page.
  { start: 'PAR1\x15', is: 'a Parquet file', advice: () => 'convert it to CSV or JSON first' },
  { start: '\x28\xb5\x2f\xfd', is: 'data that zstd compressed', advice: (file) => `unpack it first: zstd -d ${file}` },
  { start: '\xfd7zXZ\0', is: 'data that xz compressed', advice: (file) => `unpack it first: xz -dk ${file}` },
  { start: 'BZh91AY&SY', is: 'data that bzip2 compressed', advice: (file) => `unpack it first: bzip2 -dk ${file}` },
  ...['\xff\xfe\0\0', '\0\0\xfe\xff'].map((start) => ({
    ...{ start, is: 'text in UTF-32' },
    advice: (file: string) => `convert it first: iconv -f UTF-32 -t UTF-8 ${file} > utf-8.txt`,
  })),
  { start: '7z\xbc\xaf\x27\x1c', is: 'a 7z archive', advice: (file) => `unpack it first: 7z x ${file}` },
];

/** The name in the first header of a ZIP archive (APPNOTE.TXT 4.3.7); undefined if the text ends before it. */
function firstMember(zip: string): string | undefined {
  const length = zip.charCodeAt(26) + 256 * zip.charCodeAt(27);
  return zip.length > 30 && zip.length >= 30 + length ? zip.slice(30, 30 + length) || undefined : undefined;
}

/** The first bytes of the archives of office programs. */
const workbookMember = /^(?:\[Content_Types\]\.xml$|_rels\/|xl\/|docProps\/|customXml\/|mimetype$|META-INF\/)/;

/** The first bytes of .zip and .xlsx files, and of .xls files. */
const [zipStart, oldWorkbookStart] = ['PK\x03\x04', '\xd0\xcf\x11\xe0'];

function oldWorkbookError(name: string): AutomateError {
  return inputError(name, 'expected text, found an old Excel workbook (.xls)\nopen it and save it as .xlsx');
}

function notUtf8Error(name: string, bytes: Buffer, start: number): AutomateError {
  const valid = utf8Length(bytes);
  const [bad = 0, next] = bytes.subarray(valid);
  const offset = start + valid;
  if (offset === 0 && bad === 0xff && (next ?? 0xfe) === 0xfe) return utf16Error(name);
  if (offset === 0 && bad === 0xfe && (next ?? 0xff) === 0xff) return utf16Error(name);
  if (offset === 1 && bad === 0x8b && bytes[valid - 1] === 0x1f) {
    return inputError(name, 'expected text, found gzip data', { hint: 'gzip' });
  }
  const hex = bad.toString(16).toUpperCase().padStart(2, '0');
  return inputError(name, `expected UTF-8, found the byte 0x${hex} at byte offset ${offset}`, { hint: 'other-encoding' });
}

function utf16Error(name: string, found = 'the byte order mark of UTF-16'): AutomateError {
  return inputError(name, `expected UTF-8, found ${found}`, { hint: 'utf-16' });
}

/** Throws an AutomateError (`input`) for UTF-16 without a byte order mark: in English text, every second byte is zero. */
function refuseUtf16(begin: string, name: string): void {
  const found = 'a zero byte next to each letter, as in UTF-16';
  if (/^(?:[^\0]\0){2}$/.test(begin)) throw utf16Error(name, found);
  if (/^(?:\0[^\0]){2}$/.test(begin)) throw utf16Error(name, found);
}

/** The bytes before the first one that is not valid UTF-8. */
export function utf8Length(bytes: Buffer): number {
  let at = 0;
  while (at < bytes.length) {
    const next = at + characterLength(bytes[at] as number);
    if (next > bytes.length || !isUtf8(bytes.subarray(at, next))) break;
    at = next;
  }
  return at;
}

/** Returns how many bytes at the end belong to an incomplete character. */
function openLength(bytes: Buffer): number {
  for (let length = 1; length <= Math.min(3, bytes.length); length++) {
    const byte = bytes[bytes.length - length] as number;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return characterLength(byte) > length ? length : 0;
  }
  return 0;
}

/** In bytes, by the first byte (RFC 3629, 3). */
function characterLength(first: number): number {
  if (first < 0xc0) return 1;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}

/** UTF-16 whose byte order follows from the text. */
const utf16 = 'utf-16';

/** Names of Windows and Python that the standard lacks. */
const otherLabels: ReadonlyMap<string, string> = new Map([
  ['cp932', 'shift_jis'],
  ['cp936', 'gbk'],
  ['cp949', 'euc-kr'],
  ['cp950', 'big5'],
  ['cp65001', 'utf-8'],
  ['utf-8-sig', 'utf-8'],
  ['latin-1', 'latin1'],
]);

/** The standard name for a label (encoding.spec.whatwg.org, 4.2). Throws an AutomateError (`usage`) if it is unknown. */
export function encodingOf(label: string): string {
  if (/^\s*utf-?16\s*$/i.test(label)) return utf16;
  try {
    return new TextDecoder(otherLabels.get(label.trim().toLowerCase()) ?? label).encoding;
  } catch (error) {
    const expected = 'expected an encoding such as utf-8, latin1, windows-1252, utf-16 or shift_jis';
    throw invalidOption('encoding', `${expected}, found "${label}"`, error);
  }
}

/** Converts to UTF-8. Throws an AutomateError (`input`) for bytes that are invalid in the encoding. */
export async function* transcode(chunks: AsyncIterable<Buffer>, encoding: string, name: string): AsyncGenerator<Buffer> {
  let decoder = new TextDecoder(encoding, { fatal: true });
  let offset = 0;
  let begin = '';
  for await (const chunk of chunks) {
    if (offset < beginBytes) {
      begin += chunk.toString('latin1', 0, beginBytes - offset);
      refuseOtherText(begin, name);
      refuseOtherUnicode(begin, encoding, name);
      // No text has been decoded yet: a single byte of UTF-16 is no character.
      if (encoding === utf16 && offset < 2) decoder = keepingByte(begin, offset);
    }
    const text = decode(() => decoder.decode(chunk, { stream: true }));
    offset += chunk.length;
    if (text !== '') yield Buffer.from(text);
  }
  const rest = decode(() => decoder.decode());
  if (rest !== '') yield Buffer.from(rest);

  function decode(next: () => string): string {
    try {
      return next();
    } catch (error) {
      const found = `found other bytes at byte offset ${offset} or later`;
      throw inputError(name, `expected ${encoding}, ${found}`, { hint: 'not-this-encoding', cause: error });
    }
  }
}

const ctrlZ = 0x1a;

/** Leaves out Ctrl-Z at the end of a text. Programs for DOS end a text with it, or fill its last block of 128 bytes. */
export async function* withoutCtrlZ(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const whole = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    const end = whole.findLastIndex((byte) => byte !== ctrlZ) + 1;
    held = whole.subarray(end);
    if (end > 0) yield whole.subarray(0, end);
  }
}

/** The bytes at the beginning of a text that show its encoding. */
const beginBytes = 256;

/** A decoder for UTF-16 that has received the first `offset` bytes. Without a byte order mark, zero bytes show the order. */
function keepingByte(begin: string, offset: number): TextDecoder {
  const decoder = new TextDecoder(/^(?:\xfe(?:\xff|$)|\0)/.test(begin) ? 'utf-16be' : 'utf-16le', { fatal: true });
  if (offset > 0) decoder.decode(Buffer.from(begin.slice(0, offset), 'latin1'), { stream: true });
  return decoder;
}

interface OtherUnicode {
  readonly begins: RegExp;
  /** Matches the names of the encodings in which a text that begins like this is refused. */
  readonly in: RegExp;
  readonly found: string;
  readonly hint: 'utf-8' | 'utf-16';
}

/** The first bytes of texts in an encoding of Unicode. `\x20-\x7e` are the letters, digits and signs of ASCII. */
const otherUnicode: readonly OtherUnicode[] = [
  { begins: /^\xef\xbb\xbf/, in: /^/, found: 'the byte order mark of UTF-8', hint: 'utf-8' },
  { begins: /^(?:\xff\xfe|\xfe\xff)/, in: /^(?!utf-16)/, found: 'the byte order mark of UTF-16', hint: 'utf-16' },
  { begins: /^\xff\xfe/, in: /^utf-16be/, found: 'the byte order mark of utf-16le', hint: 'utf-16' },
  { begins: /^\xfe\xff/, in: /^utf-16le/, found: 'the byte order mark of utf-16be', hint: 'utf-16' },
  { begins: /^(?:\0[\t\r\n\x20-\x7e]){4}/, in: /^utf-16le/, found: 'the other byte order', hint: 'utf-16' },
  { begins: /^(?:[\t\r\n\x20-\x7e]\0){4}/, in: /^utf-16be/, found: 'the other byte order', hint: 'utf-16' },
  {
    begins: /^(?:[^\0]\0){2}|^(?:\0[^\0]){2}/,
    in: /^(?!utf-16)/,
    found: 'a zero byte next to each letter, as in UTF-16',
    hint: 'utf-16',
  },
  {
    begins: /^[\t\r\n\x20-\x7e]{4,}$/,
    in: /^utf-16/,
    found: 'text in which each letter is one byte, as in UTF-8',
    hint: 'utf-8',
  },
];

/** Throws an AutomateError (`input`) if the first bytes are those of another encoding of Unicode than the given one. */
function refuseOtherUnicode(begin: string, encoding: string, name: string): void {
  const other = otherUnicode.find((one) => one.in.test(encoding) && one.begins.test(begin));
  if (other) throw inputError(name, `expected ${encoding}, found ${other.found}`, { hint: other.hint });
}

/** Throws an AutomateError (`input`) if the data is not gzip or is truncated. */
export async function* gunzip(bytes: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  const unzipped = createGunzip({ chunkSize: 65_536 });
  // Errors of the pipeline are ignored here, because reading from `unzipped` throws them.
  let begin = '';
  pipeline(noted(bytes), unzipped, () => {});
  try {
    yield* unzipped;
  } catch (error) {
    refuseOtherText(begin, name);
    // The header of a further part is expected only behind the end of a complete one.
    if (begin.startsWith(gzipStart) && /incorrect header/.test((error as Error).message)) throw trailingError(name, error);
    throw gzipError(name, error);
  }

  async function* noted(all: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of all) {
      if (begin.length < beginBytes) begin += chunk.toString('latin1', 0, beginBytes - begin.length);
      yield chunk;
    }
  }
}

const gzipStart = '\x1f\x8b';

function trailingError(name: string, cause: unknown): AutomateError {
  const advice = 'fetch the file again, or unpack it and check its end: gzip -dc FILE.gz > FILE';
  return inputError(name, `expected the end of the file behind the gzip data, found other bytes\n${advice}`, { cause });
}

function gzipError(name: string, error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (!code?.startsWith('Z_')) return error;
  if (code === 'Z_BUF_ERROR') {
    return inputError(name, 'expected the end of the gzip data, found the end of the file: it is truncated\nfetch or make the file again', {
      cause: error,
    });
  }
  return inputError(name, `expected gzip data, found something else (${message})\nfor a file that is not gzipped leave out .gz`, {
    cause: error,
  });
}
