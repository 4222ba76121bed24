import { link, readFile, readlink, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { AutomateError } from '../core/failure.ts';
import { reasonOf } from './reason.ts';

/** The right to write one output. */
export interface Lock {
  release(): Promise<void>;
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
export async function takeLock(file: string, option: string): Promise<Lock> {
  const path = `${file}.automate-lock`;
  const { born } = await processOf(process.pid);
  const here = await place();
  const mine: Owner = { pid: process.pid, born, where: here };
  for (;;) {
    if (await created(path, file, JSON.stringify(mine))) return heldLock(path);
    const found = await readFile(path, 'utf8').catch(() => undefined);
    if (found === undefined) continue;
    const owner = ownerOf(found);
    if (owner && (await isAlive(owner, here, path))) {
      const elsewhere = owner.where === undefined || owner.where === here ? '' : ` of ${owner.where.split(' ')[0]}`;
      throw new AutomateError(
        'output-exists',
        `${file} is being written by another run (process ${owner.pid}${elsewhere})\nwait for it, or name another file with ${option}`,
      );
    }
    await takeAway(path, found);
  }
}

function heldLock(path: string): Lock {
  const beat = setInterval(() => void utimes(path, new Date(), new Date()).catch(() => {}), heartbeat.everyMs);
  beat.unref();
  return {
    release() {
      clearInterval(beat);
      return rm(path, { force: true });
    },
  };
}

/** Containers on one machine share its name at times, but never the numbers of their processes. */
async function place(): Promise<string> {
  return `${hostname()} ${await readlink('/proc/self/ns/pid').catch(() => '')}`.trim();
}

/** Whole from the first moment on: a lock that is still empty would look like a dead one's. */
async function created(path: string, out: string, text: string): Promise<boolean> {
  const draft = `${path}.${process.pid}.new`;
  try {
    await writeFile(draft, text, { mode: 0o600 });
    await link(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw new AutomateError('output', `${out} cannot be written: ${reasonOf(error as Error)}`, { cause: error });
  } finally {
    await rm(draft, { force: true });
  }
}

/** Two runs may find the same dead owner: only one of them gets the file away, and puts it back if it was no longer the dead one's. */
async function takeAway(path: string, expected: string): Promise<void> {
  const aside = `${path}.${process.pid}`;
  try {
    await rename(path, aside);
  } catch {
    return;
  }
  if ((await readFile(aside, 'utf8')) === expected) await rm(aside);
  else await rename(aside, path);
}

function ownerOf(text: string): Owner | undefined {
  try {
    return JSON.parse(text) as Owner;
  } catch {
    return undefined;
  }
}

async function isAlive({ pid, born, where }: Owner, here: string, path: string): Promise<boolean> {
  if (where !== undefined && where !== here) return isRecent(path);
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const found = await processOf(pid);
  return found.born === born && !found.isZombie;
}

async function isRecent(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found !== undefined && Date.now() - found.mtimeMs < heartbeat.deadAfterMs;
}

/** The 3rd and the 22nd field of /proc/PID/stat (proc_pid_stat(5)), counted behind the name, which may hold anything. */
async function processOf(pid: number): Promise<{ born: string; isZombie: boolean }> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { born: fields[19] ?? '', isZombie: fields[0] === 'Z' || fields[0] === 'X' };
}
