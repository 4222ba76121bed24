import { cleaned, excerpt } from '../../core/answer/response.ts';
import type { McpConnection, ToolServer } from '../../core/tools/tools.ts';
import { exitCodes } from '../exit.ts';
import { serverText, summaryOf } from '../show/tools.ts';
import type { Terminal } from '../terminal.ts';
import { type AskingOptions, askServer, cacheToolServer } from './tool-server.ts';

/** Speaks with the server of a saved connection, and says what it is. Answers the exit code. */
export async function testMcpCommand(
  connection: McpConnection,
  written: object,
  options: AskingOptions,
  terminal: Terminal,
): Promise<number> {
  const server = await askServer(connection, options, terminal);
  await cacheToolServer(connection.name, written, server, terminal);
  tellServer(server, terminal);
  await terminal.print(`${connection.name}: works`);
  return exitCodes.success;
}

const shownTools = 10;

/** Tells what a server is, and its first tools. */
export function tellServer(server: ToolServer, { say }: Terminal): void {
  say(serverText(server));
  for (const tool of server.tools.slice(0, shownTools)) say(cleaned(`  ${excerpt(tool.name, 80)}: ${summaryOf(tool) || '-'}`));
  if (server.tools.length > shownTools) say(`  and ${server.tools.length - shownTools} more`);
}
