import type { CsvError } from 'csv-parse';
import { parse } from 'csv-parse/sync';
import { DocumentError } from '../../core/answer/document.ts';
import type { Value } from '../../core/value/value.ts';

/** The characters that may separate cells. The first is taken if several would do. */
const delimiters = [',', ';', '\t', '|'];

/** Reads CSV as a list of objects by its header. All values are texts. Throws a DocumentError. */
export function parseCsv(text: string): Value {
  const [header, ...rows] = readRows(text, guessDelimiter(text));
  if (!header) return [];
  refuseUnclear(header.cells);
  return rows.map(({ cells, line }) => {
    if (cells.length !== header.cells.length) {
      const column = Math.min(cells.length, header.cells.length) + 1;
      throw new DocumentError(`expected ${header.cells.length} cells, found ${cells.length}`, { line, column });
    }
    return Object.fromEntries(header.cells.map((name, index) => [name, cells[index] as string]));
  });
}

interface Row {
  readonly cells: readonly string[];
  /** The line on which it ends. */
  readonly line: number;
}

function readRows(text: string, delimiter: string, to?: number): Row[] {
  const rows: Row[] = [];
  try {
    parse(text, {
      bom: true,
      delimiter,
      record_delimiter: ['\r\n', '\n', '\r'],
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      ...(to !== undefined && { to }),
      on_record: (cells: string[], { lines }) => {
        rows.push({ cells, line: lines });
        return null;
      },
    });
  } catch (error) {
    const { code, lines, column } = error as CsvError & { readonly lines?: number; readonly column?: number | string };
    const place = { line: Number(lines) || 1, column: typeof column === 'number' ? column + 1 : 1 };
    if (code === 'CSV_QUOTE_NOT_CLOSED') throw new DocumentError('expected a closing quote, found the end', place, true);
    throw new DocumentError((error as Error).message, place);
  }
  return rows;
}

/** Characters of the text in which the header is looked for. */
const headLength = 65_536;

/** The delimiter that makes the most columns of the header. */
function guessDelimiter(whole: string): string {
  const text = whole.slice(0, headLength);
  const width = (delimiter: string) => {
    try {
      return readRows(text, delimiter, 1)[0]?.cells.length ?? 0;
    } catch {
      return 0;
    }
  };
  const widths = delimiters.map(width);
  return delimiters[widths.indexOf(Math.max(...widths))] as string;
}

/** Refuses a header that would lose cells: without a name, or with one name twice. */
function refuseUnclear(header: readonly string[]): void {
  for (const [index, name] of header.entries()) {
    const place = { line: 1, column: index + 1 };
    if (name === '') throw new DocumentError('expected a name for every column', place);
    if (header.indexOf(name) < index) throw new DocumentError(`two columns have the name ${JSON.stringify(name.slice(0, 80))}`, place);
  }
}
