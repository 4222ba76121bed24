import type { SecureContext } from 'node:tls';
import { buildConnector, Client, type Dispatcher, Pool, ProxyAgent } from 'undici';
import { percentDecoded } from '../core/template/url.ts';
import { authorities, type ExtraAuthorities, type LoadedCertificate } from './authorities.ts';
import { failureOf } from './error.ts';
import { guardedLookup, refuseHost, refuseName } from './guard.ts';
import { proxyFinder } from './proxy.ts';

/** A way to send requests to an origin, which is either a direct connection or a proxy. */
export interface Route {
  readonly pools: Pools;
  /** The proxy's host and port, for messages. It is missing for direct connections. */
  readonly proxy?: string;
}

/** Options for connections, which come from the command line and the environment. */
export interface RouteOptions {
  /** Certificate authorities to trust in addition to the default ones. */
  readonly cacert?: ExtraAuthorities | undefined;
  /** The environment variables, of which HTTP_PROXY, HTTPS_PROXY, NO_PROXY and NODE_EXTRA_CA_CERTS are used. */
  readonly environment: NodeJS.ProcessEnv;
  /** The client certificate to show to servers, but not to proxies; undefined if there is none. */
  readonly certificate?: LoadedCertificate;
  /** Shows a warning to the user; undefined if warnings are not shown. */
  readonly warn?: ((message: string) => void) | undefined;
}

/**
 * The hosts that a direct connection may reach. `any` is for origins that the flow specifies. `listed` is for hosts under `allow_hosts`,
 * and refuses only metadata addresses. `unlisted` is for other hosts, and also refuses all addresses in the internal network.
 */
type AddressPolicy = 'any' | 'listed' | 'unlisted';

const connectTimeoutMs = 10_000;

/** If a host has several IP addresses, each is tried for 1000 ms. Node's default of 250 ms is too short for distant servers. */
const addresses = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 1000 };

interface TlsOptions {
  readonly timeout: number;
  readonly rejectUnauthorized: true;
  readonly secureContext?: SecureContext;
}

/** Returns TLS options with which certificates are always checked, even if NODE_TLS_REJECT_UNAUTHORIZED turns the check off. */
function tlsOptions(secureContext: SecureContext | undefined): TlsOptions {
  return { timeout: connectTimeoutMs, rejectUnauthorized: true, ...(secureContext && { secureContext }) };
}

/**
 * Provides the direct connections and proxy connections over which requests are sent to origins. Each is created when it is first needed.
 */
export class Routes {
  readonly #proxyOf: (origin: string) => URL | undefined;
  readonly #tls: TlsOptions;
  readonly #proxyTls: TlsOptions;
  readonly #routes = new Map<string, Route>();
  readonly #warn: RouteOptions['warn'];

  /** Throws an AutomateError if `cacert` or a proxy's URL cannot be used. */
  constructor({ cacert, environment, certificate, warn }: RouteOptions) {
    this.#proxyTls = tlsOptions(authorities(cacert, environment));
    this.#tls = certificate ? tlsOptions(authorities(cacert, environment, certificate)) : this.#proxyTls;
    this.#proxyOf = proxyFinder(environment);
    this.#warn = warn;
  }

  /** Returns the direct connection or proxy for an origin that the flow or a connection specifies. */
  to(origin: string): Route {
    const proxy = this.#proxyOf(origin);
    return proxy ? this.#through(proxy) : this.#direct('any');
  }

  /**
   * Resolves to the direct connection or proxy for an origin that comes from a record or a server. `isAllowed` is true if addresses in the
   * internal network are allowed. Rejects with a Failure if the origin's address is forbidden.
   */
  async guardedTo(origin: string, isAllowed: boolean): Promise<Route> {
    const proxy = this.#proxyOf(origin);
    try {
      refuseHost(origin, isAllowed);
      // The proxy looks up the name again and may find other addresses, so this check is not complete. It catches the names that this
      // machine can look up.
      if (proxy) await refuseName(origin, isAllowed);
    } catch (error) {
      throw failureOf(error, { origin, wasSent: false });
    }
    return proxy ? this.#through(proxy) : this.#direct(isAllowed ? 'listed' : 'unlisted');
  }

  /** Closes all connections. Requests in flight fail. */
  destroy(): void {
    for (const { pools } of this.#routes.values()) pools.destroy();
  }

  #direct(policy: AddressPolicy): Route {
    return this.#routes.get(policy) ?? this.#add(policy, { pools: this.#directPools(policy) });
  }

  #through(proxy: URL): Route {
    return this.#routes.get(proxy.href) ?? this.#add(proxy.href, { pools: this.#proxyPools(proxy), proxy: proxy.host });
  }

  #add(key: string, route: Route): Route {
    this.#routes.set(key, route);
    return route;
  }

  #directPools(policy: AddressPolicy): Pools {
    const lookup = policy === 'any' ? {} : { lookup: guardedLookup(policy === 'listed') };
    const connect = buildConnector({ ...this.#tls, ...addresses, ...lookup });
    return new Pools((origin, options) => new Pool(origin, { ...options, connect }), this.#warn);
  }

  /**
   * Creates the connection pools for a proxy. https requests use a tunnel through the proxy. http requests are forwarded by the proxy,
   * because some proxies refuse tunnels to port 80.
   */
  #proxyPools({ href, origin, username, password }: URL): Pools {
    const pair = `${percentDecoded(username)}:${percentDecoded(password)}`;
    const proxyOptions = {
      uri: username === '' ? href : origin,
      ...(username === '' ? {} : { token: `Basic ${Buffer.from(pair).toString('base64')}` }),
      proxyTunnel: false,
      requestTls: this.#tls,
      proxyTls: { ...this.#proxyTls, ...addresses },
      // Creates the connections to the proxy itself, over which the tunnels are requested.
      clientFactory: (proxy: URL, options: object) => new Pool(proxy, { ...options, headersTimeout: connectTimeoutMs }),
    };
    return new Pools((_origin, options) => {
      const factory = (origin: URL, { connect }: { readonly connect: buildConnector.connector }) =>
        new Pool(origin, { ...options, connect: withPlainErrors(connect) });
      return new ProxyAgent({ ...proxyOptions, factory });
    }, this.#warn);
  }
}

/**
 * Removes undici's error codes from errors that occur while connecting. If a proxy closes the connection before a tunnel is open, undici
 * would otherwise request a tunnel again and again.
 */
function withPlainErrors(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...[error, socket]) => {
      if (error) callback(new Error(error.message, { cause: error }), null);
      else callback(null, socket);
    });
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
