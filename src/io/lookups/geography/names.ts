import type { Columns } from './columns.ts';

/** The places that a name can mean. */
export interface Namesakes {
  /** Places with this name, largest first: the number of the first place, and their count. */
  readonly first: number;
  readonly count: number;
  /** Places that have the name in another language or spelling: the largest place of each region or district. */
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
    const index = this.#firstFrom(wanted);
    return index < this.#count && this.#compare(wanted, index) === 0 ? this.#at(index) : undefined;
  }

  /** At most `most` names that begin with a text. */
  *startingWith(text: string, most: number): Generator<string> {
    const first = this.#firstFrom(Buffer.from(text));
    for (let index = first; index < Math.min(this.#count, first + most); index++) {
      const name = this.#bytes.toString('utf8', this.#starts[index], this.#starts[index + 1]);
      if (!name.startsWith(text)) return;
      yield name;
    }
  }

  get #count(): number {
    return this.#starts.length - 1;
  }

  /** The index of the first name that is not before a text. */
  #firstFrom(wanted: Buffer): number {
    let low = 0;
    let high = this.#count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#compare(wanted, middle) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #compare(wanted: Buffer, index: number): number {
    return this.#bytes.compare(wanted, 0, wanted.length, this.#starts[index], this.#starts[index + 1]);
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
