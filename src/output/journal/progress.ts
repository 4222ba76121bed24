import { type Item, placeOf, type TextPosition } from '../../core/item.ts';
import type { Checkpoint } from './journal.ts';

interface RecordRange {
  first: number;
  last: number;
  /** The position in the input after the last record of the range. */
  end: Item['end'];
}

/** Records may finish in any order. */
export class InputProgress {
  #records: number;
  #end: Item['end'];
  /** Finished records after the first unfinished one, by the number of their first record. */
  readonly #byFirst = new Map<number, RecordRange>();
  readonly #byLast = new Map<number, RecordRange>();

  /** Starts after the records that an earlier run's checkpoint lists as finished. */
  constructor({ records, offset, line, file }: Pick<Checkpoint, 'records' | keyof TextPosition>) {
    this.#records = records;
    this.#end = { offset, line, ...(file !== undefined && { file }) };
  }

  add(item: Item): void {
    const range = this.#joinNeighbours(item);
    if (range.first === this.#records + 1) {
      this.#records = range.last;
      this.#end = range.end;
    } else {
      this.#byFirst.set(range.first, range);
      this.#byLast.set(range.last, range);
    }
  }

  /** Counts up to the first unfinished record and gives the input position there, and the ranges of finished records after it. */
  reached(): Pick<Checkpoint, 'records' | 'beyond' | keyof TextPosition> {
    const ranges = [...this.#byFirst.values()].sort((a, b) => a.first - b.first);
    return { records: this.#records, ...this.#end, beyond: ranges.map(({ first, last }) => [first, last]) };
  }

  #joinNeighbours(item: Item): RecordRange {
    const number = placeOf(item);
    const before = this.#byLast.get(number - 1);
    const after = this.#byFirst.get(number + 1);
    for (const range of [before, after]) {
      if (!range) continue;
      this.#byFirst.delete(range.first);
      this.#byLast.delete(range.last);
    }
    return { first: before?.first ?? number, last: after?.last ?? number, end: after?.end ?? item.end };
  }
}
