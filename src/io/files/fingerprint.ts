import { createHash } from 'node:crypto';
import { open, stat } from 'node:fs/promises';
import { resolve } from 'node:path';

/** The part of a fingerprint that is a hash of the content; absent for a stream. */
export const contentKey = 'the content of the input';

const blockBytes = 64 * 1024;

/** Properties by which a changed input is recognized without reading all of it: path, size, time, first and last block. A stream has only its name. */
export async function inputFingerprint(path: string): Promise<Record<string, string>> {
  if (path === '-') return { input: 'stdin' };
  // A pipe can be read only once, and the run needs its bytes.
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
      'the time of the input': new Date(mtimeMs).toISOString(),
      [contentKey]: hash.digest('hex').slice(0, 16),
    };
  } finally {
    await handle.close();
  }
}
