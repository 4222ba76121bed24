import { AutomateError } from '../core/failure.ts';
import { homeFolder } from '../files/home.ts';
import { exitCodes } from '../run/exit-codes.ts';
import { Links, runningServer } from '../serve/store/links.ts';
import type { Terminal } from './terminal.ts';

/** Prints a login link to the web page of the running server that uses automate's current home folder. */
export async function loginCommand(terminal: Terminal): Promise<number> {
  const home = homeFolder(process.env);
  const server = runningServer(home);
  if (!server?.address) throw new AutomateError('usage', 'no server is running with this home folder\nstart one: automate serve flows');
  await terminal.print(`${server.address}/login#${new Links(home).create()}`);
  return exitCodes.success;
}
