import type { ClientCertificate } from '../core/connection.ts';
import { Failure } from '../core/failure.ts';
import type { HttpResponse } from '../core/ports.ts';
import type { CertifiedRoutes } from './client-certificate.ts';
import { Exchange, type ExchangeTools, InFlight, type WireRequest } from './exchange.ts';
import { createFetch, type Fetch } from './fetch.ts';
import { isListed } from './guard.ts';
import { type Route, type RouteOptions, Routes } from './routes.ts';
import type { FormUpload } from './transfers/form-upload.ts';

/** The functions with which one run sends requests over keep-alive connections. */
export interface Transport {
  /** Rejects with a Failure if there is no complete response. */
  send(request: WireRequest): Promise<HttpResponse>;
  /** A `fetch` for single requests that do not belong to a node of a flow, such as token requests. */
  readonly fetch: Fetch;
  /** Continues when the run ends, for requests that the server answers only once, such as renewing a login. */
  readonly fetchToEnd: Fetch;
  /** Aborts the run's requests in flight and refuses further ones. Other runs that use the same connections continue. */
  abort(): void;
}

interface TransportOptions extends RouteOptions, ExchangeTools {
  /** Undefined if the flow uses no client certificates. */
  readonly certified?: CertifiedRoutes;
}

/** `routes` can be shared by several runs. Throws an AutomateError if the file `cacert` or a proxy's URL cannot be used. */
export function createTransport(options: TransportOptions, routes = new Routes(options)): Transport {
  const inFlight = new InFlight();
  const ending = new AbortController();
  const fetch = createFetch(routes, options.userAgent);
  return {
    send(request) {
      const { origin, allowHosts, clientCert, http2 } = request;
      const routes = routesFor(clientCert);
      const route = allowHosts === undefined ? routes.to(origin, http2) : routes.guardedTo(origin, isListed(origin, allowHosts), http2);
      return route instanceof Promise ? route.then((opened) => sendTo(opened, request)) : sendTo(route, request);
    },
    fetchToEnd: fetch,
    fetch(input, init) {
      const own = init?.signal ?? (input instanceof Request ? input.signal : undefined);
      return fetch(input, { ...init, signal: own ? AbortSignal.any([ending.signal, own]) : ending.signal });
    },
    abort() {
      ending.abort();
      inFlight.abort();
    },
  };

  function routesFor(certificate: ClientCertificate | undefined): Routes {
    return certificate ? (options.certified as CertifiedRoutes).of(certificate) : routes;
  }

  async function sendFiles(route: Route, request: WireRequest, form: FormUpload): Promise<HttpResponse> {
    const upload = await form.open();
    try {
      return await sendTo(route, { ...request, body: undefined, upload });
    } finally {
      await upload.close();
    }
  }

  function sendTo(route: Route, request: WireRequest): Promise<HttpResponse> {
    if (typeof request.body === 'object') return sendFiles(route, request, request.body);
    const { pools, proxy } = route;
    return new Promise((resolve, reject) => {
      if (!ending.signal.aborted) return new Exchange(request, options, { resolve, reject, proxy, inFlight }).send(pools);
      reject(new Failure('network', `${request.origin}: the run has ended`, { retryable: true, sent: false }));
    });
  }
}
