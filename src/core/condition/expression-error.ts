import { overloadText } from './overload-error.ts';
import { matchesMethod } from './references.ts';

/** The error for text that is not valid CEL, or for an expression of the wrong type. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
  constructor(
    message: string,
    /** The 0-based position of the mistake in the expression; undefined if the error concerns the whole expression. */
    readonly offset?: number,
  ) {
    super(message);
  }
}

/** An error that the CEL library throws. */
export interface CelError {
  readonly code?: string;
  readonly summary?: string;
  readonly message: string;
  readonly range?: { readonly start: number; readonly end: number };
}

/** The message for an expression that is nested too deep. */
export const tooDeep =
  'expected a shorter expression: this one has too many nested operators\ncompute parts of it in a set node before this one, or compare with a list: status in ["a", "b"]';

/** True if the error says that the expression is nested too deep for the CEL library or for the stack. */
export function isTooDeep({ code, message }: CelError): boolean {
  return code === 'limit_exceeded' || /^Maximum call stack/.test(message);
}

/** Replaces the internal names in a message from the CEL library with the names that the user wrote. */
export function written(text: string): string {
  return text.replaceAll(matchesMethod, 'matches');
}

/** Returns the error for an expression with a syntax error. `parses` returns true if a string is a valid expression. */
export function parseError(error: CelError, source: string, parses: (text: string) => boolean): ExpressionError {
  if (isTooDeep(error)) return expressionError(error);
  return bracesError(source, parses) ?? trailingError(error, source) ?? equalsError(error, source) ?? expressionError(error);
}

/**
 * Returns the error if the expression would be valid without the braces around its fields, as in `{{field}}`; undefined for any other
 * expression.
 */
function bracesError(source: string, parses: (text: string) => boolean): ExpressionError | undefined {
  const bare = source.replace(/\{\{\s*((?:vars\.)?\w+)\s*\}\}/g, '$1');
  if (bare === source || !parses(bare)) return undefined;
  return new ExpressionError(`expected fields without braces, as in: ${bare}`, source.indexOf('{{'));
}

/**
 * Returns the error if text follows the end of the expression; undefined for any other error. The CEL library reports only the last
 * character of that text.
 */
function trailingError({ code, summary = '', range }: CelError, source: string): ExpressionError | undefined {
  if (code !== 'unexpected_character' || !summary.endsWith("'") || !range) return undefined;
  const found = source.slice(range.start, range.end);
  return new ExpressionError(
    `not a CEL expression: expected the end of the expression, or an operator such as == or &&, found ${found}`,
    range.start,
  );
}

/** Returns the error if the expression contains = instead of ==; undefined for any other error. */
function equalsError({ range }: CelError, source: string): ExpressionError | undefined {
  if (!range || !/^[^=<>!]=\s*[^=\s]/.test(source.slice(Math.max(0, range.start - 1)))) return undefined;
  return new ExpressionError('not a CEL expression: expected == to compare, found =', range.start);
}

/**
 * Converts an error from the CEL library into one with a clearer message. `writtenAt` converts an offset to the offset in the expression as
 * the user wrote it.
 */
export function expressionError(error: CelError, writtenAt: (offset: number) => number = (offset) => offset): ExpressionError {
  const { code, summary, range, message } = error;
  const offset = range && writtenAt(range.start);
  if (isTooDeep(error)) return new ExpressionError(tooDeep, offset);
  const reason = written(summary ?? (message.split('\n')[0] as string));
  if (code === 'reserved_identifier') return new ExpressionError(reservedWord(reason.split(': ')[1] as string), offset);
  const overload = overloadText(reason);
  if (overload !== undefined) return new ExpressionError(overload, offset);
  return new ExpressionError(`not a CEL expression: ${reason.charAt(0).toLowerCase()}${reason.slice(1)}`, offset);
}

function reservedWord(word: string): string {
  const rename = `rename the field with a set node first: rename: { ${word}: ${word.replaceAll('__', '')}_field }`;
  return `"${word}" is a reserved word of CEL\n${rename}`;
}
