import type { Item } from '../../core/item.ts';

/** How far a run is in its input. */
export interface InputProgress {
  /** A record is done. */
  done(item: Item): void;
  /** Every record up to this number is done; the input goes on at the place. */
  readonly records: number;
  readonly end: Item['end'];
  /** Ranges of records behind it that are done, too. */
  beyond(): [number, number][];
}

/** Records that are done, one behind the other. */
interface Range {
  first: number;
  last: number;
  /** The place behind the last. */
  end: Item['end'];
}

/** Follows the records that are done, in whatever order. `from`: the beginning, or where an earlier run got to. */
export function createInputProgress(from: { readonly records: number; readonly offset: number; readonly line: number }): InputProgress {
  let { records } = from;
  let end: Item['end'] = { offset: from.offset, line: from.line };
  const byFirst = new Map<number, Range>();
  const byLast = new Map<number, Range>();
  return {
    get records() {
      return records;
    },
    get end() {
      return end;
    },
    done(item) {
      const range = joined(item);
      if (range.first === records + 1) {
        records = range.last;
        end = range.end;
      } else {
        byFirst.set(range.first, range);
        byLast.set(range.last, range);
      }
    },
    beyond: () => [...byFirst.values()].sort((a, b) => a.first - b.first).map(({ first, last }) => [first, last]),
  };

  /** With what is done right before and right behind it. */
  function joined({ number, end }: Item): Range {
    const before = byLast.get(number - 1);
    const behind = byFirst.get(number + 1);
    for (const range of [before, behind]) {
      if (!range) continue;
      byFirst.delete(range.first);
      byLast.delete(range.last);
    }
    return { first: before?.first ?? number, last: behind?.last ?? number, end: behind?.end ?? end };
  }
}
