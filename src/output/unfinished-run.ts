import { AutomateError } from '../core/failure.ts';
import type { RunOptions } from '../core/run-options.ts';
import { counted, formatCount } from '../core/text/number.ts';
import { fullPath, realFile, shownPath } from '../files/stat.ts';
import { type CompleteRun, completeRunPath, readCompleteRun } from './journal/complete-run.ts';
import type { FailedList } from './journal/failed-list.ts';
import { type FoundJournal, readJournal } from './journal/journal.ts';
import type { EndedOutput } from './output.ts';
import { isFileOrFree, type OutputPlan, refuseExistingFiles } from './output-plan.ts';
import { finishRun } from './replace.ts';
import { type Identity, isReplacing, isRetry, knowsInput, refuseOtherRun } from './run-identity.ts';
import { isRegularFile, refuseChangedWhole } from './sink.ts';

export interface RetryClaim {
  readonly list: FailedList;
  /** True to discard an unfinished retry and start from the beginning. */
  readonly startsOver: boolean;
}

/** Undefined for a new run, and for a run that might already be complete. */
export async function findJournal(
  path: string,
  options: RunOptions,
  plan: OutputPlan,
  retry?: RetryClaim,
): Promise<FoundJournal | undefined> {
  // With `force`, the new run ignores the existing journal. It replaces the journal only when its first records start.
  if (options.force) return undefined;
  const found = await readUnfinished(path, options, plan.out);
  if (found && isRetry(found.identity) !== (retry !== undefined)) throw unfinishedRun(found, plan.out, path);
  if (found && !options.resume) {
    // The unfinished run has not replaced any output yet, so the same command can start over.
    if (retry ? retry.startsOver : options.replace && isReplacing(found.identity)) return undefined;
    throw unfinishedRun(found, plan.out, path);
  }
  const mayBeComplete = options.resume && isRegularFile(plan.out);
  if (!found && !options.replace && !mayBeComplete) await refuseExistingFiles(plan);
  return found;
}

/** If a complete run was interrupted while it moved its files into place, does the rest now. */
async function readUnfinished(path: string, { resume, dryRun }: RunOptions, out: string): Promise<FoundJournal | undefined> {
  const found = await readJournal(path);
  if (!found?.isComplete) return found;
  if (!dryRun) await finishFound(out, found);
  return resume ? found : undefined;
}

/** Moves a complete run's output files into place. */
export function finishFound(out: string, { identity, end, checkpoint }: FoundJournal): Promise<void> {
  return finishRun(out, { identity, ...end, failed: checkpoint?.failed ?? 0 });
}

/** Returns the error for an output whose journal shows that its run is unfinished. */
export function unfinishedRun({ identity, checkpoint, parked }: FoundJournal, out: string, path: string): AutomateError {
  const done = checkpoint?.records ?? 0;
  const waiting = [...parked.keys()].filter((number) => number > done).length;
  const records = `${done === 0 ? 'no record' : counted(done, 'record')} ${done > 1 ? 'are' : 'is'} done`;
  const finished = waiting === 0 ? '' : `, and ${formatCount(waiting)} more are finished, but are waiting for an earlier record`;
  const isOfRetry = isRetry(identity);
  const message = `an earlier ${isOfRetry ? 'retry' : 'run'} did not finish ${out}: ${records}${finished} (journal: ${path})`;
  return new AutomateError('output-exists', message, { code: 'unfinished-run', details: { out, isRetry: isOfRetry } });
}

interface WritingRun {
  readonly run: string;
  readonly identity: Identity;
  readonly options: RunOptions;
  readonly plan: OutputPlan;
  readonly retry: RetryClaim | undefined;
}

/**
 * Finds a complete run with `resume` that has already written this output; undefined to start from the beginning. Throws an AutomateError
 * (`output-exists`) if the output belongs to another run, was changed, or was not completed by a run with `resume`.
 */
export async function findCompleteRun({ identity, plan, options, retry }: Omit<WritingRun, 'run'>): Promise<CompleteRun | undefined> {
  const { out } = plan;
  if (!options.resume || !isRegularFile(out)) return undefined;
  const complete = retry ? undefined : await readCompleteRun(completeRunPath(realFile(out)));
  if (!complete) {
    // A retry or a run with `replace` may have been killed before it created a journal (its record of progress). So if there is no note, it
    // starts from the beginning.
    if (retry || options.replace) return undefined;
    const message = `${out} exists, but has no journal of an unfinished run, so there is nothing to resume`;
    throw new AutomateError('output-exists', message, { code: 'nothing-to-resume', details: { out } });
  }
  try {
    refuseOtherRun(complete.identity, identity, out, true);
  } catch (error) {
    // The input or the flow has changed. A run with `replace` may overwrite the complete output.
    if (options.replace) return undefined;
    throw error;
  }
  const { errors } = complete.files;
  await refuseChangedWhole(out, complete.files.out);
  if (errors) await refuseChangedWhole(shownPath(errors.path), errors);
  return complete;
}

/**
 * With this note, repeating the command does nothing. Undefined without `resume`, or if the input cannot be identified, such as stdin. A
 * retry returns the updated note of the run that is retried.
 */
export async function completeRunOf(
  { run, identity, options, plan, retry }: WritingRun,
  ended: EndedOutput,
): Promise<CompleteRun | undefined> {
  const { saved, out, errors } = ended;
  const errorsPath = plan.errors !== undefined && isFileOrFree(plan.errors) ? fullPath(plan.errors) : undefined;
  const files = { out, ...(saved.failed > 0 && errors && errorsPath !== undefined && { errors: { path: errorsPath, ...errors } }) };
  if (!retry) {
    if (!options.resume || plan.isOwn || !(options.noInput || knowsInput(identity))) return undefined;
    const { written, failed, filtered } = saved;
    return { run, identity, counts: { written, failed, filtered }, files };
  }
  const before = await readCompleteRun(completeRunPath(realFile(plan.out)));
  if (before?.run !== retry.list.run) return undefined;
  const counts = { ...before.counts, written: retry.list.counts.written + saved.written, failed: saved.failed };
  return { ...before, run, counts, files };
}
