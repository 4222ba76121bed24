import type { HttpResponse } from '../../core/ports.ts';
import { createRedactor } from '../../credentials/redact.ts';

/**
 * Masks what was computed for one request in its answer. Masking it in all output, as for tokens, would mean a new search for every request.
 * An answer without a part of it in plain text is returned as it is, which nearly all answers are.
 */
export function withoutEcho(response: HttpResponse, derived: readonly string[]): HttpResponse {
  const parts = derived.map(longestWord).filter((word) => word.length >= shortestWord);
  const text = Buffer.from(response.body.buffer, response.body.byteOffset, response.body.byteLength);
  const isIn = (value: unknown) => parts.some((part) => String(value ?? '').includes(part));
  const inBody = parts.some((part) => text.includes(part));
  const inHeaders = Object.values(response.headers).some(isIn);
  if (!inBody && !inHeaders) return response;
  const redactor = createRedactor();
  for (const secret of derived) redactor.add(secret);
  const masked = (value: string | string[] | undefined) =>
    Array.isArray(value) ? value.map(redactor.text) : value && redactor.text(value);
  const { header } = response;
  return {
    ...response,
    ...(inBody && { body: Buffer.from(redactor.text(text.toString('latin1')), 'latin1') }),
    ...(inHeaders && {
      headers: Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, masked(value)])),
      header: (name) => masked(header(name)) as string | undefined,
    }),
  };
}

const shortestWord = 6;

/** The longest part that looks the same in every encoding except base64. */
function longestWord(text: string): string {
  return (text.match(/[A-Za-z\d]+/g) ?? []).reduce((longest, word) => (word.length > longest.length ? word : longest), '');
}
