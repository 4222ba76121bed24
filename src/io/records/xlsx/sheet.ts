import { formatCount } from '../../../core/text/number.ts';
import { maxRecordBytes } from '../readers/record-reader.ts';
import { numberText, plainNumber } from './number-text.ts';
import { TextCollector, unescaped, type Workbook } from './workbook.ts';
import type { XmlHandler } from './xml.ts';

/** A row of a sheet that is not empty. */
export interface SheetRow {
  /** The number of the row in the sheet, counted from 1. */
  readonly number: number;
  /** The text of each cell, up to the last cell that is not empty. */
  readonly cells: readonly string[];
  /** The reason why the row cannot be used, with the column; undefined if the row is valid. */
  readonly problem: string | undefined;
}

/** Maximum numbers of columns and rows in a sheet, according to Excel's specifications and limits. */
const maxColumns = 16_384;
const maxRows = 1_048_576;

/** Maximum number of characters in a cell. It is about thirty times Excel's own limit. */
const maxCellLength = 1_000_000;

/** The error for a cell or row of a sheet that cannot be read. */
export class BadCell extends Error {
  constructor(
    readonly place: string,
    message: string,
  ) {
    super(message);
  }
}

/** Converts the XML of a sheet to rows. An XML parser calls its methods. */
export class SheetReader implements XmlHandler {
  readonly #book: Workbook;
  #rows: SheetRow[] = [];
  #number = 0;
  #cells: string[] = [];
  #problem: string | undefined;
  #rowLength = 0;
  #column = -1;
  #type = 'n';
  #style = 0;
  #hasFormula = false;
  #hasValue = false;
  #isInValue = false;
  #isInRow = false;
  #value = '';
  readonly #inline = new TextCollector();
  /** True once the last row of the sheet has been read. */
  isEnded = false;

  constructor(book: Workbook) {
    this.#book = book;
  }

  /** The current row and column, for messages. */
  get place(): string {
    return `row ${this.#number}${this.#column < 0 ? '' : `, column ${columnName(this.#column)}`}`;
  }

  /** Returns the rows that have been completed since the last call. */
  take(): SheetRow[] {
    const rows = this.#rows;
    this.#rows = [];
    return rows;
  }

  open(tag: string, attribute: (name: string) => string | undefined): void {
    if (tag === 'c') this.#beginCell(attribute);
    else if (tag === 'row') this.#beginRow(attribute('r'));
    else if (!this.#isInRow) return;
    else if (tag === 'v') {
      this.#isInValue = true;
      this.#hasValue = true;
    } else if (tag === 'f') this.#hasFormula = true;
    else {
      if (tag === 'is') this.#hasValue = true;
      this.#inline.open(tag);
    }
  }

  text(text: string): void {
    if (!this.#isInRow) return;
    if (this.#isInValue) this.#value += text;
    else this.#inline.text(text);
  }

  close(tag: string): void {
    if (tag === 'sheetData') this.isEnded = true;
    else if (!this.#isInRow) return;
    else if (tag === 'v') this.#isInValue = false;
    else if (tag === 'c') this.#endCell();
    else if (tag === 'row') this.#endRow();
    else this.#inline.close(tag);
  }

  #beginRow(written: string | undefined): void {
    const number = written === undefined ? this.#number + 1 : Number(written);
    if (!(number > this.#number && number <= maxRows))
      throw new BadCell(this.place, `expected a higher row number, up to ${formatCount(maxRows)}, found row ${written ?? number}`);
    this.#number = number;
    this.#cells = [];
    this.#problem = undefined;
    this.#rowLength = 0;
    this.#column = -1;
    this.#isInRow = true;
  }

  #beginCell(attribute: (name: string) => string | undefined): void {
    const place = attribute('r');
    this.#column = place === undefined ? this.#column + 1 : columnOf(place);
    if (this.#column >= maxColumns) throw new BadCell(this.place, `expected at most ${formatCount(maxColumns)} columns, found more`);
    this.#type = attribute('t') ?? 'n';
    this.#style = Number(attribute('s') ?? 0);
    this.#hasFormula = false;
    this.#hasValue = false;
    this.#value = '';
  }

  #endCell(): void {
    if (this.#hasFormula && !this.#hasValue)
      this.#problem ??= `column ${columnName(this.#column)}: the formula has no value yet: open the workbook in Excel, and save it`;
    const text = this.#hasValue ? this.#cellText() : '';
    if (text === '') return;
    if (text.length > maxCellLength)
      throw new BadCell(this.place, `expected text of at most ${formatCount(maxCellLength)} characters, found a longer one`);
    this.#rowLength += text.length;
    if (this.#rowLength > maxRecordBytes) throw new BadCell(this.place, 'expected a row of at most 256 MB, found a longer one');
    while (this.#cells.length < this.#column) this.#cells.push('');
    this.#cells[this.#column] = text;
  }

  #cellText(): string {
    const { formats, is1904, texts } = this.#book;
    const value = this.#value;
    switch (this.#type) {
      case 's': {
        const text = texts.at(Number(value));
        if (text === undefined)
          throw new BadCell(this.place, `expected one of the workbook's ${texts.count} shared strings, found number ${value}`);
        return text;
      }
      case 'inlineStr':
        return this.#inline.take();
      case 'b':
        return value === '1' || value === 'true' ? 'true' : 'false';
      case 'n':
        return numberText(value.trim(), formats[this.#style] ?? plainNumber, is1904);
      case 'd':
        return value.replace(/(?:T00:00:00)?(?:\.0+)?Z?$/, '');
      default:
        return unescaped(value);
    }
  }

  #endRow(): void {
    this.#isInRow = false;
    if (this.#cells.length > 0 || this.#problem !== undefined)
      this.#rows.push({ number: this.#number, cells: this.#cells, problem: this.#problem });
  }
}

/** Returns the 0-based column of a cell from a reference such as `AB12`. */
function columnOf(place: string): number {
  let column = 0;
  for (let at = 0; at < place.length; at++) {
    const letter = (place.charCodeAt(at) & 0xdf) - 64;
    if (letter < 1 || letter > 26) break;
    column = column * 26 + letter;
  }
  return column - 1;
}

/** Returns the name of a column, such as `AB`, from its 0-based number. */
export function columnName(column: number): string {
  const rest = Math.floor(column / 26);
  return (rest === 0 ? '' : columnName(rest - 1)) + String.fromCharCode(65 + (column % 26));
}
