import { open } from 'node:fs/promises';
import type { SpilledRows } from '../../core/item.ts';
import { namingErrors } from '../files/naming-errors.ts';
import { readAt } from '../output/spill.ts';

/** What is written of a record in its turn: so many output records, as the texts that stand in the output behind others. */
export interface ParkedRows {
  readonly rows: number;
  texts(): AsyncIterable<string>;
}

/** By the record's number. */
export type ParkedRecords<Kept extends ParkedRows = ParkedRows> = ReadonlyMap<number, Kept>;

/** A piece of a record's text, and which of them; at the end of all of them, how many output records they are. */
export type ParkedLine =
  | { readonly text: readonly [number: number, index: number, text: string] }
  | { readonly kept: readonly [number: number, rows: number] };

/** All that is kept may be longer than a string can be. */
const longest = 1024 * 1024;

/** What a journal says of the records that wait. One without its last line counts for nothing. */
export async function* parkedLines(records: ParkedRecords): AsyncGenerator<ParkedLine> {
  for (const [number, { rows, texts }] of records) {
    let index = 0;
    for await (const text of texts()) {
      for (const piece of piecesOf(text)) yield { text: [number, index++, piece] };
    }
    yield { kept: [number, rows] };
  }
}

/** Each is written by itself, so each ends with a whole character. */
function* piecesOf(text: string): Generator<string> {
  for (let start = 0, end: number; start < text.length; start = end) {
    end = start + longest;
    if ((text.codePointAt(end - 1) ?? 0) > 0xffff) end--;
    yield text.slice(start, end);
  }
}

/** Where a line stands in its file. */
interface Line {
  readonly at: number;
  readonly bytes: number;
}

/** Gathers the records that wait, while their journal is read. Their texts stay in the file. */
export interface KeptReader {
  add(line: ParkedLine, place: Line): void;
  readonly records: ParkedRecords<SpilledRows & ParkedRows>;
}

/** Makes a reader of the journal at a path. `textOf`: reads a line again. */
export function createKeptReader(path: string, textOf: (line: string) => string): KeptReader {
  const lines = new Map<number, Line[]>();
  const records = new Map<number, SpilledRows & ParkedRows>();
  return {
    records,
    add(line, place) {
      if ('kept' in line) {
        const [number, rows] = line.kept;
        records.set(number, keptPart(rows, lines.get(number) ?? []));
        return;
      }
      const [number, index] = line.text;
      // A record that was begun to be told, and is told anew.
      if (index === 0) lines.set(number, []);
      lines.get(number)?.push(place);
    },
  };

  function keptPart(rows: number, places: readonly Line[]): SpilledRows & ParkedRows {
    return {
      rows,
      texts: () => textsAt(places),
      drop: () => undefined,
    };
  }

  async function* textsAt(places: readonly Line[]): AsyncGenerator<string> {
    if (places.length === 0) return;
    const handle = await namingErrors(path, 'read', () => open(path));
    try {
      for (const { at, bytes } of places) yield textOf(await namingErrors(path, 'read', () => readAt(handle, at, bytes)));
    } finally {
      await handle.close();
    }
  }
}
