import type { CodedMessage, ErrorCode, ErrorFacts } from './error-code.ts';

/** Every reason why a record can fail. */
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

/** The class of a failure, as the errors file names it. */
export type FailureClass = (typeof failureClasses)[number];

interface FailureFlags {
  /** The answer's HTTP status. Absent without an answer. */
  status?: number | undefined;
  /** True if the call may be retried. */
  retryable?: boolean;
  /** The wait that the answer's headers ask for. Undefined if they ask for none. */
  retryAfterMs?: number | undefined;
  /** True if the request may have reached the server. Only a request that was never sent costs no credit. */
  sent?: boolean;
}

type FailureFacts = FailureFlags & Partial<ErrorFacts>;

/** The failure of one record. The run continues. Its message names no option, as that of an AutomateError. */
export class Failure extends Error implements CodedMessage {
  override readonly name = 'Failure';
  /** Undefined for a failure on which no decision depends. */
  readonly code: ErrorCode | undefined;
  /** The details of the code. */
  readonly details: object | undefined;
  readonly status: number | undefined;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly sent: boolean;
  /** The id of the node that failed. Undefined if the record itself was wrong. */
  node: string | undefined;
  /** Attempts made, the first included. */
  attempts = 0;

  constructor(
    readonly kind: FailureClass,
    message: string,
    facts: FailureFacts = {},
  ) {
    // A failed record is an ordinary result: it needs no stack.
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

  /** The same failure, not retryable. */
  asFinal(): Failure {
    return this.copied(this.message, false);
  }

  /** The same failure of an action that has sent a request. */
  asSent(): Failure {
    return this.copied(this.message, this.retryable, true);
  }

  /** The same failure with another message. */
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

/** The reason for the end of a whole run. Each has an exit code. */
export type ErrorKind = 'usage' | 'cancelled' | 'flow' | 'input' | 'credential' | 'credits' | 'output-exists' | 'output' | 'stdout-closed';

/**
 * An error that ends the run, or keeps it from starting. The message says what was expected and what was found, and names no option: the
 * command line adds the option to type, the server the field to send. Both find the way out by the code (core/error-code.ts).
 */
export class AutomateError extends Error implements CodedMessage {
  override readonly name: string = 'AutomateError';
  /** Undefined for an error without a way out of its own. */
  readonly code: ErrorCode | undefined;
  /** The details of the code. */
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

/** A coded message as an error of a whole run. */
export function errorOf(kind: ErrorKind, coded: CodedMessage, cause?: unknown): AutomateError {
  const { code, details } = coded;
  return new AutomateError(kind, coded.message, { code, details, cause } as ErrorOptions & Partial<ErrorFacts>);
}

/** The error for a wrong value of an option. `option`: its name in camel case, as in `inFormat`. */
export function invalidOption(option: string, message: string, cause?: unknown): AutomateError {
  return new AutomateError('usage', message, { code: 'invalid-option', details: { option }, cause });
}

/** Something wrong in a flow file. Its message names no option, as that of an AutomateError. */
export interface Problem extends CodedMessage {
  /** 1-based. Absent if the problem is the file as a whole. */
  line?: number;
  column?: number;
  /** The source line, and the column of the caret in it (0-based). Undefined if the line may hold a secret. */
  source?: { text: string; caret: number; width: number };
}

/** The error for a flow that cannot run, with every problem of the file. */
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

/** Thrown for a record that the run leaves to a later run, because it is ending. */
export class Unfinished extends Error {
  override readonly name = 'Unfinished';
}

/** Thrown by an attempt if every other one would end as it does. The run ends, and a later run takes the record up. */
export class LimitReached extends Error implements CodedMessage {
  override readonly name = 'LimitReached';
  readonly code: ErrorCode | undefined;
  readonly details: object | undefined;

  /** `ending`: `max-credits` if nothing more can be paid for. */
  constructor(
    message: string,
    readonly ending: 'max-credits' | 'refused-credential' = 'max-credits',
    facts?: ErrorFacts,
  ) {
    super(message);
    this.code = facts?.code;
    this.details = facts?.details;
  }
}
