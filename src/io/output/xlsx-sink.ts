import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { ZipFile } from 'yazl';
import { namingErrors } from '../files/naming-errors.ts';
import type { SheetCell } from '../records/writers/xlsx-writer.ts';
import { contentTypes, relationsXml, rowXml, sheetBegin, sheetEnd, workbookXml } from '../records/xlsx/sheet-xml.ts';
import { type Device, nothingWritten, type Sink, type Written } from './sink.ts';

/** The rows of the largest sheet of Excel, its header included. */
const maxSheetRows = 1_048_576;

/** Always the same: the same rows make the same file. */
const partOptions = { mtime: new Date('2000-01-01T00:00:00Z'), mode: 0o100644 };

/**
 * Writes a workbook. Takes rows as JSON lists of cells, a line each, and packs them as they come. Rows that a sheet has no place for go to
 * another, under the same header. Only `close` makes a workbook of it.
 */
export function createXlsxSink(name: string, device: Device, maxRows = maxSheetRows): Sink {
  return new XlsxSink(name, device, maxRows);
}

class XlsxSink implements Sink {
  readonly #name: string;
  readonly #device: Device;
  readonly #maxRows: number;
  readonly #zip = new ZipFile();
  readonly #packed: Promise<void>;
  #fault: { readonly error: unknown } | undefined;
  #sheet: PassThrough | undefined;
  #sheets = 0;
  #rows = 0;
  #header: readonly SheetCell[] = [];
  /** The beginning of a line that goes on in the next text. */
  #open = '';
  #written: Written = nothingWritten;

  constructor(name: string, device: Device, maxRows: number) {
    this.#name = name;
    this.#device = device;
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
    const lines = (this.#open + text).split('\n');
    this.#open = lines.pop() ?? '';
    let xml = '';
    for (const line of lines) {
      if (this.#sheet && this.#rows === this.#maxRows) {
        await this.#send(xml);
        this.#endSheet();
        xml = '';
      }
      xml += this.#row(JSON.parse(line) as SheetCell[]);
    }
    await this.#send(xml);
    this.#written = { ...this.#written, text: this.#written.text + Buffer.byteLength(text) };
  }

  /** Nothing of a workbook can be read before its end. */
  async sync(): Promise<void> {}

  async close(): Promise<void> {
    try {
      if (!this.#fault) await this.#end();
      this.#throwFault();
    } finally {
      await namingErrors(this.#name, 'written', () => this.#device.close());
    }
  }

  async #end(): Promise<void> {
    // A workbook without a sheet is none.
    if (!this.#sheet) await this.#send(this.#beginSheet());
    this.#endSheet();
    const names = Array.from({ length: this.#sheets }, (_, index) => `Sheet${index + 1}`);
    this.#add('xl/workbook.xml', workbookXml(names));
    this.#add('xl/_rels/workbook.xml.rels', relationsXml(names.map((_, index) => ['worksheet', `worksheets/sheet${index + 1}.xml`])));
    this.#zip.end();
    await this.#packed.catch(() => undefined);
    if (!this.#fault) await namingErrors(this.#name, 'written', () => this.#device.sync());
  }

  /** Writes what the archive packs, until it ends. */
  async #pack(): Promise<void> {
    for await (const chunk of this.#zip.outputStream as AsyncIterable<Buffer>) {
      await namingErrors(this.#name, 'written', () => this.#device.write(chunk));
      this.#written = { ...this.#written, bytes: this.#written.bytes + chunk.length };
    }
  }

  #add(part: string, xml: string): void {
    this.#zip.addBuffer(Buffer.from(xml), part, partOptions);
  }

  /** The XML of a row, with the beginning of its sheet. */
  #row(cells: readonly SheetCell[]): string {
    let xml = '';
    if (!this.#sheet) {
      xml = this.#beginSheet();
      if (this.#sheets === 1) this.#header = cells;
      else xml += rowXml(this.#header, ++this.#rows);
    }
    return xml + rowXml(cells, ++this.#rows);
  }

  #beginSheet(): string {
    const sheet = new PassThrough();
    // A fault is thrown by the next write.
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

  /** Waits until the archive takes more: so much is in memory, and no more. */
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
