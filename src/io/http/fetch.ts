import { setMaxListeners } from 'node:events';
import type { Dispatcher } from 'undici';
import { Failure } from '../../core/failure.ts';
import { failureOf } from './error.ts';
import type { Route, Routes } from './routes.ts';

/** The fetch of the WHATWG standard. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** A stream of events is limited per event, any other body as a whole. */
const maxMessageBytes = 10_000_000;

/** The message of the failure for a longer message or body. */
export const messageTooLong = `the server sent a message of more than ${maxMessageBytes / 1e6} MB`;

/**
 * Makes a fetch on the tool's own connections, with its proxies and certificates, for an origin that the flow or a connection names.
 * Unlike the standard's fetch it follows no redirect: the redirect is the answer. It asks for no compression and decodes none.
 * Throws a Failure for an error of the network, with the error as its cause.
 */
export function createFetch(routes: Routes, userAgent: string): Fetch {
  return async (input, init) => {
    const { origin } = new URL(input instanceof Request ? input.url : input);
    return sendFetch(routes.to(origin), userAgent, input, init);
  };
}

/** Makes a fetch like `createFetch` for origins that only a server names, such as its login server: never metadata addresses. */
export function createGuardedFetch(routes: Routes, userAgent: string): Fetch {
  return async (input, init) => {
    const { origin } = new URL(input instanceof Request ? input.url : input);
    return sendFetch(await routes.guardedTo(origin, true), userAgent, input, init);
  };
}

async function sendFetch(route: Route, userAgent: string, input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  // A Request that follows a signal keeps a listener there until it is collected, and all requests of a session share one signal.
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
  // The caller's signal is the only timeout: a stream of events may last for hours.
  const options = { origin, path: pathname + search, method, headers, body, headersTimeout: 0, bodyTimeout: 0 };
  return new Promise((resolve, reject) => {
    route.pools.dispatch(options, new StreamedResponse({ request, signal, proxy: route.proxy, resolve, reject }));
  });
}

interface Sent {
  /** Held until the end: the request's signal follows the caller's signal only while the request is alive. */
  readonly request: Request;
  readonly signal: AbortSignal;
  readonly proxy: string | undefined;
  resolve(response: Response): void;
  reject(reason: Error): void;
}

/** Resolves with a Response once its headers have come, then streams its body into it, no faster than it is read. */
class StreamedResponse implements Dispatcher.DispatchHandler {
  readonly #sent: Sent;
  readonly #onAbort = () => this.#abort();
  /** Absent until the request is written to a connection. */
  #connection: Dispatcher.DispatchController | undefined;
  #body: ReadableStreamDefaultController<Uint8Array> | undefined;
  #hasEnded = false;
  /** Set for a stream of events. */
  #events: EventEnds | undefined;
  #messageBytes = 0;

  constructor(sent: Sent) {
    this.#sent = sent;
    setMaxListeners(0, sent.signal);
    sent.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  onRequestStart(connection: Dispatcher.DispatchController): void {
    // Aborted while it waited for a connection: nothing is written.
    if (this.#hasEnded) connection.abort(givenUp());
    else this.#connection = connection;
  }

  onResponseStart(connection: Dispatcher.DispatchController, status: number, received: ReceivedHeaders): void {
    // Provisional responses come before the response (RFC 9110, 15.2).
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

/** Finds the ends of events in a stream. An event ends with an empty line, which may come in two chunks. */
class EventEnds {
  #tail = '';

  /** True if an event ends in the next chunk. */
  isIn(chunk: Buffer): boolean {
    const text = this.#tail + chunk.toString('latin1');
    this.#tail = text.slice(-3);
    return text.includes('\n\n') || text.includes('\r\n\r\n') || text.includes('\r\r');
  }
}
