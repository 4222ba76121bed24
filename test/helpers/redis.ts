import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { unusedPort } from './raw-server.ts';

/** True if redis-server is installed on this machine. */
export const hasRedis = spawnSync('redis-server', ['--version']).status === 0;

/** Suffix for the titles of tests that need Redis, with the reason why they are skipped. */
export const unlessRedis = hasRedis ? '' : ' (skipped: there is no redis-server)';

/** A Redis server for one test, on a free port of 127.0.0.1. */
export interface RedisServer {
  readonly port: number;
  /** An address such as `redis://127.0.0.1:PORT`. */
  readonly url: string;
  readonly pid: number;
  /** Kills the server, which saves nothing more. */
  kill(): Promise<void>;
  /** Shuts the server down properly. */
  stop(): Promise<void>;
  /** Starts the server again on the same port, with its append-only file. */
  start(): Promise<void>;
  /** Freezes the server: connections stay open, but requests get no answer. */
  freeze(): void;
  thaw(): void;
}

/**
 * Starts a Redis server, and stops it after the current test. `settings`: directives of redis.conf, such as `{ requirepass:
 * 'secret' }`. It has an append-only file unless `appendonly` is `no`.
 */
export async function redisServer(settings: Readonly<Record<string, string>> = {}): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'automate-redis-'));
  const port = Number(settings.port ?? (await unusedPort()));
  const all = { appendonly: 'yes', appendfsync: 'always', save: '', ...settings, port: String(port), bind: '127.0.0.1', dir: folder };
  const args = Object.entries(all).flatMap(([name, value]) => [`--${name}`, value]);
  let server = await startRedis(args, port);
  const signal = (name: NodeJS.Signals) => void server.kill(name);
  const end = async (name: NodeJS.Signals) => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, 'exit');
    signal(name);
    // A frozen process handles SIGTERM only after it continues.
    signal('SIGCONT');
    await exited;
  };
  onTestFinished(async () => {
    await end('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    get pid() {
      return server.pid as number;
    },
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    start: async () => {
      server = await startRedis(args, port);
    },
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
  };
}

/** Resolves once the server accepts connections. */
async function startRedis(args: readonly string[], port: number): Promise<ChildProcess> {
  const server = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let log = '';
  server.stdout.on('data', (chunk: Buffer) => {
    log += chunk.toString();
  });
  while (!(await accepts(port))) if (server.exitCode !== null) throw new Error(`redis-server has ended: ${log}`);
  return server;
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => setTimeout(resolve, 20, false));
  });
}
