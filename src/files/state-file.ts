import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AutomateError } from '../core/failure.ts';
import { orUndefined } from '../core/value/value.ts';
import { makeFolder, syncFolder } from './folder.ts';
import { waitForLock } from './lock.ts';
import { fileError, namingErrors, systemReason } from './naming-errors.ts';
import { isLink, isNoFile } from './stat.ts';

/** A JSON file for automate's own data, which only its owner can read. */
export interface StateFile<Content> {
  readonly path: string;
  /** Undefined if the file does not exist yet. Throws an AutomateError (`credential`) if it cannot be read. */
  read(): Content | undefined;
  /** Replaces the whole content. Throws an AutomateError (`output`) if the file cannot be written. */
  write(content: Content): Promise<void>;
  /** Locks the file during `work`. Throws an AutomateError (`output-exists`) if it stays locked elsewhere for more than `maxWaitMs`. */
  alone<Result>(work: () => Promise<Result>, maxWaitMs?: number): Promise<Result>;
}

/** `isContent` is true if the content has the expected form. */
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

/** Throws an AutomateError (`credential`) for a symbolic link as file or folder: another user could choose where the file is stored. */
export function refuseLink(path: string): void {
  for (const part of [dirname(path), path]) {
    if (!isLink(part)) continue;
    throw new AutomateError(
      'credential',
      `${part} is a symbolic link, which is not allowed here\nreplace the link with the file, or set AUTOMATE_HOME to its real folder`,
    );
  }
}

function readText(path: string): string | undefined {
  try {
    // Pipes and devices are refused, because reading from them might never end.
    if (isNoFile(path)) throw new Error('it is not a file');
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw unreadable(path, systemReason(error as Error));
  }
}

/**
 * The way to replace a file. After a crash, it is complete, old or new: a draft is written, synced and renamed. Sets the permissions
 * explicitly, because the umask may have restricted them; with `usual`, they are those of any new file. Throws an AutomateError (`output`).
 */
export async function writeDurably(path: string, text: string, mode: number | 'usual' = 0o600): Promise<void> {
  const draft = `${path}.${randomUUID()}`;
  try {
    const file = await open(draft, 'wx', mode === 'usual' ? undefined : mode);
    try {
      if (mode !== 'usual') await file.chmod(mode);
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
