import { closeSync, ftruncateSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolder } from '../files/folder.ts';
import { fileError, namingErrors } from '../files/naming-errors.ts';
import { isLink } from '../files/stat.ts';

/**
 * What a run has spent, an entry for each action, written before anything is sent.
 * A process that is killed leaves it whole: so much, and no less, may have been sent.
 */
export interface SentLog {
  /** Takes an entry: so many credits more, or fewer, for the account of that number. */
  add(account: number, credits: number): void;
  /** Writes what was taken: before anything of it is sent. Throws an AutomateError (`output`) when it cannot. */
  flush(): void;
  /** Closes it and takes it away. */
  remove(): void;
}

/** The number of the account, then the credits. */
const entryBytes = 10;

/** So many entries are written together at most. */
const mostWaiting = 1024;

/** Begins a log. Throws an AutomateError (`output`) when it cannot be written. */
export function createSentLog(path: string): SentLog {
  const file = namingErrors(path, 'written', () => {
    makeFolder(dirname(path));
    rmSync(path, { force: true });
    return openSync(path, 'wx', 0o600);
  });
  const waiting = Buffer.alloc(entryBytes * mostWaiting);
  let taken = 0;
  let bytes = 0;
  return { add, flush, remove };

  function add(account: number, credits: number): void {
    if (taken === waiting.length) flush();
    waiting.writeUInt16LE(account, taken);
    waiting.writeDoubleLE(credits, taken + 2);
    taken += entryBytes;
  }

  function flush(): void {
    if (taken === 0) return;
    try {
      const written = writeSync(file, waiting, 0, taken, bytes);
      if (written < taken) throw new Error('no space left on device');
      bytes += written;
      taken = 0;
    } catch (error) {
      // Half an entry would make nonsense of those behind it; what comes next is written in its place.
      ftruncateSync(file, bytes);
      throw fileError(path, 'written', error);
    }
  }

  function remove(): void {
    closeSync(file);
    rmSync(path, { force: true });
  }
}

/** What a log says behind its first entries, for each account; absent where there is none. */
export function sentSince(path: string, entries: number, accounts: number): number[] | undefined {
  const sums = new Array<number>(accounts).fill(0);
  const bytes = isLink(path) ? undefined : bytesOf(path);
  if (!bytes) return undefined;
  for (let at = entries * entryBytes; at + entryBytes <= bytes.length; at += entryBytes) {
    const account = bytes.readUInt16LE(at);
    if (account < accounts) sums[account] = (sums[account] as number) + bytes.readDoubleLE(at + 2);
  }
  return sums;
}

function bytesOf(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}
