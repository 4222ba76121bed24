import { writeFile } from 'node:fs/promises';
import { AutomateError } from '../core/failure.ts';
import { reasonOf } from '../io/reason.ts';
import type { Terminal } from './terminal.ts';

/** Writes the summary for programs; to stdout for `-`. */
export async function writeSummary(path: string, text: string, { print }: Terminal): Promise<void> {
  if (path === '-') return print(text.trimEnd());
  return writeFile(path, text).catch((error: Error) => {
    throw new AutomateError('output', `${path} cannot be written: ${reasonOf(error)}`);
  });
}
