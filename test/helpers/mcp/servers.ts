import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const beside = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const installed = (name: string) => beside(`../../../node_modules/@modelcontextprotocol/${name}/dist/index.js`);

/** Commands that start public MCP servers over stdio. */
export const stdioServers = {
  everything: [process.execPath, installed('server-everything'), 'stdio'],
  filesystem: (folder: string) => [process.execPath, installed('server-filesystem'), folder],
  memory: [process.execPath, installed('server-memory')],
} as const;

/**
 * Returns the command that starts `odd-server.mjs` with one of its cases. `note`: a file in which the server records its start
 * and its calls.
 */
export function oddServer(manner: string, note = ''): string[] {
  return [process.execPath, beside('odd-server.mjs'), manner, ...(note === '' ? [] : [note])];
}

/** A server that listens on a port. */
export interface ListeningServer {
  readonly origin: string;
  /** The URL of its MCP endpoint. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts server-everything for the current test, on loopback only. */
export function listeningServer(transport: 'streamableHttp' | 'sse', port?: string): Promise<ListeningServer> {
  const args = ['--import', beside('pinned.mjs'), installed('server-everything'), transport];
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH, ...(port && { PINNED_PORT: port }) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
  const stop = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  onTestFinished(stop);
  return new Promise((resolve, reject) => {
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      const found = /pinned to port (\d+)\./.exec(said)?.[1];
      if (found === undefined) return;
      const origin = `http://127.0.0.1:${found}`;
      resolve({ origin, url: `${origin}${transport === 'sse' ? '/sse' : '/mcp'}`, stop });
    });
    child.on('exit', () => reject(new Error(`the server ended: ${said}`)));
  });
}

/** Returns the YAML of a connection with a command. */
export function commandConnection(words: readonly string[], more = ''): string {
  return `{ type: mcp, command: ${JSON.stringify(words)}${more} }`;
}
