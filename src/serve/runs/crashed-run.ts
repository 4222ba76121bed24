import { type Checkpoint, journalPath, readJournal } from '../../io/journal/journal.ts';
import type { RunFolder } from './run-folder.ts';
import { noTotals, type StoredRun, type Totals } from './stored-run.ts';

/** The totals at a checkpoint. Its credits replace the credits in the notes of the process. */
export function totalsAt({ notes, credits }: Checkpoint): Totals {
  return { ...noTotals, ...(notes as Partial<Totals> | undefined), credits };
}

/** The figures of a run that a crash has interrupted, from the last checkpoint in its journal; absent without a checkpoint. */
export async function figuresOnDisk(folder: RunFolder, { format }: StoredRun): Promise<Pick<StoredRun, 'counts' | 'totals'> | undefined> {
  // A damaged journal stops the resumption, with its reason.
  const found = await readJournal(journalPath(folder.output(format))).catch(() => undefined);
  if (!found?.checkpoint) return undefined;
  const { written, failed, records } = found.checkpoint;
  const totals = totalsAt(found.checkpoint);
  const waiting = [...found.parked.keys()].filter((number) => number > records).length;
  return { totals, counts: { read: written + failed, written, failed, retries: totals.retries, waiting } };
}
