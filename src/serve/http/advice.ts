import type { ErrorCode, ErrorDetails } from '../../core/error-code.ts';
import { type AutomateError, detailsOf } from '../../core/failure.ts';

/** The way out of each error for a client of the server: the field, header or query to send. */
const advice: { readonly [Code in ErrorCode]?: (details: ErrorDetails[Code]) => string } = {};

/** The message of an error with the field to send, if one gets out of it. */
export function messageForClient(error: AutomateError): string {
  const { message, code } = error;
  if (code === undefined) return message;
  const text = (advice[code] as ((details: object) => string) | undefined)?.(detailsOf(error, code) ?? {});
  return text === undefined ? message : `${message}\n${text}`;
}
