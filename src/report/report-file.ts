import { randomUUID } from 'node:crypto';
import { access, constants, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AutomateError } from '../core/failure.ts';
import { version } from '../core/version.ts';
import type { Redactor } from '../credentials/masking/redact.ts';
import { namingErrors } from '../files/naming-errors.ts';
import { realFile, statOf } from '../files/stat.ts';
import type { RunView } from './run-view.ts';
import { maskedView } from './run-view-of.ts';

/**
 * Writes the report of a run as one HTML file, with secrets masked. The file is replaced atomically, so that a reader never sees half a
 * report.
 */
export async function writeReport(path: string, view: RunView, redactor: Redactor): Promise<void> {
  // Loaded only now, because most commands write no report.
  const { reportHtml } = await import('../ui/report.tsx');
  const masked = maskedView(view, redactor);
  const file = realFile(path);
  const part = `${file}.${randomUUID().slice(0, 8)}.part`;
  try {
    await namingErrors(path, 'written', () => writeFile(part, reportHtml(masked, version), { flag: 'wx' }));
    await namingErrors(path, 'written', () => rename(part, file));
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

/**
 * Checks before a run that the report can be written, without writing anything. Throws an AutomateError (`output`) if the report cannot be
 * written.
 */
export async function beginReport(path: string): Promise<void> {
  const found = statOf(path);
  if (found?.isDirectory()) throw new AutomateError('output', `${path} cannot be written: it is a folder`);
  if (found && !found.isFile()) throw new AutomateError('output', `${path} cannot be written: expected a file, found a pipe or a device`);
  // With `/.`, the check also fails if the parent path is not a folder.
  await namingErrors(path, 'written', () => access(`${dirname(realFile(path))}/.`, constants.W_OK));
}
