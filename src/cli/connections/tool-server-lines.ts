import { summaryOf } from '../../app/connections/tool-node.ts';
import { cleaned, excerpt } from '../../core/answer/response.ts';
import type { ToolServer } from '../../core/tools/tools.ts';
import { serverText } from '../show/tools.ts';
import type { Terminal } from '../terminal.ts';

const maxShownTools = 10;

/** Prints a server and its first tools. */
export function printServer(server: ToolServer, { say }: Terminal): void {
  say(serverText(server));
  for (const tool of server.tools.slice(0, maxShownTools)) say(cleaned(`  ${excerpt(tool.name, 80)}: ${summaryOf(tool) || '-'}`));
  if (server.tools.length > maxShownTools) say(`  and ${server.tools.length - maxShownTools} more`);
}
