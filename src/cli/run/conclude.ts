import { exitCodeOf, exitCodeOfRun, signalExitCode } from '../../app/exit-codes.ts';
import type { OutputPlan } from '../../app/output/output-plan.ts';
import { keepsOld } from '../../app/output/replace.ts';
import { attributionsOf } from '../../app/report/attributions.ts';
import { writeReport } from '../../app/report/report-file.ts';
import { factsOf } from '../../app/report/run-facts.ts';
import { runViewOf } from '../../app/report/run-view-of.ts';
import { writeSummary } from '../../app/report/summary-file.ts';
import type { Ending } from '../../core/event.ts';
import { AutomateError } from '../../core/failure.ts';
import { counted, formatCount } from '../../core/text/number.ts';
import type { Checkpoint } from '../../io/journal/journal.ts';
import type { Usage } from '../../io/ledger/holds.ts';
import { quietText, type SummaryFacts, summaryJson, summaryText } from '../show/run/summary.ts';
import { nextSteps, resumeCommand } from './next-steps.ts';
import type { OpenRun } from './open-run.ts';

/** Waits for a run to end and closes its output, so that finished records are written whatever happens. */
export async function endOf(ended: Promise<Ending>, { output, request, files }: OpenRun): Promise<Ending> {
  try {
    const ending = await ended;
    await output.close(ending === 'complete');
    return ending;
  } catch (error) {
    await output.close(false).catch(() => undefined);
    if (error instanceof AutomateError && error.kind === 'input' && !request.options.replace)
      throw withDoneRecords(error, output.saved(), { request, files });
    if (!(error instanceof AutomateError) || error.kind !== 'output' || files.isStreamed) throw error;
    const { records } = output.saved();
    const done = `${counted(records, 'record')} ${records === 1 ? 'is' : 'are'} done; once that is solved, resume with`;
    throw new AutomateError('output', `${error.message}\n${done}:\n  ${resumeCommand(request)}`, { cause: error });
  }
}

/** Adds the records before the fault of an input, which are done, and the options for the rest. */
function withDoneRecords(
  error: AutomateError,
  checkpoint: Checkpoint,
  { request, files }: Pick<OpenRun, 'request' | 'files'>,
): AutomateError {
  const { records, written, failed } = checkpoint;
  if (written + failed === 0) return error;
  const { isStreamed, errors } = files;
  // Unless it was named, the errors file of another output is another file.
  const keepsErrors = failed > 0 && errors !== undefined && (isStreamed || request.options.errors !== undefined);
  const others = [...(isStreamed ? [] : ['--out']), ...(keepsErrors ? ['--errors'] : [])];
  const rest = `--skip ${records}${others.length === 0 ? '' : `, and another ${others.join(' and ')}`}`;
  const done = doneText(written, failed, files);
  return new AutomateError('input', `${error.message}\n${done}; once the input is corrected, run the rest with ${rest}`, { cause: error });
}

function doneText(written: number, failed: number, { out, errors }: OutputPlan): string {
  const before = `${counted(written + failed, 'record')} before that`;
  const [outName, errorsName] = [out, errors].map((path) => (path === '-' ? 'stdout' : path));
  if (failed === 0) return `the ${before} went to ${outName}`;
  if (errors === undefined) return `of the ${before}, ${formatCount(written)} went to ${outName}, and ${formatCount(failed)} failed`;
  if (written === 0) return `the ${before} failed and went to ${errorsName}`;
  return `of the ${before}, ${formatCount(written)} went to ${outName}, and ${formatCount(failed)} failed and went to ${errorsName}`;
}

/** A run that has ended by itself or by a signal. */
export interface ConcludedRun extends OpenRun {
  readonly ending: Ending;
  readonly signal: NodeJS.Signals | undefined;
  /** Absent without an allowance. */
  readonly usage: Usage | undefined;
}

/** Prints and writes the summary of a run. Returns the exit code. */
export async function concludeRun(run: ConcludedRun): Promise<number> {
  const { request, plan, files, terminal, ending, signal, tally, output, events, usage } = run;
  const { options } = request;
  const { failed } = output.saved();
  const unchanged = unchangedReason(run);
  const exitCode = signal === undefined || ending === 'complete' ? exitCodeOfRun(ending, failed) : signalExitCode(signal);
  const ended = { plan, ending, tally, files, failed: unchanged === undefined ? failed : 0 };
  const attributions = await attributionsOf(tally.sources);
  const facts = { ...factsOf(run), unchanged, usage, attributions, exitCode, next: [...nextSteps(request, ended), ...restoreSteps(run)] };
  const text = (options.quiet ? quietText : summaryText)(tally, facts, terminal.colors);
  if (text !== '') terminal.say(text);
  // An events file that cannot be written changes the exit code, so that the summary would be wrong.
  await events?.close();
  if (options.report !== undefined) await writeReport(options.report, runViewOf(run, facts), terminal);
  if (options.summary !== undefined) await writeSummary(options.summary, summaryJson(tally, facts), terminal);
  return exitCode;
}

/** The reason why a run with --replace has not replaced its output; absent if it has, and for other runs. */
function unchangedReason({ request, ending, output, retried }: ConcludedRun): string | undefined {
  if (!request.options.replace) return undefined;
  if (ending !== 'complete') return `the ${retried ? 'retry' : 'run'} is not complete`;
  return !retried && keepsOld(output.saved()) ? 'not one record was written' : undefined;
}

/** Writes the summary file and the report of a run that an error has ended after `ms`. The error itself is printed by main. */
export async function reportProblem(error: unknown, run: OpenRun, ms: number): Promise<void> {
  const { request, terminal } = run;
  const { summary, report } = request.options;
  if ((summary ?? report) === undefined || !(error instanceof AutomateError)) return;
  const tally = { ...run.tally, ms };
  const attributions = await attributionsOf(tally.sources).catch(() => []);
  const facts = { ...factsOf(run), usage: undefined, attributions, exitCode: exitCodeOf(error), problem: error.message, next: [] };
  if (report !== undefined) await writeReport(report, runViewOf({ ...run, tally }, facts), terminal).catch(() => undefined);
  if (summary !== undefined) await writeSummary(summary, summaryJson(tally, facts), terminal).catch(() => undefined);
}

/** A refused secret that was set recently may be the wrong one. */
function restoreSteps({ tally, credentials }: OpenRun): SummaryFacts['next'] {
  if (![...tally.failures.values()].some(({ status }) => status === 401 || status === 403)) return [];
  const why = 'if the new secret was refused, bring back the previous one with';
  return credentials.restoreCommands().map((command) => ({ why, command }));
}
