import { open } from 'node:fs/promises';
import type { FailureReport } from '../../core/event.ts';
import type { FailureForm } from '../../core/failure-form.ts';
import type { SpilledRows } from '../../core/item.ts';
import { namingErrors } from '../../files/naming-errors.ts';
import { readSlice, type Slice } from '../spill.ts';

/** A finished record that waits for an earlier one. Its text is appended to the output unchanged. */
export interface ParkedRows {
  readonly rows: number;
  /** Failures that `on_error: keep` has passed through; undefined if there are none. */
  readonly passed?: readonly FailureReport[];
  texts(): AsyncIterable<string>;
  /** Discards rows that are on disk. */
  drop?(): void;
}

/** Text exactly as it is written to the output. It may be stored on disk. */
export interface RenderedRows extends ParkedRows, SpilledRows {
  drop(): void;
}

/** A record that failed in a pilot. It has been paid for, so it is not run again. */
export interface ParkedFailure {
  readonly failure: FailureForm;
}

/** Keyed by the records' number in the input. */
export type ParkedRecords<Rows extends ParkedRows = ParkedRows> = ReadonlyMap<number, Rows | ParkedFailure>;

/** A `text` line contains a piece of a parked record's rows. After the last piece, a `kept` line contains the number of rows. */
export type ParkedLine =
  | { readonly text: readonly [number: number, index: number, text: string] }
  | { readonly kept: readonly [number: number, rows: number, passed?: readonly FailureReport[]] }
  | { readonly failure: readonly [number: number, form: FailureForm] };

/** Characters of a record's text in one journal line. The whole text may exceed the maximum length of a string. */
const maxPiece = 1024 * 1024;

/** A record whose `kept` line is missing is ignored when the journal is read. */
export async function* parkedLines(records: ParkedRecords): AsyncGenerator<ParkedLine> {
  for (const [number, parked] of records) {
    if ('failure' in parked) {
      yield { failure: [number, parked.failure] };
      continue;
    }
    let index = 0;
    for await (const text of parked.texts()) {
      for (const piece of piecesOf(text)) yield { text: [number, index++, piece] };
    }
    yield { kept: parked.passed ? [number, parked.rows, parked.passed] : [number, parked.rows] };
  }
}

/** Never splits surrogate pairs, because each piece is encoded separately. */
function* piecesOf(text: string): Generator<string> {
  for (let start = 0, end: number; start < text.length; start = end) {
    end = start + maxPiece;
    if ((text.codePointAt(end - 1) ?? 0) > 0xffff) end--;
    yield text.slice(start, end);
  }
}

/** Collects parked records while a journal is read. The text of their rows is read only when it is needed. */
export class ParkedReader {
  readonly records = new Map<number, RenderedRows | ParkedFailure>();
  readonly #path: string;
  readonly #textOf: (line: string) => string;
  readonly #lines = new Map<number, Slice[]>();

  /** `textOf` returns the piece of text in a journal line. */
  constructor(path: string, textOf: (line: string) => string) {
    this.#path = path;
    this.#textOf = textOf;
  }

  add(line: ParkedLine, place: Slice): void {
    if ('failure' in line) {
      const [number, failure] = line.failure;
      this.records.set(number, { failure });
      return;
    }
    if ('kept' in line) {
      const [number, rows, passed] = line.kept;
      const places = this.#lines.get(number) ?? [];
      this.records.set(number, { rows, passed, texts: () => this.#texts(places), drop: () => undefined });
      return;
    }
    const [number, index] = line.text;
    // A piece with index 0 begins a new copy of the record. The pieces of an earlier copy, which a crash interrupted, are discarded.
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
