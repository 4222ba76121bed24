import { chmodSync, mkdirSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { statOf } from './stat.ts';

/**
 * Creates a folder and its missing parents, with access only for the owner, whatever the umask is. An existing folder is not changed.
 * Throws errors of Node.js. Node's own `recursive` option is not used, because it loops forever if the system refuses new folders, as under
 * /proc.
 */
export function makeFolder(folder: string): void {
  if (statOf(folder)?.isDirectory()) return;
  try {
    mkdirSync(folder, { mode: 0o700 });
    chmodSync(folder, 0o700);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Another process may have created the folder since the check above.
    if (code === 'EEXIST' && statOf(folder)?.isDirectory()) return;
    if (code !== 'ENOENT' || statOf(dirname(folder))) throw error;
    makeFolder(dirname(folder));
    makeFolder(folder);
  }
}

/**
 * Syncs the folder that contains a file, so that the creation or deletion of the file survives a crash. Errors of file systems that cannot
 * sync folders are ignored.
 */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), 'r');
  await folder
    .sync()
    .catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EINVAL' && error.code !== 'ENOTSUP') throw error;
    })
    .finally(() => folder.close());
}
