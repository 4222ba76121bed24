import type { LookupFunction, Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { buildConnector, Client, type Dispatcher, Pool, ProxyAgent } from 'undici';
import { percentDecoded } from '../core/template/url.ts';

export interface HttpPoolOptions {
  readonly context: SecureContext | undefined;
  /** For TLS to the proxy, which is not shown the client certificate. */
  readonly proxyContext: SecureContext | undefined;
  /** Called once for each origin that has sent a response without a request. */
  readonly warn: ((message: string) => void) | undefined;
}

export const connectTimeoutMs = 10_000;

/** If a host has several IP addresses, each is tried for 1000 ms. Node's default of 250 ms is too short for distant servers. */
const addresses = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 1000 };

interface TlsOptions {
  readonly timeout: number;
  readonly rejectUnauthorized: true;
  readonly secureContext?: SecureContext;
}

/** Returns TLS options with which certificates are always checked, even if NODE_TLS_REJECT_UNAUTHORIZED turns the check off. */
function tlsOptions(secureContext: SecureContext | undefined): TlsOptions {
  return { timeout: connectTimeoutMs, rejectUnauthorized: true, secureContext };
}

/** `lookup` replaces Node's own lookup of host names. */
export function directPools(lookup: LookupFunction | undefined, { context, warn }: HttpPoolOptions): Pools {
  const connect = buildConnector({ ...tlsOptions(context), ...addresses, ...(lookup && { lookup }) });
  return new Pools((origin, options) => new Pool(origin, { ...options, connect }), warn);
}

/** https uses a tunnel through the proxy. http is forwarded by the proxy, because some proxies refuse tunnels to port 80. */
export function proxyPools(proxy: URL, { context, proxyContext, warn }: HttpPoolOptions): Pools {
  const token = proxyAuthorization(proxy);
  const proxyOptions = {
    uri: token === undefined ? proxy.href : proxy.origin,
    ...(token !== undefined && { token }),
    proxyTunnel: false,
    requestTls: tlsOptions(context),
    proxyTls: { ...tlsOptions(proxyContext), ...addresses },
    // Creates the connections to the proxy itself, over which the tunnels are requested.
    clientFactory: (url: URL, options: object) => new Pool(url, { ...options, headersTimeout: connectTimeoutMs }),
  };
  return new Pools((_origin, options) => {
    const factory = (origin: URL, { connect }: { readonly connect: buildConnector.connector }) =>
      new Pool(origin, { ...options, connect: withPlainErrors(connect) });
    return new ProxyAgent({ ...proxyOptions, factory });
  }, warn);
}

/** Opens the TCP connections over which TLS begins. */
export interface Sockets {
  readonly open: buildConnector.connector;
  destroy(): Promise<void>;
}

/** `lookup` replaces Node's own lookup of host names. */
export function directSockets(lookup: LookupFunction | undefined): Sockets {
  return { open: buildConnector({ timeout: connectTimeoutMs, ...addresses, ...(lookup && { lookup }) }), destroy: async () => undefined };
}

/** Opens tunnels through a proxy. */
export function tunnels(proxy: URL, { proxyContext }: Pick<HttpPoolOptions, 'proxyContext'>): Sockets {
  const authorization = proxyAuthorization(proxy);
  const connect = buildConnector({ ...tlsOptions(proxyContext), ...addresses });
  const pool = new Pool(proxy.origin, { connect, headersTimeout: connectTimeoutMs });
  const open: buildConnector.connector = async ({ host = '' }, callback) => {
    const headers = { host, 'proxy-connection': 'keep-alive', ...(authorization && { 'proxy-authorization': authorization }) };
    try {
      const { socket, statusCode } = await pool.connect({ path: host, headers });
      if (statusCode === 200) return callback(null, socket as Socket);
      socket.on('error', () => undefined).destroy();
      callback(new Error(`Proxy response (${statusCode})`), null);
    } catch (error) {
      callback(error as Error, null);
    }
  };
  return { open, destroy: () => pool.destroy() };
}

function proxyAuthorization({ username, password }: URL): string | undefined {
  if (username === '') return undefined;
  return `Basic ${Buffer.from(`${percentDecoded(username)}:${percentDecoded(password)}`).toString('base64')}`;
}

/** Removes undici's error codes. If a proxy closes the connection before a tunnel is open, undici would request one again and again. */
function withPlainErrors(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...[error, socket]) => {
      if (error) callback(new Error(error.message, { cause: error }), null);
      else callback(null, socket);
    });
}

export interface OriginPool {
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): unknown;
  close(): Promise<void>;
  destroy(): Promise<void>;
}

/** Maximum number of origins with open connections. It is limited because every record may contain a different origin. */
const maxOrigins = 256;

/**
 * Pools of keep-alive connections, with one pool per origin. If there are more than 256 pools, the least recently used one is closed.
 *
 * A pool opens another connection only if all its connections are busy. `Exchange` passes on a response only after its connection is free
 * again. So there are never more connections than requests in flight.
 */
export class Pools {
  readonly #open: (origin: string, options: Pool.Options) => OriginPool;
  readonly #warn: (message: string) => void;
  /** Keyed by origin and ordered by last use. */
  readonly #pools = new Map<string, OriginPool>();
  /** They take no new requests, but still have requests in flight. */
  readonly #closing = new Set<OriginPool>();
  /** Origins that sent a response without a request. The next request could get it, so each request uses a separate connection. */
  readonly #distrusted = new Set<string>();

  /** `warn` is called once for each origin that has sent a response without a request. */
  constructor(open: (origin: string, options: Pool.Options) => OriginPool, warn: (message: string) => void = () => {}) {
    this.#open = open;
    this.#warn = warn;
  }

  dispatch(options: Dispatcher.DispatchOptions & { readonly origin: string }, handler: Dispatcher.DispatchHandler): void {
    const { origin } = options;
    const pool = this.#pools.get(origin) ?? this.#opened(origin);
    if (this.#pools.size > 1) this.#pools.delete(origin);
    this.#pools.set(origin, pool);
    if (this.#pools.size > maxOrigins) this.#close(this.#pools.keys().next().value as string);
    pool.dispatch(options, handler);
  }

  destroy(): void {
    for (const pool of [...this.#pools.values(), ...this.#closing]) pool.destroy().catch(() => undefined);
  }

  #opened(origin: string): OriginPool {
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

/** An aborted request's connection leaves the pool, because undici would reconnect for a request that is no longer needed. */
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
