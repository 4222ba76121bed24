import { type ApiKey, keyState } from '../store/api-key.ts';
import { holdsKey } from '../store/key-value.ts';
import type { KeyDirectory } from './key-directory.ts';
import type { KeyClock } from './request-rates.ts';

export interface KeyRequest {
  readonly authorization?: string;
  readonly xApiKey?: string;
  /** The part of the URL after the question mark, still percent-encoded; empty if there is none. */
  readonly query: string;
  readonly address: string;
}

type KeyProblem = 'bad-request' | 'key-in-query' | 'key-missing' | 'key-invalid' | 'key-expired' | 'rate-limited';

interface KeyRefusal {
  readonly problem: KeyProblem;
  readonly detail: string;
  /** Set only for `rate-limited`. */
  readonly retryAfterS?: number;
}

type Authentication = { readonly key: ApiKey } | { readonly refusal: KeyRefusal };

/** At most one attempt per minute is recorded for each IP address. */
interface RefusedAttempt {
  readonly address: string;
  readonly problem: KeyProblem;
  /** The id of the API key if it has expired; undefined if the key is unknown. */
  readonly key: string | undefined;
}

interface AuthenticatorOptions {
  readonly keys: Pick<KeyDirectory, 'lookUp' | 'clock'>;
  readonly failures: FailedAttempts;
  refused(attempt: RefusedAttempt): void;
}

const sending = 'Authorization: Bearer KEY or X-API-Key: KEY';

/** Scopes, flows and the request rate are not checked here. */
export class Authenticator {
  constructor(readonly options: AuthenticatorOptions) {}

  authenticate({ authorization, xApiKey, query, address }: KeyRequest): Authentication {
    if (hasKey(query))
      return refusedKey('key-in-query', `a key must not be part of the URL, because logs show URLs\nsend it as ${sending}`);
    const bearer = tokenOf(authorization);
    const other = xApiKey?.trim() || undefined;
    if (bearer !== undefined && other !== undefined) return refusedKey('bad-request', `expected ${sending}, found both`);
    const value = bearer ?? other;
    if (value === undefined) return refusedKey('key-missing', `expected ${sending}`);
    const key = this.options.keys.lookUp(value);
    if (!key) return this.#failed({ address, problem: 'key-invalid', key: undefined }, 'the key is not known here, or was revoked');
    if (keyState(key, this.options.keys.clock.wallNow()) === 'expired')
      return this.#failed({ address, problem: 'key-expired', key: key.id }, `the key expired on ${dayOf(key.expiresAtMs)}`);
    return { key };
  }

  #failed(attempt: RefusedAttempt, detail: string): Authentication {
    const { isFirst, retryAfterS } = this.options.failures.add(attempt.address);
    if (isFirst) this.options.refused(attempt);
    if (retryAfterS === undefined) return refusedKey(attempt.problem, detail);
    return { refusal: { problem: 'rate-limited', detail: 'too many attempts with invalid keys', retryAfterS } };
  }
}

function refusedKey(problem: KeyProblem, detail: string): Authentication {
  return { refusal: { problem, detail } };
}

/** The token after `Bearer`; undefined for any other scheme. */
function tokenOf(authorization: string | undefined): string | undefined {
  return /^bearer[ \t]+(\S.*)$/i.exec(authorization?.trim() ?? '')?.[1];
}

/** True if the name or value of a query parameter contains an API key. */
function hasKey(query: string): boolean {
  if (query === '') return false;
  return [...new URLSearchParams(query)].some(([name, value]) => holdsKey(value) || holdsKey(name));
}

function dayOf(wallMs = 0): string {
  return new Date(wallMs).toISOString().slice(0, 10);
}

const windowMs = 60_000;

/** Number of failed attempts per IP address and minute that get the status 401. Further ones get 429. */
const maxFailures = 19;

/** If there are more, the address whose minute began first is forgotten. */
const maxAddresses = 10_000;

/** The facts about a client's IP address after an attempt to log in or to use an API key has failed. */
interface RefusedClient {
  readonly isFirst: boolean;
  /** Undefined while the IP address has attempts left. */
  readonly retryAfterS: number | undefined;
}

/** Counts failed attempts for each IP address and minute. A minute begins with the first failed attempt. */
export class FailedAttempts {
  /** The current minute of each IP address, with the oldest first. */
  readonly #windows = new Map<string, { readonly startMs: number; count: number }>();

  constructor(readonly clock: Pick<KeyClock, 'now'>) {}

  add(address: string): RefusedClient {
    const network = networkOf(address);
    const now = this.clock.now();
    const window = this.#windowOf(network, now);
    window.count++;
    const left = window.startMs + windowMs - now;
    return { isFirst: window.count === 1, retryAfterS: window.count > maxFailures ? Math.max(1, Math.ceil(left / 1000)) : undefined };
  }

  #windowOf(network: string, now: number) {
    const found = this.#windows.get(network);
    if (found && now - found.startMs < windowMs) return found;
    this.#windows.delete(network);
    const [oldest] = this.#windows.keys();
    if (oldest !== undefined && this.#windows.size >= maxAddresses) this.#windows.delete(oldest);
    const window = { startMs: now, count: 0 };
    this.#windows.set(network, window);
    return window;
  }
}

/** For IPv6, the network is the first 64 bits, because senders can choose the rest. */
function networkOf(address: string): string {
  const [plain = ''] = address.split('%');
  if (!plain.includes(':')) return plain;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain)?.[1];
  if (mapped) return mapped;
  const [head = '', tail] = plain.split('::');
  const first = head === '' ? [] : head.split(':');
  const last = tail ? tail.split(':') : [];
  const zeros = tail === undefined ? [] : new Array<string>(Math.max(0, 8 - first.length - last.length)).fill('0');
  return `${[...first, ...zeros, ...last].slice(0, 4).join(':')}::/64`;
}
