import type { CodedMessage, ErrorCode, ErrorFacts } from './error-code.ts';
import type { Value } from './value/value.ts';

export const failureClasses = [
  'input',
  'check',
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
  /** Undefined if there was no response. */
  status?: number;
  /** True if another attempt could have a different result. Whether there is one, the retry policy decides. */
  retryable?: boolean;
  /** The wait in ms that the response's headers ask for. */
  retryAfterMs?: number;
  /** True if the request might have reached the server. A request costs no credit only if it was never sent. */
  sent?: boolean;
}

type FailureFacts = FailureFlags & Partial<ErrorFacts>;

/** The failure of one record, after which the run continues. As in an AutomateError, the message does not mention options. */
export class Failure extends Error implements CodedMessage {
  override readonly name = 'Failure';
  readonly code: ErrorCode | undefined;
  /** Details of the failure. Their type depends on the error code (see ErrorDetails). */
  readonly details: object | undefined;
  readonly status: number | undefined;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly sent: boolean;
  /** Undefined if the record itself was invalid. */
  node: string | undefined;
  /** Number of attempts, including the first. */
  attempts = 0;
  /** True if the server asks for a longer wait than the flow allows. */
  waitsTooLong = false;
  /** The fields that contain a secret, with the secret masked. The worker process that knows the secret sets them. */
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

  asSent(): Failure {
    return this.copied(this.message, true);
  }

  withMessage(message: string): Failure {
    return this.copied(message);
  }

  private copied(message: string, sent = this.sent): Failure {
    const { status, retryable, retryAfterMs, code, details } = this;
    const copy = new Failure(this.kind, message, { status, retryAfterMs, sent, retryable, code, details } as FailureFacts);
    copy.node = this.node;
    copy.cause = this.cause;
    copy.attempts = this.attempts;
    copy.waitsTooLong = this.waitsTooLong;
    return copy;
  }
}

/** Each kind has its own exit code. */
export type ErrorKind =
  | 'usage'
  | 'cancelled'
  | 'flow'
  | 'input'
  | 'credential'
  | 'credits'
  | 'stoppedEarly'
  | 'output-exists'
  | 'output'
  | 'stdout-closed';

/**
 * Ends the run, or prevents its start. The message does not mention options: by the error code, the command line adds the option to type,
 * and the server the field to send.
 */
export class AutomateError extends Error implements CodedMessage {
  override readonly name: string = 'AutomateError';
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

export function errorOf(kind: ErrorKind, coded: CodedMessage, cause?: unknown): AutomateError {
  const { code, details } = coded;
  return new AutomateError(kind, coded.message, { code, details, cause } as ErrorOptions & Partial<ErrorFacts>);
}

export function usageError(message: string): AutomateError {
  return new AutomateError('usage', message);
}

/** `option` is in camel case, as in `inFormat`. */
export function invalidOption(option: string, message: string, cause?: unknown): AutomateError {
  return new AutomateError('usage', message, { code: 'invalid-option', details: { option }, cause });
}

/** A mistake in a flow file. As in an AutomateError, the message does not mention options. */
export interface Problem extends CodedMessage {
  /** The 1-based line number; undefined if the problem concerns the whole file. */
  line?: number;
  column?: number;
  /** The line to show below the message, with the 0-based `caret` of the mistake. Undefined if the line might contain a secret. */
  source?: { text: string; caret: number; width: number };
}

/** Lists every problem in the file. */
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

/** Thrown by an attempt if every further one would end in the same way. The run then ends, and a later run continues with the record. */
export class LimitReached extends Error implements CodedMessage {
  override readonly name = 'LimitReached';
  readonly code: ErrorCode | undefined;
  readonly details: object | undefined;

  /**
   * `ending` is `refused-credential` if the server refused the credential. `phase` is the phase that the run enters: `finishing` if calls
   * over the limit are not sent, so that records in progress can make their other calls.
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

/** Thrown if the server refused the credential. `isSent` is true if the refused request was that of the record, not a login before it. */
export class CredentialRefused extends LimitReached {
  readonly #isSent: boolean;

  constructor(message: string, isSent: boolean, facts?: ErrorFacts) {
    super(message, 'refused-credential', facts);
    this.#isSent = isSent;
  }

  /** For a step of `first` with `on_error: keep`, after which another source is asked. */
  asFailure(): Failure {
    const { message, code, details } = this;
    return new Failure('http', message, { status: 401, sent: this.#isSent, code, details } as FailureFacts);
  }
}
