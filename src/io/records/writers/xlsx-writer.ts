import { Failure } from '../../../core/failure.ts';
import type { Fields } from '../../../core/record.ts';
import { formatCount } from '../../../core/text/number.ts';
import { shortName } from '../../../core/text/suggest.ts';
import { ExactNumber, textOf, type Value } from '../../../core/value/value.ts';
import { headerNames, misfitOf, type TableWriter } from './csv-writer.ts';

/** A cell as the sheet gets it: a text, or a number or a boolean with its type. */
export type SheetCell = string | number | boolean;

/** The longest text that a cell of Excel holds. */
const maxCellLength = 32_767;

/** Numbers with more digits than these lose some in Excel: they are written as text. */
const maxDigits = 15;

/**
 * A number as it is written in a table, where numbers are texts. One with leading zeros or of more digits than a column of usual width shows
 * is more likely a name for something, such as a phone number.
 */
const plainNumber = /^(?!-0$)-?(?:0|[1-9]\d{0,10})(?:\.\d{0,9}[1-9])?$/;

/** Writes rows for the sheet of a workbook: each as a JSON list of its cells, in one line. `hasTextCells`: the numbers of the input are texts. */
export function createXlsxWriter(names: readonly string[], hasTextCells: boolean): TableWriter {
  const columns = headerNames(names);
  const columnSet = new Set(columns);
  const cell = (fields: Fields) => (name: string) => cellOf(fields.get(name), hasTextCells);
  const row = (fields: Fields) => line(columns.map(cell(fields)));
  const line = (cells: readonly SheetCell[]) => `${JSON.stringify(cells)}\n`;
  return {
    columns,
    between: '',
    begin: () => line(columns),
    header: line,
    write: (rows) => rows.map(row).join(''),
    end: () => '',
    misfit: (fields) => misfitOf(fields, columnSet) ?? longText(fields),
  };
}

function cellOf(value: Value | undefined, hasTextCells: boolean): SheetCell {
  if (value === undefined) return '';
  if (typeof value === 'boolean') return value;
  const text = textOf(value);
  if (typeof value === 'number' || value instanceof ExactNumber) return isExact(text) ? Number(text) : text;
  return hasTextCells && typeof value === 'string' && plainNumber.test(text) ? Number(text) : text;
}

/** True if Excel keeps the number: whole numbers with all digits, others as exactly as a double can. */
function isExact(text: string): boolean {
  const digits = text.replace(/^-?0*|[.eE].*$/g, '').length;
  return digits <= maxDigits && Number.isFinite(Number(text));
}

function longText(fields: Fields): Failure | undefined {
  for (const [name, value] of fields) {
    const { length } = textOf(value);
    if (length > maxCellLength) {
      const found = `the field "${shortName(name)}" has ${formatCount(length)} characters`;
      return new Failure('output', `${found}, and a cell of Excel holds ${formatCount(maxCellLength)}\nwrite CSV or NDJSON`);
    }
  }
  return undefined;
}
