import { invalidOption } from '../../core/failure.ts';
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
  readonly scheme?: string | undefined;
  readonly user?: string | undefined;
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
