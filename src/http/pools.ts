import { Client, type Dispatcher, type Pool } from 'undici';

/** Maximum number of origins with open connections. It is limited because every record may contain a different origin. */
const maxOrigins = 256;

/**
 * Pools of keep-alive connections, with one pool per origin. If there are more than 256 pools, the least recently used one is closed.
 *
 * A pool opens another connection only if all its connections are busy. `Exchange` passes on a response only after its connection is free
 * again. So there are never more connections than requests in flight.
 */
export class Pools {
  readonly #open: (origin: string, options: Pool.Options) => Dispatcher;
  readonly #warn: (message: string) => void;
  /** Connection pools, keyed by origin and ordered by their last use. */
  readonly #pools = new Map<string, Dispatcher>();
  /** Pools that are being closed. They take no new requests, but still have requests in flight. */
  readonly #closing = new Set<Dispatcher>();
  /**
   * Origins that have sent a response without a request. Such a response could be mistaken for the response to the next request. So each
   * request to these origins uses a separate connection.
   */
  readonly #distrusted = new Set<string>();

  /** `warn` is called once for each origin that has sent a response without a request. */
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

  /** Closes all connections. Requests in flight fail. */
  destroy(): void {
    for (const pool of [...this.#pools.values(), ...this.#closing]) pool.destroy().catch(() => undefined);
  }

  #opened(origin: string): Dispatcher {
    const distrust = () => {
      if (this.#distrusted.has(origin)) return;
      this.#distrusted.add(origin);
      this.#warn(`${origin} sent an answer that was not requested: from now on, each request uses a separate connection`);
      this.#close(origin);
    };
    const factory = (url: URL, options: object) => openClient(url, options, distrust);
    // With `pipelining: 0`, undici (the HTTP client) closes each connection after one response.
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
 * Opens one connection of a pool. If its request is aborted, the connection is removed from the pool. Otherwise undici would reconnect for
 * a request that is no longer needed.
 */
function openClient(origin: URL, options: object, distrust: () => void): Client {
  const client = new Client(origin, options);
  client.on('disconnect', (url, _targets, error) => {
    // undici reports "bad response" if a response arrives without a request.
    if (error.message === 'bad response') distrust();
    if (error.message !== 'aborted') return;
    // This event makes the pool remove the connection.
    client.emit('connectionError', url, [client], error);
    client.destroy().catch(() => undefined);
  });
  return client;
}
