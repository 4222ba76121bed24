import type { SecureContext } from 'node:tls';
import { buildConnector, Pool, ProxyAgent } from 'undici';
import { percentDecoded } from '../../core/template/query.ts';
import { authorities, type LoadedCertificate } from './authorities.ts';
import { failureOf } from './error.ts';
import { guardedLookup, refuseHost, refuseName } from './guard.ts';
import { Pools } from './pools.ts';
import { proxyFinder } from './proxy.ts';

/** Connects to origins, directly or through one proxy. */
export interface Route {
  readonly pools: Pools;
  /** The proxy's host and port, for messages. */
  readonly proxy?: string;
}

/** Options of the command line and the environment that concern connections. */
export interface RouteOptions {
  /** A file with certificate authorities to trust besides the default ones. */
  readonly cacert?: string | undefined;
  /** The environment: HTTP_PROXY, HTTPS_PROXY, NO_PROXY, NODE_EXTRA_CA_CERTS. */
  readonly environment: NodeJS.ProcessEnv;
  /** The certificate that servers, but no proxies, are shown; absent for none. */
  readonly certificate?: LoadedCertificate;
  /** Takes a warning; absent if warnings are not shown. */
  readonly warn?: ((message: string) => void) | undefined;
}

/**
 * Addresses that a direct connection may lead to. `any`: all, for an origin that the flow names. `listed`: all but metadata addresses,
 * for a host under allow_hosts. `unlisted`: none inside the network.
 */
type AddressPolicy = 'any' | 'listed' | 'unlisted';

const connectTimeoutMs = 10_000;

/** Node tries a host's addresses one after another, 250 ms each by default: too short for the other side of the world. */
const addresses = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 1000 };

interface TlsOptions {
  readonly timeout: number;
  readonly rejectUnauthorized: true;
  readonly secureContext?: SecureContext;
}

/** Checks certificates explicitly, so that NODE_TLS_REJECT_UNAUTHORIZED cannot turn it off. */
function tlsOptions(secureContext: SecureContext | undefined): TlsOptions {
  return { timeout: connectTimeoutMs, rejectUnauthorized: true, ...(secureContext && { secureContext }) };
}

/** Finds the route to an origin. A route is made when it is first needed. */
export class Routes {
  readonly #proxyOf: (origin: string) => URL | undefined;
  readonly #tls: TlsOptions;
  readonly #proxyTls: TlsOptions;
  readonly #routes = new Map<string, Route>();
  readonly #warn: RouteOptions['warn'];

  /** Throws an AutomateError if the certificate file or a proxy's URL cannot be used. */
  constructor({ cacert, environment, certificate, warn }: RouteOptions) {
    this.#proxyTls = tlsOptions(authorities(cacert, environment));
    this.#tls = certificate ? tlsOptions(authorities(cacert, environment, certificate)) : this.#proxyTls;
    this.#proxyOf = proxyFinder(environment);
    this.#warn = warn;
  }

  /** The route to an origin that the flow or a connection names. */
  to(origin: string): Route {
    const proxy = this.#proxyOf(origin);
    return proxy ? this.#through(proxy) : this.#direct('any');
  }

  /** The route to an origin that a record or a server names. Throws a Failure if it leads to an address that is refused. */
  async guardedTo(origin: string, isAllowed: boolean): Promise<Route> {
    const proxy = this.#proxyOf(origin);
    try {
      refuseHost(origin, isAllowed);
      // The proxy looks the name up itself: the addresses seen from here are the best that can be checked.
      if (proxy) await refuseName(origin, isAllowed);
    } catch (error) {
      throw failureOf(error, { origin, wasSent: false });
    }
    return proxy ? this.#through(proxy) : this.#direct(isAllowed ? 'listed' : 'unlisted');
  }

  /** Ends all connections, and fails the requests in flight. */
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

  /** An https origin gets a tunnel. Requests to an http origin are forwarded, as not every proxy opens tunnels to port 80. */
  #proxyPools({ href, origin, username, password }: URL): Pools {
    const pair = `${percentDecoded(username)}:${percentDecoded(password)}`;
    const proxyOptions = {
      uri: username === '' ? href : origin,
      ...(username === '' ? {} : { token: `Basic ${Buffer.from(pair).toString('base64')}` }),
      proxyTunnel: false,
      requestTls: this.#tls,
      proxyTls: { ...this.#proxyTls, ...addresses },
      // Connects to the proxy to ask for tunnels.
      clientFactory: (proxy: URL, options: object) => new Pool(proxy, { ...options, headersTimeout: connectTimeoutMs }),
    };
    return new Pools((_origin, options) => {
      const factory = (origin: URL, { connect }: { readonly connect: buildConnector.connector }) =>
        new Pool(origin, { ...options, connect: withPlainErrors(connect) });
      return new ProxyAgent({ ...proxyOptions, factory });
    }, this.#warn);
  }
}

/** Hides undici's error code. If a proxy hangs up before there is a tunnel, undici would take the error for a lost connection, and ask for tunnels forever. */
function withPlainErrors(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...[error, socket]) => {
      if (error) callback(new Error(error.message, { cause: error }), null);
      else callback(null, socket);
    });
}
