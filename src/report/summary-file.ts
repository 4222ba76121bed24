import { access, constants, truncate, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AutomateError } from '../core/failure.ts';
import type { Redactor } from '../credentials/masking/redact.ts';
import { besideOutput, namingErrors } from '../files/naming-errors.ts';
import { statOf } from '../files/stat.ts';
import { createStreamSink } from '../output/sink.ts';

/**
 * Checks before a run that the summary can be written, and empties the file, so that an earlier run's summary is not taken for this one.
 * Throws an AutomateError (`output`) if the summary cannot be written.
 */
export async function beginSummary(path: string): Promise<void> {
  if (path === '-') return;
  const found = statOf(path);
  if (found?.isDirectory()) throw new AutomateError('output', `${path} cannot be written: it is a folder`);
  // With `/.`, the check also fails if the parent path is not a folder.
  await namingErrors(path, 'written', () => access(found ? path : `${dirname(path)}/.`, constants.W_OK));
  if (found?.isFile()) await namingErrors(path, 'written', () => truncate(path));
}

/** Writes the JSON summary to a file, or to stdout for `-`. Secrets are masked so that the JSON stays valid. */
export async function writeSummary(path: string, text: string, redactor: Redactor): Promise<void> {
  const masked = `${redactor.json(text.trimEnd(), 2)}\n`;
  // Does not use the terminal's print(), because it masks secrets as in plain text, which could make the JSON invalid.
  if (path === '-') return createStreamSink(process.stdout, 'stdout', { gzip: false }).write(masked);
  return namingErrors(path, 'written', () => writeFile(path, masked)).catch((error: unknown) => {
    throw besideOutput(path, error);
  });
}
