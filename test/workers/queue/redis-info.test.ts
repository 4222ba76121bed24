import { expect, test } from 'vitest';
import { refuseUnsafe } from '../../../src/workers/queue/queue-url.ts';

const good = {
  redis_version: '7.0.15',
  redis_mode: 'standalone',
  maxmemory: '0',
  maxmemory_policy: 'allkeys-lru',
  aof_enabled: '1',
  role: 'master',
};

/** Returns the warnings for a Redis whose INFO contains these facts. */
async function warningsOf(facts: Readonly<Record<string, string | undefined>>): Promise<string[]> {
  const warnings: string[] = [];
  const lines = Object.entries({ ...good, ...facts }).flatMap(([name, value]) => (value === undefined ? [] : [`${name}:${value}`]));
  const info = async (section?: string | Buffer) => `# ${section}\r\n${section === 'server' ? lines.join('\r\n') : ''}\r\n`;
  await refuseUnsafe({ info } as Parameters<typeof refuseUnsafe>[0], 'redis://redis:6379', (text) => warnings.push(text));
  return warnings;
}

test.each([
  ['any eviction policy but no memory limit', {}],
  ['a memory limit but no eviction', { maxmemory: '1000000', maxmemory_policy: 'noeviction' }],
  ['Redis 6.2', { redis_version: '6.2.0' }],
  ['Valkey', { redis_version: '7.2.4', valkey_version: '8.0.1', server_name: 'valkey' }],
  ['a Valkey that states no version of Redis', { redis_version: '1.0.0', valkey_version: '9.0.0' }],
])('a Redis server with %s is accepted without a warning', async (_name, facts) => {
  expect(await warningsOf(facts)).toEqual([]);
});

test.each([
  [{ redis_version: '6.0.16' }, 'expected Redis 6.2 or later, or Valkey, found Redis 6.0.16'],
  [{ redis_version: '5.0.7' }, 'found Redis 5.0.7'],
  [
    { maxmemory: '1000000', maxmemory_policy: 'allkeys-lru' },
    'its maxmemory-policy is allkeys-lru, so Redis might drop records\nchange that: redis-cli config set maxmemory-policy noeviction',
  ],
  [{ maxmemory: '1000000', maxmemory_policy: 'volatile-ttl' }, 'its maxmemory-policy is volatile-ttl'],
  [{ redis_mode: 'cluster' }, 'expected one Redis, found a Cluster'],
  [{ redis_mode: 'sentinel' }, 'expected one Redis, found a Sentinel'],
  [{ role: 'slave' }, 'expected a Redis that can be written to, found a replica'],
])('a Redis server with %j is refused', async (facts, message) => {
  const refused = warningsOf(facts);
  await expect(refused).rejects.toMatchObject({ kind: 'credential' });
  await expect(refused).rejects.toThrow(`redis://redis:6379 cannot be used: ${message.startsWith('found') ? 'expected' : ''}`);
  await expect(refused).rejects.toThrow(message);
});

test('a Redis server that hides its memory figures or has no append-only file causes a warning for each problem', async () => {
  const [memory, file, ...more] = await warningsOf({ maxmemory: undefined, maxmemory_policy: undefined, aof_enabled: '0' });
  expect(memory).toContain('make sure that its maxmemory-policy is noeviction');
  expect(file).toContain('redis-cli config set appendonly yes');
  expect(more).toEqual([]);
});

test('a Redis server that hides a section of INFO is still accepted', async () => {
  const warnings: string[] = [];
  const info = () => Promise.reject(new Error("NOPERM this user has no permissions to run the 'info' command"));
  await refuseUnsafe({ info }, 'redis://redis:6379', (text) => warnings.push(text));
  expect(warnings).toHaveLength(1);
});
