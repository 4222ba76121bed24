import { join } from 'node:path';
import { AutomateError } from '../../core/failure.ts';
import { homeFolder } from '../../io/files/home.ts';
import { runningServer } from '../../serve/serve-lock.ts';
import { Links } from '../../serve/session/links.ts';
import { exitCodes } from '../exit.ts';
import type { Terminal } from '../terminal.ts';

/** Prints a link to the page of the server that runs on this home. Returns the exit code. */
export async function loginCommand(terminal: Terminal): Promise<number> {
  const home = homeFolder(process.env);
  const server = runningServer(join(home, 'serve.lock'));
  if (!server?.address || !isAlive(server.pid))
    throw new AutomateError('usage', 'no server runs on this home\nstart one: automate serve flows');
  await terminal.print(`${server.address}/login#${new Links(home).create()}`);
  return exitCodes.success;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
