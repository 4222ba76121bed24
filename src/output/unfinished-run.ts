import { detailsOf } from '../core/error-code.ts';
import { AutomateError } from '../core/failure.ts';
import type { RunOptions } from '../core/run-options.ts';
import { counted, formatCount } from '../core/text/number.ts';
import { fullPath, realFile, shownPath, statOf } from '../files/stat.ts';
import type { FailedList } from './journal/failed-list.ts';
import { type FoundJournal, journalPath, readJournal } from './journal/journal.ts';
import type { EndedOutput } from './output.ts';
import { isFileOrFree, type OutputPlan, refuseExistingFiles } from './output-plan.ts';
import { finishRun } from './replace.ts';
import { type Identity, isReplacing, isRetry, knowsInput, refuseOtherRun } from './run-identity.ts';
import { isRegularFile, refuseChangedWhole } from './sink.ts';
import { type CompleteRun, readTruth, truthPath } from './truth-file.ts';

export interface RetryClaim {
  readonly list: FailedList;
  /** True to discard an unfinished retry and start from the beginning. */
  readonly startsOver: boolean;
}

/**
 * The files on disk for an output. Two files decide: the log of a run that is under way (`OUT.automate-run`), and the truth about the finished
 * output (`OUT.automate`). No other file is asked.
 *
 * | state      | output    | log                     | truth                                                |
 * | ---------- | --------- | ----------------------- | ---------------------------------------------------- |
 * | free       | none      | none                    | is ignored                                           |
 * | foreign    | any       | none                    | none: another program, or a run that had to tell nothing |
 * | finished   | whole     | none                    | of the run that wrote the output                     |
 * | unfinished | see below | without its end         | of the old output, if the run replaces it, else none |
 * | moving     | old or new | with its end           | old or new                                           |
 *
 * An unfinished run writes the output itself, or, with `replace`, `update` and in a retry, part files (`OUT.automate-part`).
 *
 * | state      | `run`    | `resume`                                  | `retry`                 | `replace`          | `update`            |
 * | ---------- | -------- | ----------------------------------------- | ----------------------- | ------------------ | ------------------- |
 * | free       | runs     | runs                                      | refused                 | runs               | runs                |
 * | foreign    | refused  | refused (with `replace`: runs)            | refused                 | runs               | refused             |
 * | finished   | refused  | does nothing, if the truth says the same  | runs the failed records | runs               | reuses its rows     |
 * | unfinished | refused  | continues                                 | refused, or continues a retry | starts over a run with `replace` | as `run` |
 * | moving     | the moves are done first, and the state is then `finished`                                                          |
 *
 * With `force`, `run` begins in every state.
 *
 * What is on disk before what (fsync): each checkpoint after the rows that it counts; the part files and the truth before the end of the log;
 * the end of the log before the first move (errors file, truth, output); the folder after the last move, and before the log is removed.
 */
type FoundOutput =
  | { readonly state: 'free' | 'foreign' | 'finished'; readonly journal?: undefined }
  | { readonly state: 'unfinished' | 'moving'; readonly journal: FoundJournal };

export async function findOutput(out: string): Promise<FoundOutput> {
  const file = realFile(out);
  const journal = await readJournal(journalPath(file));
  if (journal) return { state: journal.end ? 'moving' : 'unfinished', journal };
  if (!isRegularFile(out)) return { state: 'free' };
  return { state: statOf(truthPath(file)) ? 'finished' : 'foreign' };
}

/** The log with which a run continues; undefined for a new run, and for a run that might already be complete. */
export async function findJournal(options: RunOptions, plan: OutputPlan, retry?: RetryClaim): Promise<FoundJournal | undefined> {
  const { force, resume, replace, dryRun } = options;
  // With `force`, the new run ignores the existing journal. It replaces the journal only when its first records start.
  if (force) return undefined;
  const { state, journal } = await findOutput(plan.out);
  if (state === 'moving' && !dryRun) await finishFound(plan.out, journal);
  if (state === 'unfinished' || (state === 'moving' && resume)) {
    if (isRetry(journal.identity) !== (retry !== undefined)) throw unfinishedRun(journal, plan.out);
    if (resume) return journal;
    // The unfinished run has not replaced any output yet, so the same command can start over.
    if (retry ? retry.startsOver : replace && isReplacing(journal.identity)) return undefined;
    throw unfinishedRun(journal, plan.out);
  }
  if (!replace && !(resume && state !== 'free')) await refuseExistingFiles(plan);
  return undefined;
}

/** Moves a complete run's output files into place. */
export function finishFound(out: string, { identity, end, checkpoint }: FoundJournal): Promise<void> {
  return finishRun(out, { identity, hasTruth: end?.hasTruth ?? false, failed: checkpoint?.failed ?? 0 });
}

/** Returns the error for an output whose journal shows that its run is unfinished. */
export function unfinishedRun({ identity, checkpoint, parked }: FoundJournal, out: string): AutomateError {
  const done = checkpoint?.records ?? 0;
  const waiting = [...parked.keys()].filter((number) => number > done).length;
  const records = `${done === 0 ? 'no record' : counted(done, 'record')} ${done > 1 ? 'are' : 'is'} done`;
  const finished = waiting === 0 ? '' : `, and ${formatCount(waiting)} more are finished, but are waiting for an earlier record`;
  const isOfRetry = isRetry(identity);
  const message = `an earlier ${isOfRetry ? 'retry' : 'run'} did not finish ${out}: ${records}${finished} (journal: ${journalPath(realFile(out))})`;
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
  const complete = retry ? undefined : await readNote(out);
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

/** Undefined if there is none, or if it is damaged. */
async function readNote(out: string): Promise<CompleteRun | undefined> {
  const truth = await readTruth(truthPath(realFile(out))).catch((error: unknown) => {
    if (detailsOf(error, 'update-refused')) return undefined;
    throw error;
  });
  return truth?.note;
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
  const before = await readNote(plan.out);
  if (before?.run !== retry.list.run) return undefined;
  const counts = { ...before.counts, written: retry.list.counts.written + saved.written, failed: saved.failed };
  return { ...before, run, counts, files };
}
