import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, UnauthorizedError } from '@modelcontextprotocol/client';
import { excerpt } from '../../core/answer/response.ts';
import { durationText } from '../../core/duration.ts';
import { Failure, LimitReached } from '../../core/failure.ts';

/** The call or start in which an error happened. */
export interface ErrorContext {
  readonly connection: string;
  readonly timeoutMs: number;
  /** True if the server may have received the call. */
  readonly wasSent: boolean;
  /** The end or silence of a local server in words; empty if nothing is known. */
  readonly explanation: string;
}

/** Turns an error of the SDK into a Failure of the record. A Failure that the SDK has wrapped is unwrapped. Throws a LimitReached that it has wrapped. */
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
    return new Failure('http', `the MCP server "${connection}" asks for a login`, { status: 401, sent: false });
  }
  if (error instanceof SdkHttpError) return httpFailure(error, context);
  if (error instanceof ProtocolError) return protocolFailure(error);
  if (error instanceof SdkError) return (sdkFailures[error.code] ?? lostFailure)(error, context);
  if (error instanceof SyntaxError && !isCutOff(error)) {
    return new Failure('parse', `expected JSON from the MCP server "${connection}": ${excerpt(error.message, 300)}`, { sent });
  }
  return lostFailure(error, context);
}

/** The Failure of an SdkError, by its code. The connection is lost for all other codes. */
const sdkFailures: Readonly<Partial<Record<SdkErrorCode, (error: SdkError, context: ErrorContext) => Failure>>> = {
  [SdkErrorCode.RequestTimeout]: (_, { connection, timeoutMs, wasSent: sent, explanation }) => {
    const message = sent
      ? `no answer of the MCP server "${connection}" within ${durationText(timeoutMs)}`
      : notReady(connection, timeoutMs);
    return new Failure('timeout', explanation === '' ? message : `${message}: ${explanation}`, { retryable: true, sent });
  },
  [SdkErrorCode.InvalidResult]: ({ message }) =>
    new Failure('parse', `the answer does not follow the protocol: ${withReadableIssues(message)}`),
  // The tool needs input from a person, or a part of the protocol that this client does not support.
  [SdkErrorCode.UnsupportedResultType]: notCallable,
  [SdkErrorCode.InputRequiredRoundsExceeded]: notCallable,
  [SdkErrorCode.CapabilityNotSupported]: notCallable,
  [SdkErrorCode.MethodNotSupportedByProtocolVersion]: notCallable,
  [SdkErrorCode.EraNegotiationFailed]: ({ message }, { connection }) => {
    const reason = withReadableIssues(message.replace(/^Version negotiation probe failed: /, ''));
    return new Failure('network', `what answers as "${connection}" is no MCP server: ${reason}`, { sent: false });
  },
  [SdkErrorCode.ClientHttpUnexpectedContent]: ({ message }, { connection, wasSent: sent }) =>
    new Failure('parse', `expected JSON or a stream of events from the MCP server "${connection}": ${excerpt(message, 300)}`, { sent }),
};

function notCallable({ message }: SdkError): Failure {
  return new Failure('tool', `the tool cannot be called: ${excerpt(message, 300)}`);
}

/** True for JSON that ends too early: it was cut off, so the connection is lost. */
function isCutOff({ message }: SyntaxError): boolean {
  return /^(?:Unexpected end|Unterminated)/.test(message);
}

/** Replaces the JSON of the SDK's own checks by `path: problem` for each issue. */
function withReadableIssues(message: string): string {
  const start = message.search(/\[\s*\{\s*"/);
  if (start < 0) return excerpt(message, 300);
  return excerpt(`${message.slice(0, start)}${issuesIn(message.slice(start)) || 'the answer is no message of the protocol'}`, 300);
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

/** The message for a server that is not ready in time. */
export function notReady(connection: string, timeoutMs: number): string {
  return `the MCP server "${connection}" is not ready within ${durationText(timeoutMs)} (start_timeout)`;
}

/** The Failure of a lost connection. Not retryable for a program that does not exist: the next attempt would not find it either. */
function lostFailure(error: Error, { connection, wasSent: sent, explanation }: ErrorContext): Failure {
  const what = sent ? `the connection to the MCP server "${connection}" is lost` : `no connection to the MCP server "${connection}"`;
  const { code } = error as NodeJS.ErrnoException;
  const retryable = code !== 'ENOENT' && code !== 'EACCES';
  return new Failure('network', `${what}: ${explanation || excerpt(error.message, 300)}`, { retryable, sent });
}

function httpFailure(error: SdkHttpError, { connection, wasSent: sent }: ErrorContext): Failure {
  const { status = 0 } = error;
  const target = /Redirect to (\S+) not followed/.exec(error.message)?.[1];
  const text = excerpt(target === undefined ? String(error.data?.text ?? '') : `it points to ${target}`, 200);
  const message = `the MCP server "${connection}" answered ${error.status}${text === '' ? '' : `: ${text}`}`;
  return new Failure('http', message, { status: error.status, retryable: status === 429 || status >= 500, sent });
}

/** The SDK checks an answer against the tool's own schema, and reports a mismatch as an error of the protocol. */
function protocolFailure({ code, message }: ProtocolError): Failure {
  const reason = excerpt(message, 300);
  if (/output ?schema|structured content/i.test(message))
    return new Failure('parse', `the answer is not what the tool promises: ${reason}`);
  return new Failure('tool', `the server refused the call: ${reason} (${code})`);
}

function findOwn(error: unknown): Failure | LimitReached | undefined {
  for (let one: unknown = error, depth = 0; one instanceof Error && depth < 8; depth++) {
    if (one instanceof Failure || one instanceof LimitReached) return one;
    one = one.cause ?? (one as { data?: { cause?: unknown } }).data?.cause;
  }
  return undefined;
}
