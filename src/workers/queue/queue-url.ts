import type { Redis } from 'ioredis';
import { AutomateError, invalidOption } from '../../core/failure.ts';
import { orUndefined } from '../../core/value/value.ts';

/** Contains no password. */
export interface QueueAddress {
  /** A host name or an IP address. An IPv6 address has no brackets. */
  readonly host: string;
  readonly port: number;
  readonly db: number;
  /** Undefined for the default user. */
  readonly user: string | undefined;
  readonly isTls: boolean;
}

const defaultPort = 6379;

const example = 'expected a URL such as redis://redis:6379';

const passwordText =
  'expected a URL without a password, which others could see\nset AUTOMATE_QUEUE_PASSWORD, or AUTOMATE_QUEUE_PASSWORD_FILE to the name of a file that contains it';

interface UrlParts {
  /** The text before `://`; undefined if the URL has no `://`. */
  readonly scheme?: string;
  readonly user?: string;
  readonly rest: string;
}

const shape = /^(?:(?<scheme>[^:/?#@]+):\/\/)?(?:(?<user>.*)@)?(?<rest>.*)$/s;

/**
 * Parses the URL of a queue, which is `redis://[user@]host[:port][/db]`, or `rediss://` for TLS. Throws an AutomateError (`usage`) if the
 * text is not such a URL or if the URL contains a password. The error message leaves out all parts that may be secret.
 */
export function parseQueueUrl(text: string): QueueAddress {
  const parts = shape.exec(text)?.groups as unknown as UrlParts;
  const refusal = faultOfUrl(parts);
  if (refusal !== undefined) throw invalidOption('queue', refusal);
  const { hostname, port, pathname } = addressIn(parts);
  const db = /^\/?(\d{0,5})$/.exec(pathname)?.[1];
  if (db === undefined)
    throw invalidOption('queue', `expected the number of a database after the host, as in redis://redis:6379/1, found "${pathname}"`);
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? defaultPort : Number(port),
    db: Number(db),
    user: parts.user ? decodeURIComponent(parts.user) : undefined,
    isTls: parts.scheme?.toLowerCase() === 'rediss',
  };
}

/** The reason why the URL is refused. Everything up to the last `@` counts as the user, because a password may contain any character. */
function faultOfUrl({ scheme, user = '', rest }: UrlParts): string | undefined {
  const name = orUndefined(() => decodeURIComponent(user));
  if (`${user}${name}`.includes(':')) return passwordText;
  if (name === undefined) return `${example}, found % in the name of the user`;
  if (/[?#]/.test(name + rest)) return `${example}, found one with ? or #`;
  if (/sentinel|cluster/i.test(scheme ?? '') || rest.includes(',')) return 'expected one Redis, found the URL of a Sentinel or a Cluster';
  if (scheme === undefined) return `${example}, found one without redis://`;
  return /^rediss?$/i.test(scheme) ? undefined : `${example}, or rediss:// for TLS, found ${scheme}://`;
}

function addressIn({ rest }: UrlParts): URL {
  const url = orUndefined(() => new URL(`redis://${rest}`));
  if (!url?.hostname || url.port === '0') throw invalidOption('queue', `${example}, found the host "${rest.replace(/\/.*/s, '')}"`);
  return url;
}

/** Contains no password. */
export function formatQueueUrl({ host, port, db, user, isTls }: QueueAddress): string {
  const name = user === undefined ? '' : `${encodeURIComponent(user)}@`;
  return `${isTls ? 'rediss' : 'redis'}://${name}${host.includes(':') ? `[${host}]` : host}:${port}${db === 0 ? '' : `/${db}`}`;
}

/** Throws an AutomateError (`usage`) if the name cannot be used in Redis keys. */
export function parseQueueName(text = 'default'): string {
  if (/^[\w-]{1,64}$/.test(text)) return text;
  throw invalidOption('queueName', `expected letters, digits, - and _, at most 64 of them, found "${text}"`);
}

/** Because of the braces, all keys of the queue belong to the same slot of a Redis cluster. */
export function queuePrefix(queueName: string): string {
  return `{automate:${queueName}}`;
}

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
