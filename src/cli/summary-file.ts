import { writeFile } from 'node:fs/promises';
import { AutomateError } from '../core/failure.ts';
import { reasonOf } from '../io/reason.ts';

/** Writes the summary for programs. */
export async function writeSummary(path: string, text: string): Promise<void> {
  await writeFile(path, text).catch((error: Error) => {
    throw new AutomateError('output', `${path} cannot be written: ${reasonOf(error)}`);
  });
}
