import type { ErrorCode, ErrorDetails } from '../../core/error-code.ts';
import { type AutomateError, detailsOf } from '../../core/failure.ts';

/** The way out of each error for a client of the server: the field, header or query to send. */
const advice: { readonly [Code in ErrorCode]?: (details: ErrorDetails[Code]) => string } = {};

/** The message of an error with the field to send, if one gets out of it. */
export function messageForClient(error: AutomateError): string {
  const { message, code } = error;
  const wrong = detailsOf(error, 'invalid-option');
  if (wrong) return `${fieldName(wrong.option)}: ${message}`;
  if (code === undefined) return message;
  const text = (advice[code] as ((details: object) => string) | undefined)?.(detailsOf(error, code) ?? {});
  return text === undefined ? message : `${message}\n${text}`;
}

/** Options that a client sets in another way than by the query or field of their name. */
const fields: Readonly<Record<string, string>> = { encoding: 'charset in Content-Type', inFormat: 'Content-Type' };

function fieldName(option: string): string {
  return fields[option] ?? option.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
