import type { InputHint } from '../core/error-code.ts';
import type { CellForm } from './cell-form.ts';
import type { StrayQuote } from './csv-parser.ts';

/** The length of a cell, in lines, above which a quote is likely to be missing. */
const maxLines = 50;

interface OddRow {
  /** The 1-based line of its beginning. */
  readonly line: number;
  /** Number of cells in the header. Undefined for the header itself. */
  readonly width: number | undefined;
}

type Warn = (line: number, message: string, hint?: InputHint) => void;

/** The character with which programs for DOS end a text. */
const ctrlZ = '\x1a';

/** Finds quotes and ends of text in a CSV that were probably meant in another way. Warns once of each kind. */
export class CsvOddities {
  readonly #form: CellForm;
  readonly #warn: Warn;
  /** Blanks that are searched before opening quotes. */
  #blanks: readonly string[];
  readonly #known = new Set<string>();
  #strays: StrayQuote[] = [];
  /** Bytes that have been looked at. */
  #at = 0;
  #isAfterBlank = false;
  /** A row that ends after this byte must be checked. A row over several lines must be checked in any case. */
  suspectFrom = Number.POSITIVE_INFINITY;
  /** The end of the text in which a cell might be odd. */
  #suspectTo = 0;

  constructor(form: CellForm, warn: Warn) {
    this.#form = form;
    this.#warn = warn;
    this.#blanks = form.trim ? [] : [' ', '\t'].filter((blank) => blank !== form.delimiter);
  }

  /** Must be called with all bytes before they are parsed. Fast, because it only searches for blanks before quotes, and Ctrl-Z. */
  look(bytes: Buffer): void {
    const found = [this.#paddedQuote(bytes), this.#known.has('ctrl-z') ? -1 : bytes.indexOf(ctrlZ)].filter((at) => at !== -1);
    this.suspectFrom = Math.min(this.suspectFrom, ...found.map((at) => this.#at + at));
    this.#at += bytes.length;
    if (found.length > 0) this.#suspectTo = this.#at;
    this.#isAfterBlank = this.#blanks.includes(String.fromCharCode(bytes.at(-1) ?? 0));
  }

  addStray(quote: StrayQuote): void {
    this.#strays.push(quote);
    this.suspectFrom = -1;
  }

  check(cells: readonly string[], end: number, row: OddRow): void {
    if (end > this.suspectFrom) this.#checkSuspect(cells, end, row);
    for (const stray of this.#strays.splice(0)) this.#checkStray(cells, stray, row);
    for (const [index, cell] of cells.entries()) if (/[\r\n]/.test(cell)) this.#checkLines(cells, index, row);
  }

  /** The first place in the bytes at which blanks and a quote seem to begin a cell, or -1. */
  #paddedQuote(bytes: Buffer): number {
    if (this.#isAfterBlank && bytes[0] === 0x22) return 0;
    for (const blank of this.#blanks) {
      const padded = `${blank}"`;
      for (let at = bytes.indexOf(padded); at !== -1; at = bytes.indexOf(padded, at + 1)) if (this.#beginsCell(bytes, at)) return at;
    }
    return -1;
  }

  #beginsCell(bytes: Buffer, blank: number): boolean {
    let at = blank;
    while (at >= 0 && (bytes[at] === 0x20 || bytes[at] === 0x09) && bytes[at] !== this.#form.delimiter.charCodeAt(0)) at--;
    const { delimiter } = this.#form;
    return at < 0 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === Buffer.from(delimiter).at(-1);
  }

  #checkSuspect(cells: readonly string[], end: number, row: OddRow): void {
    if (end >= this.#suspectTo) this.suspectFrom = Number.POSITIVE_INFINITY;
    const ended = cells.findIndex((cell) => cell.includes(ctrlZ));
    const found = `cell ${ended + 1} has a Ctrl-Z (0x1A), the end of a text under DOS, but more text follows: it stays part of the cell`;
    if (ended !== -1) this.#tell('ctrl-z', lineOf(cells, ended, row), found);
    this.#checkPadding(cells, row);
  }

  #checkPadding(cells: readonly string[], row: OddRow): void {
    if (this.#blanks.length === 0) return;
    const index = cells.findIndex((cell) => /^[ \t]+"/.test(cell));
    if (index === -1) return;
    const found = `cell ${index + 1} has blanks before its opening quote, so its quotes and blanks are part of the text`;
    this.#tell('trim', lineOf(cells, index, row), found);
    this.#blanks = [];
    this.suspectFrom = Number.POSITIVE_INFINITY;
  }

  #checkStray(cells: readonly string[], { index, text }: StrayQuote, row: OddRow): void {
    const line = lineOf(cells, index, row);
    const cell = cells[index] ?? '';
    if (this.#form.escape === undefined && /\\(?:"|$)/.test(text)) {
      this.#tell('escape', line, `cell ${index + 1} has \\" between its quotes, which ends the quotes: inside them, a quote is written ""`);
    } else if (cell.trimEnd() === `"${text}"`) {
      this.#tell('trim', line, `cell ${index + 1} has blanks after its closing quote, so its quotes and blanks are part of the text`);
    } else if (/[\r\n]/.test(text)) this.#tellLines(cells, index, row);
  }

  #checkLines(cells: readonly string[], index: number, row: OddRow): void {
    if (breaksIn(cells[index] as string) > maxLines || hasRows(cells, index, { ...row, delimiter: this.#form.delimiter }))
      this.#tellLines(cells, index, row);
  }

  #tellLines(cells: readonly string[], index: number, row: OddRow): void {
    const line = lineOf(cells, index, row);
    const breaks = breaksIn(cells[index] as string);
    const swallowed = breaks === 1 ? '1 line' : `${breaks} lines`;
    this.#tell('lines', line, `the quoted cell that begins at line ${line} has swallowed ${swallowed}; is a quote missing?`);
  }

  #tell(kind: 'escape' | 'trim' | 'lines' | 'ctrl-z', line: number, message: string): void {
    if (this.#known.has(kind)) return;
    this.#known.add(kind);
    this.#warn(line, message, kind === 'escape' || kind === 'trim' ? kind : undefined);
  }
}

function lineOf(cells: readonly string[], index: number, { line }: OddRow): number {
  return cells.slice(0, index).reduce((sum, cell) => sum + breaksIn(cell), line);
}

function breaksIn(cell: string): number {
  return linesOf(cell).length - 1;
}

function linesOf(cell: string): string[] {
  return cell.split(/\r\n|\r|\n/);
}

/**
 * True if the lines of a cell look like rows of the table, as if its closing quote were missing. The first line must complete the cell's
 * own row, and a later line must be a whole row. If the cell's row begins with a number, the later row must begin with one, too. A line
 * with a blank after a delimiter is text with commas, and not a row.
 */
function hasRows(
  cells: readonly string[],
  index: number,
  { width = cells.length, delimiter }: OddRow & Pick<CellForm, 'delimiter'>,
): boolean {
  const [first = '', ...others] = linesOf(cells[index] as string);
  const begun = [...cells.slice(0, index), ...first.split(delimiter)];
  if (width < 2 || begun.length !== width) return false;
  const following = cells.length - index - 1;
  return others.some((line, at) => {
    const row = line.split(delimiter);
    // A cell in the first column leaves the rest of its last row as it is, so this row proves nothing.
    const expected = at < others.length - 1 ? width : index === 0 ? Number.NaN : width - following;
    return row.length === expected && isNumber(row[0]) === isNumber(begun[0]) && !row.some((cell) => cell.startsWith(' '));
  });
}

function isNumber(cell = ''): boolean {
  return /^\d+$/.test(cell);
}
