import type { CodedMessage } from '../core/error-code.ts';
import type { Ending } from '../core/event.ts';
import { AutomateError } from '../core/failure.ts';
import type { CompleteRun } from '../io/journal/complete-run.ts';
import type { Usage } from '../io/ledger/holds.ts';
import { exitCodeOf, exitCodeOfRun } from './exit-codes.ts';
import { canResume } from './output/output-plan.ts';
import { keepsOld, unfinishedPlan } from './output/replace.ts';
import { writeReport } from './report/report-file.ts';
import { countsOf, doneOf, type RunCounts, type RunTotals, totalsOf } from './report/run-figures.ts';
import { runViewOf } from './report/run-view-of.ts';
import { attributionsOf, factsOf, type SummaryFacts, summaryJson } from './report/summary.ts';
import { writeSummary } from './report/summary-file.ts';
import type { OpenRun } from './run-request.ts';

/** The end of a run. */
export interface RunResult {
  /** `failed`: an error ended it, or kept it from starting. */
  readonly ending: Ending | 'failed';
  /** The reason why it ended early; undefined for a complete run. */
  readonly reason: CodedMessage | undefined;
  readonly exitCode: number;
  /** Undefined for a run that did not start. */
  readonly counts: RunCounts | undefined;
  /** Undefined for a run that did not start. */
  readonly totals: RunTotals | undefined;
  /** The facts of its summary; undefined if an error ended it. */
  readonly facts: SummaryFacts | undefined;
  /** The run that had written the whole output before, so that this one did nothing; absent for all others. */
  readonly earlier?: CompleteRun;
  /** The error to report. A run that was complete before a file about it could not be written has one, too. */
  readonly error: unknown;
}

/** The end of the records of a run. */
export interface EndOfRecords {
  readonly ending: Ending;
  /** The exit code of the stop that has ended it; undefined for a run that ended by itself. */
  readonly stopCode: number | undefined;
  /** Undefined without an allowance. */
  readonly usage: Usage | undefined;
}

/** Writes the summary and the report of a run that has ended. */
export async function concludeRun(run: OpenRun, { ending, stopCode, usage }: EndOfRecords): Promise<RunResult> {
  const { request, session, progress, output, events } = run;
  const { tally } = progress;
  const { failed } = output.saved();
  const unchanged = unchangedReason(run, ending);
  const exitCode = stopCode === undefined || ending === 'complete' ? exitCodeOfRun(ending, failed) : stopCode;
  const next = request.words?.next({ run, ending, failed: unchanged === undefined ? failed : 0 }) ?? [];
  const facts = { ...factsOf(run), unchanged, usage, attributions: await attributionsOf(tally.sources), exitCode, next };
  const ended = { ending, reason: tally.stop, counts: countsOf(run), totals: totalsOf(run), facts };
  const { report, summary } = request.options;
  try {
    // An events file that cannot be written changes the exit code, so that the summary would be wrong.
    await events?.close();
    if (report !== undefined) await writeReport(report, runViewOf(run, facts), session.redactor);
    if (summary !== undefined) await writeSummary(summary, summaryJson(tally, facts), session.redactor);
    return { ...ended, exitCode, error: undefined };
  } catch (error) {
    await reportProblem(error, run);
    return { ...ended, exitCode: exitCodeOf(error), error };
  }
}

/** The result of a run that finds its output complete: that of the run which has written it. */
export function completeAlready(earlier: CompleteRun): RunResult {
  const { counts } = earlier;
  return {
    ending: 'complete',
    reason: undefined,
    exitCode: exitCodeOfRun('complete', counts.failed),
    counts: { read: doneOf(counts), ...counts, waiting: 0 },
    totals: undefined,
    facts: undefined,
    earlier,
    error: undefined,
  };
}

/** The reason why a run with `replace` has not replaced its output; undefined if it has, and for other runs. */
function unchangedReason({ request, output }: OpenRun, ending: Ending): string | undefined {
  if (!request.options.replace || request.files.isStreamed) return undefined;
  if (ending !== 'complete' && !canResume(request.files)) {
    const { written, failed } = output.saved();
    return `the run is not complete${written + failed === 0 ? '' : `; what it has done is in ${unfinishedPlan(request.files).out}`}`;
  }
  if (ending !== 'complete') return `the ${request.retried ? 'retry' : 'run'} is not complete`;
  return !request.retried && keepsOld(output.saved()) ? 'not one record was written' : undefined;
}

/** The result of a run that an error has ended, or kept from starting. `run`: undefined if it did not start. */
export async function failedRun(error: unknown, run: OpenRun | undefined): Promise<RunResult> {
  if (run) await reportProblem(error, run);
  return {
    ending: 'failed',
    reason: error instanceof AutomateError ? error : undefined,
    exitCode: exitCodeOf(error),
    counts: run && countsOf(run),
    totals: run && totalsOf(run),
    facts: undefined,
    error,
  };
}

/** Writes the summary and the report of a run that an error has ended. */
async function reportProblem(error: unknown, run: OpenRun): Promise<void> {
  const { request, session, progress } = run;
  const { summary, report } = request.options;
  if ((summary ?? report) === undefined || !(error instanceof AutomateError)) return;
  const tally = { ...progress.tally, ms: progress.ms };
  const attributions = await attributionsOf(tally.sources).catch(() => []);
  const problem = request.words?.message(error) ?? error.message;
  const facts = { ...factsOf(run), usage: undefined, attributions, exitCode: exitCodeOf(error), problem, next: [] };
  if (report !== undefined) await writeReport(report, runViewOf(run, facts, tally), session.redactor).catch(() => undefined);
  if (summary !== undefined) await writeSummary(summary, summaryJson(tally, facts), session.redactor).catch(() => undefined);
}
