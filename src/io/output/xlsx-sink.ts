import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { ZipFile } from 'yazl';
import { namingErrors } from '../files/naming-errors.ts';
import type { SheetCell } from '../records/writers/xlsx-writer.ts';
import { contentTypes, relationsXml, rowXml, sheetBegin, sheetEnd, workbookXml } from '../records/xlsx/sheet-xml.ts';
import { type Device, nothingWritten, type Sink, type Written } from './sink.ts';

/** Maximum number of rows in an Excel sheet, including the header row. */
const maxSheetRows = 1_048_576;

/** Options for every file in the workbook's zip archive. The date is fixed, so the same rows always result in the same bytes. */
const partOptions = { mtime: new Date('2000-01-01T00:00:00Z'), mode: 0o100644 };

/**
 * Creates a sink that writes an Excel workbook. It expects text with one JSON array of cells per line. When a sheet is full, the rows
 * continue on a new sheet with the same header. The workbook is complete only after `close`.
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
  /** The beginning of a line whose end has not been written yet. The next write continues the line. */
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

  /** Does nothing, because syncing an unfinished workbook would be useless. It cannot be read before it is closed. */
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

  /** Returns the XML of a row. If no sheet is open, begins one first. */
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

  /** Adds XML to the current sheet. Waits until the zip archive accepts more data, which limits memory use. */
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
