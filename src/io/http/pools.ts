import type { Dispatcher } from 'undici';

/** Origins with open connections. With an origin for each record there would be no end of them. */
const maxOrigins = 256;

/**
 * One pool of keep-alive connections per origin. Beyond 256 origins the one that was used least recently is closed.
 *
 * A pool opens a connection only if all are busy. `Exchange` hands an answer on once its connection is free again,
 * so there are never more connections than requests in flight.
 */
export class Pools {
  readonly #open: (origin: string) => Dispatcher;
  /** The pool that was used last is the last. */
  readonly #pools = new Map<string, Dispatcher>();
  /** Closed for new requests; some are still in flight. */
  readonly #closing = new Set<Dispatcher>();

  constructor(open: (origin: string) => Dispatcher) {
    this.#open = open;
  }

  dispatch(options: Dispatcher.DispatchOptions & { readonly origin: string }, handler: Dispatcher.DispatchHandler): void {
    const { origin } = options;
    const pool = this.#pools.get(origin) ?? this.#open(origin);
    this.#pools.delete(origin);
    this.#pools.set(origin, pool);
    if (this.#pools.size > maxOrigins) this.#closeOldest();
    pool.dispatch(options, handler);
  }

  /** Ends all connections, and fails the requests in flight. */
  destroy(): void {
    for (const pool of [...this.#pools.values(), ...this.#closing]) pool.destroy().catch(() => undefined);
  }

  #closeOldest(): void {
    const [[origin, pool]] = this.#pools as unknown as [[string, Dispatcher]];
    this.#pools.delete(origin);
    this.#closing.add(pool);
    pool.close().then(
      () => this.#closing.delete(pool),
      () => this.#closing.delete(pool),
    );
  }
}
