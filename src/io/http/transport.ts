import { Failure } from '../../core/failure.ts';
import type { HttpResponse } from '../../core/ports.ts';
import { type ExchangeTools, exchange } from './exchange.ts';
import { createFetch, type Fetch } from './fetch.ts';
import { isListed } from './guard.ts';
import { type RouteOptions, Routes } from './routes.ts';
import type { WireRequest } from './wire-request.ts';

/** Sends requests on pools of keep-alive connections. */
export interface Transport {
  /** Sends the request of a record, and reads the whole answer. Throws a Failure. */
  send(request: WireRequest): Promise<HttpResponse>;
  /** For single, rare requests. */
  readonly fetch: Fetch;
  /** Gives up the requests in flight, and refuses later ones. */
  abort(): void;
}

/** Makes a transport. Throws an AutomateError if the certificate file or a proxy's URL cannot be used. */
export function createTransport(options: RouteOptions & ExchangeTools): Transport {
  const routes = new Routes(options);
  let hasEnded = false;

  return {
    send(request) {
      const { origin, allowHosts } = request;
      if (hasEnded) return Promise.reject(new Failure('network', `${origin}: the run has ended`, { retryable: true, sent: false }));
      if (allowHosts !== undefined) return sendGuarded(request, allowHosts);
      return exchange(routes.to(origin), request, options);
    },
    fetch: createFetch(routes, options.userAgent),
    abort() {
      hasEnded = true;
      routes.destroy();
    },
  };

  async function sendGuarded(request: WireRequest, allowHosts: readonly string[]): Promise<HttpResponse> {
    const route = await routes.guardedTo(request.origin, isListed(request.origin, allowHosts));
    return exchange(route, request, options);
  }
}
