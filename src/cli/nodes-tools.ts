import { type AskingOptions, askServer, cacheToolServer, summaryOf } from '../connections/tool-server.ts';
import { cleaned, excerpt } from '../core/answer/response.ts';
import { AutomateError } from '../core/failure.ts';
import { counted } from '../core/text/number.ts';
import { readConnections } from '../credentials/connections-file.ts';
import { type CachedServer, cachedServer } from '../mcp/tool-cache.ts';
import { loadConnection } from '../run/flow-folder.ts';
import { messageWithAdvice } from './advice.ts';
import { tableText } from './show/table.ts';
import type { Terminal } from './terminal.ts';

/** With `refresh`, first asks the servers for their current tools. */
export async function connectionLines(
  { refresh, ...asking }: AskingOptions & { refresh?: boolean },
  terminal: Terminal,
): Promise<string[]> {
  const saved = Object.entries(readConnections(process.env)).filter(([, { type }]) => type === 'mcp');
  if (refresh) for (const [name, written] of saved) await refreshTools(name, written, asking, terminal);
  return saved.flatMap(([name, written]) => ['', ...linesOf(name, cachedServer(process.env, name, written))]);
}

/** Caches the tools. Only warns if the server cannot be reached. */
async function refreshTools(name: string, written: object, options: AskingOptions, terminal: Terminal): Promise<void> {
  try {
    const connection = await loadConnection(name, false);
    if (connection.type === 'mcp') await cacheToolServer(name, written, await askServer(connection, options, terminal), terminal);
  } catch (error) {
    if (!(error instanceof AutomateError)) throw error;
    terminal.warn(`${cleaned(messageWithAdvice(error)).split('\n').join('\n  ')}`);
  }
}

function linesOf(name: string, cached: CachedServer | undefined): string[] {
  if (!cached) return [`mcp connection ${name}: its tools are not cached yet; to fetch them: automate connections tools ${name}`];
  const { tools } = cached.server;
  const rows = tools.map((tool) => [`  ${excerpt(tool.name, 80)}`, summaryOf(tool)]);
  return [`mcp connection ${name}: ${counted(tools.length, 'tool')}, fetched ${ageOf(cached.at)} ago`, ...tableText(rows)];
}

function ageOf(at: string): string {
  const minutes = Math.max(0, Math.floor((Date.now() - Date.parse(at)) / 60_000));
  if (minutes < 1) return 'less than a minute';
  if (minutes < 60) return counted(minutes, 'minute');
  return minutes < 48 * 60 ? counted(Math.floor(minutes / 60), 'hour') : counted(Math.floor(minutes / 1440), 'day');
}
