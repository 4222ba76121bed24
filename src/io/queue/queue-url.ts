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

/** The name of the queue without a name of its own. */
export const defaultQueueName = 'default';

const defaultPort = 6379;

const example = 'expected a URL such as redis://redis:6379';

const passwordText =
  'expected a URL without a password, which others could see\nset AUTOMATE_QUEUE_PASSWORD, or AUTOMATE_QUEUE_PASSWORD_FILE to the name of a file that holds it';

/**
 * Parses `redis://[user@]host[:port][/db]`, or `rediss://` for TLS. Throws an AutomateError (`usage`) for every other text, and for a password
 * in it. No message repeats a part that may be secret.
 */
export function parseQueueUrl(text: string): QueueAddress {
  const refuse = (message: string) => invalidOption('queue', message);
  const { scheme = '', user, rest = '' } = /^(?:(?<scheme>[^:/?#@]+):\/\/)?(?:(?<user>.*)@)?(?<rest>.*)$/s.exec(text)?.groups ?? {};
  if (user?.includes(':')) throw refuse(passwordText);
  if (/[?#]/.test(user ?? '') || /[?#]/.test(rest)) throw refuse(`${example}, found one with ? or #`);
  if (/sentinel|cluster/i.test(scheme) || rest.includes(',')) throw refuse('expected one Redis, found the URL of a Sentinel or a Cluster');
  if (!/^rediss?$/i.test(scheme))
    throw refuse(`${example}, or rediss:// for TLS, found ${scheme ? `${scheme}://` : 'one without redis://'}`);
  const url = orUndefined(() => new URL(`${scheme.toLowerCase()}://${rest}`));
  if (!url?.hostname || url.port === '0') throw refuse(`${example}, found the host "${rest.replace(/\/.*/s, '')}"`);
  const db = /^\/?(\d{0,5})$/.exec(url.pathname)?.[1];
  if (db === undefined)
    throw refuse(`expected the number of a database after the host, as in redis://redis:6379/1, found "${url.pathname}"`);
  const name = orUndefined(() => decodeURIComponent(user ?? ''));
  if (name === undefined || name.includes(':')) throw refuse(name ? passwordText : `${example}, found % in the name of the user`);
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? defaultPort : Number(url.port),
    db: Number(db),
    user: name || undefined,
    isTls: url.protocol === 'rediss:',
  };
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

/** Returns the name of a queue. Throws an AutomateError (`usage`) for one that no key can have. */
export function parseQueueName(text: string): string {
  if (/^[\w-]{1,64}$/.test(text)) return text;
  throw invalidOption('queueName', `expected letters, digits, - and _, at most 64 of them, found "${text}"`);
}

/** The beginning of every key of a queue. Its braces put all of them into one slot. */
export function queuePrefix(queueName: string): string {
  return `{automate:${queueName}}`;
}
