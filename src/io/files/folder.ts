import { chmodSync, mkdirSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { statOf } from './stat.ts';

/**
 * Creates a folder and its parents with access for the owner only, whatever the umask. An existing folder stays as it is.
 * Throws what Node.js throws. Node's own `recursive` never ends where the system refuses new folders, as under /proc or an automounter's folder.
 */
export function makeFolder(folder: string): void {
  if (statOf(folder)?.isDirectory()) return;
  try {
    mkdirSync(folder, { mode: 0o700 });
    chmodSync(folder, 0o700);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Another process may have been first.
    if (code === 'EEXIST' && statOf(folder)?.isDirectory()) return;
    if (code !== 'ENOENT' || statOf(dirname(folder))) throw error;
    makeFolder(dirname(folder));
    makeFolder(folder);
  }
}

/** Syncs the folder of a file: a new or deleted name is on disk only afterwards. Some file systems cannot sync a folder, and need not. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), 'r');
  await folder
    .sync()
    .catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EINVAL' && error.code !== 'ENOTSUP') throw error;
    })
    .finally(() => folder.close());
}
