import { spawnSync } from 'node:child_process';

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
