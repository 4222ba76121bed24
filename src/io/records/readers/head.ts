import type { Item } from '../../../core/item.ts';
import type { RecordReader } from './record-reader.ts';

/** An input that was read until its columns are known. */
export interface Head {
  readonly reader: RecordReader;
  /** The records read so far. */
  readonly items: Item[];
  /** The text not yet read. */
  readonly chunks: AsyncGenerator<Buffer>;
  readonly isEnded: boolean;
  /** The text read so far, if it was buffered. */
  readonly buffered?: Buffer[];
}

/** Reads up to the header, or the first record that has fields. `buffers`: the text read will be needed again. */
export async function readHead(reader: RecordReader, chunks: AsyncGenerator<Buffer>, buffers: boolean): Promise<Head> {
  const items: Item[] = [];
  const buffered: Buffer[] = [];
  for (;;) {
    const { value, done } = await chunks.next();
    for (const item of done ? await reader.end() : await reader.write(value)) items.push(item);
    if (done) return { reader, items, chunks, isEnded: true, buffered };
    if (buffers) buffered.push(value);
    if (hasColumns(reader, items)) return { reader, items, chunks, isEnded: false, buffered };
  }
}

/** Gives up after a thousand broken lines: reading on could take all memory. */
function hasColumns(reader: RecordReader, items: readonly Item[]): boolean {
  return reader.header?.() !== undefined || items.length > 1000 || items.some((item) => item.failure === undefined);
}

/** The text after an offset, of an input that cannot seek. */
export async function* textAfter(offset: number, { buffered = [], chunks }: Head): AsyncGenerator<Buffer> {
  let at = 0;
  for await (const chunk of concat(buffered.splice(0), chunks)) {
    const rest = chunk.subarray(Math.max(0, offset - at));
    at += chunk.length;
    if (rest.length > 0) yield rest;
  }
}

async function* concat(first: Iterable<Buffer>, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* first;
  yield* rest;
}
