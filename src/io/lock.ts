import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
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
}

/** Takes the lock of an output; one whose owner is dead is taken over. Throws an AutomateError (`output-exists`) that names a living owner. */
export async function takeLock(out: string): Promise<Lock> {
  const path = `${out}.automate-lock`;
  const mine = JSON.stringify({ pid: process.pid, born: await bornOf(process.pid) } satisfies Owner);
  for (;;) {
    if (await created(path, out, mine)) return { release: () => rm(path, { force: true }) };
    const found = await readFile(path, 'utf8').catch(() => undefined);
    if (found === undefined) continue;
    const owner = ownerOf(found);
    if (owner && (await isAlive(owner))) {
      throw new AutomateError(
        'output-exists',
        `${out} is being written by another run (process ${owner.pid})\nwait for it, or name another output with --out`,
      );
    }
    await takeAway(path, found);
  }
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

async function isAlive({ pid, born }: Owner): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  return (await bornOf(pid)) === born;
}

/** The 22nd field of /proc/PID/stat (proc_pid_stat(5)), counted behind the name, which may hold anything. */
async function bornOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}
