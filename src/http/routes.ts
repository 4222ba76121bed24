import type { LookupFunction } from 'node:net';
import { authorities, type ExtraAuthorities, type LoadedCertificate } from './authorities.ts';
import { failureOf } from './error.ts';
import { guardedLookup, refuseHost, refuseName } from './guard.ts';
import type { HttpPoolOptions, Pools } from './pools.ts';
import { proxyFinder } from './proxy.ts';

export interface Route {
  readonly pools: Pools;
  /** The proxy's host and port, for messages. It is missing for direct connections. */
  readonly proxy?: string;
}

/** Options for connections, which come from the command line and the environment. */
export interface RouteOptions {
  /** Certificate authorities to trust in addition to the default ones. */
  readonly cacert?: ExtraAuthorities;
  /** HTTP_PROXY, HTTPS_PROXY, NO_PROXY and NODE_EXTRA_CA_CERTS are used. */
  readonly environment: NodeJS.ProcessEnv;
  /** Shown to servers, but not to proxies. */
  readonly certificate?: LoadedCertificate;
  readonly warn?: (message: string) => void;
}

/**
 * The hosts that a direct connection may reach. `any` is for origins that the flow specifies. `listed` is for hosts under `allow_hosts`,
 * and refuses only metadata addresses. `unlisted` is for other hosts, and also refuses all addresses in the internal network.
 */
type AddressPolicy = 'any' | 'listed' | 'unlisted';

/** The direct and proxy connections to origins. Each is created when it is first needed. */
export class Routes {
  readonly #proxyOf: (origin: string) => URL | undefined;
  readonly #pools: HttpPoolOptions;
  readonly #routes = new Map<string, Route>();

  /** Throws an AutomateError if `cacert` or a proxy's URL cannot be used. */
  constructor({ cacert, environment, certificate, warn }: RouteOptions) {
    const proxyContext = authorities(cacert, environment);
    this.#pools = { proxyContext, context: certificate ? authorities(cacert, environment, certificate) : proxyContext, warn };
    this.#proxyOf = proxyFinder(environment);
  }

  /** For an origin that the flow or a connection specifies. */
  to(origin: string, http2 = false): Route | Promise<Route> {
    const proxy = this.#proxyOf(origin);
    return proxy ? this.#through(proxy, speaksHttp2(origin, http2)) : this.#direct('any', speaksHttp2(origin, http2));
  }

  /** For an origin from a record or server. `isAllowed` permits addresses in the internal network. Rejects with a Failure if forbidden. */
  async guardedTo(origin: string, isAllowed: boolean, http2 = false): Promise<Route> {
    const proxy = this.#proxyOf(origin);
    try {
      refuseHost(origin, isAllowed);
      // The proxy looks up the name again and may find other addresses, so this check is not complete. It catches the names that this
      // machine can look up.
      if (proxy) await refuseName(origin, isAllowed);
    } catch (error) {
      throw failureOf(error, { origin, wasSent: false });
    }
    const isHttp2 = speaksHttp2(origin, http2);
    return proxy ? this.#through(proxy, isHttp2) : this.#direct(isAllowed ? 'listed' : 'unlisted', isHttp2);
  }

  destroy(): void {
    for (const { pools } of this.#routes.values()) pools.destroy();
  }

  #direct(policy: AddressPolicy, http2: boolean): Route | Promise<Route> {
    const key = http2 ? `${policy} http2` : policy;
    return this.#routes.get(key) ?? this.#open(key, policy === 'any' ? undefined : guardedLookup(policy === 'listed'), http2);
  }

  #through(proxy: URL, http2: boolean): Route | Promise<Route> {
    const key = http2 ? `${proxy.href} http2` : proxy.href;
    return this.#routes.get(key) ?? this.#open(key, proxy, http2);
  }

  /** Through a proxy, or directly. undici is loaded for the first request, because many flows send none. */
  async #open(key: string, way: URL | LookupFunction | undefined, http2: boolean): Promise<Route> {
    const { directPools, proxyPools } = await import('./pools.ts');
    const http2Pools = http2 ? (await import('./multiplexed/origin.ts')).http2Pools : undefined;
    const known = this.#routes.get(key);
    if (known) return known;
    const pools = http2Pools?.(way, this.#pools) ?? (way instanceof URL ? proxyPools(way, this.#pools) : directPools(way, this.#pools));
    const route = way instanceof URL ? { pools, proxy: way.host } : { pools };
    this.#routes.set(key, route);
    return route;
  }
}

/** HTTP/2 is agreed on in the TLS handshake, so http uses HTTP/1.1. */
function speaksHttp2(origin: string, http2: boolean): boolean {
  return http2 && origin.startsWith('https:');
}
