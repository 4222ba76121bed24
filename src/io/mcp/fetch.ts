import { setMaxListeners } from 'node:events';
import { Failure } from '../../core/failure.ts';
import { authorities } from '../http/authorities.ts';
import { failureOf } from '../http/error.ts';
import { refuseHost, refuseName } from '../http/guard.ts';
import { proxyFinder } from '../http/proxy.ts';
import { createRoutes } from '../http/routes.ts';

/** Sends one request and gives its answer as it comes: an answer of a server of tools may be a stream without end. */
export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** What this machine and the command line say of connections. */
export interface FetchOptions {
  readonly cacert: string | undefined;
  readonly environment: NodeJS.ProcessEnv;
  readonly userAgent: string;
}

/** No message is longer. In a stream each is counted by itself. */
const mostBytes = 10_000_000;

/** What is said of a longer one. */
export const tooLong = `the server sent a message of more than ${mostBytes / 1e6} MB`;

/** Ways to send. */
export interface Fetches {
  /** To an origin that the connection names. */
  readonly fetch: Fetch;
  /** To an origin that only a server named, as those where people log in: never to metadata addresses. */
  readonly fetchNamed: Fetch;
  destroy(): void;
}

/** Makes fetches on the tool's own connections: its proxies, its certificates. They follow no redirect. A network error is a Failure, with its cause. */
export function createFetch({ cacert, environment, userAgent }: FetchOptions): Fetches {
  const routes = createRoutes(authorities(cacert, environment));
  const proxyOf = proxyFinder(environment);
  return { fetch: (input, init) => sent(new URL(input), init, 'any'), fetchNamed, destroy: routes.destroy };

  async function fetchNamed(input: string | URL, init?: RequestInit): Promise<Response> {
    const url = new URL(input);
    try {
      refuseHost(url.origin, true);
      if (proxyOf(url.origin)) await refuseName(url.origin, true);
    } catch (error) {
      throw failureOf(error, { origin: url.origin, wasSent: false });
    }
    return sent(url, init, 'listed');
  }

  function sent(url: URL, init: RequestInit = {}, reach: 'any' | 'listed'): Promise<Response> {
    const proxy = proxyOf(url.origin);
    const route = proxy ? routes.through(proxy) : routes.direct(reach);
    const headers = new Headers(init.headers);
    headers.set('user-agent', userAgent);
    headers.set('accept-encoding', 'identity');
    return new Promise((resolve, reject) => {
      let body: ReadableStreamDefaultController<Uint8Array> | undefined;
      let stop: ((reason: Error) => void) | undefined;
      let isOver = false;
      const { signal } = init;
      const onAbort = () => giveUp(signal?.reason instanceof Error ? signal.reason : new Error('given up'));
      if (signal?.aborted) return onAbort();
      // All requests of a session listen to the same one.
      if (signal) setMaxListeners(0, signal);
      signal?.addEventListener('abort', onAbort, { once: true });
      let counted = 0;
      let isStream = false;
      const endsMessage = messageEnds();
      route.lines.dispatch(
        {
          origin: url.origin,
          path: url.pathname + url.search,
          method: (init.method ?? 'GET') as 'GET',
          headers: Object.fromEntries(headers.entries()),
          body: init.body === undefined || init.body === null ? null : String(init.body),
          headersTimeout: 0,
          bodyTimeout: 0,
        },
        {
          onRequestStart(controller) {
            stop = (reason) => controller.abort(reason);
            if (isOver) stop(new Error('given up'));
          },
          onResponseStart(controller, status, received) {
            if (status < 200) return;
            isStream = String(received['content-type'] ?? '').startsWith('text/event-stream');
            const stream = new ReadableStream<Uint8Array>(
              {
                start: (made) => {
                  body = made;
                },
                pull: () => controller.resume(),
                cancel: () => giveUp(new Error('given up')),
              },
              { highWaterMark: 64 },
            );
            const isEmpty = status === 204 || status === 205 || status === 304;
            resolve(new Response(isEmpty ? null : stream, { status, headers: headersOf(received) }));
          },
          onResponseData(controller, chunk) {
            if (isOver) return;
            counted = isStream && endsMessage(chunk) ? 0 : counted + chunk.length;
            if (counted > mostBytes) {
              return giveUp(new Failure('parse', tooLong));
            }
            body?.enqueue(new Uint8Array(chunk));
            if ((body?.desiredSize ?? 1) <= 0) controller.pause();
          },
          onResponseEnd() {
            if (isOver) return;
            over();
            body?.close();
          },
          onResponseError(_controller, error) {
            if (isOver) return;
            const failure = failureOf(error, { origin: url.origin, proxy: route.proxy, wasSent: stop !== undefined });
            failure.cause = error;
            giveUp(failure);
          },
        },
      );

      function giveUp(reason: Error): void {
        if (isOver) return;
        over();
        body?.error(reason);
        reject(reason);
        stop?.(reason);
      }

      function over(): void {
        isOver = true;
        signal?.removeEventListener('abort', onAbort);
      }
      return undefined;
    });
  }
}

function headersOf(received: Record<string, string | string[] | undefined>): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(received)) for (const one of [value ?? []].flat()) headers.append(name, one);
  return headers;
}

/** Tells whether a message has ended in the next piece of a stream: an event ends with an empty line, which may come in two pieces. */
function messageEnds(): (chunk: Uint8Array) => boolean {
  let before = '';
  return (chunk) => {
    const text = before + Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('latin1');
    before = text.slice(-3);
    return text.includes('\n\n') || text.includes('\r\n\r\n') || text.includes('\r\r');
  };
}
