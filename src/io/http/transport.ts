import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import { AutomateError, Failure } from '../../core/failure.ts';
import type { HttpResponse } from '../../core/ports.ts';
import { retryAfterMs } from '../../core/rate-limit.ts';
import { acceptEncoding, decompress, tooLarge } from './decompress.ts';
import { failureOf } from './error.ts';
import { guardedLookup, refuseHost } from './guard.ts';

/** One request to one origin, signed, without redirects. */
export interface Hop {
  readonly method: string;
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** On the monotonic clock. */
  readonly deadlineMs: number;
  /** The limit that the deadline comes from, for the message. */
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
  /** Set when a record decided the host. */
  readonly allowHosts?: readonly string[] | undefined;
}

/** Sends single requests. Throws a Failure. */
export interface Transport {
  send(hop: Hop): Promise<HttpResponse>;
  /** Gives up what is in flight, and everything after it. */
  abort(): void;
}

/** What this machine and the command line say of connections. */
export interface TransportOptions {
  /** A file with certificate authorities to trust besides the usual ones. */
  readonly cacert?: string | undefined;
  /** The environment: HTTP_PROXY, HTTPS_PROXY, NO_PROXY, NODE_EXTRA_CA_CERTS. */
  readonly environment: NodeJS.ProcessEnv;
  readonly userAgent: string;
  now(): number;
  wallNow(): number;
}

const connectTimeoutMs = 10_000;

/** Makes a transport on a pool of keep-alive connections. Throws an AutomateError when the certificate file cannot be read. */
export function createTransport(options: TransportOptions): Transport {
  const dispatchers: Dispatcher[] = [];
  const ca = options.cacert === undefined ? undefined : authorities(options.cacert, options.environment);
  const plain = dispatcherOf();
  let guarded: Dispatcher | undefined;

  return {
    send(hop) {
      if (hop.allowHosts === undefined) return exchange(plain, hop, options);
      try {
        refuseHost(hop.origin, hop.allowHosts);
      } catch (error) {
        return Promise.reject(failureOf(error, hop.origin));
      }
      guarded ??= dispatcherOf(hop.allowHosts);
      return exchange(guarded, hop, options);
    },
    abort() {
      for (const dispatcher of dispatchers) void dispatcher.destroy();
    },
  };

  /** The deadline is ours alone: the idle timeouts of the pool would never trip on a server that trickles. */
  function dispatcherOf(allowHosts?: readonly string[]): Dispatcher {
    const lookup = allowHosts === undefined ? {} : { lookup: guardedLookup(allowHosts) };
    const common = { headersTimeout: 0, bodyTimeout: 0, connect: { timeout: connectTimeoutMs, ...(ca ? { ca } : {}), ...lookup } };
    const dispatcher = usesProxy(options.environment)
      ? new EnvHttpProxyAgent({ ...common, ...proxies(options.environment), ...(ca ? { requestTls: { ca } } : {}) })
      : new Agent(common);
    dispatchers.push(dispatcher);
    return dispatcher;
  }
}

function usesProxy(environment: NodeJS.ProcessEnv): boolean {
  return ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY'].some((name) => (environment[name] ?? '') !== '');
}

function proxies(environment: NodeJS.ProcessEnv): { httpProxy?: string; httpsProxy?: string; noProxy?: string } {
  const value = (name: string) => environment[name.toLowerCase()] ?? environment[name.toUpperCase()];
  const [httpProxy, httpsProxy, noProxy] = ['http_proxy', 'https_proxy', 'no_proxy'].map(value);
  return { ...(httpProxy ? { httpProxy } : {}), ...(httpsProxy ? { httpsProxy } : {}), ...(noProxy ? { noProxy } : {}) };
}

/** Naming authorities replaces Node's list, so the usual ones are named along. */
function authorities(file: string, environment: NodeJS.ProcessEnv): string[] {
  try {
    const extra = environment.NODE_EXTRA_CA_CERTS;
    const text = readFileSync(file, 'utf8');
    if (!text.includes('-----BEGIN CERTIFICATE-----')) throw new Error('it holds no PEM certificate');
    return [...rootCertificates, ...(extra ? [readFileSync(extra, 'utf8')] : []), text];
  } catch (error) {
    throw new AutomateError('usage', `--cacert ${file} cannot be used: ${(error as Error).message}`);
  }
}

/** Sends one request and takes the whole answer. */
function exchange(dispatcher: Dispatcher, hop: Hop, options: TransportOptions): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    let status = 0;
    let headers: HttpResponse['headers'] = {};
    let controller: Dispatcher.DispatchController | undefined;
    let failure: Failure | undefined;
    const timer = setTimeout(
      () => giveUp(new Failure('timeout', `no response within ${hop.timeoutMs} ms`, { retryable: true })),
      Math.max(1, Math.ceil(hop.deadlineMs - options.now())),
    );
    const giveUp = (reason: Failure) => {
      failure ??= reason;
      clearTimeout(timer);
      controller?.abort(reason);
      reject(failure);
    };
    try {
      dispatcher.dispatch(
        {
          origin: hop.origin,
          path: hop.path,
          method: hop.method as Dispatcher.HttpMethod,
          headers: wireHeaders(hop, options),
          body: hop.body ?? null,
        },
        {
          onRequestStart(started) {
            controller = started;
            if (failure) started.abort(failure);
          },
          onResponseStart(_controller, statusCode, received) {
            status = statusCode;
            headers = received;
          },
          onResponseData(_controller, chunk) {
            bytes += chunk.length;
            if (bytes > hop.maxBodyBytes) giveUp(tooLarge(hop.maxBodyBytes));
            else chunks.push(chunk);
          },
          onResponseEnd() {
            clearTimeout(timer);
            const [only] = chunks;
            const body = chunks.length === 1 ? (only as Buffer) : Buffer.concat(chunks);
            answer(status, headers, body, hop, options).then(resolve, reject);
          },
          onResponseError(_controller, error) {
            clearTimeout(timer);
            reject(failure ?? failureOf(error, hop.origin));
          },
        },
      );
    } catch (error) {
      giveUp(failureOf(error, hop.origin));
    }
  });
}

/** Header texts travel as UTF-8 bytes, each written as the character of that number. */
function wireHeaders(hop: Hop, options: TransportOptions): Record<string, string> {
  const headers: Record<string, string> = { accept: '*/*', 'accept-encoding': acceptEncoding, 'user-agent': options.userAgent };
  for (const name in hop.headers) {
    const value = hop.headers[name] as string;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: asks for anything but ASCII
    headers[name.toLowerCase()] = /^[\x00-\x7f]*$/.test(value) ? value : Buffer.from(value).toString('latin1');
  }
  return headers;
}

async function answer(
  status: number,
  headers: HttpResponse['headers'],
  received: Buffer,
  hop: Hop,
  options: TransportOptions,
): Promise<HttpResponse> {
  const header = (name: string) => {
    const value = headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  };
  const encodings = header('content-encoding');
  const body = encodings === undefined || received.length === 0 ? received : await decompress(received, encodings, hop.maxBodyBytes);
  return {
    status,
    headers,
    header,
    body,
    endedByClose: headers['content-length'] === undefined && headers['transfer-encoding'] === undefined,
    retryAfterMs: retryAfterMs(status, header, options.wallNow()),
  };
}
