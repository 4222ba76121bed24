import { chmod, rename, rm } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { syncFolder } from '../../io/files/folder.ts';
import { namingErrors } from '../../io/files/naming-errors.ts';
import { realFile, statOf } from '../../io/files/stat.ts';
import { completeRunPath, writeCompleteRun } from '../../io/journal/complete-run.ts';
import { failedListPath, writeFailedList } from '../../io/journal/failed-list.ts';
import { errorsFileKey, type Identity } from '../../io/journal/identity.ts';
import { type Checkpoint, type JournalEnd, journalPath, marksOf, readIdentity } from '../../io/journal/journal.ts';
import { isRegularFile } from '../../io/output/sink.ts';
import { savedNamesPath } from '../../io/transfers/saved-names.ts';
import { memoryPath } from '../../io/update/memory-file.ts';
import { isFileOrFree, type OutputPlan } from './output-plan.ts';

/** The files that a run with --replace writes until it is complete: beside those that they will replace. */
export function partPlan(plan: OutputPlan): OutputPlan {
  const { out, errors } = plan;
  return { ...plan, out: partPath(out), errors: errors !== undefined && isFileOrFree(errors) ? partPath(errors) : errors };
}

function partPath(path: string): string {
  return `${realFile(path)}.automate-part`;
}

/** The files that such a run leaves beside them if it ends early, and cannot be resumed. */
export function unfinishedPlan(plan: OutputPlan): OutputPlan {
  const named = (path: string) => path.replace(/(\.[^./\\]+)?$/, '.unfinished$1');
  const { out, errors } = plan;
  return { ...plan, out: named(out), errors: errors !== undefined && isFileOrFree(errors) ? named(errors) : errors };
}

/** True for a run that wrote nothing of what it read: it replaces nothing. */
export function keepsOld({ written, failed }: Pick<Checkpoint, 'written' | 'failed'>): boolean {
  return written === 0 && failed > 0;
}

/** Deletes the parts of an earlier run, and the list of the files that it saved. */
export async function removeParts({ out, errors }: Pick<OutputPlan, 'out' | 'errors'>): Promise<void> {
  await rm(partPath(out), { force: true });
  await rm(memoryPart(out), { force: true });
  await rm(retriedMemory(out), { force: true });
  await rm(savedNamesPath(realFile(out)), { force: true });
  if (errors !== undefined && isFileOrFree(errors)) await rm(partPath(errors), { force: true });
}

/** A complete run whose files are not all in their places. */
export interface EndedRun extends JournalEnd {
  readonly identity: Identity;
  readonly failed: number;
}

/**
 * Ends a complete run: puts the parts in place of the old files, if it has any, and the list of failed records and the note beside them;
 * then removes the journal. Without failed records the old errors file and the old list are deleted. Goes on where an earlier call was cut off.
 * Throws an AutomateError (`output`).
 */
export async function finishRun(out: string, { identity, list, note, remembers, failed }: EndedRun): Promise<void> {
  const [journal, listPath] = [journalPath(realFile(out)), failedListPath(realFile(out))];
  const errors = identity[errorsFileKey] ?? '';
  const draft = `${listPath}.new`;
  if (list) await writeFailedList(draft, list, marksOf(journal));
  await namingErrors(out, 'written', async () => {
    await removeOldErrors(out, identity);
    if (isAbsolute(errors)) await (failed > 0 ? replace(errors) : removeFile(errors));
    await (list ? rename(draft, listPath) : rm(listPath, { force: true }));
    await removeNote(out);
    await (remembers ? replace(memoryPath(realFile(out))) : removeMemory(out));
    await replace(out);
    await syncFolder(realFile(out));
    if (isAbsolute(errors) && failed > 0) await syncFolder(errors);
  });
  await rm(savedNamesPath(realFile(out)), { force: true });
  if (note) await writeCompleteRun(completeRunPath(realFile(out)), note);
  // Without a sync after it: should a crash bring the journal back, the next command ends the run once more.
  await namingErrors(journal, 'written', () => rm(journal, { force: true }));
}

/** Deletes the errors file that the list of failed records names, unless a run with this identity writes the same one. */
export async function removeOldErrors(out: string, identity: Identity): Promise<void> {
  const old = (await readIdentity(failedListPath(realFile(out))))?.[errorsFileKey] ?? '';
  if (isAbsolute(old) && old !== identity[errorsFileKey]) await removeFile(old);
}

/** Deletes the note of an earlier complete run. */
export async function removeNote(out: string): Promise<void> {
  await rm(completeRunPath(realFile(out)), { force: true });
}

/** Deletes the memory of an earlier output. */
export async function removeMemory(out: string): Promise<void> {
  await rm(memoryPath(realFile(out)), { force: true });
}

/** The path at which the memory of a run with --update grows. */
export function memoryPart(out: string): string {
  return partPath(memoryPath(realFile(out)));
}

/** The path at which the records of a retry are remembered until it is complete. */
export function retriedMemory(out: string): string {
  return `${memoryPart(out)}.new`;
}

/** A pipe or a device stays. */
async function removeFile(path: string): Promise<void> {
  if (isRegularFile(path)) await rm(path);
}

async function replace(path: string): Promise<void> {
  const [file, part] = [realFile(path), partPath(path)];
  if (!isRegularFile(part)) return;
  const mode = statOf(file)?.mode;
  if (mode !== undefined) await chmod(part, mode & 0o777);
  await rename(part, file);
}
