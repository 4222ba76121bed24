import { type ApiKey, keyState } from '../store/api-key.ts';
import { holdsKey } from '../store/key-value.ts';
import type { FailedAttempts } from './failed-attempts.ts';
import type { KeyDirectory } from './key-directory.ts';

/** The parts of a request that can contain an API key. */
export interface KeyRequest {
  readonly authorization?: string | undefined;
  readonly xApiKey?: string | undefined;
  /** The part of the URL after the question mark, still percent-encoded; empty if there is none. */
  readonly query: string;
  /** The IP address from which the request was sent. */
  readonly address: string;
}

/** The types of problem with which a request is refused if its API key is missing or not accepted. */
export type KeyProblem = 'bad-request' | 'key-in-query' | 'key-missing' | 'key-invalid' | 'key-expired' | 'rate-limited';

/** The reason why a request without an accepted API key is refused. */
export interface KeyRefusal {
  readonly problem: KeyProblem;
  /** An explanation in words, which the response contains as `detail`. */
  readonly detail: string;
  /** Seconds after which the sender may try again. Set only for `rate-limited`. */
  readonly retryAfterS?: number | undefined;
}

/** The API key of a request, or the reason why the request is refused. */
export type Authentication = { readonly key: ApiKey } | { readonly refusal: KeyRefusal };

/** A request that was refused because of its API key. At most one per minute is recorded for each IP address. */
export interface RefusedAttempt {
  readonly address: string;
  readonly problem: KeyProblem;
  /** The id of the API key if it has expired; undefined if the key is unknown. */
  readonly key: string | undefined;
}

/** Functions and objects that an authenticator uses. */
export interface AuthenticatorOptions {
  readonly keys: Pick<KeyDirectory, 'lookUp' | 'clock'>;
  readonly failures: FailedAttempts;
  /** Records a refused request. */
  refused(attempt: RefusedAttempt): void;
}

const sending = 'Authorization: Bearer KEY or X-API-Key: KEY';

/** Finds the API key in a request and checks that it is valid. Scopes, flows and the request rate are not checked here. */
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

/** Returns the token after `Bearer` in an Authorization header; undefined for any other scheme. */
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
