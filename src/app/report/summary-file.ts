import { access, constants, truncate, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AutomateError } from '../../core/failure.ts';
import { besideOutput, namingErrors } from '../../io/files/naming-errors.ts';
import { statOf } from '../../io/files/stat.ts';
import { createStreamSink } from '../../io/output/sink.ts';
import type { Redactor } from '../../io/secrets/redact.ts';

/**
 * Checks before a run that its summary can be written, and empties the file: the summary of an earlier run would be wrong,
 * however this run ends. Throws an AutomateError (`output`).
 */
export async function beginSummary(path: string): Promise<void> {
  if (path === '-') return;
  const found = statOf(path);
  if (found?.isDirectory()) throw new AutomateError('output', `${path} cannot be written: it is a folder`);
  // With the dot, the path is a folder or an error.
  await namingErrors(path, 'written', () => access(found ? path : `${dirname(path)}/.`, constants.W_OK));
  if (found?.isFile()) await namingErrors(path, 'written', () => truncate(path));
}

/** Writes the summary for programs to a file, or to stdout for `-`. Masks secrets so that it stays JSON. */
export async function writeSummary(path: string, text: string, redactor: Redactor): Promise<void> {
  const masked = `${redactor.json(text.trimEnd(), 2)}\n`;
  // print() would mask it as plain text, which could break the JSON.
  if (path === '-') return createStreamSink(process.stdout, 'stdout', { gzip: false }).write(masked);
  return namingErrors(path, 'written', () => writeFile(path, masked)).catch((error: unknown) => {
    throw besideOutput(path, error);
  });
}
