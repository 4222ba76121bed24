import type { FailureReport } from '../core/event.ts';
import { failureOf } from '../core/failure-form.ts';
import { type Item, placeOf } from '../core/item.ts';
import { allSteps, type Plan } from '../core/plan.ts';
import { headerNames, noColumn } from '../records/csv-writer.ts';
import { type Format, traitsOf } from '../records/formats.ts';
import type { RecordSource } from '../records/source.ts';
import type { Checkpoint } from './journal/journal.ts';
import type { ParkedFailure, ParkedRecords, RenderedRows } from './journal/parked-records.ts';
import { untouched } from './output.ts';

interface Selection {
  readonly options: { readonly skip?: number; readonly limit?: number };
  readonly plan: Plan;
  readonly format: Format;
  /** The checkpoint of the earlier run; undefined for a new run. */
  readonly done?: Checkpoint;
  /** Receives each record that is already finished although a record before it is unfinished. */
  skipped?(item: Item): void;
  /** Rows of records that an earlier part of the run finished but did not write, because an earlier record was unfinished. */
  readonly parked?: ParkedRecords<RenderedRows>;
  /** Receives the failures of a parked record that `on_error: keep` has passed through. */
  passed?(item: Item, failures: readonly FailureReport[]): void;
  /** The places of the records of a pilot; undefined for all records. */
  readonly only?: ReadonlySet<number>;
  /** Adds the rows of the previous run with `update` if the record has not changed since then. */
  readonly takeOver?: (item: Item) => Item;
}

/** Applies --skip and --limit, and leaves out finished records. */
export async function* selectRecords(source: RecordSource, selection: Selection): AsyncGenerator<readonly Item[]> {
  const { options, plan, format, done = untouched, skipped, parked, passed, only, takeOver } = selection;
  const { skip = 0, limit } = options;
  const last = limit === undefined ? Number.POSITIVE_INFINITY : skip + limit;
  const isDone = inRanges(done.beyond);
  if (last <= Math.max(skip, done.records)) return;
  // No check if the input is also a table: all its records have the same fields, which were checked when the flow was compiled.
  const checked = traitsOf(format).hasHeader && !source.header ? columnCheck(plan, source.columns ?? []) : undefined;
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
    if (only) left = left.filter((item) => only.has(placeOf(item)));
    if (parked?.size) left = left.map((item) => withParked(item, parked.get(placeOf(item)), passed));
    if (checked) left = left.map(checked);
    if (takeOver) left = left.map(takeOver);
    if (left.length > 0) yield left;
    const end = items.at(-1);
    if (end && placeOf(end) >= last) return;
  }
}

/** The returned function must receive the records in order, because it never searches earlier ranges. */
function inRanges(ranges: Checkpoint['beyond']): (item: Item) => boolean {
  let at = 0;
  return (item) => {
    const number = placeOf(item);
    while (number > (ranges[at]?.[1] ?? Number.POSITIVE_INFINITY)) at++;
    return number >= (ranges[at]?.[0] ?? Number.POSITIVE_INFINITY);
  };
}

function withParked(item: Item, parked: RenderedRows | ParkedFailure | undefined, passed: Selection['passed']): Item {
  if (!parked) return item;
  if ('failure' in parked) return { ...item, failure: failureOf(parked.failure) };
  if (parked.passed) passed?.(item, parked.passed);
  return { ...item, parked };
}

/**
 * Fails a record with a field that the output table lacks and no node removes, before it sends requests. Otherwise it would fail when its
 * row is written, and would waste the cost of its requests on every retry.
 */
function columnCheck(plan: Plan, inputColumns: readonly string[]): (item: Item) => Item {
  /** Field names that fit the table. Names that a node removes are added when they first occur, because there can be any number of them. */
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
