import { resolve } from 'node:path';
import type { Item } from '../core/item.ts';
import { otherDelimiter, type Plan } from '../core/plan.ts';
import { optionsWith, type RunOptions, valuesOf } from '../core/run-options.ts';
import { listedNames } from '../core/text/suggest.ts';
import type { Redactor } from '../credentials/redact.ts';
import { envOf } from '../files/home.ts';
import { fullPath, realFile } from '../files/stat.ts';
import { filesFolder, openInput } from '../records/inputs.ts';
import { inputError } from '../records/record-reader.ts';
import type { RecordSource } from '../records/source.ts';
import type { FailedList, FoundFailures, ListOfRun } from './journal/failed-list.ts';
import type { Checkpoint } from './journal/journal.ts';
import type { OldOutput } from './old-rows.ts';
import type { EndedOutput } from './output.ts';
import { isFileOrFree, type OutputPlan } from './output-plan.ts';
import { readTruth, truthFactsIn, truthPath } from './truth-file.ts';

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

/** Recognizes the delimiter of the errors file, if it is not the one with which the run has written it. */
async function withDelimiter(options: RunOptions, { columns: { input } }: FoundFailures): Promise<RunOptions> {
  const source = await openInput(options);
  await source.close();
  if (!source.header || source.header.every((name) => input.includes(name))) return options;
  const other = otherDelimiter(source.header);
  return { ...options, delimiter: other };
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
    if (source.header) checkColumns(errors, source.header, list.columns.input);
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

const lastingOptions = optionsWith('lasts', true);

/** The options of a run that are stored in its list of failed records, for later retries. */
export type LastingOptions = Pick<RunOptions, (typeof lastingOptions)[number]>;

export interface ListedRun {
  readonly request: {
    readonly flow: string;
    readonly plan: Plan;
    readonly options: RunOptions;
    readonly files: OutputPlan;
    readonly retried?: FoundFailures;
  };
  /** Empty for JSON. */
  readonly columns: readonly string[];
  readonly redactor: Redactor;
}

/** Undefined if no record failed, or if failed records are not written to a file. */
export function failedListOf({ request, columns, redactor }: ListedRun, ended: EndedOutput): ListOfRun | undefined {
  const { plan, options, flow, files, retried } = request;
  const { saved, out, errors, firstRow, rowsEnd } = ended;
  if (saved.failed === 0 || files.errors === undefined || !isFileOrFree(files.errors)) return undefined;
  const set = JSON.stringify([options.set ?? [], options.var ?? []]);
  // Returns no list if `--set` or `--var` contains a secret. The secret must not be written to a file, and without it, a retry would send
  // different requests.
  if (redactor.json(set) !== set) return undefined;
  const { written = 0, rows = 0, filtered = 0 } = retried?.counts ?? {};
  const allFiltered = filtered + (saved.filtered ?? 0);
  const givenUp = retried ? givenUpOf(retried, saved.records) : 0;
  return {
    path: fullPath(files.out),
    errors,
    flow: fullPath(flow),
    options: lasting(options),
    columns: { input: plan.names.allInFile(columns), output: plan.names.allInFile(plan.columns(columns)) },
    formats: { output: files.format, errors: files.errorsFormat },
    output: { ...out, firstRow, rowsEnd },
    counts: {
      written: written + saved.written,
      failed: saved.failed,
      rows: rows + saved.rows,
      ...(allFiltered > 0 && { filtered: allFiltered }),
      ...(givenUp > 0 && { givenUp }),
    },
  };
}

/** True if a complete run has left what a retry of its failed records needs. */
export function hasFailedList(out: string): boolean {
  return truthFactsIn(truthPath(realFile(out)))?.list !== undefined;
}

/** Undefined if there is none. Throws an AutomateError (`output-exists`) if the file about the output is damaged. */
export async function readFailedList(out: string): Promise<FoundFailures | undefined> {
  const truth = await readTruth(truthPath(realFile(out)));
  return truth?.list && { ...truth.list, failed: truth.failed };
}

/** Failed records that the user has ever deleted from the errors file. `retried` is the number of rows that are left in it. */
export function givenUpOf({ counts: { failed, givenUp = 0 } }: FailedList, retried: number): number {
  return givenUp + failed - retried;
}

function lasting(options: RunOptions): LastingOptions {
  const files = filesFolder(options);
  return {
    ...valuesOf(options, lastingOptions),
    env: envOf(options.env),
    ...(options.cacert !== undefined && { cacert: fullPath(options.cacert) }),
    // The path is absolute, because a retry would look for the folder next to its input, and its input is the errors file.
    ...(files !== undefined && { files: resolve(files) }),
  };
}

/** Finds the position at which a retry inserts a record's rows. After a run with --unordered, this is the end of the output. */
export function oldOutput({ out, format: { gzip } }: OutputPlan, { output, options, failed }: FoundFailures): OldOutput {
  const { firstRow, rowsEnd } = output;
  const placeOf = (record: number) => (options.unordered ? rowsEnd : (failed.placeOf(record) ?? rowsEnd));
  return { path: out, gzip, firstRow, rowsEnd, placeOf };
}
