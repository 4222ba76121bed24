import { type CsvError, Parser } from 'csv-parse';
import { parse } from 'csv-parse/sync';
import { DocumentError, maxParts, tooManyParts } from '../../core/answer/document.ts';
import type { Clock } from '../../core/ports.ts';
import { orUndefined, type Value } from '../../core/value/value.ts';
import { countCrLf, countLineBreaks, openRow } from '../../records/csv/csv-reader.ts';

/** The delimiters to try. If several of them result in the same number of columns, the first one is used. */
const delimiters = [',', ';', '\t', '|'];

const format = {
  bom: true,
  record_delimiter: ['\r\n', '\n', '\r'],
  relax_column_count: true,
  relax_quotes: true,
  skip_empty_lines: true,
};

/** Number of bytes that are parsed in one go, which takes about 3 ms. */
const chunkBytes = 65_536;

/** Receives a row. `line` is the number of the row's last line, because a quoted cell may contain line breaks. */
type TakeRow = (cells: string[], line: number) => void;

/**
 * Parses CSV text. Returns a list with one object per row, whose keys are the column names and whose values are strings. Rejects with a
 * DocumentError if the text is not valid CSV, or has too many cells.
 */
export async function parseCsv(text: string, turn: Clock['yieldIfLong']): Promise<Value> {
  const rows: Value[] = [];
  let header: string[] | undefined;
  const takeRow: TakeRow = (cells, line) => {
    if (!header) refuseUnclear(cells);
    else if (cells.length === header.length) rows.push(Object.fromEntries(header.map((name, index) => [name, cells[index] as string])));
    else {
      const column = Math.min(cells.length, header.length) + 1;
      throw new DocumentError(`expected ${header.length} cells, found ${cells.length}`, { line, column });
    }
    header ??= cells;
  };
  const bytes = Buffer.from(text);
  await readRows(bytes, bestDelimiter(bytes), takeRow, turn);
  return rows;
}

/**
 * Parses CSV text without a header. Returns a list of rows, which are lists of cells. A row that is cut off in quotes is left out. Rejects
 * with a DocumentError if the text has too many cells.
 */
export async function parseRows(text: string, turn: Clock['yieldIfLong']): Promise<Value> {
  const rows: string[][] = [];
  try {
    await readRows(Buffer.from(text), ',', (cells) => rows.push(cells), turn);
  } catch (error) {
    if (!(error instanceof DocumentError && error.isCutOff)) throw error;
  }
  return rows;
}

async function readRows(bytes: Buffer, delimiter: string, takeRow: TakeRow, turn: Clock['yieldIfLong']): Promise<void> {
  const parser = new Parser({ ...format, delimiter });
  const { info } = parser;
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
    takeRow(cells, line);
    // For every row whose length differs from that of the first row, the parser makes an error, which takes 14 µs, and ignores it. If the
    // count of rows is 0, it expects the length of the next row instead.
    (info as { records: number }).records = 0;
    return true;
  };
  parser.on('error', () => {});
  try {
    for (let at = 0; at < bytes.length; at += chunkBytes) {
      await parsed((callback) => parser.write(bytes.subarray(at, at + chunkBytes), callback));
      if (count + openRow(parser).length > maxParts) throw tooManyParts('cells');
      await turn();
    }
    await parsed((callback) => parser.end(callback));
  } catch (error) {
    if ((error as CsvError).code !== 'CSV_QUOTE_NOT_CLOSED') throw error;
    const before = openRow(parser);
    const place = { line: nextLine() + before.reduce((sum, cell) => sum + countLineBreaks(cell), 0), column: before.length + 1 };
    throw new DocumentError('expected a closing quote, found the end of the text', place, true);
  }
}

function parsed(act: (callback: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => act((error) => (error ? reject(error) : resolve())));
}

/** The header line must end within this many bytes. */
const headBytes = 65_536;

/** Returns the delimiter that splits the header line into the most columns. */
function bestDelimiter(bytes: Buffer): string {
  const head = bytes.subarray(0, headBytes);
  const possible = delimiters.filter((delimiter) => head.includes(delimiter));
  // Most headers contain only commas, and parsing the header once for each delimiter takes longer than parsing a short answer.
  if (possible.length < 2) return possible[0] ?? ',';
  const widths = possible.map((delimiter) => orUndefined(() => parse(head, { ...format, delimiter, to: 1 })[0]?.length) ?? 0);
  return possible[widths.indexOf(Math.max(...widths))] as string;
}

/** Throws a DocumentError if two columns have the same name or a column has none. The cells of such a column would be lost. */
function refuseUnclear(header: readonly string[]): void {
  const names = new Set<string>();
  for (const [index, name] of header.entries()) {
    const place = { line: 1, column: index + 1 };
    if (name === '') throw new DocumentError('expected a name for every column', place);
    if (names.has(name)) throw new DocumentError(`two columns have the name ${JSON.stringify(name.slice(0, 80))}`, place);
    names.add(name);
  }
}
