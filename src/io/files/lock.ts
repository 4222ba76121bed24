import { randomBytes } from 'node:crypto';
import { chmodSync, linkSync, lstatSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { utimes } from 'node:fs/promises';
import { AutomateError } from '../../core/failure.ts';
import { orUndefined } from '../../core/value/value.ts';
import { fileError, systemReason } from './naming-errors.ts';
import { livingOwner, type Owner, otherMachine, ownerText } from './owner.ts';
import { statOf } from './stat.ts';

/** The right to write a file. */
export interface Lock {
  release(): void;
}

/** A living owner touches its lock this often. A lock of another machine counts as dead after the longer time without a touch. */
const heartbeat = { everyMs: 10_000, deadAfterMs: 60_000 };

/**
 * Locks a file; takes over the lock of a dead process. Throws an AutomateError (`output-exists`) that names a living owner.
 * `of`: the file's part in the run, or the port of a server.
 */
export function takeLock(file: string, of: 'out' | 'errors' | 'port'): Lock {
  const taken = lockOrOwner(file);
  if ('release' in taken) return taken;
  const machine = otherMachine(taken);
  const owner = `process ${taken.pid}${machine === undefined ? '' : ` of ${machine}`}`;
  const facts = { code: 'being-written', details: { of } } as const;
  throw new AutomateError('output-exists', `${file} is being written by another run (${owner})`, facts);
}

const pollMs = 20;

/** Waits until no other process has locked the file, then locks it. Throws an AutomateError (`output-exists`) after `maxWaitMs`. */
export async function waitForLock(file: string, maxWaitMs = 30_000): Promise<Lock> {
  const endMs = performance.now() + maxWaitMs;
  for (;;) {
    const taken = lockOrOwner(file);
    if ('release' in taken) return taken;
    if (performance.now() > endMs) throw lockError(file, `being changed by process ${taken.pid}; try again`);
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

/** Attempts while another process creates or removes the lock: 0.5 s in all, blocking. */
const attempts = { max: 100, pauseMs: 5 };

/** The lock, or the living process that holds it or is taking it over. */
function lockOrOwner(file: string, path = `${file}.automate-lock`): Lock | Owner {
  const mine = ownerText();
  for (let made = 0; made < attempts.max; made++) {
    if (made > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, attempts.pauseMs);
    if (createLock(path, file, mine)) return heldLock(path, mine);
    const text = readLock(path, file);
    const owner = text === undefined ? undefined : (ownerOf(text, path) ?? removeDead(path, file));
    if (owner) return owner;
  }
  throw lockError(file, 'locked and unlocked all the time; try again');
}

/**
 * Removes the lock of a dead process. Returns the living process that is already removing it.
 * If two processes find the same dead owner, the slower process would remove the new lock of the faster process. So removing takes
 * a second lock and another look. Its holder may be killed, too: it is a lock like the first.
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
    throw lockError(file, `locked by a run that is dead, and ${path} cannot be removed: ${systemReason(error as Error)}`, error);
  } finally {
    takeover.release();
  }
}

/** The text of a lock; undefined if it was released meanwhile. Refuses a link: a broken link would look like a lock that comes and goes. */
function readLock(path: string, file: string): string | undefined {
  try {
    const found = lstatSync(path);
    if (found.isFile()) return readFileSync(path, 'utf8');
    const what = found.isSymbolicLink() ? 'a symbolic link' : 'not a file';
    throw lockError(file, `locked, and ${path} is ${what}\nremove it, unless another run is under way`);
  } catch (error) {
    if (error instanceof AutomateError) throw error;
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw lockError(file, `locked, and ${path} cannot be read: ${systemReason(error as Error)}`, error);
  }
}

/** Touches and removes only its own lock: another process may have taken it over after a long silence. */
function heldLock(path: string, mine: string): Lock {
  const isMine = () => orUndefined(() => readFileSync(path, 'utf8')) === mine;
  const beat = setInterval(() => {
    if (isMine()) void utimes(path, new Date(), new Date()).catch(() => {});
  }, heartbeat.everyMs);
  beat.unref();
  return {
    release() {
      clearInterval(beat);
      // A lock that cannot be removed is taken over later, like the lock of a dead process.
      if (isMine()) orUndefined(() => rmSync(path, { force: true }));
    },
  };
}

/**
 * Links a whole file to the path, since an empty lock would look like the lock of a dead process. Returns false if the file is locked already.
 * The draft has a random name: containers that share a folder may have the same pid.
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
    // Fails if the folder cannot be accessed; then there is no draft.
    orUndefined(() => rmSync(draft, { force: true }));
  }
}

function ownerOf(text: string, path: string): Owner | undefined {
  return livingOwner(text, () => Date.now() - (statOf(path)?.mtimeMs ?? 0) < heartbeat.deadAfterMs);
}

function lockError(file: string, state: string, cause?: unknown): AutomateError {
  return new AutomateError('output-exists', `${file} is ${state}`, { cause });
}
