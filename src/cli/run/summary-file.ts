import { access, constants, truncate, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AutomateError } from '../../core/failure.ts';
import { namingErrors } from '../../io/files/naming-errors.ts';
import { statOf } from '../../io/files/stat.ts';
import { createStreamSink } from '../../io/output/sink.ts';
import type { Terminal } from '../terminal.ts';

/**
 * Finds out before a run what would be in the way of its summary, and empties it: that of an earlier run says nothing of this one,
 * however it ends. Throws an AutomateError (`output`).
 */
export async function beginSummary(path: string): Promise<void> {
  if (path === '-') return;
  const found = statOf(path);
  if (found?.isDirectory()) throw new AutomateError('output', `${path} cannot be written: it is a folder`);
  // The dot asks for a folder.
  await namingErrors(path, 'written', () => access(found ? path : `${dirname(path)}/.`, constants.W_OK));
  if (found?.isFile()) await namingErrors(path, 'written', () => truncate(path));
}

/** Writes the summary for programs, with every secret masked and still JSON; to stdout for `-`. */
export async function writeSummary(path: string, text: string, { redactor }: Terminal): Promise<void> {
  const masked = `${redactor.json(text.trimEnd(), 2)}\n`;
  // Printed, it would be masked as any text is.
  if (path === '-') return createStreamSink(process.stdout, 'stdout', { gzip: false }).write(masked);
  return namingErrors(path, 'written', () => writeFile(path, masked));
}
