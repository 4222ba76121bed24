import { type HttpServer, httpServer, type SeenRequest } from './http-server.ts';

/** The answer of a test server. If `body` is an object, but not bytes, it is sent as JSON. */
export interface ServerAnswer {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array | object;
}

/**
 * Starts a server for the current test, which uses TLS if a certificate is given. `mostAtOnce` returns the maximum number of
 * requests in flight.
 */
export async function answeringServer(
  answer: (request: SeenRequest, index: number) => ServerAnswer | Promise<ServerAnswer>,
  tls?: Parameters<typeof httpServer>[1],
): Promise<HttpServer & { mostAtOnce(): number }> {
  let seen = 0;
  let under = 0;
  let most = 0;
  const server = await httpServer(async (request, response) => {
    most = Math.max(most, ++under);
    const { status = 200, headers = {}, body = '' } = await answer(request, seen++);
    const isJson = typeof body === 'object' && !(body instanceof Uint8Array);
    response.writeHead(status, { ...(isJson ? { 'content-type': 'application/json' } : {}), ...headers });
    response.end(isJson ? JSON.stringify(body) : body);
    under--;
  }, tls);
  return { ...server, mostAtOnce: () => most };
}
