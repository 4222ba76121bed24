import { createHash } from 'node:crypto';
import { open, stat } from 'node:fs/promises';
import { resolve } from 'node:path';

/** The property of an input's fingerprint that contains a hash of the content. stdin and pipes have no such property. */
export const contentKey = 'the content of the input';

const blockBytes = 64 * 1024;

/**
 * Resolves to properties of an input file that reveal a change: its path, its size, its modification time, and a hash of its first and last
 * 64 kB. For stdin and pipes, there is only a name or path.
 */
export async function inputFingerprint(path: string): Promise<Record<string, string>> {
  if (path === '-') return { input: 'stdin' };
  // A pipe can be read only once, so it is left for the run to read.
  if (!(await stat(path)).isFile()) return { input: resolve(path) };
  const handle = await open(path, 'r');
  try {
    const { size, mtimeMs } = await handle.stat();
    const first = await handle.read(Buffer.alloc(blockBytes), 0, blockBytes, 0);
    const last = await handle.read(Buffer.alloc(blockBytes), 0, blockBytes, Math.max(0, size - blockBytes));
    const hash = createHash('sha256').update(first.buffer.subarray(0, first.bytesRead)).update(last.buffer.subarray(0, last.bytesRead));
    return {
      input: resolve(path),
      'the size of the input': `${size} bytes`,
      'the modification time of the input': new Date(mtimeMs).toISOString(),
      [contentKey]: hash.digest('hex').slice(0, 16),
    };
  } finally {
    await handle.close();
  }
}
