import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { Redis } from 'ioredis';

/** True if redis-server is installed. */
export const hasRedis = spawnSync('redis-server', ['--version']).status === 0;

/**
 * Starts a Redis server with an append-only file, passes it to `use`, and then stops it. `cpuUs` returns the CPU time in µs that
 * it has used.
 */
export async function withRedis(folder, use) {
  const dir = `${folder}/redis`;
  mkdirSync(dir);
  const port = await freePort();
  const server = spawn(
    'redis-server',
    ['--port', port, '--bind', '127.0.0.1', '--dir', dir, '--appendonly', 'yes', '--save', ''].map(String),
    {
      stdio: 'ignore',
    },
  );
  const url = `redis://127.0.0.1:${port}`;
  const client = new Redis(url, { maxRetriesPerRequest: null });
  client.on('error', () => undefined);
  try {
    return await use({ url, cpuUs: async () => usedCpuUs(await client.info('cpu')) });
  } finally {
    client.disconnect();
    server.kill();
    await once(server, 'exit');
  }
}

function usedCpuUs(info) {
  const [user, system] = ['user', 'sys'].map((name) => Number(new RegExp(`^used_cpu_${name}:([\\d.]+)`, 'm').exec(info)[1]));
  return (user + system) * 1e6;
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
