import type { Columns } from './columns.ts';

/** The places that a name can mean. */
export interface Namesakes {
  /** Places with this name, largest first: the number of the first place, and their count. */
  readonly first: number;
  readonly count: number;
  /** Places that have the name in another language or spelling: the largest place of each country. */
  readonly others: Uint32Array;
}

/** All names of places, in the form of `placeKey`, sorted. */
export class Names {
  readonly #bytes: Buffer;
  readonly #starts: Uint32Array;
  readonly #firsts: Uint32Array;
  readonly #otherStarts: Uint32Array;
  readonly #others: Uint32Array;

  constructor(columns: Columns<unknown>) {
    this.#bytes = columns.bytes('keyBytes');
    this.#starts = columns.starts('keyLengths');
    this.#firsts = columns.starts('namesakes');
    this.#otherStarts = columns.starts('otherCounts');
    this.#others = columns.numbers('others');
  }

  /** Finds a name. */
  find(key: string): Namesakes | undefined {
    const wanted = Buffer.from(key);
    let low = 0;
    let high = this.#starts.length - 2;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const order = this.#bytes.compare(wanted, 0, wanted.length, this.#starts[middle], this.#starts[middle + 1]);
      if (order === 0) return this.#at(middle);
      if (order < 0) low = middle + 1;
      else high = middle - 1;
    }
    return undefined;
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
