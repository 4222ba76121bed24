import { AutomateError } from '../core/failure.ts';
import type { RunOptions } from '../core/run-options.ts';
import { fullPath, realFile, shownPath } from '../files/stat.ts';
import { type CompleteRun, completeRunPath, readCompleteRun } from './journal/complete-run.ts';
import type { Identity } from './journal/identity.ts';
import type { EndedOutput } from './output.ts';
import { isFileOrFree, type OutputPlan } from './output-plan.ts';
import { knowsInput, refuseOtherRun, withoutVersion } from './run-identity.ts';
import { isRegularFile, refuseChangedWhole } from './sink.ts';
import type { RetryClaim } from './unfinished-run.ts';

/** A run or retry that writes an output file. */
export interface WritingRun {
  readonly run: string;
  readonly identity: Identity;
  readonly options: RunOptions;
  readonly plan: OutputPlan;
  readonly retry: RetryClaim | undefined;
}

/**
 * Finds the note (a file next to the output) of a complete run with `resume` that has already written this run's output. Returns undefined
 * if the run has to start from the beginning. Throws an AutomateError (`output-exists`) if the output belongs to another run, was changed,
 * or was not completed by a run with `resume`.
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
  // The versions of automate may differ: nothing is left to write, so the output cannot mix rows of different versions.
  const [before, now] = [withoutVersion(complete.identity), withoutVersion(identity)];
  try {
    refuseOtherRun(before, now, out, true);
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
 * Returns the note that a complete run leaves next to its output. Because of the note, the same command does nothing if it is repeated.
 * Returns undefined if the run was started without `resume`, or if the input cannot be identified, as when it is stdin. For a retry,
 * returns the updated note of the run that is retried.
 */
export async function completeRunOf(
  { run, identity, options, plan, retry }: WritingRun,
  ended: EndedOutput,
): Promise<CompleteRun | undefined> {
  const { saved, out, errors } = ended;
  const errorsPath = plan.errors !== undefined && isFileOrFree(plan.errors) ? fullPath(plan.errors) : undefined;
  const files = { out, ...(saved.failed > 0 && errors && errorsPath !== undefined && { errors: { path: errorsPath, ...errors } }) };
  if (!retry) {
    if (!options.resume || plan.isOwn || !(options.noInput || knowsInput(identity, options))) return undefined;
    const { written, failed, filtered } = saved;
    return { run, identity, counts: { written, failed, ...(filtered !== undefined && { filtered }) }, files };
  }
  const before = await readCompleteRun(completeRunPath(realFile(plan.out)));
  if (before?.run !== retry.list.run) return undefined;
  const counts = { ...before.counts, written: retry.list.counts.written + saved.written, failed: saved.failed };
  return { ...before, run, counts, files };
}
