import type { Item } from '../../core/item.ts';
import { listedNames } from '../../core/text/suggest.ts';
import type { FoundFailures } from '../../io/journal/failed-list.ts';
import type { Checkpoint } from '../../io/journal/journal.ts';
import { inputError } from '../../io/records/readers/record-reader.ts';
import type { Source } from '../../io/records/readers/source.ts';
import type { RunOptions } from '../run-options.ts';
import { isTable, openInput } from './input.ts';

/**
 * Opens an errors file. Its records have the numbers of the run in which they failed. Throws an AutomateError (`input`) unless every
 * record is one that failed in that run, once, and the columns are those of the input.
 */
export async function openFailedRecords(options: RunOptions, from: Checkpoint, list: FoundFailures): Promise<Source> {
  await checkRecords(await openInput(options), options, list);
  const source = await openInput(options, from);
  return { ...source, columns: list.columns.input, read: () => retried(source) };
}

async function* retried(source: Source): AsyncGenerator<readonly Item[]> {
  for await (const items of source.read())
    yield items.map((item) => ({ ...item, number: item.failedAs ?? item.number, place: item.number }));
}

async function checkRecords(source: Source, options: RunOptions, list: FoundFailures): Promise<void> {
  const { in: errors, out, unordered } = options;
  try {
    if (isTable(source.format)) checkColumns(errors, source.columns ?? [], list.columns.input);
    const seen = new Set<number>();
    let last = 0;
    for await (const items of source.read()) {
      for (const item of items) {
        const number = numberOf(item, errors, out, list);
        if (unordered ? seen.has(number) : number === last)
          throw wrongRow(errors, item, `record ${number} stands here for the second time\nremove one of the rows`);
        if (!unordered && number < last)
          throw wrongRow(errors, item, `record ${number} stands after record ${last}\nsort the rows by _error_record`);
        last = number;
        if (unordered) seen.add(number);
      }
    }
  } finally {
    await source.close();
  }
}

/** The number of the record in the run in which it failed. */
function numberOf(item: Item, errors: string, out: string, { failed }: FoundFailures): number {
  const { failedAs, failure } = item;
  if (failedAs !== undefined && failed.placeOf(failedAs) !== undefined) return failedAs;
  const found = failedAs ?? 'none';
  const reason =
    failedAs === undefined && failure
      ? failure.message
      : `expected the number of a failed record of ${out} in _error_record, found ${found}`;
  throw wrongRow(errors, item, `${reason}\nrestore the row, or remove it to give the record up`);
}

/** The line is that on which the row ends. */
function wrongRow(errors: string, { end }: Item, message: string) {
  return inputError(errors, message, { line: end.line });
}

function checkColumns(errors: string, columns: readonly string[], expected: readonly string[]): void {
  const missing = expected.filter((name) => !columns.includes(name));
  const more = columns.filter((name) => !expected.includes(name));
  const names = (some: readonly string[]) => listedNames(some, (name) => `"${name}"`);
  if (missing.length > 0)
    throw inputError(errors, `expected the columns of the input, found none named ${names(missing)}\nrestore the header`, { line: 1 });
  if (more.length > 0)
    throw inputError(errors, `expected the columns of the input, found ${names(more)} as well\nremove what was added`, { line: 1 });
}
