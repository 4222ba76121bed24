import { chmod, rename, rm } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { syncFolder } from '../../../io/files/folder.ts';
import { namingErrors } from '../../../io/files/naming-errors.ts';
import { realFile, statOf } from '../../../io/files/stat.ts';
import type { Checkpoint } from '../../../io/journal/journal.ts';
import { isRegularFile } from '../../../io/output/sink.ts';
import { isFileOrFree, type OutputPlan } from './output-plan.ts';

/** The files that a run with --replace writes until it is complete: beside those that they will replace. */
export function partsOf(plan: OutputPlan): OutputPlan {
  const { out, errors } = plan;
  return { ...plan, out: partPath(out), errors: errors !== undefined && isFileOrFree(errors) ? partPath(errors) : errors };
}

function partPath(path: string): string {
  return `${realFile(path)}.automate-part`;
}

/** True for a run that wrote nothing of what it read: it replaces nothing. */
export function keepsOld({ written, failed }: Pick<Checkpoint, 'written' | 'failed'>): boolean {
  return written === 0 && failed > 0;
}

/** Deletes the parts of an earlier run. */
export async function removeParts({ out, errors }: Pick<OutputPlan, 'out' | 'errors'>): Promise<void> {
  await rm(partPath(out), { force: true });
  if (errors !== undefined && isFileOrFree(errors)) await rm(partPath(errors), { force: true });
}

/**
 * Puts the parts of a complete run in place of the old files. Without failed records the old errors file is deleted.
 * Goes on where an earlier call was cut off. Throws an AutomateError (`output`).
 */
export async function swapIn(out: string, errors: string | undefined, failed: number): Promise<void> {
  if (errors !== undefined && isAbsolute(errors)) {
    if (failed > 0) await replace(errors);
    else await namingErrors(errors, 'written', () => rm(errors, { force: true }));
  }
  await replace(out);
}

async function replace(path: string): Promise<void> {
  const [file, part] = [realFile(path), partPath(path)];
  if (!isRegularFile(part)) return;
  await namingErrors(path, 'written', async () => {
    const mode = statOf(file)?.mode;
    if (mode !== undefined) await chmod(part, mode & 0o777);
    await rename(part, file);
    await syncFolder(file);
  });
}
