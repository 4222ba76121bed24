import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { namingErrors } from '../../files/naming-errors.ts';
import type { Written } from '../sink.ts';
import { lineOf, parseLine, refuseNoFile } from './lines.ts';

/**
 * A note that a run started with `resume` is complete. If the same command is used again, the note shows that there is nothing left to do.
 */
export interface CompleteRun {
  /** The UUID of the run. After a retry of failed records that changed the run's files, it is the retry's UUID. */
  readonly run: string;
  /** Everything that the run's output depends on, such as the flow, the options and the input. */
  readonly identity: Identity;
  readonly counts: CompleteCounts;
  /** Descriptions of the run's files. `errors` is undefined if no record failed or if there is no errors file. */
  readonly files: { readonly out: Written; readonly errors?: FileContent };
}

/** The number of records in a complete run for each result. */
export interface CompleteCounts {
  readonly written: number;
  readonly failed: number;
  /** Number of records that a filter node dropped; undefined if there are none. */
  readonly filtered?: number;
}

/** The absolute path of a file and a description of its content. */
interface FileContent extends Written {
  readonly path: string;
}

/** Returns the path of the note about a complete run, which is next to the output file. */
export function completeRunPath(out: string): string {
  return `${out}.automate-complete`;
}

/**
 * Writes the note about a complete run. The note is written to a draft and then renamed, so it is never incomplete. Throws an AutomateError
 * (`output`) if the note cannot be written.
 */
export function writeCompleteRun(path: string, complete: CompleteRun): Promise<void> {
  return namingErrors(path, 'written', async () => {
    const draft = `${path}.new`;
    // Removes the draft that an earlier run may have left after a crash.
    await rm(draft, { force: true });
    await writeFile(draft, lineOf(complete), { flag: 'wx', mode: 0o600, flush: true });
    await rename(draft, path);
  });
}

/** Reads the note about a complete run. Returns undefined if the note does not exist or is damaged. */
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

/**
 * Everything that a run's output depends on. The keys are descriptions, such as `the errors file`. A run can be resumed only if all values
 * are still the same.
 */
export type Identity = Readonly<Record<string, string>>;

/** The key for the absolute path of the errors file. */
export const errorsFileKey = 'the errors file';
