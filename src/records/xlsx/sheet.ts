import { formatCount } from '../../core/text/number.ts';
import { maxRecordBytes } from '../record-reader.ts';
import { numberText, plainNumber } from './number-text.ts';
import { maxCellLength, TextCollector, unescaped, type Workbook } from './workbook.ts';
import type { XmlHandler } from './xml.ts';

/** The reason why a row cannot be used. `column` is a name such as `AB`. */
export interface CellProblem {
  readonly column: string;
  readonly message: string;
}

/** A row that is not empty. */
export interface SheetRow {
  /** Counted from 1. */
  readonly number: number;
  /** Leaves out empty cells, because a row of one cell can have it in column 16,384. */
  readonly cells: readonly string[];
  /** The 0-based column of each of these cells. */
  readonly columns: readonly number[];
  readonly problem: CellProblem | undefined;
}

/** Excel's limits for columns and rows in a sheet. */
const maxColumns = 16_384;
const maxRows = 1_048_576;

export class BadCell extends Error {
  constructor(
    readonly place: string,
    message: string,
  ) {
    super(message);
  }
}

export class SheetReader implements XmlHandler {
  readonly #book: Workbook;
  #rows: SheetRow[] = [];
  #number = 0;
  #cells: string[] = [];
  #columns: number[] = [];
  #problem: CellProblem | undefined;
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
    if (this.#value.length > maxCellLength || this.#inline.length > maxCellLength)
      throw new BadCell(this.place, `expected text of at most ${formatCount(maxCellLength)} characters, found a longer one`);
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
    if (!(Number.isInteger(number) && number > this.#number && number <= maxRows))
      throw new BadCell(this.place, `expected a higher row number, up to ${formatCount(maxRows)}, found row ${written ?? number}`);
    this.#number = number;
    this.#cells = [];
    this.#columns = [];
    this.#problem = undefined;
    this.#rowLength = 0;
    this.#column = -1;
    this.#isInRow = true;
  }

  #beginCell(attribute: (name: string) => string | undefined): void {
    const place = attribute('r');
    const column = place === undefined ? this.#column + 1 : columnOf(place);
    if (column < 0) throw new BadCell(this.place, `expected the place of a cell, such as B2, found ${JSON.stringify(place?.slice(0, 60))}`);
    if (column >= maxColumns) throw new BadCell(this.place, `expected at most ${formatCount(maxColumns)} columns, found more`);
    this.#column = column;
    this.#type = attribute('t') ?? 'n';
    this.#style = Number(attribute('s') ?? 0);
    this.#hasFormula = false;
    this.#hasValue = false;
    this.#value = '';
    this.#inline.take();
  }

  #endCell(): void {
    const text = this.#hasValue ? this.#cellText() : undefined;
    if (text === undefined && this.#hasFormula)
      this.#problem ??= {
        column: columnName(this.#column),
        message: 'the formula has no saved value: save the file once in Excel or LibreOffice',
      };
    if (!text) return;
    this.#rowLength += text.length;
    if (this.#rowLength > maxRecordBytes) throw new BadCell(this.place, 'expected a row of at most 256 MB, found a longer one');
    this.#cells.push(text);
    this.#columns.push(this.#column);
  }

  /** Undefined for an empty value. In a formula, it means that no program has computed it. */
  #cellText(): string | undefined {
    const { formats, is1904, texts } = this.#book;
    if (this.#type === 'inlineStr') return this.#inline.take() || unescaped(this.#value);
    // Excel saves the empty text of a formula as an empty value, too.
    if (this.#type === 'str') return unescaped(this.#value);
    const value = this.#value.trim();
    if (value === '') return undefined;
    switch (this.#type) {
      case 's': {
        const text = texts.at(Number(value));
        if (text === undefined)
          throw new BadCell(this.place, `expected one of the workbook's ${texts.count} shared strings, found number ${value}`);
        return text;
      }
      case 'b':
        return value === '1' || value === 'true' ? 'true' : 'false';
      case 'n':
        return numberText(value, formats[this.#style] ?? plainNumber, is1904);
      case 'd':
        return value.replace(/(?:T00:00:00)?(?:\.0+)?Z?$/, '');
      default:
        return unescaped(value);
    }
  }

  #endRow(): void {
    this.#isInRow = false;
    if (this.#cells.length > 0 || this.#problem !== undefined)
      this.#rows.push({ number: this.#number, cells: this.#cells, columns: this.#columns, problem: this.#problem });
  }
}

/** 0-based, from a reference such as `AB12`. */
function columnOf(place: string): number {
  let column = 0;
  for (let at = 0; at < place.length; at++) {
    const letter = (place.charCodeAt(at) & 0xdf) - 64;
    if (letter < 1 || letter > 26 || column > maxColumns) break;
    column = column * 26 + letter;
  }
  return column - 1;
}

/** `AB`, for example, from a 0-based number. */
export function columnName(column: number): string {
  const rest = Math.floor(column / 26);
  return (rest === 0 ? '' : columnName(rest - 1)) + String.fromCharCode(65 + (column % 26));
}
