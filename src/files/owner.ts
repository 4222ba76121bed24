import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { orUndefined } from '../core/value/value.ts';

/** A process that has locked a file or has reserved credits. */
export interface Owner {
  readonly pid: number;
  /** Clock ticks since boot; empty if unknown. It distinguishes the process from a later one with the same pid. */
  readonly born: string;
  /** The machine or container; undefined for this machine. */
  readonly where?: string;
}

/** JSON from which other processes find out whether this process is still alive. */
export function ownerText(): string {
  return JSON.stringify({ pid: process.pid, born: processState(process.pid).born, where: machine() } satisfies Owner);
}

/** Undefined if the process is dead. A process on another machine cannot be checked, so it counts as alive if `isRecent` returns true. */
export function livingOwner(text: string, isRecent: () => boolean): Owner | undefined {
  const owner = orUndefined(() => JSON.parse(text) as Owner);
  return owner && isAlive(owner, isRecent) ? owner : undefined;
}

/** Undefined if the process runs on this machine. */
export function otherMachine({ where }: Owner): string | undefined {
  return where === undefined || where === machine() ? undefined : where.split(' ')[0];
}

function isAlive(owner: Owner, isRecent: () => boolean): boolean {
  if (otherMachine(owner) !== undefined) return isRecent();
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    // Any other error means that the process exists but belongs to another user.
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const { born, isZombie } = processState(owner.pid);
  return born === owner.born && !isZombie;
}

/** Host name and pid namespace, because containers on one machine may have the same host name. */
function machine(): string {
  return `${hostname()} ${orUndefined(() => readlinkSync('/proc/self/ns/pid')) ?? ''}`.trim();
}

/** Reads fields 3 and 22 of /proc/PID/stat (proc_pid_stat(5)), counted after the program's name, which may contain any characters. */
function processState(pid: number): { born: string; isZombie: boolean } {
  const text = orUndefined(() => readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? '';
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { born: fields[19] ?? '', isZombie: fields[0] === 'Z' || fields[0] === 'X' };
}
