import type { CodedMessage } from '../core/error-code.ts';
import type { Ending } from '../core/event.ts';
import { AutomateError } from '../core/failure.ts';
import type { MonthlyUsage } from '../credits/holds.ts';
import type { CompleteRun } from '../output/journal/complete-run.ts';
import { canResume } from '../output/output-plan.ts';
import { keepsOld, unfinishedPlan } from '../output/replace.ts';
import { writeReport, writeSummary } from '../report/report-file.ts';
import { runViewOf } from '../report/run-view-of.ts';
import { attributionsOf, factsOf, type SummaryFacts, summaryJson } from '../report/summary.ts';
import { exitCodeOf, exitCodeOfRun } from './exit-codes.ts';
import type { OpenRun } from './run-request.ts';

/** The result of a run, even of a run that could not start. */
export interface RunResult {
  /** `failed` if an error ended the run or prevented its start. */
  readonly ending: Ending | 'failed';
  readonly reason: CodedMessage | undefined;
  readonly exitCode: number;
  /** Undefined if an error ended the run. */
  readonly facts: SummaryFacts | undefined;
  /** An earlier run had already written the whole output, so that this run had nothing to do. */
  readonly earlier?: CompleteRun;
  /** Also set if the run is complete but its summary, report or events file could not be written. */
  readonly error: unknown;
}

interface EndOfRecords {
  readonly ending: Ending;
  readonly stopCode: number | undefined;
  /** The monthly credit allowance, and how much of it is used; undefined if there is no allowance. */
  readonly usage: MonthlyUsage | undefined;
}

/** Writes the summary and the report. */
export async function concludeRun(run: OpenRun, { ending, stopCode, usage }: EndOfRecords): Promise<RunResult> {
  const { request, session, progress, output, events } = run;
  const { tally } = progress;
  const { failed } = output.saved();
  const unchanged = unchangedReason(run, ending);
  const exitCode = stopCode === undefined || ending === 'complete' ? exitCodeOfRun(ending, failed) : stopCode;
  const next = request.words?.next({ run, ending, failed: unchanged === undefined ? failed : 0 }) ?? [];
  const facts = { ...factsOf(run), unchanged, usage, attributions: await attributionsOf(tally.sources), exitCode, next };
  const ended = { ending, reason: tally.stop, facts };
  const { report, summary } = request.options;
  try {
    // Closes the events file before the summary is written. If the last write to it fails, the exit code in the summary must show that.
    await events?.close();
    if (report !== undefined) await writeReport(report, runViewOf(run, facts), session.redactor);
    if (summary !== undefined) await writeSummary(summary, summaryJson(tally, facts), session.redactor);
    return { ...ended, exitCode, error: undefined };
  } catch (error) {
    await reportProblem(error, run);
    return { ...ended, exitCode: exitCodeOf(error), error };
  }
}

/** The output was already complete. */
export function completeAlready(earlier: CompleteRun): RunResult {
  return {
    ending: 'complete',
    reason: undefined,
    exitCode: exitCodeOfRun('complete', earlier.counts.failed),
    facts: undefined,
    earlier,
    error: undefined,
  };
}

/** Why a run with `replace` has not replaced its output. Undefined if it has, and for a run without `replace`. */
function unchangedReason({ request, output }: OpenRun, ending: Ending): string | undefined {
  if (!request.options.replace || request.files.isStreamed) return undefined;
  if (ending !== 'complete' && !canResume(request.files)) {
    const { written, failed } = output.saved();
    return `the run is not complete${written + failed === 0 ? '' : `; its results so far are in ${unfinishedPlan(request.files).out}`}`;
  }
  if (ending !== 'complete') return `the ${request.retried ? 'retry' : 'run'} is not complete`;
  return !request.retried && keepsOld(output.saved()) ? 'no record was written' : undefined;
}

/** Returns the result of a run that could not start or was ended by an error. `run` is undefined if the run did not start. */
export async function failedRun(error: unknown, run: OpenRun | undefined): Promise<RunResult> {
  if (run) await reportProblem(error, run);
  return {
    ending: 'failed',
    reason: error instanceof AutomateError ? error : undefined,
    exitCode: exitCodeOf(error),
    facts: undefined,
    error,
  };
}

/** Writes the summary and the report. */
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
