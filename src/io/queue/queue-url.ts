import { invalidOption } from '../../core/failure.ts';
import { orUndefined } from '../../core/value/value.ts';

/** The address of a Redis, without its password. */
export interface QueueAddress {
  /** An IPv6 address has no brackets. */
  readonly host: string;
  readonly port: number;
  readonly db: number;
  /** Undefined for Redis' default user. */
  readonly user: string | undefined;
  readonly isTls: boolean;
}

const defaultPort = 6379;

const example = 'expected a URL such as redis://redis:6379';

const passwordText =
  'expected a URL without a password, which others could see\nset AUTOMATE_QUEUE_PASSWORD, or AUTOMATE_QUEUE_PASSWORD_FILE to the name of a file that holds it';

/** A URL in parts. */
interface UrlParts {
  /** Undefined without `://`. */
  readonly scheme?: string | undefined;
  readonly user?: string | undefined;
  readonly rest: string;
}

const shape = /^(?:(?<scheme>[^:/?#@]+):\/\/)?(?:(?<user>.*)@)?(?<rest>.*)$/s;

/**
 * Parses `redis://[user@]host[:port][/db]`, or `rediss://` for TLS. Throws an AutomateError (`usage`) for every other text, and for a password
 * in it. No message repeats a part that may be secret.
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

/** The reason to refuse a URL by its parts; undefined if there is none. A password may contain any character. */
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

/** The URL of an address. It has no secret. */
export function formatQueueUrl({ host, port, db, user, isTls }: QueueAddress): string {
  const name = user === undefined ? '' : `${encodeURIComponent(user)}@`;
  return `${isTls ? 'rediss' : 'redis'}://${name}${host.includes(':') ? `[${host}]` : host}:${port}${db === 0 ? '' : `/${db}`}`;
}

/** True for an address that only processes of this machine can reach. */
export function isOnThisMachine({ host }: Pick<QueueAddress, 'host'>): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i.test(host);
}

/** The name of a queue; `default` without one. Throws an AutomateError (`usage`) for one that no key can have. */
export function parseQueueName(text = 'default'): string {
  if (/^[\w-]{1,64}$/.test(text)) return text;
  throw invalidOption('queueName', `expected letters, digits, - and _, at most 64 of them, found "${text}"`);
}

/** The beginning of every key of a queue. Its braces put all of them into one slot. */
export function queuePrefix(queueName: string): string {
  return `{automate:${queueName}}`;
}
