import { Failure } from '../../core/failure.ts';
import { type Fields, filledFields } from '../../core/record.ts';
import { formatCount } from '../../core/text/number.ts';
import { shortName } from '../../core/text/suggest.ts';
import { ExactNumber, textOf, type Value } from '../../core/value/value.ts';
import { headerNames, misfitCheck, type TableWriter } from '../csv-writer.ts';

export type SheetCell = string | number | boolean;

/**
 * A cell whose column is not complete yet. It becomes a number if all cells of the column are numbers, and otherwise text. A number's text
 * is in an array if it is not the shortest form, such as `1.50`.
 */
export type OpenCell = SheetCell | readonly [text: string];

/** Excel's limit. */
const maxCellLength = 32_767;

/** Excel's limit. Numbers with more digits are written as text. */
const maxDigits = 15;

/**
 * A table's strings that can become numbers. Leading zeros, more than 11 digits before the point, or more digits than a number can have
 * make an identifier more likely, such as a phone number.
 */
const plainNumber = /^(?!-0$)(?!(?:\D*\d){16})-?(?:0|[1-9]\d{0,10})(?:\.\d+)?$/;

/** Writes a JSON array of cells per line, for `xlsx-sink.ts`. `hasTextCells`: the input is a table, in which numbers are strings. */
export function createXlsxWriter(names: readonly string[], hasTextCells: boolean): TableWriter {
  const columns = headerNames(names);
  const misfit = misfitCheck(columns);
  const cell = (fields: Fields) => (name: string) => cellOf(fields.get(name), hasTextCells);
  const row = (fields: Fields) => line(columns.map(cell(fields)));
  const line = (cells: readonly OpenCell[]) => `${JSON.stringify(cells)}\n`;
  return {
    columns,
    between: '',
    begin: () => line(columns),
    header: line,
    write: (rows) => rows.map(row).join(''),
    end: () => '',
    misfit: (fields) => misfit(fields) ?? longText(fields),
  };
}

function cellOf(value: Value | undefined, hasTextCells: boolean): OpenCell {
  if (value === undefined) return '';
  if (typeof value === 'boolean') return value;
  const text = textOf(value);
  const isTyped = typeof value === 'number' || value instanceof ExactNumber;
  const isNumber = isTyped ? isExact(text) : hasTextCells && typeof value === 'string' && plainNumber.test(text);
  if (!isNumber) return text;
  const number = Number(text);
  return String(number) === text ? number : [text];
}

/** Excel can store the number. An integer must keep all its digits; for other numbers, a double's precision is sufficient. */
function isExact(text: string): boolean {
  const digits = text.replace(/^-?0*|[.eE].*$/g, '').length;
  return digits <= maxDigits && Number.isFinite(Number(text));
}

function longText(fields: Fields): Failure | undefined {
  for (const [name, value] of filledFields(fields)) {
    const { length } = textOf(value);
    if (length > maxCellLength) {
      const found = `the field "${shortName(name)}" has ${formatCount(length)} characters`;
      return new Failure('output', `${found}, but an Excel cell can contain at most ${formatCount(maxCellLength)}\nwrite CSV or NDJSON`);
    }
  }
  return undefined;
}
