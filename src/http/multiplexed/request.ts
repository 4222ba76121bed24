import { type ClientHttp2Stream, constants, type IncomingHttpHeaders } from 'node:http2';
import { pipeline, type Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { closedEarly, type Http2Connection, named } from './connection.ts';

/** Calls of an exchange that only requests over HTTP/2 make. */
export interface Http2Handler extends Dispatcher.DispatchHandler {
  /** True if the request starts to wait for other requests, whose number the server limits; false if it no longer does. */
  onWait?(isWaiting: boolean): void;
}

/** Facts about a request over HTTP/2. Over HTTP/1.1, both are missing. */
export interface Http2Controller extends Dispatcher.DispatchController {
  readonly httpVersion?: '2';
  /** False while the server has not got the request, or has said that it did not process it. */
  readonly isSent?: boolean;
}

export type DispatchOptions = Dispatcher.DispatchOptions & {
  /** Makes a body that is a stream once more, because the server did not process the first. */
  readonly again?: () => Readable;
};

/** The place in which requests wait for a connection. */
export interface Queue {
  /** Sends a request again, before those that have not been sent yet. */
  resend(request: Http2Request): void;
  left(): void;
  useHttp1(): Http1;
}

type Http1 = Pick<Dispatcher, 'dispatch'>;

/** A server that refuses the same request more often than this is not available. */
const maxRefusals = 8;

const { NGHTTP2_CANCEL, NGHTTP2_HTTP_1_1_REQUIRED, NGHTTP2_REFUSED_STREAM } = constants;

/** A request that waits or is in flight. Its exchange aborts, pauses and resumes it. */
export class Http2Request implements Http2Controller {
  readonly httpVersion = '2';
  isSent = false;
  aborted = false;
  paused = false;
  reason: Error | null = null;
  rawHeaders = null;
  rawTrailers = null;
  readonly #options: DispatchOptions;
  readonly #handler: Http2Handler;
  readonly #queue: Queue;
  #stream: ClientHttp2Stream | undefined;
  #connection: Http2Connection | undefined;
  #refusals = 0;
  #isHeld = false;
  #hasEnded = false;
  /** Bytes of the body that are still to come; undefined if the server has not said how many there are. */
  #leftBytes: number | undefined;
  #hasAnswer = false;

  constructor(options: DispatchOptions, handler: Http2Handler, queue: Queue) {
    this.#options = options;
    this.#handler = handler;
    this.#queue = queue;
  }

  start(connection: Http2Connection): void {
    this.#isHeld = false;
    if (!this.#hasEnded) this.#handler.onRequestStart?.(this, {});
    if (this.#hasEnded) return;
    const { body } = this.#options;
    try {
      this.#stream = connection.session.request(toHeaders(this.#options), { endStream: body === null });
    } catch (error) {
      if (connection.isOpen) this.fail(error as Error);
      else this.#again();
      return;
    }
    this.isSent = true;
    this.#connection = connection;
    if (connection.streams++ === 0) connection.session.ref();
    this.#follow(this.#stream);
    if (body !== null) this.#sendBody(this.#stream);
  }

  hold(isWaiting: boolean): void {
    if (this.#isHeld === isWaiting) return;
    this.#isHeld = isWaiting;
    this.#handler.onWait?.(isWaiting);
  }

  moveTo(http1: Http1): void {
    this.hold(false);
    if (!this.#hasEnded) http1.dispatch(this.#freshOptions(), this.#handler);
    this.#hasEnded = true;
  }

  fail(error: Error): void {
    if (this.#hasEnded) return;
    this.hold(false);
    this.#hasEnded = true;
    this.#handler.onResponseError?.(this, error);
  }

  /** Other requests on the connection continue. */
  abort(reason: Error): void {
    this.aborted = true;
    this.reason = reason;
    this.#hasEnded = true;
    if (!this.#stream) return;
    this.#cancel(this.#stream);
    if (!this.#hasAnswer) this.#connection?.check();
  }

  pause(): void {
    this.paused = true;
    this.#stream?.pause();
  }

  resume(): void {
    this.paused = false;
    this.#stream?.resume();
  }

  #follow(stream: ClientHttp2Stream): void {
    let error: Error | undefined;
    stream.once('response', (headers) => {
      this.#answered(headers);
      // Earlier, data could come before the response, which Node emits in a later tick.
      stream.on('data', (chunk: Buffer) => this.#received(chunk));
    });
    stream.once('end', () => {
      // A stream that was reset ends, too.
      if (this.#hasEnded || !this.#hasAnswer || stream.rstCode !== 0 || (this.#leftBytes ?? 0) > 0) return;
      this.#hasEnded = true;
      this.#handler.onResponseEnd?.(this, {});
      // The server has answered without waiting for the rest of the body.
      if (!stream.writableFinished) this.#cancel(stream);
    });
    stream.on('error', (reason) => {
      error ??= reason;
    });
    stream.once('close', () => this.#left(stream, error));
  }

  #answered({ ':status': status, ...headers }: IncomingHttpHeaders & { ':status'?: number }): void {
    if (this.#hasEnded) return;
    this.#hasAnswer = true;
    const hasBody = this.#options.method !== 'HEAD' && status !== 204 && status !== 304;
    const length = headers['content-length'];
    if (hasBody && length !== undefined) this.#leftBytes = Number(length);
    this.#handler.onResponseStart?.(this, status as number, headers, '');
  }

  #received(chunk: Buffer): void {
    if (this.#hasEnded) return;
    if (this.#leftBytes !== undefined) this.#leftBytes -= chunk.length;
    this.#handler.onResponseData?.(this, chunk);
  }

  #left(stream: ClientHttp2Stream, error: Error | undefined): void {
    const connection = this.#connection as Http2Connection;
    if (--connection.streams === 0 && !connection.session.destroyed) connection.session.unref();
    if (!this.#hasEnded) {
      const { rstCode } = stream;
      if (!this.#hasAnswer && connection.isUnprocessed(stream)) this.#again();
      else if (!this.#hasAnswer && rstCode === NGHTTP2_HTTP_1_1_REQUIRED) this.moveTo(this.#queue.useHttp1());
      else this.fail(error && !isProtocolError(error) ? error : broken(connection, rstCode));
    }
    this.#queue.left();
  }

  /** At first at once. Later it pauses, because a server that keeps on refusing has too much to do. */
  #again(): void {
    this.isSent = false;
    this.#stream = undefined;
    this.#refusals++;
    if (this.#refusals > maxRefusals) this.fail(named('the server refuses the request', NGHTTP2_REFUSED_STREAM));
    else if (this.#refusals === 1) this.#queue.resend(this);
    else setTimeout(() => this.#hasEnded || this.#queue.resend(this), 5 * 2 ** this.#refusals);
  }

  #freshOptions(): DispatchOptions {
    const { again } = this.#options;
    return again && this.#connection ? { ...this.#options, body: again() } : this.#options;
  }

  #sendBody(stream: ClientHttp2Stream): void {
    const body = this.#refusals > 0 ? this.#freshOptions().body : this.#options.body;
    if (typeof body === 'string' || body instanceof Uint8Array) stream.end(body);
    else pipeline(body as Readable, stream, () => undefined);
  }

  #cancel(stream: ClientHttp2Stream): void {
    stream.close(NGHTTP2_CANCEL);
    stream.resume();
  }
}

/** Node's errors for streams and sessions have the number of the HTTP/2 error in their message. */
function isProtocolError({ code }: NodeJS.ErrnoException): boolean {
  return code === 'ERR_HTTP2_STREAM_ERROR' || code === 'ERR_HTTP2_SESSION_ERROR' || code === 'ERR_HTTP2_STREAM_CANCEL';
}

function broken({ session, error }: Http2Connection, rstCode: number | undefined): Error {
  if (session.destroyed || session.closed) return error && !isProtocolError(error) ? error : closedEarly();
  return named('the server ended the request', rstCode ?? 0);
}

/** Headers that belong to a connection of HTTP/1.1 (RFC 9113, 8.2.2). */
const connectionHeaders = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade', 'host', 'te']);

function toHeaders({ origin, path, method, headers: written, body }: DispatchOptions): Record<string, string> {
  const given = written as Readonly<Record<string, string>>;
  const url = new URL(origin as string);
  const headers: Record<string, string> = {
    ':method': method,
    ':scheme': 'https',
    ':authority': given.host ?? url.host,
    ':path': path,
  };
  for (const name in given) if (!connectionHeaders.has(name)) headers[name] = given[name] as string;
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body instanceof Uint8Array ? body.length : undefined;
  if (length !== undefined) headers['content-length'] = String(length);
  else if (body === null && (method === 'POST' || method === 'PUT' || method === 'PATCH')) headers['content-length'] = '0';
  return headers;
}
