import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { namingErrors } from '../../files/naming-errors.ts';
import type { Identity } from '../run-identity.ts';
import type { Written } from '../sink.ts';
import { lineOf, parseLine, refuseNoFile } from './lines.ts';

/** Shows that a run started with `resume` is complete, so that there is nothing left to do if the same command is used again. */
export interface CompleteRun {
  /** The run's UUID; after a retry that changed the run's files, the retry's. */
  readonly run: string;
  readonly identity: Identity;
  readonly counts: CompleteCounts;
  /** `errors` is undefined if no record failed or if there is no errors file. */
  readonly files: { readonly out: Written; readonly errors?: FileContent };
}

export interface CompleteCounts {
  readonly written: number;
  readonly failed: number;
  readonly filtered?: number;
}

/** The absolute path of a file and a description of its content. */
interface FileContent extends Written {
  readonly path: string;
}

/** Next to the output file. */
export function completeRunPath(out: string): string {
  return `${out}.automate-complete`;
}

/** Writes a draft and renames it, so the note is never incomplete. Throws an AutomateError (`output`) if it cannot be written. */
export function writeCompleteRun(path: string, complete: CompleteRun): Promise<void> {
  return namingErrors(path, 'written', async () => {
    const draft = `${path}.new`;
    // Removes the draft that an earlier run may have left after a crash.
    await rm(draft, { force: true });
    await writeFile(draft, lineOf(complete), { flag: 'wx', mode: 0o600, flush: true });
    await rename(draft, path);
  });
}

/** Undefined if the note does not exist or is damaged. */
export async function readCompleteRun(path: string): Promise<CompleteRun | undefined> {
  refuseNoFile(path, 'the file that marks a run as complete');
  const text = await namingErrors(path, 'read', () =>
    readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw error;
    }),
  );
  return parseLine(text.trimEnd()) as CompleteRun | undefined;
}
