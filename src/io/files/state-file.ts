import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AutomateError } from '../../core/failure.ts';
import { orUndefined } from '../../core/value/value.ts';
import { makeFolder, syncFolder } from './folder.ts';
import { waitForLock } from './lock.ts';
import { fileError, namingErrors, systemReason } from './naming-errors.ts';
import { isLink, isNoFile } from './stat.ts';

/** A JSON file of the program's own, which only its owner can read. */
export interface StateFile<Content> {
  readonly path: string;
  /** The content; undefined if the file does not exist yet. Throws an AutomateError (`credential`) if it cannot be read. */
  read(): Content | undefined;
  /** Writes the whole file or nothing. Throws an AutomateError (`output`) if it cannot be written. */
  write(content: Content): Promise<void>;
  /** Locks the file against other processes while `work` reads and writes it. Throws an AutomateError (`output-exists`) after `maxWaitMs`. */
  alone<Result>(work: () => Promise<Result>, maxWaitMs?: number): Promise<Result>;
}

/** A state file at a path. `isContent` checks the content of the file. */
export function createStateFile<Content>(path: string, isContent: (found: unknown) => found is Content): StateFile<Content> {
  return {
    path,
    read() {
      refuseLink(path);
      const text = readText(path);
      if (text === undefined) return undefined;
      const content = orUndefined(() => JSON.parse(text) as unknown);
      if (!isContent(content))
        throw unreadable(path, 'its content was not written by automate\nput back a good copy, or delete it: automate creates a new one');
      return content;
    },
    async write(content) {
      refuseLink(path);
      await writeDurably(path, `${JSON.stringify(content, null, 2)}\n`);
    },
    async alone(work, maxWaitMs) {
      refuseLink(path);
      const folder = dirname(path);
      namingErrors(folder, 'written', () => makeFolder(folder));
      const lock = await waitForLock(path, maxWaitMs);
      try {
        return await work();
      } finally {
        lock.release();
      }
    },
  };
}

/** Refuses a symbolic link: its target may be chosen by another user. Throws an AutomateError (`credential`). */
export function refuseLink(path: string): void {
  for (const part of [dirname(path), path]) {
    if (!isLink(part)) continue;
    throw new AutomateError(
      'credential',
      `${part} is a symbolic link, which is refused\nput the file there, or name its real folder in AUTOMATE_HOME`,
    );
  }
}

function readText(path: string): string | undefined {
  try {
    // Reading a pipe might never end.
    if (isNoFile(path)) throw new Error('it is not a file');
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw unreadable(path, systemReason(error as Error));
  }
}

/** Renames a synced draft to the path, so that a crash leaves the old file or the new one. The chmod undoes the umask. */
export async function writeDurably(path: string, text: string, mode = 0o600): Promise<void> {
  const draft = `${path}.${randomUUID()}`;
  try {
    const file = await open(draft, 'wx', mode);
    try {
      await file.chmod(mode);
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
    await syncFolder(path);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined);
    throw fileError(path, 'written', error);
  }
}

function unreadable(path: string, reason: string): AutomateError {
  return new AutomateError('credential', `${path} cannot be read: ${reason}`);
}
