import { Failure } from '../../core/failure.ts';
import type { HttpResponse } from '../../core/ports.ts';
import { authorities } from './authorities.ts';
import { failureOf } from './error.ts';
import { type ExchangeTools, exchange } from './exchange.ts';
import { isListed, refuseHost, refuseName } from './guard.ts';
import { proxyFinder } from './proxy.ts';
import { createRoutes } from './routes.ts';
import type { Hop } from './wire-request.ts';

/** Sends single requests. Throws a Failure. */
export interface Transport {
  send(hop: Hop): Promise<HttpResponse>;
  /** Gives up what is in flight, and everything after it. */
  abort(): void;
}

/** What this machine and the command line say of connections. */
export interface TransportOptions extends ExchangeTools {
  /** A file with certificate authorities to trust besides the usual ones. */
  readonly cacert?: string | undefined;
  /** The environment: HTTP_PROXY, HTTPS_PROXY, NO_PROXY, NODE_EXTRA_CA_CERTS. */
  readonly environment: NodeJS.ProcessEnv;
}

/** Makes a transport on pools of keep-alive connections. Throws an AutomateError when the certificate file or a proxy's URL is of no use. */
export function createTransport(options: TransportOptions): Transport {
  const routes = createRoutes(authorities(options.cacert, options.environment));
  const proxyOf = proxyFinder(options.environment);
  let hasEnded = false;

  return {
    send(hop) {
      if (hasEnded) return Promise.reject(new Failure('network', `${hop.origin}: the run has ended`, { retryable: true, sent: false }));
      const proxy = proxyOf(hop.origin);
      if (hop.allowHosts !== undefined) return sendGuarded(hop, hop.allowHosts, proxy);
      return exchange(proxy ? routes.through(proxy) : routes.direct('any'), hop, options);
    },
    abort() {
      hasEnded = true;
      routes.destroy();
    },
  };

  /** A proxy looks names up itself: what they lead to is asked here as well as can be. */
  async function sendGuarded(hop: Hop, allowHosts: readonly string[], proxy: URL | undefined): Promise<HttpResponse> {
    const isAllowed = isListed(hop.origin, allowHosts);
    try {
      refuseHost(hop.origin, isAllowed);
      if (proxy) await refuseName(hop.origin, isAllowed);
    } catch (error) {
      throw failureOf(error, { origin: hop.origin, wasSent: false });
    }
    return exchange(proxy ? routes.through(proxy) : routes.direct(isAllowed ? 'listed' : 'unlisted'), hop, options);
  }
}
