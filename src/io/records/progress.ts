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

/** Follows the records that are done, in whatever order. `from`: the beginning, or where an earlier run got to. */
export function createInputProgress(from: { readonly records: number; readonly offset: number; readonly line: number }): InputProgress {
  let { records } = from;
  let end: Item['end'] = { offset: from.offset, line: from.line };
  const ahead = new Map<number, Item['end']>();
  return {
    get records() {
      return records;
    },
    get end() {
      return end;
    },
    done(item) {
      if (item.number > records + 1) {
        ahead.set(item.number, item.end);
        return;
      }
      let next: Item['end'] | undefined = item.end;
      while (next) {
        records++;
        end = next;
        next = ahead.get(records + 1);
        ahead.delete(records + 1);
      }
    },
    beyond() {
      const ranges: [number, number][] = [];
      for (const number of [...ahead.keys()].sort((a, b) => a - b)) {
        const last = ranges.at(-1);
        if (last?.[1] === number - 1) last[1] = number;
        else ranges.push([number, number]);
      }
      return ranges;
    },
  };
}
