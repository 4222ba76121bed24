import type { KeyClock } from './request-rates.ts';

const windowMs = 60_000;

/** Failures of an address in a minute that are answered with 401. */
const maxFailures = 19;

/** Maximum of addresses whose failures are counted. The address with the oldest minute is forgotten first. */
const maxAddresses = 10_000;

/** A failed attempt of an address. */
export interface FailedAttempt {
  /** True for the first failed attempt of the address in its minute. */
  readonly isFirst: boolean;
  /** Seconds until the minute of the address ends; undefined while the address has attempts left. */
  readonly retryAfterS: number | undefined;
}

/** Counts the failed attempts of each address, in minutes that begin with a first failed attempt. */
export class FailedAttempts {
  /** The minutes by address, oldest first. */
  readonly #windows = new Map<string, { readonly startMs: number; count: number }>();

  constructor(readonly clock: Pick<KeyClock, 'now'>) {}

  /** Counts a failed attempt. */
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

/** The network of a sender. For IPv6 it is the first 64 bits of the address: the sender can choose the others. */
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
