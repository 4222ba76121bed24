import type { Redis } from 'ioredis';
import { AutomateError } from '../../core/failure.ts';

/** Each section needs a separate INFO command, because Redis 6.2 accepts only one at a time. */
const sections = ['server', 'memory', 'persistence', 'replication'] as const;

/** Values from the replies to INFO, keyed by name. A managed service may forbid some sections, whose values are then missing. */
type Info = ReadonlyMap<string, string>;

/**
 * Throws an AutomateError (`credential`) if a queue cannot use this Redis server, or if the server may drop data. Calls `warn` if a setting
 * of the server may cause a loss of work.
 */
export async function refuseUnsafe(client: Pick<Redis, 'info'>, url: string, warn: (text: string) => void): Promise<void> {
  const info = await readInfo(client);
  const problem = dangerIn(info);
  if (problem !== undefined) throw new AutomateError('credential', `${url} cannot be used: ${problem}`);
  if (info.get('maxmemory') === undefined)
    warn(
      `${url} does not report its memory limit; make sure that its maxmemory-policy is noeviction, because otherwise Redis might drop records`,
    );
  if (info.get('aof_enabled') === '0')
    warn(
      `${url} has no append-only file: if it restarts, records in progress are sent again\nchange that: redis-cli config set appendonly yes`,
    );
}

async function readInfo(client: Pick<Redis, 'info'>): Promise<Info> {
  const texts = await Promise.all(sections.map((section) => client.info(section).catch(() => '')));
  const lines = texts.join('\r\n').split('\r\n');
  return new Map(
    lines.flatMap((line) => (line.includes(':') ? [[line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]] : [])),
  );
}

function dangerIn(info: Info): string | undefined {
  const version = info.get('redis_version');
  const [major = 0, minor = 0] = version?.split('.').map(Number) ?? [];
  if (version !== undefined && !info.has('valkey_version') && (major < 6 || (major === 6 && minor < 2)))
    return `expected Redis 6.2 or later, or Valkey, found Redis ${version}`;
  const mode = info.get('redis_mode');
  if (mode !== undefined && mode !== 'standalone') return `expected one Redis, found a ${mode === 'sentinel' ? 'Sentinel' : 'Cluster'}`;
  if (info.get('role') === 'slave') return 'expected a Redis that can be written to, found a replica';
  const policy = info.get('maxmemory_policy');
  const limit = info.get('maxmemory');
  if (limit !== undefined && limit !== '0' && policy !== undefined && policy !== 'noeviction')
    return `its maxmemory-policy is ${policy}, so Redis might drop records\nchange that: redis-cli config set maxmemory-policy noeviction`;
  return undefined;
}
