import { type Item, type Place, placeOf } from '../../core/item.ts';
import type { Checkpoint } from './journal.ts';

/** Consecutive finished records. */
interface Range {
  first: number;
  last: number;
  /** The place after the last record. */
  end: Item['end'];
}

/** Follows how far a run is in its input, whatever the order in which records finish. */
export class InputProgress {
  #records: number;
  #end: Item['end'];
  /** Finished ranges after the first unfinished record. */
  readonly #byFirst = new Map<number, Range>();
  readonly #byLast = new Map<number, Range>();

  /** `from`: the beginning, or the checkpoint of an earlier run. */
  constructor({ records, offset, line, file }: Pick<Checkpoint, 'records' | keyof Place>) {
    this.#records = records;
    this.#end = { offset, line, ...(file !== undefined && { file }) };
  }

  /** Adds a finished record. */
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

  /** The number of records that are finished without a gap, the place after them, and the finished ranges beyond. */
  reached(): Pick<Checkpoint, 'records' | 'beyond' | keyof Place> {
    const ranges = [...this.#byFirst.values()].sort((a, b) => a.first - b.first);
    return { records: this.#records, ...this.#end, beyond: ranges.map(({ first, last }) => [first, last]) };
  }

  #joinNeighbours(item: Item): Range {
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
