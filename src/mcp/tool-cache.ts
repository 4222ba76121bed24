import { join } from 'node:path';
import { AutomateError } from '../core/failure.ts';
import type { Tool, ToolServer } from '../core/tools.ts';
import type { Redactor } from '../credentials/redact.ts';
import { homeFolder } from '../files/home.ts';
import { createStateFile, type StateFile } from '../files/state-file.ts';

export interface CachedServer {
  /** The time when the server sent the description (ISO 8601). */
  readonly at: string;
  /** The saved connection as JSON. If the connection has changed since then, the cached description may belong to a different server. */
  readonly written: string;
  readonly server: ToolServer;
}

interface CacheFile {
  readonly version: 1;
  readonly servers: Readonly<Record<string, CachedServer>>;
}

/** Undefined if there is none or if the connection has changed. */
export function cachedServer(environment: NodeJS.ProcessEnv, name: string, written: object): CachedServer | undefined {
  const servers = serversIn(fileIn(environment));
  const found = Object.hasOwn(servers, name) ? servers[name] : undefined;
  return found?.written === JSON.stringify(written) ? found : undefined;
}

/** Caches the description of a server and its tools for `automate nodes`. All secrets in it are masked. */
export async function cacheServer(
  { environment, redactor }: { readonly environment: NodeJS.ProcessEnv; readonly redactor: Redactor },
  name: string,
  written: object,
  described: ToolServer,
): Promise<void> {
  const server = JSON.parse(redactor.json(JSON.stringify(described))) as ToolServer;
  const file = fileIn(environment);
  await file.alone(async () => {
    const cached: CachedServer = { at: new Date().toISOString(), written: JSON.stringify(written), server };
    await file.write({ version: 1, servers: { ...serversIn(file), [name]: cached } });
  });
}

/** Empty if the cache file is damaged, because the servers can send their descriptions again. */
function serversIn(file: StateFile<CacheFile>): CacheFile['servers'] {
  try {
    return file.read()?.servers ?? {};
  } catch (error) {
    if (error instanceof AutomateError) return {};
    throw error;
  }
}

function fileIn(environment: NodeJS.ProcessEnv) {
  return createStateFile(join(homeFolder(environment), 'mcp-tools.json'), isCacheFile);
}

function isCacheFile(found: unknown): found is CacheFile {
  const { version, servers } = (found ?? {}) as Partial<CacheFile>;
  return version === 1 && typeof servers === 'object' && servers !== null && Object.values(servers).every(isCachedServer);
}

function isCachedServer(found: Partial<CachedServer> | null): boolean {
  const { at, written, server } = found ?? {};
  const tools: unknown = server?.tools;
  const isTool = (tool: Partial<Tool> | null) => typeof tool?.name === 'string' && typeof tool.inputSchema === 'object';
  return !Number.isNaN(Date.parse(at ?? '')) && typeof written === 'string' && Array.isArray(tools) && tools.every(isTool);
}
