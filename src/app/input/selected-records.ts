import { type Item, placeOf } from '../../core/item.ts';
import { allSteps, type Plan } from '../../core/plan.ts';
import type { Checkpoint } from '../../io/journal/journal.ts';
import type { ParkedRecords, RenderedRows } from '../../io/journal/parked-records.ts';
import { untouched } from '../../io/output/output.ts';
import type { Format } from '../../io/records/format.ts';
import type { Source } from '../../io/records/readers/source.ts';
import { headerNames, noColumn } from '../../io/records/writers/csv-writer.ts';
import { isTable } from './input.ts';

/** The records to process, and their output. */
export interface Selection {
  readonly options: { readonly skip?: number; readonly limit?: number };
  readonly plan: Plan;
  /** The output's format. */
  readonly format: Format;
  /** The checkpoint of an earlier run; absent for none. */
  readonly done?: Checkpoint;
  /** Receives each record that an earlier run finished after an unfinished one. */
  skipped?(item: Item): void;
  /** The rows of records that an earlier run parked. */
  readonly parked?: ParkedRecords<RenderedRows> | undefined;
  /** Gives a record its old rows, if it has not changed since an earlier run. */
  readonly takeOver?: ((item: Item) => Item) | undefined;
}

/** Selects the records between --skip and --limit, without those that an earlier run has finished. */
export async function* selectRecords(source: Source, selection: Selection): AsyncGenerator<readonly Item[]> {
  const { options, plan, format, done = untouched, skipped, parked, takeOver } = selection;
  const { skip = 0, limit } = options;
  const last = limit === undefined ? Number.POSITIVE_INFINITY : skip + limit;
  const isDone = inRanges(done.beyond);
  if (last <= Math.max(skip, done.records)) return;
  // The rows of an input table all have the same fields, which compile has checked.
  const checked = isTable(format) && !isTable(source.format) ? columnCheck(plan, source.columns ?? []) : undefined;
  for await (const items of source.read()) {
    let left = items.filter((item) => {
      const place = placeOf(item);
      return place > skip && place > done.records && place <= last;
    });
    if (done.beyond.length > 0) {
      left = left.filter((item) => {
        if (!isDone(item)) return true;
        skipped?.(item);
        return false;
      });
    }
    if (parked?.size) left = left.map((item) => withParked(item, parked.get(placeOf(item))));
    if (checked) left = left.map(checked);
    if (takeOver) left = left.map(takeOver);
    if (left.length > 0) yield left;
    const end = items.at(-1);
    if (end && placeOf(end) >= last) return;
  }
}

/** Tells if a record is in one of the ranges. Records and ranges come in order: searching all ranges per record would take minutes. */
function inRanges(ranges: Checkpoint['beyond']): (item: Item) => boolean {
  let at = 0;
  return (item) => {
    const number = placeOf(item);
    while (number > (ranges[at]?.[1] ?? Number.POSITIVE_INFINITY)) at++;
    return number >= (ranges[at]?.[0] ?? Number.POSITIVE_INFINITY);
  };
}

function withParked(item: Item, parked: RenderedRows | undefined): Item {
  return parked ? { ...item, parked } : item;
}

/**
 * Fails records with a field for which the output table has no column, unless a node removes it: the failure after the requests
 * would cost their credits, and those of every retry.
 */
function columnCheck(plan: Plan, inputColumns: readonly string[]): (item: Item) => Item {
  /** Names that fit. Those that a node removes are added as they are found: there may be any number of others. */
  const fitting = new Set(headerNames(plan.columns(inputColumns)));
  const nodes = allSteps(plan.steps).flatMap(({ node }) => (node.inner ? [] : [node]));
  return (item) => {
    if (item.failure || item.parked) return item;
    for (const name of item.fields.keys()) if (!fits(name)) return { ...item, failure: noColumn(name) };
    return item;
  };

  function fits(name: string): boolean {
    if (fitting.has(name)) return true;
    if (nodes.every((node) => node.columns([name]).includes(name))) return false;
    fitting.add(name);
    return true;
  }
}
