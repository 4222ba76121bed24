import { resolve } from 'node:path';
import type { Plan } from '../core/plan.ts';
import type { RunOptions } from '../core/run-options.ts';
import type { Redactor } from '../credentials/redact.ts';
import { envOf } from '../files/home.ts';
import { fullPath, realFile, statOf } from '../files/stat.ts';
import { filesFolder } from '../records/inputs.ts';
import { type FailedList, type FoundFailures, failedListPath, type ListOfRun } from './journal/failed-list.ts';
import type { OldOutput } from './old-rows.ts';
import type { EndedOutput } from './output.ts';
import { isFileOrFree, type OutputPlan } from './output-plan.ts';

/** Stored with a run's failed records, because a retry uses these options, too. */
const lastingOptions = ['set', 'var', 'unordered', 'csvSafe', 'env', 'allowHttp', 'cacert', 'files', 'concurrency', 'rate'] as const;

/** The options of a run that are stored in its list of failed records, for later retries. */
export type LastingOptions = Pick<RunOptions, (typeof lastingOptions)[number]>;

interface ListedRun {
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
  const { saved, out, firstRow, rowsEnd } = ended;
  if (saved.failed === 0 || files.errors === undefined || !isFileOrFree(files.errors)) return undefined;
  const set = JSON.stringify([options.set ?? [], options.var ?? []]);
  // Returns no list if `--set` or `--var` contains a secret. The secret must not be written to a file, and without it, a retry would send
  // different requests.
  if (redactor.json(set) !== set) return undefined;
  const { written = 0, rows = 0, filtered = 0 } = retried?.counts ?? {};
  const allFiltered = filtered + (saved.filtered ?? 0);
  const givenUp = retried ? givenUpOf(retried, saved.records) : 0;
  return {
    flow: fullPath(flow),
    options: lasting(options),
    columns: { input: columns, output: plan.columns(columns) },
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

/** True if a complete run has left a list of failed records next to its output, so that a retry can run them. */
export function hasFailedList({ out }: OutputPlan): boolean {
  return statOf(failedListPath(realFile(out))) !== undefined;
}

/** Failed records that the user has ever deleted from the errors file. `retried` is the number of rows that are left in it. */
export function givenUpOf({ counts: { failed, givenUp = 0 } }: FailedList, retried: number): number {
  return givenUp + failed - retried;
}

function lasting(options: RunOptions): LastingOptions {
  const given = Object.fromEntries(lastingOptions.map((name) => [name, options[name]])) as unknown as LastingOptions;
  const files = filesFolder(options);
  return {
    ...given,
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
