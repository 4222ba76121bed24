import { randomBytes } from 'node:crypto';
import { chmodSync, linkSync, lstatSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { AutomateError } from '../../core/failure.ts';
import { fileError, systemReason } from './naming-errors.ts';
import { statOf } from './stat.ts';

/** The right to write one output. */
export interface Lock {
  release(): void;
}

/** Who holds a lock. A number can be given to another process later, so its time of birth counts, too. */
interface Owner {
  readonly pid: number;
  /** In clock ticks since the machine's start; empty where the platform does not tell. */
  readonly born: string;
  /** The machine or container, in which alone the number means anything. Absent: this one. */
  readonly where?: string;
}

/** A holder says so often that it is alive, and is taken for dead after so long a silence: for those who cannot look it up. */
const heartbeat = { everyMs: 10_000, deadAfterMs: 60_000 };

/**
 * Takes the lock of a file; one whose owner is dead is taken over. Throws an AutomateError (`output-exists`) that names a living owner.
 * `option`: where another file can be named.
 */
export function takeLock(file: string, option: string): Lock {
  const taken = lockOrOwner(file);
  if ('release' in taken) return taken;
  const elsewhere = taken.where === undefined || taken.where === place() ? '' : ` of ${taken.where.split(' ')[0]}`;
  throw new AutomateError(
    'output-exists',
    `${file} is being written by another run (process ${taken.pid}${elsewhere})\nwait for it, or name another file with ${option}`,
  );
}

const pollMs = 20;

/** Takes the lock of a file as soon as nobody else holds it. Throws an AutomateError (`output-exists`) after so long a wait. */
export async function waitForLock(file: string, longestMs = 30_000): Promise<Lock> {
  const endMs = performance.now() + longestMs;
  for (;;) {
    const taken = lockOrOwner(file);
    if ('release' in taken) return taken;
    if (performance.now() > endMs) throw new AutomateError('output-exists', `${file} is being changed by process ${taken.pid}; try again`);
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

/** So often and so long a lock may come and go under a taker's eyes, or be in somebody's way: 0.5 s, in which nothing else happens here. */
const tries = { most: 100, pauseMs: 5 };

/** The lock, or the living owner who holds it or is taking it over. */
function lockOrOwner(file: string, path = `${file}.automate-lock`): Lock | Owner {
  const mine = ownerText();
  for (let tried = 0; tried < tries.most; tried++) {
    if (tried > 0) pause(tries.pauseMs);
    if (created(path, file, mine)) return heldLock(path, mine);
    const found = foundLock(path, file);
    const owner = found === undefined ? undefined : (livingOwner(found, path) ?? clear(path, file));
    if (owner) return owner;
  }
  throw new AutomateError('output-exists', `${file} is locked and unlocked all the time; try again`);
}

/**
 * Removes a dead owner's lock; answers the living one who is about to.
 * Two may find the same dead owner, and the slower one would remove what the faster one made. So only the holder of a second lock
 * removes any that is not its own, and looks at it again first. That one's holder may be killed, too: it is a lock as the first one.
 */
function clear(path: string, file: string): Owner | undefined {
  const right = lockOrOwner(file, `${path}.takeover`);
  if (!('release' in right)) return right;
  try {
    const found = foundLock(path, file);
    if (found !== undefined && !livingOwner(found, path)) remove(path, file);
    return undefined;
  } finally {
    right.release();
  }
}

function remove(path: string, file: string): void {
  try {
    rmSync(path);
  } catch (error) {
    throw new AutomateError(
      'output-exists',
      `${file} is locked by a run that is dead, and ${path} cannot be removed: ${systemReason(error as Error)}`,
      {
        cause: error,
      },
    );
  }
}

/**
 * Absent when it was given back meanwhile. One that may not be read is somebody else's, and not to be waited for here.
 * A link is none that was made here: it may lead to nothing, which looks like a lock that comes and goes.
 */
function foundLock(path: string, file: string): string | undefined {
  try {
    const found = lstatSync(path);
    if (found.isFile()) return readFileSync(path, 'utf8');
    const what = found.isSymbolicLink() ? 'a symbolic link' : 'no file';
    throw new AutomateError('output-exists', `${file} is locked, and ${path} is ${what}\nremove it, unless another run is under way`);
  } catch (error) {
    if (error instanceof AutomateError) throw error;
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new AutomateError('output-exists', `${file} is locked, and ${path} cannot be read: ${systemReason(error as Error)}`, {
      cause: error,
    });
  }
}

/** Whoever was silent for long enough to be taken for dead may have lost its lock: it touches no other. */
function heldLock(path: string, mine: string): Lock {
  const isMine = () => attempted(() => readFileSync(path, 'utf8')) === mine;
  const beat = setInterval(() => {
    if (isMine()) void utimes(path, new Date(), new Date()).catch(() => {});
  }, heartbeat.everyMs);
  beat.unref();
  return {
    release() {
      clearInterval(beat);
      if (isMine()) rmSync(path, { force: true });
    },
  };
}

function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Containers on one machine share its name at times, but never the numbers of their processes. */
function place(): string {
  return `${hostname()} ${attempted(() => readlinkSync('/proc/self/ns/pid')) ?? ''}`.trim();
}

/**
 * Whole from the first moment on: a lock that is still empty would look like a dead one's.
 * Containers that share a folder may give their processes the same number: only chance names a draft that nobody else has.
 */
function created(path: string, out: string, text: string): boolean {
  const draft = `${path}.${randomBytes(4).toString('hex')}.new`;
  try {
    writeFileSync(draft, text, { mode: 0o600, flag: 'wx' });
    chmodSync(draft, 0o600);
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw fileError(out, 'written', error);
  } finally {
    // Where it cannot even be looked for, it was not made.
    attempted(() => rmSync(draft, { force: true }));
  }
}

function livingOwner(text: string, path: string): Owner | undefined {
  const owner = ownerOf(text);
  return owner && isAlive(owner, () => isRecent(path)) ? owner : undefined;
}

function ownerOf(text: string): Owner | undefined {
  try {
    return JSON.parse(text) as Owner;
  } catch {
    return undefined;
  }
}

/** This process, as others can find out whether it is alive. */
export function ownerText(): string {
  return JSON.stringify({ pid: process.pid, born: processOf(process.pid).born, where: place() } satisfies Owner);
}

/** Whether the process that wrote this is alive. `isRecent`: whether it has given a sign of life, where nobody here can look. */
export function isOwnerAlive(text: string, isRecent: () => boolean): boolean {
  const owner = ownerOf(text);
  return owner !== undefined && isAlive(owner, isRecent);
}

function isAlive({ pid, born, where }: Owner, isRecent: () => boolean): boolean {
  if (where !== undefined && where !== place()) return isRecent();
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const found = processOf(pid);
  return found.born === born && !found.isZombie;
}

function isRecent(path: string): boolean {
  const found = statOf(path);
  return found !== undefined && Date.now() - found.mtimeMs < heartbeat.deadAfterMs;
}

/** The 3rd and the 22nd field of /proc/PID/stat (proc_pid_stat(5)), counted behind the name, which may hold anything. */
function processOf(pid: number): { born: string; isZombie: boolean } {
  const text = attempted(() => readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? '';
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { born: fields[19] ?? '', isZombie: fields[0] === 'Z' || fields[0] === 'X' };
}

/** What it gives; absent when it fails, as a read does where there is nothing to read. */
function attempted<Result>(act: () => Result): Result | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
