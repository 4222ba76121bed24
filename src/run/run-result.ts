import type { CodedMessage } from '../core/error-code.ts';
import type { Ending } from '../core/event.ts';
import { AutomateError } from '../core/failure.ts';
import type { MonthlyUsage } from '../credits/holds.ts';
import { canResume } from '../output/output-plan.ts';
import { unfinishedPlan } from '../output/replace.ts';
import type { CompleteRun } from '../output/truth-file.ts';
import { dataFolder } from '../places/late-lookups.ts';
import { type SourceName, sources } from '../places/sources.ts';
import { pageView } from '../report/page-view.ts';
import { writeReport, writeSummary } from '../report/report-file.ts';
import { type Attribution, type RunView, runViewOf, summaryJson } from '../report/run-view.ts';
import { exitCodeOf, exitCodeOfRun } from './exit-codes.ts';
import type { OpenRun } from './run-request.ts';

/** The result of a run, even of a run that could not start. */
export interface RunResult {
  /** `failed` if an error ended the run or prevented its start. */
  readonly ending: Ending | 'failed';
  readonly reason: CodedMessage | undefined;
  readonly exitCode: number;
  readonly view: RunView | undefined;
  /** The figures of a run that an error has ended. */
  readonly brokenView?: RunView;
  /** An earlier run had already written the whole output, so that this run had nothing to do. */
  readonly earlier?: CompleteRun;
  /** True for a pilot after which the run is resumed at once. */
  readonly goesOn?: boolean;
  /** Also set if the run is complete but its summary, report or events file could not be written. */
  readonly error: unknown;
}

interface EndOfRecords {
  readonly ending: Ending;
  readonly stopCode: number | undefined;
  /** The monthly credit allowance, and how much of it is used; undefined if there is no allowance. */
  readonly usage: MonthlyUsage | undefined;
}

export async function concludeRun(run: OpenRun, { ending, stopCode, usage }: EndOfRecords): Promise<RunResult> {
  const { request, progress, output, events } = run;
  const { tally } = progress;
  const { failed } = output.saved();
  const keptBecause = keptReason(run, ending);
  const exitCode = stopCode === undefined || ending === 'complete' ? exitCodeOfRun(ending, failed) : stopCode;
  const next = request.words?.next({ run, ending, failed: keptBecause === undefined ? failed : 0 });
  const measured = runViewOf(run, { exitCode, keptBecause, usage, attributions: await attributionsOf(tally.sources), next });
  const pilot = ending === 'pilot' ? await request.pilot?.ended(measured) : undefined;
  const { view, goesOn = false } = pilot ?? { view: measured };
  const ended = { ending, reason: tally.stop, view, goesOn };
  try {
    // Closes the events file before the summary is written. If the last write to it fails, the exit code in the summary must show that.
    await events?.close();
    if (goesOn) return { ...ended, exitCode, error: undefined };
    await writeReportOf(run, view);
    await writeSummaryOf(run, view);
    return { ...ended, exitCode, error: undefined };
  } catch (error) {
    await reportProblem(error, run);
    return { ...ended, exitCode: exitCodeOf(error), error };
  }
}

export function completeAlready(earlier: CompleteRun): RunResult {
  return {
    ending: 'complete',
    reason: undefined,
    exitCode: exitCodeOfRun('complete', earlier.counts.failed),
    view: undefined,
    earlier,
    error: undefined,
  };
}

/** The reason why a run with `replace` has not replaced its output. Undefined if it has, and for a run without `replace`. */
function keptReason({ request, output, claim }: OpenRun, ending: Ending): string | undefined {
  if (!request.options.replace || request.files.isStreamed) return undefined;
  if (ending !== 'complete' && !canResume(request.files)) {
    const { written, failed } = output.saved();
    return `the run is not complete${written + failed === 0 ? '' : `; its results so far are in ${unfinishedPlan(request.files).out}`}`;
  }
  if (ending !== 'complete') return `the ${request.retried ? 'retry' : 'run'} is not complete`;
  return !request.retried && claim.keepsOld(output.saved()) ? 'no record was written' : undefined;
}

/** Returns the result of a run that could not start or was ended by an error. `run` is undefined if the run did not start. */
export async function failedRun(error: unknown, run: OpenRun | undefined): Promise<RunResult> {
  return {
    ending: 'failed',
    reason: error instanceof AutomateError ? error : undefined,
    exitCode: exitCodeOf(error),
    view: undefined,
    brokenView: run && (await reportProblem(error, run)),
    error,
  };
}

/** Writes the summary and the report of a run that an error ended, as far as they can be written. */
async function reportProblem(error: unknown, run: OpenRun): Promise<RunView | undefined> {
  const { request, progress } = run;
  if (!(error instanceof AutomateError)) return undefined;
  const attributions = await attributionsOf(progress.tally.sources).catch(() => undefined);
  const view = runViewOf(run, { exitCode: exitCodeOf(error), problem: request.words?.message(error) ?? error.message, attributions });
  for (const write of [writeReportOf, writeSummaryOf]) await write(run, view).catch(() => undefined);
  return view;
}

async function writeReportOf({ request: { options, files }, session }: OpenRun, view: RunView): Promise<void> {
  if (options.report !== undefined) await writeReport(options.report, pageView(view, files), session.redactor);
}

async function writeSummaryOf({ request: { options }, session }: OpenRun, view: RunView): Promise<void> {
  if (options.summary !== undefined) await writeSummary(options.summary, summaryJson(view), session.redactor);
}

/** Returns the attributions that the data sources require. Reads the dates of the embedded data only if at least one source was used. */
async function attributionsOf(names: ReadonlySet<SourceName>): Promise<readonly Attribution[] | undefined> {
  if (names.size === 0) return undefined;
  const { readNotices } = await import('../places/data/data.ts');
  const dates = new Map((await readNotices(dataFolder)).map(({ source, date }) => [source, date]));
  return [...names].map((source) => ({ source, ...sources[source], ...(dates.has(source) && { date: dates.get(source) }) }));
}
