import type { Columns } from './columns.ts';

/** The places that a name can mean. */
export interface Namesakes {
  /** Places with this name, largest first: the number of the first place, and their count. */
  readonly first: number;
  readonly count: number;
  /** Places that have the name in another language or spelling: the largest place of each region or district. */
  readonly others: Uint32Array;
}

/** More bytes than the text that is looked for can have: texts of a third of these characters at most. */
const maxBytes = 768;

/** All names of places, in the form of `placeKey`, sorted. */
export class Names {
  readonly #bytes: Buffer;
  readonly #starts: Uint32Array;
  readonly #firsts: Uint32Array;
  readonly #otherStarts: Uint32Array;
  readonly #others: Uint32Array;

  /** Bytes of the name that is looked for: lookups allocate nothing. */
  readonly #wanted = Buffer.alloc(maxBytes);

  constructor(columns: Columns<unknown>) {
    this.#bytes = columns.bytes('keyBytes');
    this.#starts = columns.starts('keyLengths');
    this.#firsts = columns.starts('namesakes');
    this.#otherStarts = columns.starts('otherCounts');
    this.#others = columns.numbers('others');
  }

  /** Finds a name. */
  find(key: string): Namesakes | undefined {
    const length = this.#want(key);
    if (length === 0) return undefined;
    const index = this.#firstFrom(length);
    return index < this.#count && this.#compare(length, index) === 0 ? this.#at(index) : undefined;
  }

  /** At most `most` names that begin with a text. */
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

  /** Notes the text that is looked for. Returns its length in bytes; 0 if no name is that long. */
  #want(text: string): number {
    return text.length > maxBytes / 3 ? 0 : this.#wanted.write(text);
  }

  /** The index of the first name that is not before the text that is looked for. */
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
