import type { Item } from '../../core/item.ts';
import { SparseFields } from '../../core/record.ts';
import { counted } from '../../core/text/number.ts';
import { earlierFailure, recordOfRow } from '../csv-reader.ts';
import { Unreadable } from '../errors-file.ts';
import type { OpenArchive } from '../format.ts';
import { type HeaderPlace, headerOf, headerOfWidth, headerProblem, missingFirstRow, missingHeader } from '../header.ts';
import type { Input } from '../input.ts';
import type { RecordContent } from '../json/json-record.ts';
import { inputError, type Position, type TableHeader } from '../record-reader.ts';
import { BadCell, type CellProblem, columnName, SheetReader, type SheetRow } from './sheet.ts';
import { readWorkbook, type Workbook } from './workbook.ts';
import { XmlReader } from './xml.ts';
import { damaged, openZip, type Zip } from './zip.ts';

/** Enough for a million rows of 200 cells. A sheet is never in memory, but a small archive could keep the reader busy for hours. */
const maxSheetBytes = 8 * 1024 * 1024 * 1024;

/** A row with at least this many empty cells becomes `SparseFields`. For fewer, a Map with empty strings is faster. */
const minSparse = 256;

/** `offset` in the position to resume at is the number of the last row that was read. */
interface SheetOptions extends HeaderPlace {
  /** Undefined for the first visible sheet. */
  readonly sheet?: string;
  readonly from?: Position;
}

/** Also reads the header. Throws an AutomateError: `usage` without a sheet of that name, `input` for an unreadable workbook. */
export async function openXlsx(input: Input, { sheet, from, headerLine, noHeader }: SheetOptions): Promise<OpenArchive> {
  const zip = await openZip(input);
  try {
    const book = await readWorkbook(zip, input.name, sheet);
    const reading = { book, place: `${input.name}: sheet "${book.sheet}"`, bytes: 0 };
    const rows = sheetRows(zip, reading);
    const { header, rest } = await (noHeader ? countColumns(rows, reading) : readHeader(rows, reading, headerLine));
    const toItems = itemsOf(header, reading, from);
    let isClosed = false;
    return {
      columns: header.columns.map(({ name }) => name),
      givenNames: header.given,
      async *read() {
        try {
          if (rest.length > 0) yield toItems(rest);
          for await (const more of rows) yield toItems(more);
        } catch (error) {
          if (!isClosed) throw error;
        } finally {
          if (!isClosed) zip.refuseChange();
        }
      },
      totalBytes: input.totalBytes,
      readBytes: () => Math.round((input.totalBytes ?? 0) * Math.min(1, reading.bytes / zip.size(book.part))),
      async close() {
        if (isClosed) return;
        isClosed = true;
        await zip.close();
        await input.close();
      },
    };
  } catch (error) {
    await zip.close();
    throw error;
  }
}

interface SheetReading {
  readonly book: Workbook;
  /** The names of the input and the sheet, for messages. */
  readonly place: string;
  bytes: number;
}

/** Reads no faster than the caller consumes the rows. */
async function* sheetRows(zip: Zip, reading: SheetReading): AsyncGenerator<readonly SheetRow[]> {
  const sheet = new SheetReader(reading.book);
  const xml = new XmlReader(sheet);
  try {
    for await (const chunk of await zip.read(reading.book.part, maxSheetBytes)) {
      reading.bytes += chunk.length;
      const fault = faultOf(() => xml.write(chunk));
      const rows = sheet.take();
      if (rows.length > 0) yield rows;
      if (fault) throw fault.error;
      if (sheet.isEnded) return;
    }
    xml.end();
  } catch (error) {
    if (error instanceof BadCell) throw inputError(`${reading.place}, ${error.place}`, error.message, { cause: error });
    throw damaged(`${reading.place}, ${sheet.place}`, error);
  }
}

function faultOf(act: () => void): { readonly error: unknown } | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    return { error };
  }
}

interface SheetHeader {
  readonly header: TableHeader;
  /** The rows of records that have already been read. */
  readonly rest: readonly SheetRow[];
}

type SheetRows = AsyncGenerator<readonly SheetRow[]>;

/**
 * In the row `line`, or else in the first row that is not empty. Only the first cell of merged cells has a value. Throws an AutomateError
 * (`input`) if there is no header or if it is invalid.
 */
async function readHeader(rows: SheetRows, { place }: SheetReading, line: number | undefined): Promise<SheetHeader> {
  const [first, ...rest] = await readRows(rowsFrom(rows, line ?? 1), (found) => found.length > 0);
  if (!first && line === undefined) throw missingHeader(place, 'an empty sheet');
  const at = `${place}, row ${line ?? first?.number}`;
  if (!first || first.number > (line ?? first.number)) throw missingHeader(at, 'an empty row', { hint: 'other-header' });
  if (first.problem) throw inputError(`${at}, column ${first.problem.column}`, first.problem.message);
  const header = headerOf(denseCells(first, 1 + Math.max(...first.columns)));
  const problem = headerProblem(header, at);
  if (problem) throw problem;
  return { header, rest };
}

/** Empty cells at the end of a row are not in the file, so the widest of these first rows has all columns. */
const countedRows = 1000;

/** Reading on for the width could exhaust memory if the rows are long. In bytes of XML. */
const countedBytes = 4_000_000;

async function countColumns(rows: SheetRows, reading: SheetReading): Promise<SheetHeader> {
  const rest = await readRows(rows, (found) => found.length >= countedRows || reading.bytes >= countedBytes);
  const width = rest.reduce((most, { columns }) => Math.max(most, 1 + (columns.at(-1) ?? -1)), 0);
  if (width === 0) throw missingFirstRow(reading.place);
  return { header: headerOfWidth(width), rest };
}

async function* rowsFrom(rows: SheetRows, first: number): SheetRows {
  // The generator is not closed after the header, because the records are read from it.
  for (let next = await rows.next(); !next.done; next = await rows.next()) yield next.value.filter(({ number }) => number >= first);
}

async function readRows(rows: SheetRows, isEnough: (read: readonly SheetRow[]) => boolean): Promise<readonly SheetRow[]> {
  const read: SheetRow[] = [];
  while (!isEnough(read)) {
    const { value, done } = await rows.next();
    if (done) break;
    for (const row of value) read.push(row);
  }
  return read;
}

/** Converts rows to records. When reading resumes, leaves out the rows that have already been read. */
function itemsOf(header: TableHeader, { book }: SheetReading, from: Position | undefined) {
  const contentOf = contentReader(header);
  let records = from?.records ?? 0;
  return (rows: readonly SheetRow[]): Item[] =>
    rows.flatMap((row) => {
      if (row.number <= (from?.offset ?? 0)) return [];
      const item = { number: ++records, end: { offset: row.number, line: row.number } };
      const record = contentOf(row);
      const problem = row.problem ?? surplus(row, header.names.length);
      if (problem === undefined) return [{ ...item, ...record }];
      const failure = new Unreadable(`sheet "${book.sheet}", row ${row.number}, column ${problem.column}: ${problem.message}`);
      return [{ ...item, fields: record.fields, failure }];
    });
}

/** Costs as much as there are cells in the row, not in the table. */
function contentReader(header: TableHeader): (row: SheetRow) => RecordContent {
  const { names, columns } = header;
  const places = new Map(columns.map(({ name }, at) => [name, at]));
  return (row) => {
    if (columns.length - row.cells.length < minSparse) return recordOfRow(denseCells(row, names.length), header);
    const cells = new Map(row.cells.map((cell, at) => [names[row.columns[at] as number] ?? '', cell]));
    const fields = new SparseFields(places);
    for (const [name, cell] of cells) if (places.has(name)) fields.set(name, cell);
    return columns.length === names.length ? { fields } : { fields, ...earlierFailure((name) => cells.get(name) ?? '') };
  };
}

function denseCells({ cells, columns }: SheetRow, count: number): string[] {
  const dense = new Array<string>(count).fill('');
  for (const [at, cell] of cells.entries()) if ((columns[at] as number) < count) dense[columns[at] as number] = cell;
  return dense;
}

function surplus({ cells, columns }: SheetRow, count: number): CellProblem | undefined {
  const at = columns.findIndex((column) => column >= count);
  if (at === -1) return undefined;
  const found = `expected ${counted(count, 'cell')}, found one more (${JSON.stringify(cells[at])})`;
  const advice = count === 1 ? 'is the header in another row?' : 'give its column a name, or clear the cell';
  return { column: columnName(columns[at] as number), message: `${found}: ${advice}` };
}
