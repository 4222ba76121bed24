import type { Item, SpilledRows } from '../../core/item.ts';
import { allSteps, type Plan } from '../../core/plan.ts';
import type { Checkpoint } from '../../io/journal/journal.ts';
import { untouched } from '../../io/output/output.ts';
import type { Format } from '../../io/records/format.ts';
import type { Source } from '../../io/records/readers/source.ts';
import { headerNames, misfit } from '../../io/records/writers/csv-writer.ts';
import { isTable } from '../input-options.ts';

/** Which records are wanted, and where they go. */
export interface Wanted {
  readonly options: { readonly skip?: number; readonly limit?: number };
  readonly plan: Plan;
  /** The output's. */
  readonly format: Format;
  /** What an earlier part of the run has done; absent for nothing. */
  readonly done?: Checkpoint;
  /** Told of each record that is done already, but stands behind others that are not. */
  known?(item: Item): void;
  /** What came of records that wait for others, by their number. */
  readonly kept?: ReadonlyMap<number, SpilledRows>;
}

/** The records that were asked for, but for those that are done already. */
export async function* chosen(source: Source, wanted: Wanted): AsyncGenerator<readonly Item[]> {
  const { options, plan, format, done = untouched, known, kept } = wanted;
  const { skip = 0, limit } = options;
  const last = limit === undefined ? Number.POSITIVE_INFINITY : skip + limit;
  const isDone = within(done.beyond);
  if (last <= Math.max(skip, done.records)) return;
  // The rows of a table are all alike.
  const checked = isTable(format) && !isTable(source.format) ? misfitFinder(plan, source.columns ?? []) : undefined;
  for await (const items of source.batches()) {
    let undone = items.filter(({ number }) => number > skip && number > done.records && number <= last);
    if (done.beyond.length > 0) {
      undone = undone.filter((item) => {
        if (!isDone(item)) return true;
        known?.(item);
        return false;
      });
    }
    if (kept?.size) undone = undone.map((item) => withEarlier(item, kept.get(item.number)));
    if (checked) undone = undone.map(checked);
    if (undone.length > 0) yield undone;
    if ((items.at(-1)?.number ?? 0) >= last) return;
  }
}

/** Whether a record is in one of the ranges. Both come in their order: to look through all of them for each record would take minutes. */
function within(ranges: Checkpoint['beyond']): (item: Item) => boolean {
  let at = 0;
  return ({ number }) => {
    while (number > (ranges[at]?.[1] ?? Number.POSITIVE_INFINITY)) at++;
    return number >= (ranges[at]?.[0] ?? Number.POSITIVE_INFINITY);
  };
}

function withEarlier(item: Item, earlier: SpilledRows | undefined): Item {
  return earlier ? { ...item, parked: earlier } : item;
}

/** Finds records with a field that a table has no column for, and that no node takes away: once sent, they would be paid for, and sent again. */
function misfitFinder(plan: Plan, inputColumns: readonly string[]): (item: Item) => Item {
  /** Names that fit: those that nodes take away are found on the way. Of the others there may be any number. */
  const fitting = new Set(headerNames(plan.columns(inputColumns)));
  const nodes = allSteps(plan.steps).flatMap(({ node }) => (node.inner ? [] : [node]));
  return (item) => {
    if (item.failure || item.parked) return item;
    for (const name of item.fields.keys()) if (isMisfit(name)) return { ...item, failure: misfit(name) };
    return item;
  };

  function isMisfit(name: string): boolean {
    if (fitting.has(name)) return false;
    if (nodes.every((node) => node.columns([name]).includes(name))) return true;
    fitting.add(name);
    return false;
  }
}
