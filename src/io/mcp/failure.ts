import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, UnauthorizedError } from '@modelcontextprotocol/client';
import { excerpt } from '../../core/answer/response.ts';
import { Failure } from '../../core/failure.ts';

/** Where an error of a client happened. */
export interface Occasion {
  readonly connection: string;
  readonly timeoutMs: number;
  /** Whether the server may have got the call. */
  readonly wasSent: boolean;
  /** What is known of the server's end, in words; empty for nothing. */
  readonly story: string;
}

/** What an error of the client means for the record. Ours are taken out of what they were wrapped in. */
export function failureOf(error: unknown, occasion: Occasion): Failure {
  const ours = failureWithin(error);
  if (ours) return ours;
  const { connection, timeoutMs, wasSent: sent, story } = occasion;
  const told = story === '' ? '' : `: ${story}`;
  if (isTimeout(error)) {
    const message = sent ? `no answer of the MCP server "${connection}" within ${timeoutMs} ms` : notReady(connection, timeoutMs);
    return withCause(new Failure('timeout', `${message}${told}`, { retryable: true, sent }), error);
  }
  if (error instanceof UnauthorizedError) {
    return withCause(new Failure('http', `the MCP server "${connection}" asks for a login`, { status: 401, sent: false }), error);
  }
  if (error instanceof SdkHttpError) return withCause(httpFailure(error, occasion), error);
  const message = excerpt((error as Error).message, 300);
  if (error instanceof ProtocolError) return withCause(protocolFailure(error, message), error);
  if (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult) {
    return withCause(new Failure('parse', `the answer is not what the protocol asks for: ${readable(error.message)}`), error);
  }
  if (error instanceof SdkError && notGiven.has(error.code))
    return withCause(new Failure('tool', `the tool cannot be called: ${message}`), error);
  if (error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed) {
    const reason = readable(error.message.replace(/^Version negotiation probe failed: /, ''));
    return withCause(new Failure('network', `what answers as "${connection}" is no MCP server: ${reason}`, { sent: false }), error);
  }
  if (error instanceof SdkError && error.code === SdkErrorCode.ClientHttpUnexpectedContent) {
    return withCause(
      new Failure('parse', `expected JSON or a stream of events from the MCP server "${connection}": ${message}`, { sent }),
      error,
    );
  }
  if (error instanceof SyntaxError && !isCutOff(error)) {
    return withCause(new Failure('parse', `expected JSON from the MCP server "${connection}": ${message}`, { sent }), error);
  }
  return withCause(lostFailure(error, occasion, message), error);
}

/** JSON that ends too early was lost on its way. */
function isCutOff({ message }: SyntaxError): boolean {
  return /^(?:Unexpected end|Unterminated)/.test(message);
}

/** The client tells what its checks have found as JSON: of that, where it was and what was expected there. */
function readable(message: string): string {
  const start = message.search(/\[\s*\{\s*"/);
  if (start < 0) return excerpt(message, 300);
  return excerpt(`${message.slice(0, start)}${issuesIn(message.slice(start)) || 'the answer is no message of the protocol'}`, 300);
}

function issuesIn(text: string): string {
  try {
    const issues = JSON.parse(text) as { code: string; path: unknown[]; message: string }[];
    const told = issues.filter(({ code }) => code !== 'invalid_union');
    return told.map(({ path, message }) => `${path.join('.')}: ${message.replace(/^Invalid input: /, '')}`).join('; ');
  } catch {
    return '';
  }
}

/** That a server took too long before it could be called. */
export function notReady(connection: string, timeoutMs: number): string {
  return `the MCP server "${connection}" is not ready within ${timeoutMs / 1000} s (start_timeout)`;
}

/** A program that is not there will not be there the next time. */
function lostFailure(error: unknown, { connection, wasSent: sent, story }: Occasion, message: string): Failure {
  const what = sent ? `the connection to the MCP server "${connection}" is lost` : `no connection to the MCP server "${connection}"`;
  const { code } = error as NodeJS.ErrnoException;
  return new Failure('network', `${what}: ${story || message}`, { retryable: code !== 'ENOENT' && code !== 'EACCES', sent });
}

/** It asks for something that only a person could give, or that this side does not speak. */
const notGiven = new Set<unknown>([
  SdkErrorCode.UnsupportedResultType,
  SdkErrorCode.InputRequiredRoundsExceeded,
  SdkErrorCode.CapabilityNotSupported,
  SdkErrorCode.MethodNotSupportedByProtocolVersion,
]);

function isTimeout(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
}

function httpFailure(error: SdkHttpError, { connection, wasSent: sent }: Occasion): Failure {
  const { status } = error;
  const elsewhere = /Redirect to (\S+) not followed/.exec(error.message)?.[1];
  const text = excerpt(elsewhere === undefined ? String(error.data?.text ?? '') : `it points to ${elsewhere}`, 200);
  const retryable = status === 429 || (status ?? 0) >= 500;
  return new Failure('http', `the MCP server "${connection}" answered ${status}${text === '' ? '' : `: ${text}`}`, {
    status,
    retryable,
    sent,
  });
}

/** The client compares an answer with the tool's own schema, and says so as if the server had. */
function protocolFailure({ code }: ProtocolError, message: string): Failure {
  if (/output ?schema|structured content/i.test(message))
    return new Failure('parse', `the answer is not what the tool promises: ${message}`);
  return new Failure('tool', `the server refused the call: ${message} (${code})`);
}

function withCause(failure: Failure, cause: unknown): Failure {
  failure.cause = cause;
  return failure;
}

/** A Failure in the chain of causes; the client puts some errors into its own. */
export function failureWithin(error: unknown): Failure | undefined {
  for (let one: unknown = error, depth = 0; one instanceof Error && depth < 8; depth++) {
    if (one instanceof Failure) return one;
    one = one.cause ?? (one as { data?: { cause?: unknown } }).data?.cause;
  }
  return undefined;
}
