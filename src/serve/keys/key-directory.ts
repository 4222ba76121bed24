import { type ApiKey, keyState } from '../../io/server/api-key.ts';
import { isKeyValue, isSameHash, keyHash } from '../../io/server/key-value.ts';
import type { KeyValue } from '../../io/server/keys.ts';
import type { KeyClock } from './request-rates.ts';

/** The stored keys. */
export interface KeySource {
  /** A text that differs after every change of a key, by this process or another. */
  state(): string;
  list(): readonly ApiKey[];
  values(): readonly KeyValue[];
}

/** Least time between two checks for changes by other processes. */
const checkMs = 250;

/**
 * The keys in memory, so that a request costs no look-up on disk. A change by another process is in force within 250 ms.
 * Throws an AutomateError (`output`) if the database cannot be read: then no key is accepted.
 */
export class KeyDirectory {
  #byHash = new Map<string, KeyValue>();
  #byId = new Map<string, ApiKey>();
  /** The keys of values that were looked up since the last change, so that a repeated value is not hashed again. */
  readonly #known = new Map<string, KeyValue>();
  #state = '';
  #checkedMs = Number.NEGATIVE_INFINITY;

  constructor(
    readonly source: KeySource,
    readonly clock: KeyClock,
  ) {}

  /** Returns the key with a value. The key may be expired, but not revoked, and the overlap of a replaced value has not ended. */
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
    // Another process may have made the key just now.
    if (!this.#byHash.has(hash)) this.refresh(0);
    const found = this.#byHash.get(hash);
    if (!found || !isSameHash(found.hash, hash)) return undefined;
    this.#known.set(value, found);
    return found;
  }

  /** Returns the key with an id, even if it is revoked or expired. */
  key(id: string): ApiKey | undefined {
    this.refresh();
    return this.#byId.get(id);
  }

  /** True while the key with this id is accepted. Event streams of other keys end. */
  isLiving(id: string): boolean {
    const key = this.key(id);
    return key !== undefined && keyState(key, this.clock.wallNow()) === 'living';
  }

  /** True if at least one key is accepted. */
  hasLiving(): boolean {
    this.refresh();
    return [...this.#byId.values()].some((key) => keyState(key, this.clock.wallNow()) === 'living');
  }

  /** The ids of revoked keys whose runs have to stop. */
  stoppedKeys(): string[] {
    this.refresh();
    return [...this.#byId.values()].filter(({ stopsRuns }) => stopsRuns).map(({ id }) => id);
  }

  /** Reads the keys again if they have changed. Does nothing if the last check is younger than `maxAgeMs`. */
  refresh(maxAgeMs = checkMs): void {
    if (this.clock.now() - this.#checkedMs < maxAgeMs) return;
    const state = this.source.state();
    if (state !== this.#state) {
      this.#known.clear();
      this.#byHash = new Map(this.source.values().map((value) => [value.hash, value]));
      this.#byId = new Map(this.source.list().map((key) => [key.id, key]));
    }
    // Set only after the read: if the database could not be read, the next look-up tries again.
    this.#state = state;
    this.#checkedMs = this.clock.now();
  }
}
