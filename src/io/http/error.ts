import { cleaned } from '../../core/answer/response.ts';
import { Failure } from '../../core/failure.ts';

/** The request that a connection error ended. */
export interface Occasion {
  readonly origin: string;
  /** The proxy's host and port; absent without a proxy. */
  readonly proxy?: string | undefined;
  /** True once the request was written to a connection. */
  readonly wasSent: boolean;
}

const tlsCodes =
  /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|CERT_|UNABLE_TO_|ERR_TLS_|ERR_SSL_|HOSTNAME_MISMATCH|INVALID_CA|EPROTO)/;

/** Requests that undici refuses to write. */
const badRequests = new Set(['UND_ERR_INVALID_ARG', 'UND_ERR_NOT_SUPPORTED', 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH']);

const slow = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'ETIMEDOUT']);

/** Translates a connection error into the Failure of the record. */
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
  return new Failure('network', `${origin}: ${networkReason(code, message)}${through}`, { retryable: true, sent: wasSent });
}

interface Coded {
  readonly code?: string;
  readonly message: string;
}

/** The error at the root. Node bundles the errors of several addresses: the first is enough. */
function rootOf(error: unknown): Coded {
  const { code, errors, cause } = error as { code?: string; errors?: unknown[]; cause?: unknown };
  if (Array.isArray(errors) && errors.length > 0) return rootOf(errors[0]);
  if ((code === undefined || code === 'UND_ERR_PRX_TLS') && cause instanceof Error) return rootOf(cause);
  return error as Coded;
}

/** A refusal by the proxy. undici gives its status only in the message. Below 500, the next attempt would be refused as well. */
function proxyRefusal(message: string, { origin, proxy }: Occasion): Failure | undefined {
  const status = Number(/^Proxy (?:response|Authentication Required) \((\d{3})\)/.exec(message)?.[1]);
  if (Number.isNaN(status)) return undefined;
  return new Failure('network', `the proxy ${proxy} refused the connection to ${origin} with status ${status}`, {
    retryable: status >= 500 || status === 429,
    sent: false,
    code: 'proxy',
    details: {},
  });
}

/** Not retryable: the next attempt would meet the same certificate. */
function tlsFailure(code: string, message: string, origin: string): Failure {
  const isUnknownAuthority = /SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)|INVALID_CA/.test(code);
  // Newer versions of Node add a hint at one of their own options.
  const cause = tlsReason(cleaned(message.replace(/; if the root CA is installed locally.*/s, '')));
  const facts = { code: 'tls', details: { isUnknownAuthority } } as const;
  return new Failure('network', `the TLS connection to ${origin} failed: ${cause} (${code})`, { sent: false, ...facts });
}

/** OpenSSL's reason without the codes, functions and lines of its source around it. */
function tlsReason(message: string): string {
  const reason = /:SSL routines:[^:]*:([^:]+)/.exec(message)?.[1] ?? message;
  if (/wrong version number|packet length too long/.test(reason)) return 'the server does not speak TLS on this port; is it http:// there?';
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
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the answer was shorter or longer than it said',
  UND_ERR_HEADERS_OVERFLOW: "the answer's headers are too large",
  UND_ERR_DESTROYED: 'the run has ended',
};

function networkReason(code: string, message: string): string {
  const parserReason = /^Response does not match the HTTP\/1\.1 protocol \((.+)\)$/.exec(message)?.[1];
  if (parserReason !== undefined) return `the answer is no valid HTTP (${parserReason})`;
  // undici asserts that a status is 100 or more.
  if (code === 'ERR_ASSERTION') return 'the answer is no valid HTTP';
  // undici's words for an answer without a request, and for a 100 when nothing was to be continued.
  if (code === 'UND_ERR_SOCKET' && message === 'bad response')
    return 'the server sent an answer that was not asked for, such as 100 Continue';
  return `${reasons[code] ?? cleaned(message)}${code === '' || code.startsWith('UND_') ? '' : ` (${code})`}`;
}
