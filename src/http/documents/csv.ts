import { type CsvError, Parser } from 'csv-parse';
import { parse } from 'csv-parse/sync';
import { DocumentError, maxParts, tooManyParts } from '../../core/answer/document.ts';
import type { Clock } from '../../core/ports.ts';
import { counted } from '../../core/text/number.ts';
import { orUndefined, type Value } from '../../core/value/value.ts';
import { openRow, settled } from '../../records/csv-parser.ts';
import { countCrLf, countLineBreaks } from '../../records/csv-reader.ts';

/** The delimiters to try. If several of them result in the same number of columns, the first one is used. */
const delimiters = [',', ';', '\t', '|'];

const format = {
  bom: true,
  record_delimiter: ['\r\n', '\n', '\r'],
  relax_column_count: true,
  relax_quotes: true,
  skip_empty_lines: true,
};

/** Number of bytes that are parsed in one go. That takes up to 10 ms, if the rows are very short. */
const chunkBytes = 8192;

/** Number of cells of a row that are taken in one go. */
const cellsPerTurn = 1000;

/** A row. `line` is the number of its last line, because a quoted cell may contain line breaks. */
interface Row {
  readonly cells: string[];
  readonly line: number;
}

type TakeRows = (rows: readonly Row[]) => Promise<void> | void;

/** One object per row; keys are column names, values strings. Rejects with a DocumentError if the CSV is invalid or has too many cells. */
export async function parseCsv(text: string, turn: Clock['yieldIfLong']): Promise<Value> {
  const rows: Value[] = [];
  let header: string[] | undefined;
  const takeRows: TakeRows = async (taken) => {
    for (const { cells, line } of taken) {
      if (!header) {
        await refuseUnclear(cells, turn);
        header = cells;
      } else if (cells.length !== header.length) {
        const column = Math.min(cells.length, header.length) + 1;
        throw new DocumentError(`expected ${counted(header.length, 'cell')}, found ${cells.length}`, { line, column });
      } else if (cells.length > cellsPerTurn) rows.push(await wideObject(header, cells, turn));
      else rows.push(Object.fromEntries(header.map((name, index) => [name, cells[index] as string])));
    }
  };
  const bytes = Buffer.from(text);
  await readRows(bytes, bestDelimiter(bytes), takeRows, turn);
  return rows;
}

/** A list of rows. A row that is cut off in quotes is left out. Rejects with a DocumentError if the text has too many cells. */
export async function parseRows(text: string, turn: Clock['yieldIfLong']): Promise<Value> {
  const rows: string[][] = [];
  const takeRows: TakeRows = (taken) => {
    for (const { cells } of taken) rows.push(cells);
  };
  try {
    await readRows(Buffer.from(text), ',', takeRows, turn);
  } catch (error) {
    if (!(error instanceof DocumentError && error.isCutOff)) throw error;
  }
  return rows;
}

async function readRows(bytes: Buffer, delimiter: string, takeRows: TakeRows, turn: Clock['yieldIfLong']): Promise<void> {
  const parser = new Parser({ ...format, delimiter });
  const { info } = parser;
  const taken: Row[] = [];
  let count = 0;
  let [line, emptyLines, surplusLines] = [0, 0, 0];
  const nextLine = () => line + info.empty_lines - emptyLines + 1;
  // The parser calls this function with each complete row, which is faster than its option `on_record`.
  parser.push = (cells: string[] | null) => {
    if (cells === null) return true;
    count += cells.length;
    if (count > maxParts) throw tooManyParts('cells');
    if (info.lines - surplusLines > nextLine()) surplusLines += countCrLf(cells);
    line = info.lines - surplusLines;
    emptyLines = info.empty_lines;
    taken.push({ cells, line });
    // For every row whose length differs from that of the first row, the parser makes an error, which takes 14 µs, and ignores it. If the
    // count of rows is 0, it expects the length of the next row instead.
    (info as { records: number }).records = 0;
    return true;
  };
  parser.on('error', () => {});
  try {
    for (let at = 0; at < bytes.length; at += chunkBytes) {
      await settled((callback) => parser.write(bytes.subarray(at, at + chunkBytes), callback));
      if (count + openRow(parser).length > maxParts) throw tooManyParts('cells');
      await takeRows(taken.splice(0));
      await turn();
    }
    await settled((callback) => parser.end(callback));
  } catch (error) {
    if ((error as CsvError).code !== 'CSV_QUOTE_NOT_CLOSED') throw error;
    const before = openRow(parser);
    const place = { line: nextLine() + before.reduce((sum, cell) => sum + countLineBreaks(cell), 0), column: before.length + 1 };
    throw new DocumentError('expected a closing quote, found the end of the text', place, true);
  } finally {
    // An Error for a row before the mistake replaces the Error for the mistake, because the earlier mistake is the one to report.
    await takeRows(taken.splice(0));
  }
}

/** The delimiter is chosen by the part of the header line that is within this many bytes. */
const headBytes = 65_536;

/** Splits the header line into the most columns. */
function bestDelimiter(bytes: Buffer): string {
  const head = bytes.subarray(0, headBytes);
  const possible = delimiters.filter((delimiter) => head.includes(delimiter));
  // Most headers contain only commas, and parsing the header once for each delimiter takes longer than parsing a short answer.
  if (possible.length < 2) return possible[0] ?? ',';
  const widths = possible.map((delimiter) => orUndefined(() => parse(head, { ...format, delimiter, to: 1 })[0]?.length) ?? 0);
  return possible[widths.indexOf(Math.max(...widths))] as string;
}

/** Returns a row with many cells as an object. */
async function wideObject(header: readonly string[], cells: readonly string[], turn: Clock['yieldIfLong']): Promise<Value> {
  const object = {};
  for (const [index, name] of header.entries()) {
    // An assignment would lose a column with the name __proto__.
    Object.defineProperty(object, name, { value: cells[index], enumerable: true, writable: true, configurable: true });
    if (index % cellsPerTurn === 0) await turn();
  }
  return object;
}

/** Rejects with a DocumentError if two columns have the same name or a column has none. The cells of such a column would be lost. */
async function refuseUnclear(header: readonly string[], turn: Clock['yieldIfLong']): Promise<void> {
  const names = new Set<string>();
  for (const [index, name] of header.entries()) {
    const place = { line: 1, column: index + 1 };
    if (name === '') throw new DocumentError('expected a name for every column', place);
    if (names.has(name)) throw new DocumentError(`two columns have the name ${JSON.stringify(name.slice(0, 80))}`, place);
    names.add(name);
    if (index % cellsPerTurn === 0) await turn();
  }
}
