import { invalidOption } from '../../core/failure.ts';
import { formatCount } from '../../core/text/number.ts';
import { inputError, maxRecordBytes } from '../record-reader.ts';
import { type CellFormat, formatOfCode, plainNumber } from './number-text.ts';
import { BadXml, type XmlHandler, XmlReader } from './xml.ts';
import { damaged, type Zip } from './zip.ts';

export interface Workbook {
  readonly sheet: string;
  /** The sheet's path in the zip archive. */
  readonly part: string;
  /** Days count from 1904 instead of 1900. */
  readonly is1904: boolean;
  /** A cell contains an index into this array. */
  readonly formats: readonly CellFormat[];
  /** The strings that several cells share. A cell contains an index into this table. */
  readonly texts: TextTable;
}

/** In characters; about thirty times Excel's own limit. */
export const maxCellLength = 1_000_000;

interface SheetEntry {
  readonly name: string;
  readonly relation: string;
  readonly isHidden: boolean;
}

/** Uncompressed size of the file with the shared strings. Their text has at most `maxRecordBytes`, and most of the rest is markup. */
const maxTextsBytes = 1024 * 1024 * 1024;

/** Characters of a number format, as in Excel. */
const maxFormatLength = 255;

/** Excel itself writes at most 250 number formats, and each takes up to 0.1 ms to analyze. */
const maxFormats = 5000;

const maxShownSheets = 20;

/** Reads everything except the rows. If `sheetName` is undefined, chooses the first visible sheet. */
export async function readWorkbook(zip: Zip, input: string, sheetName: string | undefined): Promise<Workbook> {
  const main = await mainPart(zip, input);
  const relations = await relationsOf(zip, input, main);
  const { sheets, is1904 } = await sheetsOf(zip, input, main);
  // Sheets that consist only of a chart are left out, because they have no rows.
  const tables = sheets.filter(({ relation }) => relations.byId.get(relation)?.type === 'worksheet');
  const sheet = chooseSheet(tables, input, sheetName);
  const formats = await formatsOf(zip, input, relations.byType.get('styles'));
  const texts = await sharedTexts(zip, input, relations.byType.get('sharedStrings'));
  return { sheet: sheet.name, part: relations.byId.get(sheet.relation)?.part ?? '', is1904, formats, texts };
}

const otherBooks: Readonly<Record<string, string>> = {
  'xl/workbook.bin': 'a binary one (.xlsb)',
  'content.xml': 'an OpenDocument one',
};

async function mainPart(zip: Zip, input: string): Promise<string> {
  const part = zip.has('_rels/.rels') ? (await relationsOf(zip, input, '')).byType.get('officeDocument') : undefined;
  if (part !== undefined && zip.has(part) && part.endsWith('.xml') && !/^(?:word|ppt)\//.test(part)) return part;
  const found = Object.keys(otherBooks).find((name) => zip.has(name));
  const kind = found === undefined ? 'another archive' : `${otherBooks[found]}\nopen it and save it as .xlsx`;
  throw inputError(input, `expected an Excel workbook (.xlsx), found ${kind}`);
}

function chooseSheet(sheets: readonly SheetEntry[], input: string, wanted: string | undefined): SheetEntry {
  const [first] = sheets;
  if (!first) throw inputError(input, 'expected a workbook with a sheet, found none');
  if (wanted === undefined) return sheets.find(({ isHidden }) => !isHidden) ?? first;
  const isWanted = ({ name }: SheetEntry) => name.toLowerCase() === wanted.toLowerCase();
  const found = sheets.find(({ name }) => name === wanted) ?? sheets.find(isWanted);
  if (found) return found;
  const names = sheets.slice(0, maxShownSheets).map(({ name }) => `"${name}"`);
  if (sheets.length > names.length) names.push(`and ${formatCount(sheets.length - names.length)} others`);
  throw invalidOption('sheet', `expected a sheet of ${input}, found "${wanted}"; it has ${names.join(', ')}`);
}

interface Relations {
  readonly byId: ReadonlyMap<string, { readonly type: string; readonly part: string }>;
  readonly byType: ReadonlyMap<string, string>;
}

/** The other files in the workbook that the file `of` refers to (ECMA-376-2, 9.3). */
async function relationsOf(zip: Zip, input: string, of: string): Promise<Relations> {
  const [folder, name] = [of.slice(0, of.lastIndexOf('/') + 1), of.slice(of.lastIndexOf('/') + 1)];
  const byId = new Map<string, { type: string; part: string }>();
  const byType = new Map<string, string>();
  await readPart(zip, input, `${folder}_rels/${name}.rels`, {
    open(tag, attribute) {
      const target = attribute('Target');
      if (tag !== 'Relationship' || target === undefined) return;
      const part = decodeURI(new URL(target, `zip://book/${folder}`).pathname.slice(1));
      const type = (attribute('Type') ?? '').replace(/^.*\//, '');
      byId.set(attribute('Id') ?? '', { type, part });
      if (!byType.has(type)) byType.set(type, part);
    },
  });
  return { byId, byType };
}

async function sheetsOf(zip: Zip, input: string, part: string): Promise<{ sheets: SheetEntry[]; is1904: boolean }> {
  const sheets: SheetEntry[] = [];
  let is1904 = false;
  await readPart(zip, input, part, {
    open(tag, attribute) {
      if (tag === 'workbookPr') is1904 = isTrue(attribute('date1904'));
      if (tag !== 'sheet') return;
      const isHidden = (attribute('state') ?? 'visible') !== 'visible';
      sheets.push({ name: attribute('name') ?? '', relation: attribute('*:id') ?? '', isHidden });
    },
  });
  return { sheets, is1904 };
}

function isTrue(text: string | undefined): boolean {
  return text === '1' || text === 'true' || text === 'on';
}

async function formatsOf(zip: Zip, input: string, part: string | undefined): Promise<CellFormat[]> {
  const codes = new Map<number, string>();
  const ids: number[] = [];
  let isInCells = false;
  if (part === undefined || !zip.has(part)) return [plainNumber];
  await readPart(zip, input, part, {
    open(tag, attribute) {
      if (tag === 'numFmt') {
        if (codes.size >= maxFormats) throw new BadXml(`more than ${formatCount(maxFormats)} number formats`);
        codes.set(Number(attribute('numFmtId')), formatCode(attribute('formatCode')));
      } else if (tag === 'cellXfs') isInCells = true;
      else if (tag === 'xf' && isInCells) ids.push(Number(attribute('numFmtId') ?? 0));
    },
    close(tag) {
      if (tag === 'cellXfs') isInCells = false;
    },
  });
  const formats = new Map([...new Set(ids)].map((id) => [id, formatOfCode(id, codes.get(id))]));
  return ids.map((id) => formats.get(id) ?? plainNumber);
}

function formatCode(code = ''): string {
  if (code.length <= maxFormatLength) return code;
  throw new BadXml(`a number format of ${formatCount(code.length)} characters, more than ${maxFormatLength}`);
}

/** Reads strings that several cells share. Their total size must not exceed the maximum size of a record. */
async function sharedTexts(zip: Zip, input: string, part: string | undefined): Promise<TextTable> {
  const texts = new TextTable();
  if (part === undefined || !zip.has(part)) return texts;
  const item = new TextCollector();
  await readPart(zip, input, part, {
    maxBytes: maxTextsBytes,
    open: (tag) => item.open(tag),
    text(text) {
      item.text(text);
      if (item.length > maxCellLength) throw new BadXml(`a text of more than ${formatCount(maxCellLength)} characters`);
    },
    close(tag) {
      item.close(tag);
      if (tag !== 'si') return;
      texts.add(item.take());
      if (texts.size > maxRecordBytes) throw new BadXml('more than 256 MB of text');
    },
  });
  return texts;
}

/** Collects the text of `t` elements. Those within `rPh` are ignored, because they contain the pronunciation. */
export class TextCollector {
  #text = '';
  #isInText = false;
  #isSpoken = false;

  get length(): number {
    return this.#text.length;
  }

  open(tag: string): void {
    if (tag === 't') this.#isInText = !this.#isSpoken;
    else if (tag === 'rPh') this.#isSpoken = true;
  }

  text(text: string): void {
    if (this.#isInText) this.#text += text;
  }

  close(tag: string): void {
    if (tag === 't') this.#isInText = false;
    else if (tag === 'rPh') this.#isSpoken = false;
  }

  /** Clears the text. Escaped characters are decoded (ECMA-376, 22.9.2.19). */
  take(): string {
    const text = this.#text;
    this.#text = '';
    return unescaped(text);
  }
}

/** Decodes escaped characters, such as `_x000D_`. */
export function unescaped(text: string): string {
  if (!text.includes('_x')) return text;
  return text.replace(/_x([\dA-Fa-f]{4})_/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

interface PartHandler extends Partial<XmlHandler> {
  /** Undefined for the default of `Zip.read`. */
  readonly maxBytes?: number;
}

/** Throws an AutomateError (`input`) if the file is damaged or too large. */
async function readPart(zip: Zip, input: string, part: string, handler: PartHandler): Promise<void> {
  const { open = () => undefined, text = () => undefined, close = () => undefined, maxBytes } = handler;
  const xml = new XmlReader({ open, text, close });
  try {
    for await (const chunk of await zip.read(part, maxBytes)) xml.write(chunk);
    xml.end();
  } catch (error) {
    throw damaged(`${input}: ${part}`, error);
  }
}

/** Strings in one buffer. Separate strings would need several times as much memory. */
class TextTable {
  #bytes = Buffer.alloc(65_536);
  readonly #ends: number[] = [];
  #length = 0;

  get count(): number {
    return this.#ends.length;
  }

  /** Bytes of memory. */
  get size(): number {
    return this.#length + 8 * this.#ends.length;
  }

  add(text: string): void {
    const most = this.#length + text.length * 3;
    if (most > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(most, this.#bytes.length * 2));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    this.#length += this.#bytes.write(text, this.#length);
    this.#ends.push(this.#length);
  }

  /** 0-based. */
  at(index: number): string | undefined {
    const end = this.#ends[index];
    return end === undefined ? undefined : this.#bytes.toString('utf8', index === 0 ? 0 : this.#ends[index - 1], end);
  }
}
