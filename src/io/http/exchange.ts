import type { Dispatcher } from 'undici';
import { retryAfterMs } from '../../core/answer/rate-limit.ts';
import { longestTimerMs } from '../../core/duration.ts';
import { Failure } from '../../core/failure.ts';
import type { HttpResponse } from '../../core/ports.ts';
import { inTurns } from '../clock/turns.ts';
import { acceptEncoding, decompress, tooLarge } from './decompress.ts';
import { failureOf } from './error.ts';
import { headerReader } from './header.ts';
import type { Route } from './routes.ts';
import type { Hop } from './wire-request.ts';

/** What every exchange needs. */
export interface ExchangeTools {
  readonly userAgent: string;
  /** The monotonic clock, in ms. */
  now(): number;
  /** Ms since 1970, UTC. */
  wallNow(): number;
}

/** Sends one request and takes the whole answer. Throws a Failure. */
export function exchange(route: Route, hop: Hop, tools: ExchangeTools): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    let mostBytes = hop.maxBodyBytes;
    /** 0 until the header of the answer is there. */
    let status = 0;
    let headers: HttpResponse['headers'] = {};
    /** Absent until the request is written to a connection. */
    let controller: Dispatcher.DispatchController | undefined;
    let failure: Failure | undefined;
    const timer = setTimeout(onDeadline, Math.min(longestTimerMs, Math.max(1, Math.ceil(hop.deadlineMs - tools.now()))));

    try {
      route.lines.dispatch(wireRequest(hop, tools.userAgent), {
        onRequestStart(started) {
          // Given up while it waited for a connection: nothing is written.
          if (failure) started.abort(failure);
          else controller = started;
        },
        onResponseStart(_controller, statusCode, received) {
          // Provisional answers come before the answer (RFC 9110, 15.2).
          if (statusCode < 200) return;
          status = statusCode;
          headers = received;
          if (received['content-encoding'] !== undefined) mostBytes = mostPacked(hop.maxBodyBytes);
          if (hasBody(status) && Number(received['content-length']) > mostBytes) giveUp(tooLarge(hop.maxBodyBytes, status));
        },
        onResponseData(_controller, chunk) {
          bytes += chunk.length;
          if (bytes > mostBytes) giveUp(tooLarge(hop.maxBodyBytes, status));
          else chunks.push(chunk);
        },
        onResponseEnd,
        onResponseError(_controller, error) {
          // Without a body it is whole with its header; undici wants the bytes that a 304 may announce (RFC 9110, 15.4.5).
          if (status !== 0 && !hasBody(status)) onResponseEnd();
          else onError(error);
        },
      });
    } catch (error) {
      onError(error);
    }

    function onResponseEnd(): void {
      clearTimeout(timer);
      const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
      const response = responseOf(status, headers, body, tools);
      const encodings = response.header('content-encoding');
      if (encodings !== undefined && body.length > 0) {
        decompress(body, encodings, { maxBytes: hop.maxBodyBytes, status }).then((body) => resolve({ ...response, body }), reject);
      } else {
        goOnInTurn(() => resolve(response));
      }
    }

    function onDeadline(): void {
      const where = !controller ? ': the connection was not made' : status !== 0 ? ': the body was not complete' : '';
      giveUp(new Failure('timeout', `no response within ${hop.timeoutMs} ms${where}`, { retryable: true, sent: controller !== undefined }));
    }

    function onError(error: unknown): void {
      giveUp(failureOf(error, { origin: hop.origin, proxy: route.proxy, wasSent: controller !== undefined }));
    }

    function giveUp(reason: Failure): void {
      failure ??= reason;
      clearTimeout(timer);
      reject(failure);
      controller?.abort(failure);
    }
  });
}

/** What a few answers let in is noted with one write, and what comes or is due meanwhile waits for no more than those. */
const goOnInTurn = inTurns();

function hasBody(status: number): boolean {
  return status !== 204 && status !== 304;
}

/** What cannot be compressed grows a little. */
function mostPacked(maxBytes: number): number {
  return maxBytes + maxBytes / 100 + 1024;
}

/** The deadline is ours alone: the idle timeouts would never trip on a server that trickles. */
function wireRequest(hop: Hop, userAgent: string): Dispatcher.DispatchOptions & { origin: string } {
  const method = hop.method as Dispatcher.HttpMethod;
  const headers = wireHeaders(hop.headers, userAgent);
  return { origin: hop.origin, path: hop.path, method, headers, body: hop.body ?? null, headersTimeout: 0, bodyTimeout: 0 };
}

/** Header texts travel as UTF-8 bytes, each written as the character of that number. */
function wireHeaders(written: Hop['headers'], userAgent: string): Record<string, string> {
  const headers: Record<string, string> = { accept: '*/*', 'accept-encoding': acceptEncoding, 'user-agent': userAgent };
  for (const name in written) {
    const value = written[name] as string;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: asks for anything but ASCII
    headers[name.toLowerCase()] = /^[\x00-\x7f]*$/.test(value) ? value : utf8Bytes(name, value);
  }
  return headers;
}

function utf8Bytes(name: string, value: string): string {
  if (value.isWellFormed()) return Buffer.from(value).toString('latin1');
  throw new Failure('request', `the header "${name}" holds a broken character (a lone surrogate)`, { sent: false });
}

function responseOf(status: number, headers: HttpResponse['headers'], body: Uint8Array, { now, wallNow }: ExchangeTools): HttpResponse {
  const header = headerReader(headers);
  return {
    status,
    headers,
    header,
    body,
    endedByClose: headers['content-length'] === undefined && headers['transfer-encoding'] === undefined && hasBody(status),
    retryAfterMs: retryAfterMs(status, header, wallNow()),
    atMs: now(),
  };
}
