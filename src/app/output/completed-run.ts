import { AutomateError } from '../../core/failure.ts';
import { fullPath, realFile, shownPath } from '../../io/files/stat.ts';
import { type CompleteRun, completeRunPath, readCompleteRun } from '../../io/journal/complete-run.ts';
import type { Identity } from '../../io/journal/identity.ts';
import type { EndedOutput } from '../../io/output/output.ts';
import { isRegularFile, refuseChangedWhole } from '../../io/output/sink.ts';
import type { RunOptions } from '../run-options.ts';
import { isFileOrFree, type OutputPlan } from './output-plan.ts';
import { knowsInput, refuseOtherRun, withoutVersion } from './run-identity.ts';
import type { RetryClaim } from './unfinished-run.ts';

/** A run or a retry that writes an output. */
export interface WritingRun {
  readonly run: string;
  readonly identity: Identity;
  readonly options: RunOptions;
  readonly plan: OutputPlan;
  readonly retry: RetryClaim | undefined;
}

/**
 * The complete run that wrote the output of this run with `resume`; undefined if the run begins anew. Throws an AutomateError
 * (`output-exists`) if the output is another's or was changed, or if no run with `resume` has completed it.
 */
export async function findCompleteRun({ identity, plan, options, retry }: Omit<WritingRun, 'run'>): Promise<CompleteRun | undefined> {
  const { out } = plan;
  if (!options.resume || !isRegularFile(out)) return undefined;
  const complete = retry ? undefined : await readCompleteRun(completeRunPath(realFile(out)));
  if (!complete) {
    // A retry, and a run that replaces its output, may have been killed before their journal was there: they begin anew.
    if (retry || options.replace) return undefined;
    const message = `${out} exists, and has no journal of an unfinished run: there is nothing to resume`;
    throw new AutomateError('output-exists', message, { code: 'nothing-to-resume', details: { out } });
  }
  // Nothing is left to write, so another version would not mix its rows with those of this one.
  const [before, now] = [withoutVersion(complete.identity), withoutVersion(identity)];
  try {
    refuseOtherRun(before, now, out, true);
  } catch (error) {
    // Its input or its flow is new: with replace, the complete output may be replaced.
    if (options.replace) return undefined;
    throw error;
  }
  const { errors } = complete.files;
  await refuseChangedWhole(out, complete.files.out);
  if (errors) await refuseChangedWhole(shownPath(errors.path), errors);
  return complete;
}

/**
 * The note that a complete run leaves; undefined if it was not started with `resume`, or if nothing tells its input from another, as with
 * stdin. A retry brings the note of its run up to date.
 */
export async function completeRunOf(
  { run, identity, options, plan, retry }: WritingRun,
  ended: EndedOutput,
): Promise<CompleteRun | undefined> {
  const { saved, out, errors } = ended;
  const errorsPath = plan.errors !== undefined && isFileOrFree(plan.errors) ? fullPath(plan.errors) : undefined;
  const files = { out, ...(saved.failed > 0 && errors && errorsPath !== undefined && { errors: { path: errorsPath, ...errors } }) };
  if (!retry) {
    if (!options.resume || plan.isOwn || !(knowsInput(identity) || options.noInput)) return undefined;
    const { written, failed, filtered } = saved;
    return { run, identity, counts: { written, failed, ...(filtered !== undefined && { filtered }) }, files };
  }
  const before = await readCompleteRun(completeRunPath(realFile(plan.out)));
  if (before?.run !== retry.list.run) return undefined;
  const counts = { ...before.counts, written: retry.list.counts.written + saved.written, failed: saved.failed };
  return { ...before, run, counts, files };
}
