import { type CsvError, Parser } from 'csv-parse';
import type { AutomateError, Failure } from '../../../core/failure.ts';
import type { Item } from '../../../core/item.ts';
import { otherFields, Unreadable, unreadableBefore } from '../errors.ts';
import { columnsOf, headerProblem } from './csv-header.ts';
import { inputError } from './input-error.ts';
import { beginning, maxRecordBytes, type Position, type RecordReader, tooLong } from './record-reader.ts';

/** Where reading goes on, and what the header at the start of the file was. */
export interface CsvStart {
  readonly from: Position;
  readonly header: readonly string[];
}

/** Reads CSV (RFC 4180) with a header. A row with too few or too many cells becomes a failed record. */
export function createCsvReader(name: string, delimiter: string, start?: CsvStart): RecordReader {
  const from = start?.from ?? beginning;
  let header = start?.header;
  let columns = columnsOf(header ?? []);
  let problem: AutomateError | undefined;
  let items: Item[] = [];
  let { records } = from;
  let end = { offset: from.offset, line: from.line };
  let received = from.offset;
  let emptyLines = 0;
  // How many lines csv-parse has counted too many: it takes CR LF between quotes for two.
  let surplus = 0;

  const parser = new Parser({
    bom: start === undefined,
    delimiter,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
  });
  // Rows are taken from the parser's hands: its own queue of objects is slow, and so is what `on_record` is told of each.
  parser.push = (cells: string[] | null) => {
    if (cells !== null) take(cells);
    return true;
  };
  parser.on('error', () => {});
  return { header: () => header, write, end: finish };

  async function write(chunk: Buffer): Promise<Item[]> {
    await settled((done) => parser.write(chunk, done));
    received += chunk.length;
    if (received - end.offset > maxRecordBytes) throw tooLong(name, nextLine(), 'is a quote not closed?');
    return taken();
  }

  async function finish(): Promise<Item[]> {
    await settled((done) => parser.end(done));
    if (header === undefined) throw inputError(`${name}:1`, 'expected a header row with the names of the columns, found none');
    return taken();
  }

  async function settled(act: (done: (error?: Error | null) => void) => void): Promise<void> {
    try {
      await new Promise<void>((resolve, reject) => act((error) => (error ? reject(error) : resolve())));
    } catch (error) {
      throw (error as CsvError).code === 'CSV_QUOTE_NOT_CLOSED' ? unclosed(error as CsvError) : error;
    }
  }

  function taken(): Item[] {
    if (problem) throw problem;
    const batch = items;
    items = [];
    return batch;
  }

  function take(cells: string[]): void {
    const line = nextLine();
    const { bytes, lines, empty_lines } = parser.info;
    if (from.line + lines - surplus > line) surplus += quotedLineBreaks(cells);
    end = { offset: from.offset + bytes, line: from.line + lines - surplus };
    emptyLines = empty_lines;
    if (header !== undefined) items.push(itemOf(cells, line));
    else {
      header = cells;
      columns = columnsOf(cells);
      problem = headerProblem(columns, `${name}:${line}`);
    }
  }

  /** The line on which the next row starts. */
  function nextLine(): number {
    return end.line + parser.info.empty_lines - emptyLines + 1;
  }

  function itemOf(cells: string[], line: number): Item {
    const fields = new Map<string, string>();
    for (const { name, index } of columns) {
      if (index < cells.length) fields.set(name, cells[index] as string);
    }
    const item = { number: ++records, fields, end };
    const names = header as readonly string[];
    if (cells.length !== names.length) return { ...item, failure: ragged(cells, names.length, line) };
    if (columns.length === names.length) return item;
    const cell = (name: string) => cells[names.indexOf(name)];
    const failure = unreadableBefore(cell('_error_class'), cell('_error_message'), cell(otherFields));
    return failure ? { ...item, failure } : item;
  }

  function unclosed(error: CsvError): AutomateError {
    const before = openRow(parser);
    const line = nextLine() + before.reduce((sum, cell) => sum + lineBreaks(cell), 0);
    const column = header?.[before.length];
    const cell = `cell ${before.length + 1}${column === undefined ? '' : ` ("${column}")`}`;
    const found = `found the end of the file; the quote opens ${cell}`;
    const mend = 'close it; a quote inside quotes is written twice: "a ""b"" c"';
    return inputError(`${name}:${line}`, `expected a closing quote, ${found}\n${mend}`, error);
  }
}

function ragged(cells: readonly string[], expected: number, line: number): Failure {
  const extra = cells
    .slice(expected)
    .map((cell) => JSON.stringify(cell))
    .join(', ');
  return new Unreadable(`line ${line}: expected ${expected} cells, found ${cells.length}${extra === '' ? '' : ` (extra: ${extra})`}`);
}

function quotedLineBreaks(cells: readonly string[]): number {
  return cells.reduce((sum, cell) => sum + cell.split('\r\n').length - 1, 0);
}

function lineBreaks(cell: string): number {
  return cell.split(/\r\n|\r|\n/).length - 1;
}

/** The cells before the one that the text ended in. The parser has them, its types do not tell. */
function openRow(parser: Parser): string[] {
  return (parser as unknown as { state: { record: string[] } }).state.record;
}
