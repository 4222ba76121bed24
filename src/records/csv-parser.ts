import { Parser } from 'csv-parse';
import { type CellForm, parserOptions } from './cell-form.ts';

/** A cell whose closing quote is followed by other text than a delimiter. The quotes are then part of its text. */
export interface StrayQuote {
  /** 0-based index of the cell in its row. */
  readonly index: number;
  /** The text between the quotes. */
  readonly text: string;
}

interface CsvParserEvents {
  row(cells: string[]): void;
  stray(quote: StrayQuote): void;
}

/** The parts of the parser that its types do not declare. */
interface Internals {
  readonly api: {
    __isCharTrimable(buffer: Buffer, at: number): number;
    __isDelimiter(buffer: Buffer, at: number, byte: number | undefined): number;
    __isEscape(buffer: Buffer, at: number, byte: number): boolean;
  };
  readonly state: {
    readonly record: string[];
    readonly field: { toString(encoding: 'utf8'): string; prepend(quote: Buffer): void };
    readonly quoting: boolean;
    wasQuoting: boolean;
    /** Bytes that were received, but not looked at yet. */
    readonly previousBuf?: Buffer;
    needMoreDataSize: number;
  };
}

const [quote, lf, cr] = [0x22, 0x0a, 0x0d];

/** After a closing quote, more blanks than these are not looked through at the end of a chunk. */
const maxBlanks = 16;

export class CsvParser {
  readonly #parser: Parser;
  readonly #inside: Internals;
  readonly #form: CellForm;

  constructor(form: CellForm, { row, stray }: CsvParserEvents) {
    this.#form = form;
    this.#parser = new Parser(parserOptions(form));
    // The parser calls this function with each complete row. This is faster than reading the parser's queue of objects or using its
    // `on_record` option.
    this.#parser.push = (cells: string[] | null) => {
      if (cells !== null) row(cells);
      return true;
    };
    this.#parser.on('error', () => {});
    this.#inside = this.#parser as unknown as Internals;
    this.#hearStrayQuotes(stray);
    if (form.escape !== undefined) this.#readEscapes(form.escape);
    if (form.trim) this.#trimAfterQuotes();
  }

  get info() {
    return this.#parser.info;
  }

  write(bytes: Buffer): Promise<void> {
    return settled((done) => this.#parser.write(bytes, done));
  }

  end(): Promise<void> {
    return settled((done) => this.#parser.end(done));
  }

  /** The row whose end has not been found: its complete cells, and the text of the next one. */
  get open(): { readonly cells: readonly string[]; readonly text: string } {
    return { cells: openRow(this.#parser), text: this.#inside.state.field.toString('utf8') };
  }

  /** True if the bytes so far end inside quotes, including the last ones, which have not been looked at yet. */
  get isInQuotes(): boolean {
    const { quoting, previousBuf = Buffer.alloc(0) } = this.#inside.state;
    const { escape: escapeChar } = this.#form;
    const bytes = escapeChar === undefined ? previousBuf : Buffer.from(previousBuf.toString().replaceAll(`${escapeChar}"`, ''));
    return (bytes.filter((byte) => byte === quote).length % 2 === 0) === quoting;
  }

  #hearStrayQuotes(stray: CsvParserEvents['stray']): void {
    const { state } = this.#inside;
    const { field } = state;
    const prepend = field.prepend.bind(field);
    // The parser calls `prepend` only to give a cell its opening quote back.
    field.prepend = (quote) => {
      stray({ index: state.record.length, text: field.toString('utf8') });
      prepend(quote);
      // The cell counts as one without quotes. Otherwise a parser that trims refuses the text after the quote.
      if (this.#form.trim) state.wasQuoting = false;
    };
  }

  /** Before another character, PHP and others write the escape character as it is. They also write a quote twice. */
  #readEscapes(escapeChar: string): void {
    const { api } = this.#inside;
    const [first] = Buffer.from(escapeChar);
    const isEscape = api.__isEscape.bind(api);
    const escapes = [`${escapeChar}"`, escapeChar.repeat(2), '""'].map((text) => Buffer.from(text));
    api.__isEscape = (buffer, at, byte) => {
      if (byte !== first && byte !== quote) return false;
      return (byte === quote || isEscape(buffer, at, byte)) && escapes.some((pair) => buffer.subarray(at, at + pair.length).equals(pair));
    };
  }

  /** Blanks after a closing quote are left out only if the cell ends behind them. */
  #trimAfterQuotes(): void {
    const { api, state } = this.#inside;
    const blankAt = api.__isCharTrimable.bind(api);
    state.needMoreDataSize = Math.max(state.needMoreDataSize, maxBlanks);
    api.__isCharTrimable = (buffer, start) => {
      const length = blankAt(buffer, start);
      if (length === 0 || !state.quoting) return length;
      for (let at = start; at < buffer.length; at += blankAt(buffer, at)) {
        const byte = buffer[at];
        if (byte === lf || byte === cr || api.__isDelimiter(buffer, at, byte) > 0) return length;
        if (blankAt(buffer, at) === 0) return 0;
      }
      return length;
    };
  }
}

/** The complete cells of a row that is unfinished at the end of the text. */
export function openRow(parser: Parser): readonly string[] {
  return (parser as unknown as Internals).state.record;
}

/** Calls a parser that reports its end to a callback. */
export function settled(act: (done: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => act((error) => (error ? reject(error) : resolve())));
}
