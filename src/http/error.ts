import { cleaned, excerpt } from '../core/answer/response.ts';
import { Failure } from '../core/failure.ts';
import type { HttpResponse } from '../core/ports.ts';

export interface Occasion {
  readonly origin: string;
  /** The proxy's host and port; undefined if the request uses no proxy. */
  readonly proxy?: string;
  readonly wasSent: boolean;
}

const tlsCodes =
  /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|CERT_|UNABLE_TO_|ERR_TLS_|ERR_SSL_|HOSTNAME_MISMATCH|INVALID_CA|EPROTO)/;

/** undici's error codes for invalid requests, which are not sent. (undici is the HTTP client.) */
const badRequests = new Set(['UND_ERR_INVALID_ARG', 'UND_ERR_NOT_SUPPORTED', 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH']);

const unknownNames = new Set(['ENOTFOUND', 'EAI_AGAIN']);

const slow = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'ETIMEDOUT']);

/** Converts a connection error to the failure of the record that sent the request. */
export function failureOf(error: unknown, occasion: Occasion): Failure {
  if (error instanceof Failure) return error;
  const { origin, proxy, wasSent } = occasion;
  const { code = '', message } = rootOf(error);
  if (code === 'ADDRESS_REFUSED') return new Failure('request', message, { sent: false });
  const refusal = proxy === undefined ? undefined : proxyRefusal(message, occasion);
  if (refusal) return refusal;
  if (badRequests.has(code)) return new Failure('request', `the request cannot be sent: ${message}`, { sent: false });
  if (tlsCodes.test(code)) return tlsFailure(code, message, origin);
  const through = proxy === undefined ? '' : `, through the proxy ${proxy}`;
  if (slow.has(code) && !wasSent) {
    return new Failure('timeout', `no connection to ${origin} in time${through}`, { retryable: true, sent: false });
  }
  const facts = unknownNames.has(code) ? ({ code: 'unknown-host', details: {} } as const) : {};
  return new Failure('network', `${origin}: ${networkReason(code, message)}${through}`, { retryable: true, sent: wasSent, ...facts });
}

interface Coded {
  readonly code?: string;
  readonly message: string;
}

/** If Node has tried several IP addresses of a host, returns the error of the first one. */
function rootOf(error: unknown): Coded {
  const { code, errors, cause } = error as { code?: string; errors?: unknown[]; cause?: unknown };
  if (Array.isArray(errors) && errors.length > 0) return rootOf(errors[0]);
  if ((code === undefined || code === 'UND_ERR_PRX_TLS') && cause instanceof Error) return rootOf(cause);
  return error as Coded;
}

/** undici reports the proxy's status only in the message. The request is retried only if the status is 429 or 5xx. */
function proxyRefusal(message: string, { origin, proxy }: Occasion): Failure | undefined {
  const status = Number(/^Proxy (?:response|Authentication Required) \((\d{3})\)/.exec(message)?.[1]);
  if (Number.isNaN(status)) return undefined;
  const variable = origin.startsWith('https:') ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const advice = status === 407 ? `\nset ${variable} to http://user:password@${proxy}, with the user name and password for the proxy` : '';
  return new Failure('network', `the proxy ${proxy} refused the connection to ${origin} with status ${status}${advice}`, {
    retryable: status >= 500 || status === 429,
    sent: false,
    code: 'proxy',
    details: {},
  });
}

/** The failure of an http request that a proxy answered itself, as far as that can be told; https requests go through a tunnel. */
export function proxyAnswer(status: number, header: HttpResponse['header'], { origin, proxy }: Occasion): Failure | undefined {
  if (proxy === undefined || status < 400 || !origin.startsWith('http:') || !isOfProxy(header)) return undefined;
  const reason = header('x-squid-error')?.split(' ')[0];
  const message = `the proxy ${proxy} answered ${status} in place of ${origin}${reason === undefined ? '' : ` (${reason})`}`;
  const isLater = status >= 500 || status === 429;
  return new Failure('network', message, { retryable: isLater, sent: isLater, code: 'proxy', details: {} });
}

/** RFC 9209 has Proxy-Status. An answer that a proxy passes on has the Server header of its server. */
function isOfProxy(header: HttpResponse['header']): boolean {
  const isNamed = /^(?:squid|tinyproxy|mitmproxy|zscaler)\b/i.test(header('server') ?? '') || header('proxy-agent') !== undefined;
  return isNamed || header('x-squid-error') !== undefined || /;\s*error=/.test(header('proxy-status') ?? '');
}

/** Not retried, because the server would present the same certificate again. */
function tlsFailure(code: string, message: string, origin: string): Failure {
  const isUnknownAuthority = /SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)|INVALID_CA/.test(code);
  // Newer versions of Node add a hint about one of Node's own options, which is removed here.
  const cause = tlsReason(cleaned(message.replace(/; if the root CA is installed locally.*/s, '')));
  const facts = { code: 'tls', details: { isUnknownAuthority } } as const;
  return new Failure('network', `the TLS connection to ${origin} failed: ${cause} (${code})`, { sent: false, ...facts });
}

/** Returns the reason in an OpenSSL error message, without error codes, function names and line numbers. */
function tlsReason(message: string): string {
  const reason = /:SSL routines:[^:]*:([^:]+)/.exec(message)?.[1] ?? message;
  if (/wrong version number|packet length too long/.test(reason))
    return 'the server does not speak TLS on this port; does the server use http://?';
  return reason.replace(/\s+/g, ' ').trim();
}

const reasons: Record<string, string> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was closed',
  ENOTFOUND: 'the name is not known (DNS)',
  EAI_AGAIN: 'the name could not be looked up (DNS)',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: 'the connection timed out',
  UND_ERR_SOCKET: 'the connection was closed before the answer was complete',
  UND_ERR_ABORTED: 'the connection was closed before the answer was complete',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the length of the answer does not match its Content-Length',
  UND_ERR_HEADERS_OVERFLOW: "the answer's headers are too large",
  UND_ERR_DESTROYED: 'the run has ended',
};

function networkReason(code: string, message: string): string {
  const parserReason = /^Response does not match the HTTP\/1\.1 protocol \((.+)\)$/.exec(message)?.[1];
  if (parserReason !== undefined) return `the answer is not valid HTTP (${parserReason})`;
  // undici (the HTTP client) throws this error if the response's status is below 100.
  if (code === 'ERR_ASSERTION') return 'the answer is not valid HTTP';
  // undici reports "bad response" if a response arrives without a request, or a 100 Continue that was not requested.
  if (code === 'UND_ERR_SOCKET' && message === 'bad response')
    return 'the server sent an answer that was not requested, such as 100 Continue';
  return `${reasons[code] ?? cleaned(message)}${code === '' || code.startsWith('UND_') ? '' : ` (${code})`}`;
}

/** Replaces a JSON list of validation errors in the SDK's message by readable text with `path: problem` for each error. */
export function withReadableIssues(message: string): string {
  const start = message.search(/\[\s*\{\s*"/);
  if (start < 0) return excerpt(message, 300);
  return excerpt(`${message.slice(0, start)}${issuesIn(message.slice(start)) || 'the answer is not a valid MCP message'}`, 300);
}

function issuesIn(text: string): string {
  try {
    const issues = JSON.parse(text) as { code: string; path: unknown[]; message: string }[];
    const single = issues.filter(({ code }) => code !== 'invalid_union');
    return single.map(({ path, message }) => `${path.join('.')}: ${message.replace(/^Invalid input: /, '')}`).join('; ');
  } catch {
    return '';
  }
}

/** Even if the redirected request was not sent, the first request was. */
export function throwAsSent(error: unknown): never {
  throw error instanceof Failure ? error.asSent() : error;
}
