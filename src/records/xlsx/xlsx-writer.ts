import { Failure } from '../../core/failure.ts';
import { type Fields, filledFields } from '../../core/record.ts';
import { formatCount } from '../../core/text/number.ts';
import { shortName } from '../../core/text/suggest.ts';
import { ExactNumber, textOf, type Value } from '../../core/value/value.ts';
import { headerNames, misfitCheck, type TableWriter } from '../csv-writer.ts';
import { columnName } from './sheet.ts';

/** The content of a cell in a workbook. */
export type SheetCell = string | number | boolean;

/**
 * A cell of a row whose column is not complete yet. If all cells of the column are numbers, it becomes a number, and otherwise text. The
 * text of a number is in an array if it differs from the number's shortest form, such as `1.50`.
 */
export type OpenCell = SheetCell | readonly [text: string];

/** Maximum length of the text in an Excel cell. */
const maxCellLength = 32_767;

/** Maximum number of digits of a number in Excel. Numbers with more digits are written as text. */
const maxDigits = 15;

/**
 * Matches strings in an input table that can become numbers. A string with leading zeros, more than 11 digits before the point or more digits
 * than a number can have stays text, because it is more likely an identifier, such as a phone number.
 */
const plainNumber = /^(?!-0$)(?!(?:\D*\d){16})-?(?:0|[1-9]\d{0,10})(?:\.\d+)?$/;

/**
 * Creates a writer for the rows of a workbook. It writes one JSON array of cells per line, which `xlsx-sink.ts` converts to Excel's format.
 * `hasTextCells` is true if the input is a table, in which numbers are strings.
 */
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

/**
 * Returns true if Excel can store the number. An integer must keep all its digits. For any other number, the precision of a double is
 * sufficient.
 */
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

/** The beginning of a sheet's XML. It freezes the first row, so the row stays visible while the user scrolls. */
export const sheetBegin = `${start}<worksheet xmlns="${main}"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>`;

/** The end of a sheet's XML. */
export const sheetEnd = '</sheetData></worksheet>';

/** The XML file that lists the content types of a workbook's files. XML files that it does not list are sheets. */
export const contentTypes = `${start}<Types xmlns="${packages}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>`;

/** Returns the XML file with a file's relations. It lists the other files in the workbook that the file refers to, with their types. */
export function relationsXml(parts: readonly (readonly [type: string, target: string])[]): string {
  const lines = parts.map(
    ([type, target], index) => `<Relationship Id="rId${index + 1}" Type="${relationships}/${type}" Target="${target}"/>`,
  );
  return `${start}<Relationships xmlns="${packages}/relationships">${lines.join('')}</Relationships>`;
}

/** Returns the XML of the workbook's main file, which lists the names of the sheets. */
export function workbookXml(sheets: readonly string[]): string {
  const lines = sheets.map((name, index) => `<sheet name="${name}" sheetId="${index + 1}" r:id="rId${index + 1}"/>`);
  return `${start}<workbook xmlns="${main}" xmlns:r="${relationships}"><sheets>${lines.join('')}</sheets></workbook>`;
}

/** Returns the XML of a row in a sheet. `number` is the number of the row, counted from 1. */
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

/**
 * Escapes text for XML. Characters that XML forbids are written as `_xHHHH_`, as in Excel (ECMA-376, 22.9.2.19). So text that already looks
 * like `_xHHHH_` is escaped, too.
 */
function xmlText(text: string): string {
  return text
    .replace(/_(?=x[\dA-Fa-f]{4}_)/g, '_x005F_')
    .replace(/[^\t\n\u0020-\ufffd]/g, (char) => `_x${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`)
    .replace(/[&<>]/g, (char) => escapes[char] as string);
}
