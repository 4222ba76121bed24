import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { namingErrors } from '../files/naming-errors.ts';
import type { Written } from '../output/sink.ts';
import type { Identity } from './identity.ts';
import { lineOf, parseLine, refuseNoFile } from './lines.ts';

/** A complete run that was started with `resume`: the same command line finds by it that there is nothing left to do. */
export interface CompleteRun {
  /** The UUID of the run, or of the retry that has changed its files last. */
  readonly run: string;
  /** The identity of the run. */
  readonly identity: Identity;
  readonly counts: CompleteCounts;
  /** The content of its files; `errors` is absent if no record failed, or if the failed records are in no file. */
  readonly files: { readonly out: Written; readonly errors?: FileContent };
}

/** The records of a complete run. */
export interface CompleteCounts {
  readonly written: number;
  readonly failed: number;
  /** Absent for none. */
  readonly filtered?: number;
}

/** A file, by its full path, and its content. */
export interface FileContent extends Written {
  readonly path: string;
}

/** The path of the note about a complete run, next to the output. */
export function completeRunPath(out: string): string {
  return `${out}.automate-complete`;
}

/** Writes the note. It appears at its path complete or not at all. Throws an AutomateError (`output`). */
export function writeCompleteRun(path: string, complete: CompleteRun): Promise<void> {
  return namingErrors(path, 'written', async () => {
    const draft = `${path}.new`;
    // A crash may have left one.
    await rm(draft, { force: true });
    await writeFile(draft, lineOf(complete), { flag: 'wx', mode: 0o600, flush: true });
    await rename(draft, path);
  });
}

/** Reads the note; undefined if there is none, or if it is damaged. */
export async function readCompleteRun(path: string): Promise<CompleteRun | undefined> {
  refuseNoFile(path, 'the note about a complete run');
  const text = await namingErrors(path, 'read', () =>
    readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw error;
    }),
  );
  return parseLine(text.trimEnd()) as CompleteRun | undefined;
}
