import type { EndedPart, Item } from '../core/item.ts';
import { allSteps, type Plan } from '../core/plan.ts';
import type { Checkpoint } from '../io/journal.ts';
import { misfit } from '../io/records/csv-writer.ts';
import type { Format } from '../io/records/format.ts';
import { untouched } from '../io/records/output.ts';
import type { Source } from '../io/records/source.ts';
import { isTable } from './input-options.ts';

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
  readonly kept?: ReadonlyMap<number, EndedPart>;
}

/** The records that were asked for, but for those that are done already. */
export async function* chosen(source: Source, wanted: Wanted): AsyncGenerator<readonly Item[]> {
  const { options, plan, format, done = untouched, known, kept } = wanted;
  const { skip = 0, limit } = options;
  const last = limit === undefined ? Number.POSITIVE_INFINITY : skip + limit;
  const isDone = ({ number }: Item) => done.beyond.some(([from, to]) => number >= from && number <= to);
  if (last <= Math.max(skip, done.records)) return;
  // The rows of a table are all alike.
  const checked = isTable(format) && !isTable(source.format) ? misfitFinder(plan, source.columns ?? []) : undefined;
  for await (const items of source.batches()) {
    let undone = items.filter(({ number }) => number > skip && number > done.records && number <= last);
    if (done.beyond.length > 0) {
      for (const item of undone.filter(isDone)) known?.(item);
      undone = undone.filter((item) => !isDone(item));
    }
    if (kept?.size) undone = undone.map((item) => withEarlier(item, kept.get(item.number)));
    if (checked) undone = undone.map(checked);
    if (undone.length > 0) yield undone;
    if ((items.at(-1)?.number ?? 0) >= last) return;
  }
}

function withEarlier(item: Item, earlier: EndedPart | undefined): Item {
  return earlier ? { ...item, earlier } : item;
}

/** Finds records with a field that a table has no column for, and that no node takes away: once sent, they would be paid for, and sent again. */
function misfitFinder(plan: Plan, inputColumns: readonly string[]): (item: Item) => Item {
  const columns = new Set(plan.columns(inputColumns));
  const nodes = allSteps(plan.steps).flatMap(({ node }) => (node.inner ? [] : [node]));
  const found = new Map<string, boolean>();
  return (item) => {
    if (item.failure || item.earlier) return item;
    for (const name of item.fields.keys()) if (isMisfit(name)) return { ...item, failure: misfit(name) };
    return item;
  };

  function isMisfit(name: string): boolean {
    if (columns.has(name)) return false;
    const known = found.get(name) ?? nodes.every((node) => node.columns([name]).includes(name));
    found.set(name, known);
    return known;
  }
}
