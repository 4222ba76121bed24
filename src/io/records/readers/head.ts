import type { Item } from '../../../core/item.ts';
import type { RecordReader } from './record-reader.ts';

/** An input that was read as far as its columns are known. */
export interface Head {
  readonly reader: RecordReader;
  /** The records read on the way. */
  readonly items: Item[];
  /** What was not yet read. */
  readonly chunks: AsyncGenerator<Buffer>;
  readonly isEnded: boolean;
  /** What was read, when it was asked for. */
  readonly seen?: Buffer[];
}

/** Reads up to the header, or the first record that has fields. `keep`: what was read will be needed again. */
export async function readHead(reader: RecordReader, chunks: AsyncGenerator<Buffer>, keep: boolean): Promise<Head> {
  const items: Item[] = [];
  const seen: Buffer[] = [];
  for (;;) {
    const { value, done } = await chunks.next();
    for (const item of done ? await reader.end() : await reader.write(value)) items.push(item);
    if (done) return { reader, items, chunks, isEnded: true, seen };
    if (keep) seen.push(value);
    if (isEnough(reader, items)) return { reader, items, chunks, isEnded: false, seen };
  }
}

/** A thousand broken lines in a row are enough, too: looking further could take all memory. */
function isEnough(reader: RecordReader, items: readonly Item[]): boolean {
  return reader.header() !== undefined || items.length > 1000 || items.some((item) => item.failure === undefined);
}

/** The text behind an offset, from an input that cannot seek. */
export async function* behind(offset: number, { seen = [], chunks }: Head): AsyncGenerator<Buffer> {
  let at = 0;
  for await (const chunk of joined(seen.splice(0), chunks)) {
    const wanted = chunk.subarray(Math.max(0, offset - at));
    at += chunk.length;
    if (wanted.length > 0) yield wanted;
  }
}

async function* joined(first: Iterable<Buffer>, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* first;
  yield* rest;
}
