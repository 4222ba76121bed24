import { open } from 'node:fs/promises';
import { dirname } from 'node:path';

/** A new or removed name is on disk only when its folder is. Some file systems cannot sync a folder, and need not. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), 'r');
  await folder
    .sync()
    .catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EINVAL' && error.code !== 'ENOTSUP') throw error;
    })
    .finally(() => folder.close());
}
