import type { Item } from '../core/item.ts';
import { otherDelimiter } from '../core/plan.ts';
import type { RunOptions } from '../core/run-options.ts';
import { listedNames } from '../core/text/suggest.ts';
import { isTable, openInput } from '../records/inputs.ts';
import { inputError } from '../records/record-reader.ts';
import type { RecordSource } from '../records/source.ts';
import type { FoundFailures } from './journal/failed-list.ts';
import type { Checkpoint } from './journal/journal.ts';

/**
 * Rows can be in any order and have any common delimiter, because a spreadsheet program might have saved the file. Records keep their
 * numbers and, unless unordered, that order. Throws an AutomateError (`input`) for a record that did not fail or occurs twice, or for other
 * columns than the input's.
 */
export async function openFailedRecords(given: RunOptions, from: Checkpoint, list: FoundFailures): Promise<RecordSource> {
  const options = await withDelimiter(given, list);
  const inOrder = await checkRecords(await openInput(options), options, list);
  const sorts = !inOrder && !options.unordered;
  const source = await openInput(options, sorts ? undefined : from);
  return { ...source, columns: list.columns.input, read: () => (sorts ? sorted(source) : retried(source)) };
}

/** Uses the delimiter of the errors file's header, if it differs from the format's usual one. */
async function withDelimiter(options: RunOptions, { columns: { input } }: FoundFailures): Promise<RunOptions> {
  const source = await openInput(options);
  await source.close();
  const columns = source.columns ?? [];
  const other = isTable(source.format) && !columns.every((name) => input.includes(name)) ? otherDelimiter(columns) : undefined;
  return other === undefined ? options : { ...options, delimiter: other };
}

async function* retried(source: RecordSource): AsyncGenerator<readonly Item[]> {
  for await (const items of source.read()) yield items.map((item) => retriedItem(item, item.number));
}

/** Sorts by number, in memory. The records fit, because they did in the spreadsheet program that saved the file. */
async function* sorted(source: RecordSource): AsyncGenerator<readonly Item[]> {
  const all: Item[] = [];
  for await (const items of source.read()) all.push(...items);
  all.sort((one, other) => (one.failedAs ?? 0) - (other.failedAs ?? 0));
  for (let at = 0; at < all.length; at += itemsAtOnce) {
    yield all.slice(at, at + itemsAtOnce).map((item, index) => retriedItem(item, at + index + 1));
  }
}

const itemsAtOnce = 500;

function retriedItem(item: Item, place: number): Item {
  return { ...item, number: item.failedAs ?? item.number, place };
}

/** Throws if a record cannot be retried. Returns true if the records are in the order of their numbers. */
async function checkRecords(source: RecordSource, { in: errors, out }: RunOptions, list: FoundFailures): Promise<boolean> {
  try {
    if (isTable(source.format)) checkColumns(errors, source.columns ?? [], list.columns.input);
    const seen = new Set<number>();
    let last = 0;
    let inOrder = true;
    for await (const items of source.read()) {
      for (const item of items) {
        const number = numberOf(item, errors, out, list);
        if (seen.has(number)) throw wrongRow(errors, item, `record ${number} appears a second time\nremove one of the two rows`);
        inOrder &&= number > last;
        last = number;
        seen.add(number);
      }
    }
    return inOrder;
  } finally {
    await source.close();
  }
}

/** The record's number in the run in which it failed. */
function numberOf(item: Item, errors: string, out: string, { failed }: FoundFailures): number {
  const { failedAs, failure } = item;
  if (failedAs !== undefined && failed.placeOf(failedAs) !== undefined) return failedAs;
  const found = failedAs ?? 'none';
  const reason =
    failedAs === undefined && failure
      ? failure.message
      : `expected the number of a failed record of ${out} in _error_record, found ${found}`;
  throw wrongRow(errors, item, `${reason}\nrestore the row, or remove it to give up the record`);
}

/** The message contains the number of the row's last line. */
function wrongRow(errors: string, { end }: Item, message: string) {
  return inputError(errors, message, { line: end.line });
}

function checkColumns(errors: string, columns: readonly string[], expected: readonly string[]): void {
  const missing = expected.filter((name) => !columns.includes(name));
  const more = columns.filter((name) => !expected.includes(name));
  const names = (some: readonly string[]) => listedNames(some, (name) => `"${name}"`);
  if (missing.length > 0)
    throw inputError(
      errors,
      `expected the columns of the input, but ${names(missing)} ${missing.length === 1 ? 'is' : 'are'} missing\nrestore the header`,
      { line: 1 },
    );
  if (more.length > 0)
    throw inputError(
      errors,
      `expected only the columns of the input, found ${names(more)} in addition\nremove the columns that were added`,
      { line: 1 },
    );
}
