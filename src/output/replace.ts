import { chmod, rename, rm } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { syncFolder } from '../files/folder.ts';
import { namingErrors } from '../files/naming-errors.ts';
import { fullPath, realFile, statOf } from '../files/stat.ts';
import { type JournalEnd, journalPath } from './journal/journal.ts';
import { isFileOrFree, type OutputPlan } from './output-plan.ts';
import type { Identity } from './run-identity.ts';
import { isRegularFile, refuseChangedWhole } from './sink.ts';
import { truthFactsIn, truthPath } from './truth-file.ts';

/** The files that a run with --replace writes. When it is complete, they replace the old files next to them. */
export function partPlan(plan: OutputPlan): OutputPlan {
  return withPaths(plan, partPath);
}

function withPaths({ out, errors, ...plan }: OutputPlan, named: (path: string) => string): OutputPlan {
  return { ...plan, out: named(out), errors: errors !== undefined && isFileOrFree(errors) ? named(errors) : errors };
}

export function partPath(path: string): string {
  return `${realFile(path)}.automate-part`;
}

/** The place to which a run with --replace that ends early and cannot be resumed moves its part files, next to the old files. */
export function unfinishedPlan(plan: OutputPlan): OutputPlan {
  return withPaths(plan, (path) => path.replace(/(\.[^./\\]+)?$/, '.unfinished$1'));
}

export async function removeParts({ out, errors, gone }: Pick<OutputPlan, 'out' | 'errors' | 'gone'>): Promise<void> {
  await rm(partPath(out), { force: true });
  await rm(truthPart(out), { force: true });
  await rm(retriedTruth(out), { force: true });
  if (errors !== undefined && isFileOrFree(errors)) await rm(partPath(errors), { force: true });
  if (gone) await rm(partPath(gone.out), { force: true });
}

/** A complete run whose files still have to be moved into place. */
interface RunToMove extends JournalEnd {
  readonly identity: Pick<Identity, 'errorsFile' | 'goneFile'>;
  readonly failed: number;
}

/**
 * Moves the part files of errors file, gone file, truth and output into place, and removes the journal. If no record failed, deletes the
 * old errors file. If the process is killed, a further call does the rest: see `FoundOutput`. Throws an AutomateError (`output`) if a file
 * cannot be written.
 */
export async function finishRun(out: string, { identity, hasTruth, failed }: RunToMove): Promise<void> {
  const journal = journalPath(realFile(out));
  const { errorsFile: errors, goneFile: gone } = identity;
  await namingErrors(out, 'written', async () => {
    await removeOldErrors(out, identity);
    if (isAbsolute(errors)) await (failed > 0 ? replace(errors) : removeFile(errors));
    if (gone !== undefined) await replace(gone);
    await (hasTruth ? replace(truthPath(realFile(out))) : removeTruth(out));
    await replace(out);
    await syncFolder(realFile(out));
    if (isAbsolute(errors) && failed > 0) await syncFolder(errors);
    if (gone !== undefined) await syncFolder(gone);
    await rm(retriedTruth(out), { force: true });
  });
  // The folder is not synced to disk. If a crash restores the journal, the next command finishes the run once more.
  await namingErrors(journal, 'written', () => rm(journal, { force: true }));
}

/**
 * Deletes the errors file that the output's truth names, unless the run with this identity writes to the same file. Leaves a file that the
 * user has changed, and the files of another output, whose truth was copied or moved here.
 */
export async function removeOldErrors(out: string, { errorsFile }: Pick<Identity, 'errorsFile'>): Promise<void> {
  const { path, errors, identity } = truthFactsIn(truthPath(realFile(out)))?.list ?? {};
  const old = identity?.errorsFile ?? 'none';
  if (!isAbsolute(old) || old === errorsFile || path !== fullPath(out) || !errors || !isRegularFile(out)) return;
  const isUnchanged = await refuseChangedWhole(old, errors).then(
    () => true,
    () => false,
  );
  if (isUnchanged) await removeFile(old);
}

export async function removeTruth(out: string): Promise<void> {
  await rm(truthPath(realFile(out)), { force: true });
}

/** The truth about an output until its run is complete. */
export function truthPart(out: string): string {
  return partPath(truthPath(realFile(out)));
}

/** The records that a retry remembers, until it is complete. */
export function retriedTruth(out: string): string {
  return `${truthPart(out)}.new`;
}

/** Leaves pipes and devices alone. */
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
