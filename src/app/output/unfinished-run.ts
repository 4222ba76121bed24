import { AutomateError } from '../../core/failure.ts';
import { counted, formatCount } from '../../core/text/number.ts';
import type { FailedList } from '../../io/journal/failed-list.ts';
import { type FoundJournal, readJournal } from '../../io/journal/journal.ts';
import { isRegularFile } from '../../io/output/sink.ts';
import type { RunOptions } from '../run-options.ts';
import { type OutputPlan, refuseExistingFiles } from './output-plan.ts';
import { finishRun } from './replace.ts';
import { isReplacing, isRetry } from './run-identity.ts';

/** A retry that claims its output. */
export interface RetryClaim {
  readonly list: FailedList;
  /** True if an unfinished retry is given up. */
  readonly startsOver: boolean;
}

/** The journal to resume from; absent for a run from the beginning, and for one that may be complete. */
export async function findJournal(
  path: string,
  options: RunOptions,
  plan: OutputPlan,
  retry?: RetryClaim,
): Promise<FoundJournal | undefined> {
  // With `force` an existing journal is replaced when the run begins, not before.
  if (options.force) return undefined;
  const found = await readUnfinished(path, options, plan.out);
  if (found && isRetry(found.identity) !== (retry !== undefined)) throw unfinishedRun(found, plan.out, path);
  if (found && !options.resume) {
    // Its files are no output yet: the next run of the same line begins anew.
    if (retry ? retry.startsOver : options.replace && isReplacing(found.identity)) return undefined;
    throw unfinishedRun(found, plan.out, path);
  }
  const mayBeComplete = options.resume && isRegularFile(plan.out);
  if (!found && !options.replace && !mayBeComplete) await refuseExistingFiles(plan);
  return found;
}

/** The journal of an unfinished run. If only the end of a complete one was cut off, that is made up for. */
async function readUnfinished(path: string, { resume, dryRun }: RunOptions, out: string): Promise<FoundJournal | undefined> {
  const found = await readJournal(path);
  if (!found?.isComplete) return found;
  if (!dryRun) await finishFound(out, found);
  return resume ? found : undefined;
}

/** Puts the files of a complete run in their places. */
export function finishFound(out: string, { identity, end, checkpoint }: FoundJournal): Promise<void> {
  return finishRun(out, { identity, ...end, failed: checkpoint?.failed ?? 0 });
}

/** The error for a journal of a run that has not finished its output. */
export function unfinishedRun({ identity, checkpoint, parked }: FoundJournal, out: string, path: string): AutomateError {
  const done = checkpoint?.records ?? 0;
  const waiting = [...parked.keys()].filter((number) => number > done).length;
  const records = `${done === 0 ? 'no record' : counted(done, 'record')} ${done > 1 ? 'are' : 'is'} done`;
  const finished = waiting === 0 ? '' : `, and ${formatCount(waiting)} more finished after one that is not`;
  const isOfRetry = isRetry(identity);
  const message = `an earlier ${isOfRetry ? 'retry' : 'run'} did not finish ${out}: ${records}${finished} (journal: ${path})`;
  return new AutomateError('output-exists', message, { code: 'unfinished-run', details: { out, isRetry: isOfRetry } });
}
