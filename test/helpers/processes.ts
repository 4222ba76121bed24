import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** True while a process with this pid exists. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** The pid of a process that has ended. */
export function deadPid(): number {
  return spawnSync(process.execPath, ['-e', '']).pid;
}

/** Reads a file of a process in /proc, such as `cmdline`, with spaces between its parts; empty once the process has ended. */
export function readProc(pid: number | string, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

/** The pids of a process's children. */
export function childrenOf(pid: number): number[] {
  return readProc(pid, `task/${pid}/children`).trim().split(' ').filter(Boolean).map(Number);
}
