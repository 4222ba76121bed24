import type { RememberedRows } from './memory-file.ts';

/** The text of an output into which a retry inserts rows. `firstRow` is the position of its first row. */
export interface MergedText {
  readonly firstRow: number;
  /** Size in bytes of the separator that precedes every row except the first. */
  readonly between: number;
}

/**
 * Yields the memory file's entries for an output into which a retry has inserted rows, in the order of the output. `old` are the earlier
 * output's entries with their old positions. `inserted` are the entries of the inserted rows with their new positions.
 */
export async function* mergedRecords(
  old: AsyncIterable<RememberedRows>,
  inserted: AsyncIterable<RememberedRows>,
  { firstRow, between }: MergedText,
): AsyncGenerator<RememberedRows> {
  const more = inserted[Symbol.asyncIterator]();
  const next = async () => (await more.next()).value as RememberedRows | undefined;
  let shift = 0;
  /**
   * True if a row was inserted before the first old row. A separator is then needed before that old row, which shifts all rows after it.
   */
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
