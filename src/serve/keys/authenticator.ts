import { type ApiKey, keyState } from '../../io/server/api-key.ts';
import { holdsKey } from '../../io/server/key-value.ts';
import type { FailedAttempts } from './failed-attempts.ts';
import type { KeyDirectory } from './key-directory.ts';

/** The parts of a request that may hold a key. */
export interface KeyRequest {
  readonly authorization?: string | undefined;
  readonly xApiKey?: string | undefined;
  /** The address's part after the question mark, as it was sent; empty for none. */
  readonly query: string;
  /** The sender. */
  readonly address: string;
}

/** The problem types of a request without an accepted key. */
export type KeyProblem = 'bad-request' | 'key-in-query' | 'key-missing' | 'key-invalid' | 'key-expired' | 'rate-limited';

/** The reason why a request is refused. */
export interface KeyRefusal {
  readonly problem: KeyProblem;
  /** The reason in words, for the `detail` of the problem. */
  readonly detail: string;
  /** Seconds until the next attempt is allowed; only for `rate-limited`. */
  readonly retryAfterS?: number | undefined;
}

/** The accepted key of a request, or the reason why the request is refused. */
export type Authentication = { readonly key: ApiKey } | { readonly refusal: KeyRefusal };

/** A refused attempt to use a key. At most one a minute is recorded for each address. */
export interface RefusedAttempt {
  readonly address: string;
  readonly problem: KeyProblem;
  /** The id of an expired key; undefined for an unknown key. */
  readonly key: string | undefined;
}

/** The ports of an authenticator. */
export interface AuthenticatorOptions {
  readonly keys: Pick<KeyDirectory, 'lookUp' | 'clock'>;
  readonly failures: FailedAttempts;
  /** Records a refused attempt. */
  refused(attempt: RefusedAttempt): void;
}

const sending = 'Authorization: Bearer KEY or X-API-Key: KEY';

/** Finds the key of a request. Checks neither scopes nor flows nor the rate. */
export class Authenticator {
  constructor(readonly options: AuthenticatorOptions) {}

  authenticate({ authorization, xApiKey, query, address }: KeyRequest): Authentication {
    if (hasKey(query)) return refusedKey('key-in-query', `a key must not stand in the address, where logs show it\nsend it as ${sending}`);
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
    return { refusal: { problem: 'rate-limited', detail: 'too many attempts with keys that are not let in', retryAfterS } };
  }
}

function refusedKey(problem: KeyProblem, detail: string): Authentication {
  return { refusal: { problem, detail } };
}

/** Returns the key after `Bearer`; undefined for another scheme. */
function tokenOf(authorization: string | undefined): string | undefined {
  return /^bearer[ \t]+(\S.*)$/i.exec(authorization?.trim() ?? '')?.[1];
}

/** True if a parameter of a query holds a key, in its value or its name. */
function hasKey(query: string): boolean {
  if (query === '') return false;
  return [...new URLSearchParams(query)].some(([name, value]) => holdsKey(value) || holdsKey(name));
}

function dayOf(wallMs = 0): string {
  return new Date(wallMs).toISOString().slice(0, 10);
}
