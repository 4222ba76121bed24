import { Failure } from '../../core/failure.ts';
import { cleaned } from '../../core/response.ts';

const tlsCodes =
  /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|CERT_|UNABLE_TO_|ERR_TLS_|ERR_SSL_|HOSTNAME_MISMATCH|INVALID_CA|EPROTO)/;

/** What an error of the connection means for the record. */
export function failureOf(error: unknown, origin: string): Failure {
  if (error instanceof Failure) return error;
  const { code = '', message } = rootOf(error);
  if (code === 'ADDRESS_REFUSED') return new Failure('request', message, { sent: false });
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') {
    return new Failure('timeout', `no connection to ${origin} in time`, { retryable: true });
  }
  if (code === 'UND_ERR_INVALID_ARG') return new Failure('request', `the request cannot be sent: ${message}`, { sent: false });
  if (tlsCodes.test(code)) return tlsFailure(code, message, origin);
  return new Failure('network', networkMessage(code, message, origin), { retryable: true });
}

interface Coded {
  readonly code?: string;
  readonly message: string;
}

/** Node bundles the errors of several addresses; the first tells enough. */
function rootOf(error: unknown): Coded {
  const { errors, cause } = error as { errors?: unknown[]; cause?: unknown };
  if (Array.isArray(errors) && errors.length > 0) return rootOf(errors[0]);
  if ((error as Coded).code === undefined && cause instanceof Error) return rootOf(cause);
  return error as Coded;
}

/** Trying again would meet the same certificate. */
function tlsFailure(code: string, message: string, origin: string): Failure {
  const mend = /SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)|INVALID_CA/.test(code)
    ? '\nif the server is yours, name its certificate authority with --cacert FILE'
    : '';
  return new Failure('network', `the TLS connection to ${origin} failed: ${cleaned(message)} (${code})${mend}`, { sent: false });
}

const reasons: Record<string, string> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was closed',
  ENOTFOUND: 'the name is not known (DNS)',
  EAI_AGAIN: 'the name could not be looked up (DNS)',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  UND_ERR_SOCKET: 'the connection was closed before the answer was complete',
  UND_ERR_ABORTED: 'the connection was closed before the answer was complete',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the answer was shorter or longer than it said',
};

function networkMessage(code: string, message: string, origin: string): string {
  return `${origin}: ${reasons[code] ?? cleaned(message)}${code === '' || code.startsWith('UND_') ? '' : ` (${code})`}`;
}
