import { open } from 'node:fs/promises';
import type { SpilledRows } from '../../core/item.ts';
import { namingErrors } from '../files/naming-errors.ts';
import { readSlice, type Slice } from '../output/spill.ts';

/** The rows of a parked record, as the text that follows other rows in the output. */
export interface ParkedRows {
  readonly rows: number;
  texts(): AsyncIterable<string>;
}

/** Rows whose text is on disk, or may be. */
export interface RenderedRows extends ParkedRows, SpilledRows {}

/** Parked records, by their number in the input. */
export type ParkedRecords<Rows extends ParkedRows = ParkedRows> = ReadonlyMap<number, Rows>;

/** A line of the journal: a piece of a record's text, or, after all pieces, the number of the record's rows (`kept`). */
export type ParkedLine =
  | { readonly text: readonly [number: number, index: number, text: string] }
  | { readonly kept: readonly [number: number, rows: number] };

/** Characters in a line: the text of a record may be longer than a string can be. */
const maxPiece = 1024 * 1024;

/** The journal's lines for parked records. Without its last line a record does not count. */
export async function* parkedLines(records: ParkedRecords): AsyncGenerator<ParkedLine> {
  for (const [number, parked] of records) {
    let index = 0;
    for await (const text of parked.texts()) {
      for (const piece of piecesOf(text)) yield { text: [number, index++, piece] };
    }
    yield { kept: [number, parked.rows] };
  }
}

/** Splits a text between characters, since each piece is encoded by itself. */
function* piecesOf(text: string): Generator<string> {
  for (let start = 0, end: number; start < text.length; start = end) {
    end = start + maxPiece;
    if ((text.codePointAt(end - 1) ?? 0) > 0xffff) end--;
    yield text.slice(start, end);
  }
}

/** Collects the parked records while their journal is read. Their texts stay in the file. */
export class ParkedReader {
  readonly records = new Map<number, RenderedRows>();
  readonly #path: string;
  readonly #textOf: (line: string) => string;
  readonly #lines = new Map<number, Slice[]>();

  /** `textOf` parses a line of the journal at `path`. */
  constructor(path: string, textOf: (line: string) => string) {
    this.#path = path;
    this.#textOf = textOf;
  }

  add(line: ParkedLine, place: Slice): void {
    if ('kept' in line) {
      const [number, rows] = line.kept;
      const places = this.#lines.get(number) ?? [];
      this.records.set(number, { rows, texts: () => this.#texts(places), drop: () => undefined });
      return;
    }
    const [number, index] = line.text;
    // A crash may have cut off the record's lines; then the record starts again from its first piece.
    if (index === 0) this.#lines.set(number, []);
    this.#lines.get(number)?.push(place);
  }

  async *#texts(places: readonly Slice[]): AsyncGenerator<string> {
    if (places.length === 0) return;
    const handle = await namingErrors(this.#path, 'read', () => open(this.#path));
    try {
      for (const place of places) yield this.#textOf(await namingErrors(this.#path, 'read', () => readSlice(handle, place)));
    } finally {
      await handle.close();
    }
  }
}
