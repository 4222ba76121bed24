import type { CsvError } from 'csv-parse';
import { parse } from 'csv-parse/sync';
import { DocumentError } from '../../core/answer/document.ts';
import type { Value } from '../../core/value/value.ts';

/** The delimiters to try. If several of them result in the same number of columns, the first one is used. */
const delimiters = [',', ';', '\t', '|'];

/**
 * Parses CSV text. Returns a list with one object per row, whose keys are the column names and whose values are strings. Throws a
 * DocumentError if the text is not valid CSV.
 */
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
  /** Number of the last line of the row, because a quoted cell may contain line breaks. */
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
    if (code === 'CSV_QUOTE_NOT_CLOSED') throw new DocumentError('expected a closing quote, found the end of the text', place, true);
    throw new DocumentError((error as Error).message, place);
  }
  return rows;
}

/** The header line must end within this many characters. */
const headLength = 65_536;

/** Returns the delimiter that splits the header line into the most columns. */
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

/** Throws a DocumentError if two columns have the same name or a column has none. The cells of such a column would be lost. */
function refuseUnclear(header: readonly string[]): void {
  for (const [index, name] of header.entries()) {
    const place = { line: 1, column: index + 1 };
    if (name === '') throw new DocumentError('expected a name for every column', place);
    if (header.indexOf(name) < index) throw new DocumentError(`two columns have the name ${JSON.stringify(name.slice(0, 80))}`, place);
  }
}
