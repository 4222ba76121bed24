import { exitCodes } from '../../app/exit-codes.ts';
import { AutomateError } from '../../core/failure.ts';
import { homeFolder } from '../../io/files/home.ts';
import { Links } from '../../io/server/links.ts';
import { runningServer } from '../../io/server/running-server.ts';
import type { Terminal } from '../terminal.ts';

/** Prints a link to the page of the server that runs on this home. Returns the exit code. */
export async function loginCommand(terminal: Terminal): Promise<number> {
  const home = homeFolder(process.env);
  const server = runningServer(home);
  if (!server?.address) throw new AutomateError('usage', 'no server runs on this home\nstart one: automate serve flows');
  await terminal.print(`${server.address}/login#${new Links(home).create()}`);
  return exitCodes.success;
}
