import type { Columns } from './places.ts';

export interface Namesakes {
  /** Number of the first place with this main name. There are `count` such places, numbered consecutively, with the largest first. */
  readonly first: number;
  readonly count: number;
  /** Places with this name in another language or spelling; for each region or district, only the largest. */
  readonly others: Uint32Array;
}

/** Size in bytes of the buffer for a name; a character takes up to three bytes. Longer names are not searched for. */
const maxBytes = 768;

/** All names of all places, in sorted order and in the normalized form that `placeKey` returns. */
export class Names {
  readonly #bytes: Buffer;
  readonly #starts: Uint32Array;
  readonly #firsts: Uint32Array;
  readonly #otherStarts: Uint32Array;
  readonly #others: Uint32Array;

  /** The bytes of the name to search for. All searches share this buffer, so they allocate no memory. */
  readonly #wanted = Buffer.alloc(maxBytes);

  constructor(columns: Columns<unknown>) {
    this.#bytes = columns.bytes('keyBytes');
    this.#starts = columns.starts('keyLengths');
    this.#firsts = columns.starts('namesakes');
    this.#otherStarts = columns.starts('otherCounts');
    this.#others = columns.numbers('others');
  }

  find(key: string): Namesakes | undefined {
    const length = this.#want(key);
    if (length === 0) return undefined;
    const index = this.#firstFrom(length);
    return index < this.#count && this.#compare(length, index) === 0 ? this.#at(index) : undefined;
  }

  *startingWith(text: string, most: number): Generator<string> {
    const length = this.#want(text);
    if (length === 0) return;
    const first = this.#firstFrom(length);
    for (let index = first; index < Math.min(this.#count, first + most); index++) {
      const name = this.#bytes.toString('utf8', this.#starts[index], this.#starts[index + 1]);
      if (!name.startsWith(text)) return;
      yield name;
    }
  }

  get #count(): number {
    return this.#starts.length - 1;
  }

  /** Copies the name to search for into the buffer. Returns its length in bytes; 0 if it is longer than any name in the data. */
  #want(text: string): number {
    return text.length > maxBytes / 3 ? 0 : this.#wanted.write(text);
  }

  /** The first name that is equal to the buffer or comes after it. `length` is in bytes. */
  #firstFrom(length: number): number {
    let low = 0;
    let high = this.#count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#compare(length, middle) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #compare(length: number, index: number): number {
    const bytes = this.#bytes;
    const wanted = this.#wanted;
    const start = this.#starts[index] as number;
    const size = (this.#starts[index + 1] as number) - start;
    const shared = Math.min(size, length);
    for (let at = 0; at < shared; at++) {
      const order = (bytes[start + at] as number) - (wanted[at] as number);
      if (order !== 0) return order;
    }
    return size - length;
  }

  #at(index: number): Namesakes {
    const first = this.#firsts[index] as number;
    return {
      first,
      count: (this.#firsts[index + 1] as number) - first,
      others: this.#others.subarray(this.#otherStarts[index], this.#otherStarts[index + 1]),
    };
  }
}
