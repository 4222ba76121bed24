import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { ZipFile } from 'yazl';
import { namingErrors } from '../files/naming-errors.ts';
import { columnName } from '../records/xlsx/sheet.ts';
import type { OpenCell, SheetCell } from '../records/xlsx/xlsx-writer.ts';
import { type Device, nothingWritten, type Sink, type Written } from './sink.ts';
import type { SpilledText } from './spill.ts';

/** Includes the header row. */
const maxSheetRows = 1_048_576;

/** The date is fixed, so that the same rows always result in the same bytes. */
const partOptions = { mtime: new Date('2000-01-01T00:00:00Z'), mode: 0o100644 };

export interface XlsxSinkOptions {
  readonly isText?: boolean;
  /** Undefined for Excel's maximum. */
  readonly maxRows?: number;
}

/**
 * Expects one JSON array of cells per line. `waiting` holds this text until `close`, because the last row can still decide about the cells
 * of the first one: a column contains either only numbers or only text. A full sheet continues on a new one with the same header.
 */
export function createXlsxSink(name: string, device: Device, waiting: SpilledText, options: XlsxSinkOptions = {}): Sink {
  return new XlsxSink(name, device, waiting, options);
}

class XlsxSink implements Sink {
  readonly #name: string;
  readonly #device: Device;
  readonly #waiting: SpilledText;
  readonly #kinds: ColumnKinds;
  readonly #maxRows: number;
  readonly #zip = new ZipFile();
  readonly #packed: Promise<void>;
  #fault: { readonly error: unknown } | undefined;
  #sheet: PassThrough | undefined;
  #sheets = 0;
  #rows = 0;
  #header: readonly SheetCell[] | undefined;
  readonly #received = new Lines();
  #written: Written = nothingWritten;

  constructor(name: string, device: Device, waiting: SpilledText, { isText = false, maxRows = maxSheetRows }: XlsxSinkOptions) {
    this.#name = name;
    this.#device = device;
    this.#waiting = waiting;
    this.#kinds = new ColumnKinds(isText);
    this.#maxRows = maxRows;
    this.#packed = this.#pack();
    this.#packed.catch((error: unknown) => {
      this.#fault = { error };
      this.#sheet?.destroy();
    });
    this.#add('[Content_Types].xml', contentTypes);
    this.#add('_rels/.rels', relationsXml([['officeDocument', 'xl/workbook.xml']]));
  }

  get written(): Written {
    return this.#written;
  }

  async write(text: string): Promise<void> {
    this.#throwFault();
    for (const cells of this.#received.add(text)) this.#kinds.add(cells);
    try {
      await this.#waiting.add(text);
    } catch (error) {
      this.#fault = { error };
      throw error;
    }
    this.#written = { ...this.#written, text: this.#written.text + Buffer.byteLength(text) };
  }

  /** Does nothing: an unfinished workbook cannot be read, so syncing it would be useless. */
  async sync(): Promise<void> {}

  async close(): Promise<void> {
    try {
      if (!this.#fault) await this.#end();
      this.#throwFault();
    } finally {
      this.#waiting.drop();
      await namingErrors(this.#name, 'written', () => this.#device.close());
    }
  }

  async #end(): Promise<void> {
    const lines = new Lines();
    for await (const text of this.#waiting.texts()) await this.#writeRows(lines.add(text));
    // A workbook must have a sheet, even if there are no rows.
    if (!this.#sheet) await this.#send(this.#beginSheet());
    this.#endSheet();
    const names = Array.from({ length: this.#sheets }, (_, index) => `Sheet${index + 1}`);
    this.#add('xl/workbook.xml', workbookXml(names));
    this.#add('xl/_rels/workbook.xml.rels', relationsXml(names.map((_, index) => ['worksheet', `worksheets/sheet${index + 1}.xml`])));
    this.#zip.end();
    await this.#packed.catch(() => undefined);
    if (!this.#fault) await namingErrors(this.#name, 'written', () => this.#device.sync());
  }

  async #writeRows(rows: readonly (readonly OpenCell[])[]): Promise<void> {
    let xml = '';
    for (const row of rows) {
      if (this.#sheet && this.#rows === this.#maxRows) {
        await this.#send(xml);
        this.#endSheet();
        xml = '';
      }
      xml += this.#row(row);
    }
    await this.#send(xml);
  }

  /** Writes the bytes of the zip archive to the device until the archive ends. */
  async #pack(): Promise<void> {
    for await (const chunk of this.#zip.outputStream as AsyncIterable<Buffer>) {
      await namingErrors(this.#name, 'written', () => this.#device.write(chunk));
      this.#written = { ...this.#written, bytes: this.#written.bytes + chunk.length };
    }
  }

  #add(part: string, xml: string): void {
    this.#zip.addBuffer(Buffer.from(xml), part, partOptions);
  }

  /** Begins a sheet if none is open. */
  #row(row: readonly OpenCell[]): string {
    const cells = this.#header ? this.#kinds.cells(row) : (row as readonly SheetCell[]);
    let xml = '';
    if (!this.#sheet) {
      xml = this.#beginSheet();
      if (this.#header) xml += rowXml(this.#header, ++this.#rows);
      this.#header ??= cells;
    }
    return xml + rowXml(cells, ++this.#rows);
  }

  #beginSheet(): string {
    const sheet = new PassThrough();
    // The error is ignored here, because the next write throws it.
    sheet.on('error', () => undefined);
    this.#zip.addReadStream(sheet, `xl/worksheets/sheet${++this.#sheets}.xml`, partOptions);
    this.#sheet = sheet;
    this.#rows = 0;
    return sheetBegin;
  }

  #endSheet(): void {
    this.#sheet?.end(sheetEnd);
    this.#sheet = undefined;
  }

  /** Waits until the zip archive accepts more data, which limits memory use. */
  async #send(xml: string): Promise<void> {
    this.#throwFault();
    if (xml === '' || !this.#sheet || this.#sheet.write(xml)) return;
    await Promise.race([once(this.#sheet, 'drain'), this.#packed]);
    this.#throwFault();
  }

  #throwFault(): void {
    if (this.#fault) throw this.#fault.error;
  }
}

/** A text can end with the beginning of a line that the next text continues. */
class Lines {
  #open = '';

  add(text: string): OpenCell[][] {
    const lines = (this.#open + text).split('\n');
    this.#open = lines.pop() ?? '';
    return lines.map((line) => JSON.parse(line) as OpenCell[]);
  }
}

const kindBits = { number: 1, boolean: 2, text: 4 };

/** A column's cells keep their types if all cells that are not empty have the same type. */
class ColumnKinds {
  readonly #isText: boolean;
  /** Undefined until the header row has been added. */
  #kinds: number[] | undefined;

  constructor(isText: boolean) {
    this.#isText = isText;
  }

  add(row: readonly OpenCell[]): void {
    const kinds = this.#kinds;
    if (kinds) for (const [column, cell] of row.entries()) kinds[column] = (kinds[column] ?? 0) | kindBit(cell);
    else this.#kinds = row.map(() => (this.#isText ? kindBits.text : 0));
  }

  /** Must be called after all rows have been added. */
  cells(row: readonly OpenCell[]): SheetCell[] {
    return row.map((cell, column) => {
      if (typeof cell === 'string') return cell;
      const text = typeof cell === 'object' ? cell[0] : String(cell);
      const kind = this.#kinds?.[column];
      if (kind !== kindBits.number && kind !== kindBits.boolean) return text;
      return typeof cell === 'object' ? Number(text) : cell;
    });
  }
}

function kindBit(cell: OpenCell): number {
  if (cell === '') return 0;
  if (typeof cell === 'string') return kindBits.text;
  return typeof cell === 'boolean' ? kindBits.boolean : kindBits.number;
}

const start = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const schemas = 'http://schemas.openxmlformats.org';
const main = `${schemas}/spreadsheetml/2006/main`;
const relationships = `${schemas}/officeDocument/2006/relationships`;
const packages = `${schemas}/package/2006`;

/** Freezes the first row, so that it stays visible while the user scrolls. */
const sheetBegin = `${start}<worksheet xmlns="${main}"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>`;

const sheetEnd = '</sheetData></worksheet>';

/** Lists the content types of a workbook's files. XML files that it does not list are sheets. */
const contentTypes = `${start}<Types xmlns="${packages}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>`;

/** Lists the other files in the workbook that a file refers to, with their types. */
function relationsXml(parts: readonly (readonly [type: string, target: string])[]): string {
  const lines = parts.map(
    ([type, target], index) => `<Relationship Id="rId${index + 1}" Type="${relationships}/${type}" Target="${target}"/>`,
  );
  return `${start}<Relationships xmlns="${packages}/relationships">${lines.join('')}</Relationships>`;
}

/** The workbook's main file, which lists the names of the sheets. */
function workbookXml(sheets: readonly string[]): string {
  const lines = sheets.map((name, index) => `<sheet name="${name}" sheetId="${index + 1}" r:id="rId${index + 1}"/>`);
  return `${start}<workbook xmlns="${main}" xmlns:r="${relationships}"><sheets>${lines.join('')}</sheets></workbook>`;
}

/** `number` is counted from 1. */
function rowXml(cells: readonly SheetCell[], number: number): string {
  return `<row r="${number}">${cells.map((cell, column) => cellXml(cell, `${columnName(column)}${number}`)).join('')}</row>`;
}

function cellXml(cell: SheetCell, place: string): string {
  if (cell === '') return '';
  if (typeof cell === 'number') return `<c r="${place}"><v>${cell}</v></c>`;
  if (typeof cell === 'boolean') return `<c r="${place}" t="b"><v>${cell ? 1 : 0}</v></c>`;
  return `<c r="${place}" t="inlineStr"><is><t xml:space="preserve">${xmlText(cell)}</t></is></c>`;
}

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Characters that XML forbids become `_xHHHH_`, as in Excel (ECMA-376, 22.9.2.19). Text that already looks like this is escaped, too. */
function xmlText(text: string): string {
  return text
    .replace(/_(?=x[\dA-Fa-f]{4}_)/g, '_x005F_')
    .replace(/[^\t\n\u0020-\ufffd]/g, (char) => `_x${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`)
    .replace(/[&<>]/g, (char) => escapes[char] as string);
}
