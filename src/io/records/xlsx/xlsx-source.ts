import type { Item } from '../../../core/item.ts';
import { Unreadable } from '../errors.ts';
import { type Column, fieldColumns, headerProblem, recordOfRow } from '../readers/csv-header.ts';
import type { Input } from '../readers/input.ts';
import { inputError, type Position } from '../readers/record-reader.ts';
import { BadCell, columnName, SheetReader, type SheetRow } from './sheet.ts';
import { readWorkbook, type Workbook } from './workbook.ts';
import { XmlReader } from './xml.ts';
import { damaged, openZip, type Zip } from './zip.ts';

/** An open sheet. Its members are those of a source. */
export interface OpenSheet {
  readonly columns: readonly string[];
  read(): AsyncGenerator<readonly Item[]>;
  readonly totalBytes: number | undefined;
  readBytes(): number;
  close(): Promise<void>;
}

/** The sheet to read, and the place at which to resume: after a row, whose number is the offset. */
export interface SheetOptions {
  /** Undefined for the first sheet. */
  readonly sheet?: string | undefined;
  readonly from?: Position | undefined;
}

/** Opens a workbook and reads a sheet up to its first record. Throws an AutomateError (`usage`, `input`). */
export async function openXlsx(input: Input, { sheet, from }: SheetOptions): Promise<OpenSheet> {
  const zip = await openZip(input);
  try {
    const book = await readWorkbook(zip, input.name, sheet);
    const reading = { book, place: `${input.name}: sheet "${book.sheet}"`, bytes: 0 };
    const rows = sheetRows(zip, reading);
    const { header, columns, rest } = await readHeader(rows, reading);
    const toItems = itemsOf(header, columns, reading, from);
    let isClosed = false;
    return {
      columns: columns.map(({ name }) => name),
      async *read() {
        try {
          if (rest.length > 0) yield toItems(rest);
          for await (const more of rows) yield toItems(more);
        } catch (error) {
          if (!isClosed) throw error;
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

/** A sheet, and how much of it is read. */
interface Reading {
  readonly book: Workbook;
  /** The input and the sheet, for messages. */
  readonly place: string;
  bytes: number;
}

/** The rows of a sheet as they are read: no faster than they are asked for. */
async function* sheetRows(zip: Zip, reading: Reading): AsyncGenerator<readonly SheetRow[]> {
  const sheet = new SheetReader(reading.book);
  const xml = new XmlReader(sheet);
  try {
    for await (const chunk of await zip.read(reading.book.part)) {
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

/** The error that an act throws; undefined if it throws none. */
function faultOf(act: () => void): { readonly error: unknown } | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    return { error };
  }
}

interface Header {
  readonly header: readonly string[];
  readonly columns: readonly Column[];
  /** The rows after it that were read with it. */
  readonly rest: readonly SheetRow[];
}

/** The first row that is not empty is the header. */
async function readHeader(rows: AsyncGenerator<readonly SheetRow[]>, { place }: Reading): Promise<Header> {
  const { value, done } = await rows.next();
  const [first, ...rest] = done ? [] : value;
  if (!first) throw inputError(place, 'expected a header row with the names of the columns, found an empty sheet');
  const at = `${place}, row ${first.number}`;
  if (first.problem !== undefined) throw inputError(at, first.problem);
  const columns = fieldColumns(first.cells);
  const problem = headerProblem(columns, at);
  if (problem) throw problem;
  return { header: first.cells, columns, rest };
}

/** Turns rows into records, without those before the place at which to resume. */
function itemsOf(header: readonly string[], columns: readonly Column[], { book }: Reading, from: Position | undefined) {
  const empty = header.map(() => '');
  let records = from?.records ?? 0;
  return (rows: readonly SheetRow[]): Item[] =>
    rows.flatMap((row) => {
      if (row.number <= (from?.offset ?? 0)) return [];
      const item = { number: ++records, end: { offset: row.number, line: row.number } };
      const record = recordOfRow([...row.cells, ...empty.slice(row.cells.length)], header, columns);
      const problem = row.problem ?? surplus(row, header.length);
      if (problem === undefined) return [{ ...item, ...record }];
      const failure = new Unreadable(`sheet "${book.sheet}", row ${row.number}, ${problem}`);
      return [{ ...item, fields: record.fields, failure }];
    });
}

function surplus({ cells }: SheetRow, count: number): string | undefined {
  const index = cells.findIndex((cell, at) => at >= count && cell !== '');
  if (index === -1) return undefined;
  return `column ${columnName(index)}: expected ${count} cells, found one more (${JSON.stringify(cells[index])}): name its column, or clear it`;
}
