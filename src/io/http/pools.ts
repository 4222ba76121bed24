import { Client, type Dispatcher, type Pool } from 'undici';

/** Maximum of origins with open connections: each record may name another origin. */
const maxOrigins = 256;

/**
 * One pool of keep-alive connections per origin. Beyond 256 origins the least recently used pool is closed.
 *
 * A pool opens a connection only if all its connections are busy. `Exchange` passes an answer on once its connection is free again,
 * so there are never more connections than requests in flight.
 */
export class Pools {
  readonly #open: (origin: string, options: Pool.Options) => Dispatcher;
  readonly #warn: (message: string) => void;
  /** By origin; the pool that was used last is the last entry. */
  readonly #pools = new Map<string, Dispatcher>();
  /** Pools that take no new requests and still have requests in flight. */
  readonly #closing = new Set<Dispatcher>();
  /** Origins that have sent an answer without a request. They get a connection per request: else such an answer could be taken for the answer to the next request. */
  readonly #distrusted = new Set<string>();

  /** `warn`: takes a message for each distrusted origin. */
  constructor(open: (origin: string, options: Pool.Options) => Dispatcher, warn: (message: string) => void = () => {}) {
    this.#open = open;
    this.#warn = warn;
  }

  dispatch(options: Dispatcher.DispatchOptions & { readonly origin: string }, handler: Dispatcher.DispatchHandler): void {
    const { origin } = options;
    const pool = this.#pools.get(origin) ?? this.#opened(origin);
    this.#pools.delete(origin);
    this.#pools.set(origin, pool);
    if (this.#pools.size > maxOrigins) this.#close(this.#pools.keys().next().value as string);
    pool.dispatch(options, handler);
  }

  /** Ends all connections, and fails the requests in flight. */
  destroy(): void {
    for (const pool of [...this.#pools.values(), ...this.#closing]) pool.destroy().catch(() => undefined);
  }

  #opened(origin: string): Dispatcher {
    const distrust = () => {
      if (this.#distrusted.has(origin)) return;
      this.#distrusted.add(origin);
      this.#warn(`${origin} sent an answer that no request had asked for: from now on each request gets a connection of its own`);
      this.#close(origin);
    };
    const factory = (url: URL, options: object) => openClient(url, options, distrust);
    // Without pipelining, even of one request, a connection is closed after its answer.
    return this.#open(origin, this.#distrusted.has(origin) ? { factory, pipelining: 0 } : { factory });
  }

  #close(origin: string): void {
    const pool = this.#pools.get(origin);
    if (!pool) return;
    this.#pools.delete(origin);
    this.#closing.add(pool);
    const forget = () => this.#closing.delete(pool);
    pool.close().then(forget, forget);
  }
}

/**
 * Opens a client of a pool, for one connection. It leaves the pool once its request is given up:
 * undici would reconnect, only to find that the request is no longer wanted.
 */
function openClient(origin: URL, options: object, distrust: () => void): Client {
  const client = new Client(origin, options);
  client.on('disconnect', (url, _targets, error) => {
    // undici's word for an answer that no request has asked for.
    if (error.message === 'bad response') distrust();
    if (error.message !== 'aborted') return;
    // Makes the pool forget the client.
    client.emit('connectionError', url, [client], error);
    client.destroy().catch(() => undefined);
  });
  return client;
}
