import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AutomateError } from '../../core/failure.ts';
import { makeFolder, syncFolder } from './folder.ts';
import { waitForLock } from './lock.ts';
import { fileError, namingErrors, systemReason } from './naming-errors.ts';
import { isLink, isNoFile } from './stat.ts';

/** A JSON file that the tool keeps for itself, for its owner's eyes only. */
export interface StateFile<Content> {
  readonly path: string;
  /** Absent when there is none yet. Throws an AutomateError (`credential`) when it cannot be read. */
  read(): Content | undefined;
  /** Writes it whole or not at all. */
  write(content: Content): Promise<void>;
  /** Keeps every other process out of this file while it is read and written. */
  alone<Result>(work: () => Promise<Result>): Promise<Result>;
}

/** Makes a state file. `isContent`: whether what was found there is what we write. */
export function createStateFile<Content>(path: string, isContent: (found: unknown) => found is Content): StateFile<Content> {
  return {
    path,
    read() {
      refuseLink(path);
      const text = textOf(path);
      if (text === undefined) return undefined;
      const content = jsonOf(text);
      if (!isContent(content))
        throw unreadable(path, 'it is not what automate wrote there\nput a good copy back, or take it away: a new one is made');
      return content;
    },
    async write(content) {
      refuseLink(path);
      await written(path, `${JSON.stringify(content, null, 2)}\n`);
    },
    async alone(work) {
      refuseLink(path);
      const folder = dirname(path);
      namingErrors(folder, 'written', () => makeFolder(folder));
      const lock = await waitForLock(path);
      try {
        return await work();
      } finally {
        lock.release();
      }
    },
  };
}

/** A link would let somebody else choose where secrets are read from and written to. Throws an AutomateError (`credential`). */
export function refuseLink(path: string): void {
  for (const part of [dirname(path), path]) {
    if (!isLink(part)) continue;
    throw new AutomateError(
      'credential',
      `${part} is a symbolic link, which is refused\nput the file there, or name its real folder in AUTOMATE_HOME`,
    );
  }
}

function textOf(path: string): string | undefined {
  try {
    // A pipe would be waited for without end.
    if (isNoFile(path)) throw new Error('it is no file');
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw unreadable(path, systemReason(error as Error));
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The mode is set once more: an umask takes rights away from what a file is made with. */
async function written(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomUUID()}`;
  try {
    const file = await open(draft, 'wx', 0o600);
    try {
      await file.chmod(0o600);
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
