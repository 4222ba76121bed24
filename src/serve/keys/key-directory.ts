import { type ApiKey, keyState } from '../store/api-key.ts';
import { isKeyValue, isSameHash, keyHash } from '../store/key-value.ts';
import type { KeyStore, KeyValue } from '../store/keys.ts';
import type { KeyClock } from './request-rates.ts';

/** Minimum time in ms between two checks for changes of the API keys by another process. */
const checkMs = 250;

/**
 * Keeps the API keys in memory, so that a request does not read the disk. A change by another process takes effect within 250 ms. If the
 * database cannot be read, no key is accepted, and an AutomateError (`output`) is thrown.
 */
export class KeyDirectory {
  #byHash = new Map<string, KeyValue>();
  #byId = new Map<string, ApiKey>();
  /** Keyed by secret value, which is hashed only once for repeated requests. Emptied on changes. */
  readonly #known = new Map<string, KeyValue>();
  #state = '';
  #checkedMs = Number.NEGATIVE_INFINITY;

  constructor(
    readonly store: KeyStore,
    readonly clock: KeyClock,
  ) {}

  /** The key might have expired. Undefined if it was revoked, or if the value was replaced and is no longer accepted. */
  lookUp(value: string): ApiKey | undefined {
    this.refresh();
    const found = this.#known.get(value) ?? this.#found(value);
    if (!found) return undefined;
    const { key, endsAtMs } = found;
    return endsAtMs !== undefined && endsAtMs <= this.clock.wallNow() ? undefined : key;
  }

  #found(value: string): KeyValue | undefined {
    if (!isKeyValue(value)) return undefined;
    const hash = keyHash(value);
    // Another process might have created the API key just now.
    if (!this.#byHash.has(hash)) this.refresh(0);
    const found = this.#byHash.get(hash);
    if (!found || !isSameHash(found.hash, hash)) return undefined;
    this.#known.set(value, found);
    return found;
  }

  /** Finds a key even if it was revoked or has expired. */
  key(id: string): ApiKey | undefined {
    this.refresh();
    return this.#byId.get(id);
  }

  /** When the key is no longer accepted, its event streams are ended. */
  isLiving(id: string): boolean {
    const key = this.key(id);
    return key !== undefined && keyState(key, this.clock.wallNow()) === 'living';
  }

  hasLiving(): boolean {
    this.refresh();
    return [...this.#byId.values()].some((key) => keyState(key, this.clock.wallNow()) === 'living');
  }

  /** Revoked API keys whose runs must be stopped. */
  stoppedKeys(): string[] {
    this.refresh();
    return [...this.#byId.values()].filter(({ stopsRuns }) => stopsRuns).map(({ id }) => id);
  }

  /** Does nothing if the last check was less than `maxAgeMs` ago. */
  refresh(maxAgeMs = checkMs): void {
    if (this.clock.now() - this.#checkedMs < maxAgeMs) return;
    const state = this.store.database.state();
    if (state !== this.#state) {
      this.#known.clear();
      this.#byHash = new Map(this.store.values().map((value) => [value.hash, value]));
      this.#byId = new Map(this.store.list().map((key) => [key.id, key]));
    }
    // Set only after the keys were read, so that the next lookup tries again if reading fails.
    this.#state = state;
    this.#checkedMs = this.clock.now();
  }
}
