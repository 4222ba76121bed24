import { columnName } from './sheet.ts';
import type { SheetCell } from './xlsx-writer.ts';

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
