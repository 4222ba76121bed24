import { randomBytes } from 'node:crypto';
import { chmodSync, linkSync, lstatSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { utimes } from 'node:fs/promises';
import { AutomateError } from '../core/failure.ts';
import { orUndefined } from '../core/value/value.ts';
import { fileError, systemReason } from './naming-errors.ts';
import { livingOwner, type Owner, otherMachine, ownerText } from './owner.ts';
import { statOf } from './stat.ts';

export interface Lock {
  release(): void;
}

/**
 * `everyMs` is how often a lock file's modification time is updated. `deadAfterMs` without an update makes a process count as dead, but
 * only on another machine, where it cannot be checked directly.
 */
const heartbeat = { everyMs: 10_000, deadAfterMs: 60_000 };

/**
 * Takes over a dead process's lock. Throws an AutomateError (`output-exists`) with the pid of a living owner. `of` is what the file is for:
 * a run's output, a run's errors, or a server's port.
 */
export function takeLock(file: string, of: 'out' | 'errors' | 'gone' | 'port'): Lock {
  const taken = lockOrOwner(file);
  if ('release' in taken) return taken;
  const machine = otherMachine(taken);
  const owner = `process ${taken.pid}${machine === undefined ? '' : ` of ${machine}`}`;
  const facts = { code: 'being-written', details: { of } } as const;
  throw new AutomateError('output-exists', `${file} is being written by another run (${owner})`, facts);
}

const pollMs = 20;

/** Throws an AutomateError (`output-exists`) if this takes longer than `maxWaitMs`. */
export async function waitForLock(file: string, maxWaitMs = 30_000): Promise<Lock> {
  const endMs = performance.now() + maxWaitMs;
  for (;;) {
    const taken = lockOrOwner(file);
    if ('release' in taken) return taken;
    if (performance.now() > endMs) throw lockError(file, `being changed by process ${taken.pid}; try again`);
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

/** For a lock that other processes create and remove meanwhile. Together, the pauses block this process for up to 0.5 s. */
const attempts = { max: 100, pauseMs: 5 };

/** Returns the living process that has the lock, or is about to take it over from a dead one. */
function lockOrOwner(file: string, path = `${file}.automate-lock`): Lock | Owner {
  const mine = ownerText();
  for (let made = 0; made < attempts.max; made++) {
    if (made > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, attempts.pauseMs);
    if (createLock(path, file, mine)) return heldLock(path, mine);
    const text = readLock(path, file);
    const owner = text === undefined ? undefined : (ownerOf(text, path) ?? removeDead(path, file));
    if (owner) return owner;
  }
  throw lockError(file, 'constantly locked by other processes; try again');
}

/**
 * If two processes found the same dead owner, the slower one could remove a lock that the faster one has just taken. So this takes a second
 * lock, called takeover, and checks the owner again; a dead process's takeover lock is removed in the same way. Returns a process that is
 * already doing so.
 */
function removeDead(path: string, file: string): Owner | undefined {
  const takeover = lockOrOwner(file, `${path}.takeover`);
  if (!('release' in takeover)) return takeover;
  try {
    const text = readLock(path, file);
    if (text !== undefined && !ownerOf(text, path)) rmSync(path);
    return undefined;
  } catch (error) {
    if (error instanceof AutomateError) throw error;
    throw lockError(file, `locked by a run that has died, and ${path} cannot be removed: ${systemReason(error as Error)}`, error);
  } finally {
    takeover.release();
  }
}

/** Undefined if the lock has just been released. Throws for a link: a broken one can be neither read nor replaced. */
function readLock(path: string, file: string): string | undefined {
  try {
    const found = lstatSync(path);
    if (found.isFile()) return readFileSync(path, 'utf8');
    const what = found.isSymbolicLink() ? 'a symbolic link' : 'not a file';
    throw lockError(file, `locked, and ${path} is ${what}\nremove it, unless another run is active`);
  } catch (error) {
    if (error instanceof AutomateError) throw error;
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw lockError(file, `locked, and ${path} cannot be read: ${systemReason(error as Error)}`, error);
  }
}

/** Updates the file's time at intervals, if this process is still the owner: another one may have taken over during a long pause. */
function heldLock(path: string, mine: string): Lock {
  const isMine = () => orUndefined(() => readFileSync(path, 'utf8')) === mine;
  const beat = setInterval(() => {
    if (isMine()) void utimes(path, new Date(), new Date()).catch(() => {});
  }, heartbeat.everyMs);
  beat.unref();
  return {
    release() {
      clearInterval(beat);
      // If the lock file cannot be removed, the next process that needs the lock removes it after this process has ended.
      if (isMine()) orUndefined(() => rmSync(path, { force: true }));
    },
  };
}

/**
 * Returns false if the file exists. An empty lock file would look like a dead process's, so the content is written to a draft, which is
 * then linked to the path. The draft's name is random, because processes in different containers may share the folder and a pid.
 */
function createLock(path: string, file: string, text: string): boolean {
  const draft = `${path}.${randomBytes(4).toString('hex')}.new`;
  try {
    writeFileSync(draft, text, { mode: 0o600, flag: 'wx' });
    chmodSync(draft, 0o600);
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw fileError(file, 'written', error);
  } finally {
    // This fails if the folder cannot be accessed, but then there is no draft to remove.
    orUndefined(() => rmSync(draft, { force: true }));
  }
}

function ownerOf(text: string, path: string): Owner | undefined {
  return livingOwner(text, () => Date.now() - (statOf(path)?.mtimeMs ?? 0) < heartbeat.deadAfterMs);
}

function lockError(file: string, state: string, cause?: unknown): AutomateError {
  return new AutomateError('output-exists', `${file} is ${state}`, { cause });
}
