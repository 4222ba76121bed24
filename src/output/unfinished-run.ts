import { AutomateError } from '../core/failure.ts';
import type { RunOptions } from '../core/run-options.ts';
import { counted, formatCount } from '../core/text/number.ts';
import type { FailedList } from './journal/failed-list.ts';
import { type FoundJournal, readJournal } from './journal/journal.ts';
import { type OutputPlan, refuseExistingFiles } from './output-plan.ts';
import { finishRun } from './replace.ts';
import { isReplacing, isRetry } from './run-identity.ts';
import { isRegularFile } from './sink.ts';

/** A retry that is about to claim its output. */
export interface RetryClaim {
  readonly list: FailedList;
  /** True to discard an unfinished retry and start from the beginning. */
  readonly startsOver: boolean;
}

/** Finds the journal from which a run is resumed. Returns undefined for a new run, and for a run that might already be complete. */
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

/** Reads the journal of an unfinished run. If a complete run was interrupted while it moved its files into place, does the rest now. */
async function readUnfinished(path: string, { resume, dryRun }: RunOptions, out: string): Promise<FoundJournal | undefined> {
  const found = await readJournal(path);
  if (!found?.isComplete) return found;
  if (!dryRun) await finishFound(out, found);
  return resume ? found : undefined;
}

/** Moves the output files of a complete run into place, using its journal. */
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
