import type { Dispatcher } from 'undici';
import { retryAfterMs } from '../../core/answer/rate-limit.ts';
import type { ClientCertificate } from '../../core/auth/client-certificate.ts';
import { durationText, longestTimerMs } from '../../core/duration.ts';
import { Failure } from '../../core/failure.ts';
import type { Save } from '../../core/files/transfer.ts';
import type { HttpResponse } from '../../core/ports.ts';
import { inTurns } from '../clock/turns.ts';
import type { FormUpload, OpenUpload } from '../transfers/form-upload.ts';
import type { ClaimedSave } from '../transfers/run-files.ts';
import type { SavedBody } from '../transfers/saved-body.ts';
import { acceptEncoding, decompress, tooLarge } from './decompress.ts';
import { failureOf } from './error.ts';
import { headerReader } from './header.ts';
import type { Route } from './routes.ts';

/** One request to one origin: signed, and without its redirects. */
export interface WireRequest {
  readonly method: string;
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | FormUpload | undefined;
  /** The body, if it sends files: they are open. */
  readonly upload?: OpenUpload | undefined;
  /** The file for the body of the answer; undefined if it stays in memory. */
  readonly save?: (ClaimedSave & Pick<Save, 'takes'>) | undefined;
  /** In ms on the monotonic clock. */
  readonly deadlineMs: number;
  /** The limit that the deadline was computed from, for messages. */
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
  /** Hosts inside the network that may be reached, if the flow does not name the host itself. Absent if it does: then any may. */
  readonly allowHosts?: readonly string[] | undefined;
  /** The certificate that the server is shown; undefined for none. */
  readonly clientCert?: ClientCertificate | undefined;
}

/** Settings and clocks that every exchange shares. */
export interface ExchangeTools {
  readonly userAgent: string;
  /** The monotonic clock, in ms. */
  now(): number;
  /** Ms since 1970, UTC. */
  wallNow(): number;
}

/** Sends one request and reads the whole answer. It is `inFlight` until the answer is complete. Throws a Failure. */
export function exchange(route: Route, request: WireRequest, tools: ExchangeTools, inFlight: InFlight): Promise<HttpResponse> {
  const { proxy } = route;
  return new Promise((resolve, reject) => new Exchange(request, tools, { resolve, reject, proxy, inFlight }).send(route));
}

interface Caller {
  readonly proxy: string | undefined;
  readonly inFlight: InFlight;
  resolve(response: HttpResponse | Promise<HttpResponse>): void;
  reject(failure: Error): void;
}

/**
 * The requests of one run that are in flight. An array whose gaps are closed by the last entry, not a Set: deleted members of a Set
 * stay reachable for V8's collector of young objects, which took 60 % more time and 15 % more memory.
 */
export class InFlight {
  readonly #exchanges: Exchange[] = [];

  add(exchange: Exchange): void {
    exchange.place = this.#exchanges.push(exchange) - 1;
  }

  delete(exchange: Exchange): void {
    if (exchange.place === -1) return;
    const last = this.#exchanges.pop() as Exchange;
    if (last !== exchange) this.#exchanges[exchange.place] = last;
    last.place = exchange.place;
    exchange.place = -1;
  }

  /** Fails all requests in flight. */
  abort(): void {
    for (const exchange of [...this.#exchanges]) exchange.abort();
  }
}

/**
 * Hands the answers on, a few in each turn of the event loop. The next requests and due timers wait for a few answers only,
 * and the ledger is written once for all of them. Worth 4 % of throughput at 20 ms latency and 64 requests in flight.
 */
const continueInTurn = inTurns();

/** One request on its way, until its answer is complete or has failed. */
class Exchange implements Dispatcher.DispatchHandler {
  /** Index among the exchanges in flight; -1 outside. */
  place = -1;
  readonly #request: WireRequest;
  readonly #tools: ExchangeTools;
  readonly #caller: Caller;
  readonly #timer: NodeJS.Timeout;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #maxBytes: number;
  /** 0 until the headers of the answer have come. */
  #status = 0;
  #headers: HttpResponse['headers'] = {};
  /** Absent until the request is written to a connection. */
  #connection: Dispatcher.DispatchController | undefined;
  #failure: Error | undefined;
  /** The body on its way into a file. */
  #saving: SavedBody | undefined;

  constructor(request: WireRequest, tools: ExchangeTools, caller: Caller) {
    this.#request = request;
    this.#tools = tools;
    this.#caller = caller;
    this.#maxBytes = request.maxBodyBytes;
    this.#timer = setTimeout(expire, Math.min(longestTimerMs, Math.max(1, Math.ceil(request.deadlineMs - tools.now()))), this);
  }

  send({ pools }: Route): void {
    this.#caller.inFlight.add(this);
    try {
      pools.dispatch(toDispatch(this.#request, this.#tools.userAgent), this);
    } catch (error) {
      this.#failWith(error);
    }
  }

  onRequestStart(connection: Dispatcher.DispatchController): void {
    // Given up while it waited for a connection: nothing is written.
    if (this.#failure) connection.abort(this.#failure);
    else this.#connection = connection;
  }

  onResponseStart(_connection: Dispatcher.DispatchController, status: number, headers: HttpResponse['headers']): void {
    // Provisional answers come before the answer (RFC 9110, 15.2).
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    if (this.#request.save?.takes({ status, headers, header: headerReader(headers) })) {
      this.#save(this.#request.save);
      return;
    }
    if (headers['content-encoding'] !== undefined) this.#maxBytes = maxCompressed(this.#request.maxBodyBytes);
    if (hasBody(status) && Number(headers['content-length']) > this.#maxBytes) this.#giveUp(tooLarge(this.#request.maxBodyBytes, status));
  }

  onResponseData(connection: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#saving) {
      if (!this.#saving.write(chunk, () => connection.resume())) connection.pause();
      return;
    }
    this.#bytes += chunk.length;
    if (this.#bytes > this.#maxBytes) this.#giveUp(tooLarge(this.#request.maxBodyBytes, this.#status));
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    clearTimeout(this.#timer);
    this.#caller.inFlight.delete(this);
    const response = this.#response();
    const saving = this.#saving;
    // In the next turn undici frees the connection. A request sent before that would open another connection.
    setImmediate(continueInTurn, () =>
      this.#caller.resolve(saving ? saving.end().then((saved) => ({ ...response, saved })) : this.#decompressed(response)),
    );
  }

  onResponseError(_connection: Dispatcher.DispatchController, error: Error): void {
    // Without a body the answer is complete with its headers. undici waits for the bytes that a 304 may announce (RFC 9110, 15.4.5).
    if (this.#status !== 0 && !hasBody(this.#status)) this.onResponseEnd();
    else this.#failWith(error);
  }

  /** Fails with a timeout. */
  expire(): void {
    const wasSent = this.#connection !== undefined;
    const progress = !wasSent ? ': the connection was not made' : this.#status !== 0 ? ': the body was not complete' : '';
    const message = `no response within ${durationText(this.#request.timeoutMs)}${progress}`;
    this.#giveUp(new Failure('timeout', message, { retryable: true, sent: wasSent }));
  }

  /** Fails because the run has ended. */
  abort(): void {
    const message = `${this.#request.origin}: the run has ended`;
    this.#giveUp(new Failure('network', message, { retryable: true, sent: this.#connection !== undefined }));
  }

  #save(save: ClaimedSave): void {
    this.#saving = save.begin({ status: this.#status, encodings: headerReader(this.#headers)('content-encoding') });
    this.#saving.onFailure((error) => {
      if (this.place !== -1) this.#giveUp(error as Error);
    });
  }

  #failWith(error: unknown): void {
    const occasion = { origin: this.#request.origin, proxy: this.#caller.proxy, wasSent: this.#connection !== undefined };
    this.#giveUp(failureOf(error, occasion));
  }

  #giveUp(reason: Error): void {
    this.#failure ??= reason;
    this.#saving?.abort();
    clearTimeout(this.#timer);
    this.#caller.inFlight.delete(this);
    this.#caller.reject(this.#failure);
    this.#connection?.abort(this.#failure);
  }

  #response(): HttpResponse {
    const status = this.#status;
    const headers = this.#headers;
    const header = headerReader(headers);
    return {
      status,
      headers,
      header,
      body: this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks),
      endedByClose: headers['content-length'] === undefined && headers['transfer-encoding'] === undefined && hasBody(status),
      retryAfterMs: retryAfterMs(status, header, this.#tools.wallNow()),
      atMs: this.#tools.now(),
    };
  }

  #decompressed(response: HttpResponse): HttpResponse | Promise<HttpResponse> {
    const encodings = response.header('content-encoding');
    if (encodings === undefined || response.body.length === 0) return response;
    const limits = { maxBytes: this.#request.maxBodyBytes, status: response.status };
    return decompress(response.body as Buffer, encodings, limits).then((body) => ({ ...response, body }));
  }
}

function expire(exchange: Exchange): void {
  exchange.expire();
}

function hasBody(status: number): boolean {
  return status !== 204 && status !== 304;
}

/** Data that cannot be compressed grow a little. */
function maxCompressed(maxBytes: number): number {
  return maxBytes + maxBytes / 100 + 1024;
}

/** The deadline is ours: undici's idle timeouts would never end a server that trickles. */
function toDispatch(request: WireRequest, userAgent: string): Dispatcher.DispatchOptions & { readonly origin: string } {
  const method = request.method as Dispatcher.HttpMethod;
  const headers = wireHeaders(request.headers, userAgent);
  const { origin, path, upload, save } = request;
  if (save) headers['accept-encoding'] = 'identity';
  if (upload) Object.assign(headers, { 'content-type': upload.contentType, 'content-length': String(upload.length) });
  const body = upload?.body ?? (request.body as string | undefined) ?? null;
  return { origin, path, method, headers, body, headersTimeout: 0, bodyTimeout: 0 };
}

/** Header values travel as UTF-8: one character for each byte. */
function wireHeaders(written: WireRequest['headers'], userAgent: string): Record<string, string> {
  const headers: Record<string, string> = { accept: '*/*', 'accept-encoding': acceptEncoding, 'user-agent': userAgent };
  for (const name in written) {
    const value = written[name] as string;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: matches ASCII
    headers[name.toLowerCase()] = /^[\x00-\x7f]*$/.test(value) ? value : utf8Bytes(name, value);
  }
  return headers;
}

function utf8Bytes(name: string, value: string): string {
  if (value.isWellFormed()) return Buffer.from(value).toString('latin1');
  throw new Failure('request', `the header "${name}" holds a broken character (a lone surrogate)`, { sent: false });
}
