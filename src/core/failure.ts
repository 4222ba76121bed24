import type { CodedMessage, ErrorCode, ErrorFacts } from './error-code.ts';
import type { Value } from './value/value.ts';

/** The classes of failures that a record can have. */
export const failureClasses = [
  'input',
  'template',
  'request',
  'network',
  'timeout',
  'http',
  'parse',
  'mapping',
  'tool',
  'answer',
  'credits',
  'output',
] as const;

/** The class of a failure, as it appears in the errors file. */
export type FailureClass = (typeof failureClasses)[number];

interface FailureFlags {
  /** The HTTP status of the response; undefined if there was no response. */
  status?: number | undefined;
  /** True if the call may be retried. */
  retryable?: boolean;
  /** The wait in ms that the headers of the response ask for; undefined if they ask for none. */
  retryAfterMs?: number | undefined;
  /** True if the request might have reached the server. A request costs no credit only if it was never sent. */
  sent?: boolean;
}

type FailureFacts = FailureFlags & Partial<ErrorFacts>;

/** The failure of one record, after which the run continues. As in an AutomateError, the message does not mention options. */
export class Failure extends Error implements CodedMessage {
  override readonly name = 'Failure';
  /** The error code; undefined if no other code depends on the kind of this failure. */
  readonly code: ErrorCode | undefined;
  /** Details of the failure. Their type depends on the error code (see ErrorDetails). */
  readonly details: object | undefined;
  readonly status: number | undefined;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly sent: boolean;
  /** The id of the node that failed; undefined if the record itself was invalid. */
  node: string | undefined;
  /** Number of attempts, including the first. */
  attempts = 0;
  /**
   * The fields of the record that contain a secret, with the secret masked. They are set by the worker process that knows the secret;
   * undefined if there are none.
   */
  masked: ReadonlyMap<string, Value> | undefined;

  constructor(
    readonly kind: FailureClass,
    message: string,
    facts: FailureFacts = {},
  ) {
    // A failed record is an ordinary result, so it needs no stack trace, which would take time.
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = limit;
    this.code = facts.code;
    this.details = facts.details;
    this.status = facts.status;
    this.retryable = facts.retryable ?? false;
    this.retryAfterMs = facts.retryAfterMs;
    this.sent = facts.sent ?? true;
  }

  /** Returns a copy of the failure that is marked as not retryable. */
  asFinal(): Failure {
    return this.copied(this.message, false);
  }

  /** Returns a copy of the failure that is marked as possibly sent to the server. */
  asSent(): Failure {
    return this.copied(this.message, this.retryable, true);
  }

  /** Returns a copy of the failure with a different message. */
  withMessage(message: string): Failure {
    return this.copied(message, this.retryable);
  }

  private copied(message: string, retryable: boolean, sent = this.sent): Failure {
    const { status, retryAfterMs, code, details } = this;
    const copy = new Failure(this.kind, message, { status, retryAfterMs, sent, retryable, code, details } as FailureFacts);
    copy.node = this.node;
    copy.cause = this.cause;
    copy.attempts = this.attempts;
    return copy;
  }
}

/** The kind of error that ended or prevented a run. Each kind has its own exit code. */
export type ErrorKind = 'usage' | 'cancelled' | 'flow' | 'input' | 'credential' | 'credits' | 'output-exists' | 'output' | 'stdout-closed';

/**
 * An error that ends the run, or prevents its start. The message says what was expected and what was found, but does not mention options.
 * The command line and the server add advice by the error code (core/error-code.ts): the command line names the option to type, and the
 * server names the field to send.
 */
export class AutomateError extends Error implements CodedMessage {
  override readonly name: string = 'AutomateError';
  /** The error code; undefined if there is no specific advice for the error. */
  readonly code: ErrorCode | undefined;
  /** Details of the error. Their type depends on the error code (see ErrorDetails). */
  readonly details: object | undefined;

  constructor(
    readonly kind: ErrorKind,
    message: string,
    facts?: ErrorOptions & Partial<ErrorFacts>,
  ) {
    super(message, facts);
    this.code = facts?.code;
    this.details = facts?.details;
  }
}

/** Turns a message with an error code into an error that ends a whole run. */
export function errorOf(kind: ErrorKind, coded: CodedMessage, cause?: unknown): AutomateError {
  const { code, details } = coded;
  return new AutomateError(kind, coded.message, { code, details, cause } as ErrorOptions & Partial<ErrorFacts>);
}

/** Returns the error for an invalid option value. `option` is the name of the option in camel case, as in `inFormat`. */
export function invalidOption(option: string, message: string, cause?: unknown): AutomateError {
  return new AutomateError('usage', message, { code: 'invalid-option', details: { option }, cause });
}

/** A mistake in a flow file. As in an AutomateError, the message does not mention options. */
export interface Problem extends CodedMessage {
  /** The 1-based line number; undefined if the problem concerns the whole file. */
  line?: number;
  column?: number;
  /**
   * The line of the file to show below the message. `caret` is the 0-based column of the mistake, and `width` the width of the marker below
   * it. Undefined if the line might contain a secret.
   */
  source?: { text: string; caret: number; width: number };
}

/** The error for a flow that cannot run. It lists every problem in the file. */
export class FlowError extends AutomateError {
  override readonly name = 'FlowError';
  constructor(
    readonly file: string,
    readonly problems: readonly Problem[],
    kind: 'flow' | 'credential' = 'flow',
  ) {
    super(kind, problems.map((problem) => problem.message).join('\n'));
  }
}

/** Thrown for a record that is left to a later run, because this run is ending. */
export class Unfinished extends Error {
  override readonly name = 'Unfinished';
}

/**
 * Thrown by an attempt if every further attempt would end in the same way. The run then ends, and a later run continues with the record.
 */
export class LimitReached extends Error implements CodedMessage {
  override readonly name = 'LimitReached';
  readonly code: ErrorCode | undefined;
  readonly details: object | undefined;

  /**
   * `ending` is `max-credits` if no credits are left, or `refused-credential` if the server refused the credential. `phase` is the phase
   * that the run enters. It is `finishing` if calls over the limit are not sent: records in progress can then make their other calls.
   */
  constructor(
    message: string,
    readonly ending: 'max-credits' | 'refused-credential' = 'max-credits',
    facts?: ErrorFacts,
    readonly phase: 'finishing' | 'unpaid' = 'unpaid',
  ) {
    super(message);
    this.code = facts?.code;
    this.details = facts?.details;
  }
}
