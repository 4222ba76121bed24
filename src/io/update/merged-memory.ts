import type { RememberedRows } from './memory-file.ts';

/** The output of a retry, and what its text has between rows. */
export interface MergedText {
  readonly firstRow: number;
  /** Bytes of the text before every row but the first. */
  readonly between: number;
}

/**
 * The records of an output into which a retry has inserted rows, in the order of the output. `old`: those of the output before, with their
 * old places. `inserted`: those of the retry, with their new places.
 */
export async function* mergedRecords(
  old: AsyncIterable<RememberedRows>,
  inserted: AsyncIterable<RememberedRows>,
  { firstRow, between }: MergedText,
): AsyncGenerator<RememberedRows> {
  const more = inserted[Symbol.asyncIterator]();
  const next = async () => (await more.next()).value as RememberedRows | undefined;
  let shift = 0;
  /** True if rows were inserted before the first old row, which then has a separator that it did not have. */
  let separates = false;
  let insert = await next();
  for await (const entry of old) {
    if (separates && entry.start > firstRow) {
      shift += between;
      separates = false;
    }
    for (; insert && insert.start - shift <= entry.start; insert = await next()) {
      if (insert.start === firstRow && insert.end > firstRow) separates = true;
      shift += insert.end - insert.start;
      yield insert;
    }
    const start = entry.start + shift;
    if (separates && entry.end > firstRow) {
      shift += between;
      separates = false;
    }
    yield { ...entry, start, end: entry.end + shift };
  }
  for (; insert; insert = await next()) yield insert;
}
