import { overloadText } from './overload-error.ts';
import { matchesMethod } from './references.ts';

/** A text that is not a CEL expression, or one of the wrong type. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
  constructor(
    message: string,
    /** 0-based, in the expression's text. Undefined if the whole expression is meant. */
    readonly offset?: number,
  ) {
    super(message);
  }
}

/** An error of the CEL library. */
export interface CelError {
  readonly code?: string;
  readonly summary?: string;
  readonly message: string;
  readonly range?: { readonly start: number; readonly end: number };
}

/** The message for an expression that is too deep. */
export const tooDeep =
  'expected a shorter expression: this one has too many operators inside each other\nset parts of it as fields in a set node before, or compare with a list: status in ["a", "b"]';

/** True for an expression with more operators inside each other than the CEL library, or the stack, can take. */
export function isTooDeep({ code, message }: CelError): boolean {
  return code === 'limit_exceeded' || /^Maximum call stack/.test(message);
}

/** A text of the CEL library with the user's names. */
export function written(text: string): string {
  return text.replaceAll(matchesMethod, 'matches');
}

/** The error of a text that does not parse. `parses`: true for a text that does. */
export function parseError(error: CelError, source: string, parses: (text: string) => boolean): ExpressionError {
  if (isTooDeep(error)) return expressionError(error);
  return bracesError(source, parses) ?? trailingError(error, source) ?? equalsError(error, source) ?? expressionError(error);
}

/** The error for an expression that is CEL without the braces around its fields. */
function bracesError(source: string, parses: (text: string) => boolean): ExpressionError | undefined {
  const bare = source.replace(/\{\{\s*((?:vars\.)?\w+)\s*\}\}/g, '$1');
  if (bare === source || !parses(bare)) return undefined;
  return new ExpressionError(`expected fields without braces, as in: ${bare}`, source.indexOf('{{'));
}

/** The error for text after the end of the expression. The library names only the last character of that text. */
function trailingError({ code, summary = '', range }: CelError, source: string): ExpressionError | undefined {
  if (code !== 'unexpected_character' || !summary.endsWith("'") || !range) return undefined;
  const found = source.slice(range.start, range.end);
  return new ExpressionError(`not a CEL expression: expected its end, or an operator such as == or &&, found ${found}`, range.start);
}

/** The error for = in place of ==. */
function equalsError({ range }: CelError, source: string): ExpressionError | undefined {
  if (!range || !/^[^=<>!]=\s*[^=\s]/.test(source.slice(Math.max(0, range.start - 1)))) return undefined;
  return new ExpressionError('not a CEL expression: expected == to compare, found =', range.start);
}

/** The library's error in our words. `writtenAt` maps an offset to the text that the user wrote. */
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
