import type { KeyClock } from './request-rates.ts';

const windowMs = 60_000;

/** Number of failed attempts per IP address and minute that get the status 401. Further ones get 429. */
const maxFailures = 19;

/** Maximum number of IP addresses whose failures are counted. If there are more, the address whose minute began first is forgotten. */
const maxAddresses = 10_000;

/** The facts about a client's IP address after an attempt to log in or to use an API key has failed. */
export interface FailedAttempt {
  /** True for the first failed attempt from the IP address in this minute. */
  readonly isFirst: boolean;
  /** Seconds until the IP address may try again; undefined while it has attempts left. */
  readonly retryAfterS: number | undefined;
}

/** Counts failed attempts for each IP address and minute. A minute begins with the first failed attempt. */
export class FailedAttempts {
  /** The current minute of each IP address, with the oldest first. */
  readonly #windows = new Map<string, { readonly startMs: number; count: number }>();

  constructor(readonly clock: Pick<KeyClock, 'now'>) {}

  /** Counts a failed attempt from an IP address. */
  add(address: string): FailedAttempt {
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

/**
 * Returns the network of an IP address, under which failures are counted. For IPv6 it is the first 64 bits, because senders can choose the
 * rest.
 */
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
