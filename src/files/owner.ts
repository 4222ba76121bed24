import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { orUndefined } from '../core/value/value.ts';

/** A process that has locked a file or has reserved credits. */
export interface Owner {
  readonly pid: number;
  /**
   * The process's start time in clock ticks since boot; empty if unknown. It distinguishes the process from a later process with the same
   * pid.
   */
  readonly born: string;
  /** The machine or container on which the process runs. If undefined, it is this machine. */
  readonly where?: string;
}

/** Returns JSON that identifies this process. Other processes read it to find out whether this process is still alive. */
export function ownerText(): string {
  return JSON.stringify({ pid: process.pid, born: processState(process.pid).born, where: machine() } satisfies Owner);
}

/**
 * Parses the JSON that identifies a process. Returns the process if it is alive, and otherwise undefined. A process on another machine
 * cannot be checked, so it counts as alive if `isRecent` returns true.
 */
export function livingOwner(text: string, isRecent: () => boolean): Owner | undefined {
  const owner = orUndefined(() => JSON.parse(text) as Owner);
  return owner && isAlive(owner, isRecent) ? owner : undefined;
}

/** Returns the name of the machine on which a process runs; undefined if it is this machine. */
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

/**
 * Returns this machine's host name and pid namespace. The namespace is needed because containers on one machine may have the same host
 * name.
 */
function machine(): string {
  return `${hostname()} ${orUndefined(() => readlinkSync('/proc/self/ns/pid')) ?? ''}`.trim();
}

/**
 * Reads the state and the start time of a process, which are fields 3 and 22 of /proc/PID/stat (proc_pid_stat(5)). The fields are counted
 * from the end of the program's name, because the name may contain any characters.
 */
function processState(pid: number): { born: string; isZombie: boolean } {
  const text = orUndefined(() => readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? '';
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { born: fields[19] ?? '', isZombie: fields[0] === 'Z' || fields[0] === 'X' };
}
