import { setMaxListeners } from 'node:events';
import type { Dispatcher } from 'undici';
import { Failure } from '../core/failure.ts';
import { failureOf } from './error.ts';
import type { Route, Routes } from './routes.ts';

export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** Maximum size in bytes of a response body. In an event stream, the limit applies to each event instead. */
const maxMessageBytes = 10_000_000;

/** The error message for an event or body that is too large. */
export const messageTooLong = `the server sent a message of more than ${maxMessageBytes / 1e6} MB`;

/**
 * Uses automate's connections, proxies and certificates, for origins that the flow or a connection specifies. It does not follow redirects
 * or use compression. After a network error, it rejects with a Failure whose cause is that error.
 */
export function createFetch(routes: Routes, userAgent: string): Fetch {
  return async (input, init) => {
    const { origin } = new URL(input instanceof Request ? input.url : input);
    return sendFetch(await routes.to(origin), userAgent, input, init);
  };
}

/** For origins that a server specifies. Refuses cloud metadata addresses, because a malicious server could use them to get credentials. */
export function createGuardedFetch(routes: Routes, userAgent: string): Fetch {
  return async (input, init) => {
    const { origin } = new URL(input instanceof Request ? input.url : input);
    return sendFetch(await routes.guardedTo(origin, true), userAgent, input, init);
  };
}

async function sendFetch(route: Route, userAgent: string, input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  // All requests of a session share one signal. It is not passed to the Request, because each Request would add a listener to it.
  const { signal: ownSignal, ...rest } = init;
  const request = new Request(input, rest);
  const signal = ownSignal ?? request.signal;
  const body = request.body ? Buffer.from(await request.arrayBuffer()) : null;
  signal.throwIfAborted();
  request.headers.set('user-agent', userAgent);
  request.headers.set('accept-encoding', 'identity');
  const { origin, pathname, search } = new URL(request.url);
  const headers = Object.fromEntries(request.headers.entries());
  const method = request.method as Dispatcher.HttpMethod;
  // undici's timeouts are turned off, because an event stream may last for hours. Only the caller's signal ends the request.
  const options = { origin, path: pathname + search, method, headers, body, headersTimeout: 0, bodyTimeout: 0 };
  return new Promise((resolve, reject) => {
    route.pools.dispatch(options, new StreamedResponse({ request, signal, proxy: route.proxy, resolve, reject }));
  });
}

interface SentBody {
  /** If the request were garbage-collected before its end, its signal would no longer follow the caller's signal. */
  readonly request: Request;
  readonly signal: AbortSignal;
  readonly proxy: string | undefined;
  resolve(response: Response): void;
  reject(reason: Error): void;
}

/** Resolves to a Response when the headers have arrived. Then streams the body, and pauses the connection while nobody reads. */
class StreamedResponse implements Dispatcher.DispatchHandler {
  readonly #sent: SentBody;
  readonly #onAbort = () => this.#abort();
  #connection: Dispatcher.DispatchController | undefined;
  #body: ReadableStreamDefaultController<Uint8Array> | undefined;
  #hasEnded = false;
  /** Undefined if the response is not an event stream. */
  #events: EventEnds | undefined;
  #messageBytes = 0;

  constructor(sent: SentBody) {
    this.#sent = sent;
    setMaxListeners(0, sent.signal);
    sent.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  onRequestStart(connection: Dispatcher.DispatchController): void {
    // The request was aborted while it waited for a connection, so it is not sent.
    if (this.#hasEnded) connection.abort(givenUp());
    else this.#connection = connection;
  }

  onResponseStart(connection: Dispatcher.DispatchController, status: number, received: ReceivedHeaders): void {
    // Informational responses are ignored, because the final response follows them (RFC 9110, 15.2).
    if (status < 200) return;
    if (String(received['content-type'] ?? '').startsWith('text/event-stream')) this.#events = new EventEnds();
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#body = controller;
        },
        pull: () => connection.resume(),
        cancel: () => this.#fail(givenUp()),
      },
      { highWaterMark: 64 },
    );
    const hasBody = status !== 204 && status !== 205 && status !== 304;
    this.#sent.resolve(new Response(hasBody ? body : null, { status, headers: toHeaders(received) }));
  }

  onResponseData(connection: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#hasEnded) return;
    this.#messageBytes = this.#events?.isIn(chunk) ? 0 : this.#messageBytes + chunk.length;
    if (this.#messageBytes > maxMessageBytes) {
      this.#fail(new Failure('parse', messageTooLong));
      return;
    }
    this.#body?.enqueue(new Uint8Array(chunk));
    if ((this.#body?.desiredSize ?? 1) <= 0) connection.pause();
  }

  onResponseEnd(): void {
    if (this.#hasEnded) return;
    this.#end();
    this.#body?.close();
  }

  onResponseError(_connection: Dispatcher.DispatchController, error: Error): void {
    if (this.#hasEnded) return;
    const { origin } = new URL(this.#sent.request.url);
    const failure = failureOf(error, { origin, proxy: this.#sent.proxy, wasSent: this.#connection !== undefined });
    failure.cause = error;
    this.#fail(failure);
  }

  #abort(): void {
    const { reason } = this.#sent.signal;
    this.#fail(reason instanceof Error ? reason : givenUp());
  }

  #fail(reason: Error): void {
    if (this.#hasEnded) return;
    this.#end();
    this.#body?.error(reason);
    this.#sent.reject(reason);
    this.#connection?.abort(reason);
  }

  #end(): void {
    this.#hasEnded = true;
    this.#sent.signal.removeEventListener('abort', this.#onAbort);
  }
}

type ReceivedHeaders = Record<string, string | string[] | undefined>;

function givenUp(): Error {
  return new Error('given up');
}

function toHeaders(received: ReceivedHeaders): Headers {
  const headers = new Headers();
  for (const [name, values] of Object.entries(received)) for (const value of [values ?? []].flat()) headers.append(name, value);
  return headers;
}

/** An event ends with an empty line, which may be split across two chunks. */
class EventEnds {
  #tail = '';

  isIn(chunk: Buffer): boolean {
    const text = this.#tail + chunk.toString('latin1');
    this.#tail = text.slice(-3);
    return text.includes('\n\n') || text.includes('\r\n\r\n') || text.includes('\r\r');
  }
}
