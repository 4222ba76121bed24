import { Failure } from '../core/failure.ts';
import { formatCount } from '../core/text/number.ts';

/** For a value that no server or data could answer, so that nothing is sent. */
export function refusedValue(message: string): Failure {
  return new Failure('request', message, { sent: false });
}

/** `expected` is such as `a year such as 2024`. */
export function unexpectedText(expected: string, found: string): string {
  return `expected ${expected}, found ${JSON.stringify(found.length > 40 ? `${found.slice(0, 40)}…` : found)}`;
}

/** Maximum length of a name that is looked up, in characters. */
const maxLength = 500;

export function refuseLong(text: string, what: string): void {
  if (text.length > maxLength)
    throw refusedValue(`expected a ${what} of at most ${maxLength} characters, found ${formatCount(text.length)} characters`);
}
