import type { AutomateError } from '../core/failure.ts';
import type { Item } from '../core/item.ts';
import { inputError, type Position, type RecordReader, type TableHeader } from './record-reader.ts';

/** The beginning of an input, read only far enough to know the columns. */
export interface Head {
  readonly reader: RecordReader;
  readonly items: Item[];
  readonly chunks: AsyncGenerator<Buffer>;
  readonly isEnded: boolean;
  /** The text that has been read so far; empty or undefined if it was not kept. */
  readonly buffered?: Buffer[];
}

/** Reads up to the header or, if the format has none, up to the first readable record. `buffers` keeps the text, to be read again. */
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

/** Also true after a thousand unreadable records, because reading on could exhaust memory. */
function hasColumns(reader: RecordReader, items: readonly Item[]): boolean {
  return reader.header?.() !== undefined || items.length > 1000 || items.some((item) => item.failure === undefined);
}

/** For inputs that cannot be read from the middle. */
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

/** Limits the size of another reader's records, because memory use depends on the largest record. */
export class BoundedReader implements RecordReader {
  readonly #reader: RecordReader;
  readonly #name: string;
  readonly #max: number;
  /** The position after the last record that was not too long. */
  #end: Pick<Position, 'offset' | 'line'>;
  #receivedBytes: number;
  #fault: AutomateError | undefined;

  constructor(reader: RecordReader, { name, max, from }: { readonly name: string; readonly max: number; readonly from: Position }) {
    this.#reader = reader;
    this.#name = name;
    this.#max = max;
    this.#end = from;
    this.#receivedBytes = from.offset;
  }

  header(): TableHeader | undefined {
    return this.#reader.header?.();
  }

  openFields(): readonly string[] {
    return this.#reader.openFields?.() ?? [];
  }

  async write(chunk: Buffer): Promise<Item[]> {
    if (this.#fault) throw this.#fault;
    const items = this.#bounded(await this.#reader.write(chunk));
    this.#receivedBytes += chunk.length;
    if (this.#receivedBytes - this.#end.offset > this.#max) this.#fault ??= this.#tooLong();
    if (this.#fault && items.length === 0) throw this.#fault;
    return items;
  }

  async end(): Promise<Item[]> {
    if (this.#fault) throw this.#fault;
    return this.#reader.end();
  }

  fault(): AutomateError | undefined {
    return this.#fault ?? this.#reader.fault?.();
  }

  /** The records before the first one that is too long. If there is one, the next call of `write` throws an error. */
  #bounded(items: Item[]): Item[] {
    const header = this.#reader.headerEnd?.();
    if (header && header.offset > this.#end.offset) this.#end = header;
    for (const [index, { end }] of items.entries()) {
      if (end.offset - this.#end.offset > this.#max) {
        this.#fault = this.#tooLong();
        return items.slice(0, index);
      }
      this.#end = end;
    }
    return items;
  }

  #tooLong(): AutomateError {
    return inputError(this.#name, `expected a record of at most ${this.#max / 1e6} MB, found a longer one`, { line: this.#end.line + 1 });
  }
}
