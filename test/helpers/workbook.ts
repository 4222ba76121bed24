import { buffer } from 'node:stream/consumers';
import { ZipFile } from 'yazl';

/** The parts of a workbook as XML, each without the enclosing elements. */
export interface WorkbookParts {
  /** The rows of each sheet, keyed by its name: `<row r="1"><c r="A1">...`. */
  readonly sheets: Readonly<Record<string, string>>;
  /** The shared strings: `<si><t>a</t></si>`. */
  readonly texts?: string;
  /** The number formats for the styles 1, 2, and so on. A number stands for the built-in format with that id. */
  readonly formats?: readonly (string | number)[];
  readonly is1904?: boolean;
  /** The names of hidden sheets. */
  readonly hidden?: readonly string[];
  /** Additional parts. A part with the same path replaces one of those above. */
  readonly more?: Readonly<Record<string, string | Buffer>>;
}

const schemas = 'http://schemas.openxmlformats.org';
const main = `xmlns="${schemas}/spreadsheetml/2006/main"`;
const relations = `${schemas}/officeDocument/2006/relationships`;

/** Creates a workbook in the same form as Excel, from its parts. */
export async function workbook({ sheets, texts, formats = [], is1904 = false, hidden = [], more = {} }: WorkbookParts): Promise<Buffer> {
  const names = Object.keys(sheets);
  const styleOf = (format: string | number, index: number) => (typeof format === 'number' ? format : 164 + index);
  const parts = {
    '_rels/.rels': relationsOf([['rId1', 'officeDocument', 'xl/workbook.xml']]),
    'xl/workbook.xml': `<workbook ${main} xmlns:r="${relations}"><workbookPr${is1904 ? ' date1904="1"' : ''}/><sheets>${names
      .map(
        (name, at) => `<sheet name="${name}" sheetId="${at + 1}"${hidden.includes(name) ? ' state="hidden"' : ''} r:id="sheet${at + 1}"/>`,
      )
      .join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relationsOf([
      ...names.map((_, at) => [`sheet${at + 1}`, 'worksheet', `worksheets/sheet${at + 1}.xml`] as const),
      ['styles', 'styles', '/xl/styles.xml'],
      ...(texts === undefined ? [] : [['texts', 'sharedStrings', 'sharedStrings.xml'] as const]),
    ]),
    'xl/styles.xml': `<styleSheet ${main}><numFmts>${formats
      .map((format, at) => (typeof format === 'number' ? '' : `<numFmt numFmtId="${164 + at}" formatCode="${xml(format)}"/>`))
      .join('')}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/>${formats
      .map((format, at) => `<xf numFmtId="${styleOf(format, at)}"/>`)
      .join('')}</cellXfs></styleSheet>`,
    ...(texts === undefined ? {} : { 'xl/sharedStrings.xml': `<sst ${main}>${texts}</sst>` }),
    ...Object.fromEntries(names.map((name, at) => [`xl/worksheets/sheet${at + 1}.xml`, sheetXml(sheets[name] ?? '')])),
    ...more,
  };
  return zipOf(parts);
}

/** Packs files into a zip archive. */
export function zipOf(parts: Readonly<Record<string, string | Buffer>>): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, content] of Object.entries(parts)) zip.addBuffer(Buffer.from(content), name);
  zip.end();
  return buffer(zip.outputStream);
}

/** Returns the XML of a sheet with these rows, and optionally what follows them. */
function sheetXml(rows: string): string {
  return `<?xml version="1.0"?>\n<worksheet ${main}><dimension ref="A1"/><sheetData>${rows}</sheetData><pageMargins left="1"/></worksheet>`;
}

/** Returns the XML for rows of text cells. Empty rows are left out, as Excel does. */
export function textRows(rows: readonly (readonly string[])[]): string {
  return rows
    .map((cells, at) =>
      cells.length === 0
        ? ''
        : `<row r="${at + 1}">${cells
            .map((cell, column) =>
              cell === '' ? '' : `<c r="${String.fromCharCode(65 + column)}${at + 1}" t="inlineStr"><is><t>${xml(cell)}</t></is></c>`,
            )
            .join('')}</row>`,
    )
    .join('');
}

/** Creates a workbook with one sheet of text cells. */
export function textBook(rows: readonly (readonly string[])[], sheet = 'Rows'): Promise<Buffer> {
  return workbook({ sheets: { [sheet]: textRows(rows) } });
}

function relationsOf(all: readonly (readonly [id: string, type: string, target: string])[]): string {
  const lines = all.map(([id, type, target]) => `<Relationship Id="${id}" Type="${relations}/${type}" Target="${target}"/>`);
  return `<Relationships xmlns="${schemas}/package/2006/relationships">${lines.join('')}</Relationships>`;
}

function xml(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/"/g, '&quot;');
}
