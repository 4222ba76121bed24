import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { orUndefined } from '../../core/value/value.ts';

/** A process that owns a lock or a hold. */
export interface Owner {
  readonly pid: number;
  /** Start of the process in clock ticks, since a pid is reused; empty if the platform does not show it. */
  readonly born: string;
  /** The machine or container in which the pid is valid; absent for this machine. */
  readonly where?: string;
}

/** This process as an owner, for other processes to read. */
export function ownerText(): string {
  return JSON.stringify({ pid: process.pid, born: processState(process.pid).born, where: machine() } satisfies Owner);
}

/** The owner in a text if its process is alive. `isRecent` decides for another machine, whose processes cannot be seen. */
export function livingOwner(text: string, isRecent: () => boolean): Owner | undefined {
  const owner = orUndefined(() => JSON.parse(text) as Owner);
  return owner && isAlive(owner, isRecent) ? owner : undefined;
}

/** The name of an owner's machine; absent for this machine. */
export function otherMachine({ where }: Owner): string | undefined {
  return where === undefined || where === machine() ? undefined : where.split(' ')[0];
}

function isAlive(owner: Owner, isRecent: () => boolean): boolean {
  if (otherMachine(owner) !== undefined) return isRecent();
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    // Any other error: the process exists and belongs to another user.
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const { born, isZombie } = processState(owner.pid);
  return born === owner.born && !isZombie;
}

/** The host name and the namespace of pids: containers of one machine may share its name. */
function machine(): string {
  return `${hostname()} ${orUndefined(() => readlinkSync('/proc/self/ns/pid')) ?? ''}`.trim();
}

/** Reads fields 3 and 22 of /proc/PID/stat (proc_pid_stat(5)), counted after the name, which may contain anything. */
function processState(pid: number): { born: string; isZombie: boolean } {
  const text = orUndefined(() => readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? '';
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { born: fields[19] ?? '', isZombie: fields[0] === 'Z' || fields[0] === 'X' };
}
