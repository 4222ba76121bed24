import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** True if a process with this pid exists. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Returns the pid of a process that has ended. */
export function deadPid(): number {
  return spawnSync(process.execPath, ['-e', '']).pid;
}

/** Reads a file about a process in /proc, such as `cmdline`, with spaces between its parts; empty if the process has ended. */
export function readProc(pid: number | string, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

/** Returns the pids of the child processes of a process. */
export function childrenOf(pid: number): number[] {
  return readProc(pid, `task/${pid}/children`).trim().split(' ').filter(Boolean).map(Number);
}
