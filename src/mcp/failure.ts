import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, UnauthorizedError } from '@modelcontextprotocol/client';
import { excerpt } from '../core/answer/response.ts';
import { durationText } from '../core/duration.ts';
import { Failure, LimitReached } from '../core/failure.ts';
import { withReadableIssues } from '../http/error.ts';
import { unreadableCode } from './readable.ts';

export interface ErrorContext {
  readonly connection: string;
  readonly timeoutMs: number;
  /** True if the server may have received the tool call. */
  readonly wasSent: boolean;
  /** The reason why a locally started server exited or did not respond; empty if no reason is known. */
  readonly explanation: string;
}

/** Returns a wrapped Failure, and throws a wrapped LimitReached. */
export function toFailure(error: unknown, context: ErrorContext): Failure {
  const own = findOwn(error);
  if (own instanceof LimitReached) throw own;
  if (own) return own;
  const failure = translate(error as Error, context);
  failure.cause = error;
  return failure;
}

function translate(error: Error, context: ErrorContext): Failure {
  const { connection, wasSent: sent } = context;
  if (error instanceof UnauthorizedError) {
    return new Failure('http', `the MCP server "${connection}" requires a login`, { status: 401, sent: false });
  }
  if (error instanceof SdkHttpError) return httpFailure(error, context);
  if (error instanceof ProtocolError) return protocolFailure(error);
  if (error instanceof SdkError) return (sdkFailures[error.code] ?? lostFailure)(error, context);
  if (error instanceof SyntaxError && !isCutOff(error)) {
    return new Failure('parse', `expected JSON from the MCP server "${connection}": ${excerpt(error.message, 300)}`, { sent });
  }
  return lostFailure(error, context);
}

/** Every other code means that the connection is lost. */
const sdkFailures: Readonly<Partial<Record<SdkErrorCode, (error: SdkError, context: ErrorContext) => Failure>>> = {
  [SdkErrorCode.RequestTimeout]: (_, { connection, timeoutMs, wasSent: sent, explanation }) => {
    const message = sent
      ? `no answer from the MCP server "${connection}" within ${durationText(timeoutMs)}`
      : notReady(connection, timeoutMs);
    return new Failure('timeout', explanation === '' ? message : `${message}: ${explanation}`, { retryable: true, sent });
  },
  [SdkErrorCode.InvalidResult]: ({ message }) =>
    new Failure('parse', `the answer does not follow the protocol: ${withReadableIssues(message)}`),
  // The following codes mean that the tool needs input from a user or a protocol feature that this client does not support.
  [SdkErrorCode.UnsupportedResultType]: notCallable,
  [SdkErrorCode.InputRequiredRoundsExceeded]: notCallable,
  [SdkErrorCode.CapabilityNotSupported]: notCallable,
  [SdkErrorCode.MethodNotSupportedByProtocolVersion]: notCallable,
  [SdkErrorCode.EraNegotiationFailed]: ({ message }, { connection }) => {
    const reason = withReadableIssues(message.replace(/^Version negotiation probe failed: /, ''));
    return new Failure('network', `"${connection}" is not an MCP server: ${reason}`, { sent: false });
  },
  [SdkErrorCode.ClientHttpUnexpectedContent]: ({ message }, { connection, wasSent: sent }) =>
    new Failure('parse', `expected JSON or a stream of events from the MCP server "${connection}": ${excerpt(message, 300)}`, { sent }),
};

function notCallable({ message }: SdkError): Failure {
  return new Failure('tool', `the tool cannot be called: ${excerpt(message, 300)}`);
}

/** True if the JSON text ends too early, which means that the message was cut off by a lost connection. */
function isCutOff({ message }: SyntaxError): boolean {
  return /^(?:Unexpected end|Unterminated)/.test(message);
}

export function notReady(connection: string, timeoutMs: number): string {
  return `the MCP server "${connection}" was not ready within ${durationText(timeoutMs)} (start_timeout)`;
}

/** The call is not retried if the server's program is missing or not executable, because starting it would fail again. */
function lostFailure(error: Error, { connection, wasSent: sent, explanation }: ErrorContext): Failure {
  const what = sent ? `the connection to the MCP server "${connection}" is lost` : `no connection to the MCP server "${connection}"`;
  const { code } = error as NodeJS.ErrnoException;
  const retryable = code !== 'ENOENT' && code !== 'EACCES';
  return new Failure('network', `${what}: ${explanation || withReadableIssues(error.message)}`, { retryable, sent });
}

function httpFailure(error: SdkHttpError, { connection, wasSent: sent }: ErrorContext): Failure {
  const { status = 0 } = error;
  const target = /Redirect to (\S+) not followed/.exec(error.message)?.[1];
  const text = excerpt(target === undefined ? String(error.data?.text ?? '') : `it redirects to ${target}`, 200);
  const message = `the MCP server "${connection}" answered ${error.status}${text === '' ? '' : `: ${text}`}`;
  return new Failure('http', message, { status: error.status, retryable: status === 429 || status >= 500, sent });
}

/** Converts a protocol error to a Failure. The SDK also throws a protocol error if a result does not match the tool's output schema. */
function protocolFailure({ code, message }: ProtocolError): Failure {
  if (code === unreadableCode) return new Failure('parse', message);
  const reason = excerpt(message, 300);
  if (/output ?schema|structured content/i.test(message))
    return new Failure('parse', `the answer does not match the tool's own output schema: ${reason}`);
  return new Failure('tool', `the server refused the call: ${reason} (${code})`);
}

function findOwn(error: unknown): Failure | LimitReached | undefined {
  for (let one: unknown = error, depth = 0; one instanceof Error && depth < 8; depth++) {
    if (one instanceof Failure || one instanceof LimitReached) return one;
    one = one.cause ?? (one as { data?: { cause?: unknown } }).data?.cause;
  }
  return undefined;
}
