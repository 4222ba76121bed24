import { Failure } from '../../core/failure.ts';
import { type Fields, filledFields } from '../../core/record.ts';
import { formatCount } from '../../core/text/number.ts';
import { shortName } from '../../core/text/suggest.ts';
import { ExactNumber, textOf, type Value } from '../../core/value/value.ts';
import { headerNames, misfitCheck, type TableWriter } from '../csv-writer.ts';
import { columnName } from './sheet.ts';

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

const start = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const schemas = 'http://schemas.openxmlformats.org';
const main = `${schemas}/spreadsheetml/2006/main`;
const relationships = `${schemas}/officeDocument/2006/relationships`;
const packages = `${schemas}/package/2006`;

/** Freezes the first row, so that it stays visible while the user scrolls. */
export const sheetBegin = `${start}<worksheet xmlns="${main}"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>`;

export const sheetEnd = '</sheetData></worksheet>';

/** Lists the content types of a workbook's files. XML files that it does not list are sheets. */
export const contentTypes = `${start}<Types xmlns="${packages}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>`;

/** Lists the other files in the workbook that a file refers to, with their types. */
export function relationsXml(parts: readonly (readonly [type: string, target: string])[]): string {
  const lines = parts.map(
    ([type, target], index) => `<Relationship Id="rId${index + 1}" Type="${relationships}/${type}" Target="${target}"/>`,
  );
  return `${start}<Relationships xmlns="${packages}/relationships">${lines.join('')}</Relationships>`;
}

/** The workbook's main file, which lists the names of the sheets. */
export function workbookXml(sheets: readonly string[]): string {
  const lines = sheets.map((name, index) => `<sheet name="${name}" sheetId="${index + 1}" r:id="rId${index + 1}"/>`);
  return `${start}<workbook xmlns="${main}" xmlns:r="${relationships}"><sheets>${lines.join('')}</sheets></workbook>`;
}

/** `number` is counted from 1. */
export function rowXml(cells: readonly SheetCell[], number: number): string {
  return `<row r="${number}">${cells.map((cell, column) => cellXml(cell, `${columnName(column)}${number}`)).join('')}</row>`;
}

function cellXml(cell: SheetCell, place: string): string {
  if (cell === '') return '';
  if (typeof cell === 'number') return `<c r="${place}"><v>${cell}</v></c>`;
  if (typeof cell === 'boolean') return `<c r="${place}" t="b"><v>${cell ? 1 : 0}</v></c>`;
  return `<c r="${place}" t="inlineStr"><is><t xml:space="preserve">${xmlText(cell)}</t></is></c>`;
}

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Characters that XML forbids become `_xHHHH_`, as in Excel (ECMA-376, 22.9.2.19). Text that already looks like this is escaped, too. */
function xmlText(text: string): string {
  return text
    .replace(/_(?=x[\dA-Fa-f]{4}_)/g, '_x005F_')
    .replace(/[^\t\n\u0020-\ufffd]/g, (char) => `_x${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`)
    .replace(/[&<>]/g, (char) => escapes[char] as string);
}
