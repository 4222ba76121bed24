import type { ErrorCode, ErrorDetails } from '../core/error-code.ts';
import { type AutomateError, detailsOf } from '../core/failure.ts';

/** The way out of each error on the command line: lines that follow its message. */
const advice: { readonly [Code in ErrorCode]?: (details: ErrorDetails[Code]) => string } = {
  'connection-exists': () => 'replace it with --force',
  'connection-failed': ({ part, checks }) =>
    [...(part === undefined ? [] : [`the trouble is with the ${part}`]), `check ${listed(checks)}`].join('\n'),
};

/** The message of an error with the option to type, or with what else gets out of it. */
export function messageWithAdvice(error: AutomateError): string {
  const { message, code } = error;
  const wrong = detailsOf(error, 'invalid-option');
  if (wrong) return `${optionName(wrong.option)}: ${message}`;
  if (code === undefined) return message;
  const text = (advice[code] as ((details: object) => string) | undefined)?.(detailsOf(error, code) ?? {});
  return text === undefined ? message : `${message}\n${text}`;
}

/** The option of a name in camel case: `--in-format` for `inFormat`. */
function optionName(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** `A`, `A, B`, or `A, B, and C`. */
function listed(texts: readonly string[]): string {
  return texts.length < 3 ? texts.join(', ') : `${texts.slice(0, -1).join(', ')}, and ${texts.at(-1)}`;
}
