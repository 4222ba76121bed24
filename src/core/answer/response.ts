import { Failure } from '../failure.ts';
import type { HttpResponse } from '../ports.ts';
import { parseJson, TooDeep, tooDeep } from '../value/json.ts';
import type { Value } from '../value/value.ts';
import { decodedText, type Encoded, textStart } from './charset.ts';
import { announcedKind, DocumentError, type DocumentKind, type Documents, documentKinds } from './document.ts';

/** `auto` follows the content type, and parses text as JSON if it looks like JSON. */
export type ResponseMode = 'auto' | 'json' | 'text' | DocumentKind;

/** Undefined if the body is empty. Plain text fails if `needsJson`. Throws a Failure (`parse`; `network` if the body was cut off). */
export function readBody(response: HttpResponse, mode: ResponseMode, needsJson: boolean): Value | undefined {
  if (response.body.length === 0) return undefined;
  if (response.document) return response.document();
  const announced = announcesJson(response, mode);
  const isJson = announced || /^[^;]*json/i.test(response.header('content-type') ?? '');
  const text = decodedText(response, isJson ? 'json' : 'text');
  if (mode === 'text') return text;
  if (text.trim() === '') return undefined;
  if (!announced && !/^\s*[[{"\-\dtfn]/.test(text)) return needsJson ? notJson(response, text) : text;
  try {
    return parseJson(isJson ? text : decodedText(response, 'json'));
  } catch (error) {
    if (announced || needsJson) return notJson(response, text, error as Error);
    return text;
  }
}

/** True if the node's option or the response's content type says that the body is JSON. */
export function announcesJson(response: HttpResponse, mode: ResponseMode): boolean {
  return mode === 'json' || (mode === 'auto' && /[/+]json\b/i.test(response.header('content-type') ?? ''));
}

export function documentKind(response: HttpResponse, mode: ResponseMode): DocumentKind | undefined {
  if (mode === 'json' || mode === 'text') return undefined;
  if (mode !== 'auto') return mode;
  const contentType = response.header('content-type');
  // Most responses are neither, and this check is faster than the following ones.
  if (contentType === undefined || !/xml|csv|ndjson|jsonl|json-(?:seq|lines)/i.test(contentType)) return undefined;
  const [type = ''] = contentType.toLowerCase().split(';');
  return announcedKind(type);
}

/** The returned function throws the Failure for an invalid document, so that mistakes do not affect a node that does not use the body. */
export async function readDocument(response: HttpResponse, kind: DocumentKind, documents: Documents): Promise<() => Value | undefined> {
  try {
    const text = decodedText(response, kind === 'xml' ? 'xml' : 'text');
    const value = text.trim() === '' ? undefined : await documents.parse(kind, text);
    return () => value;
  } catch (error) {
    const failure = error instanceof Failure ? error : documentFailure(error as Error, kind, response);
    return () => {
      throw failure;
    };
  }
}

/** Retryable if the connection closed before the document was complete. */
function documentFailure(error: Error, kind: DocumentKind, { status, endedByClose }: HttpResponse): Failure {
  const { name } = documentKinds[kind];
  if (!(error instanceof DocumentError))
    return new Failure('parse', `the body cannot be read as ${name}: ${excerpt(error.message)}`, { status });
  const { message, place, isCutOff } = error;
  if (!place) return new Failure('parse', message, { status });
  const where = `line ${place.line}, column ${place.column}`;
  return isCutOff && endedByClose
    ? new Failure('network', `the connection was closed in the middle of the ${name} (${where})`, { status, retryable: true })
    : new Failure('parse', `the body is not valid ${name}: ${where}: ${excerpt(message)}`, { status });
}

/** Throws a Failure because the text is not JSON. The failure is retryable if the connection closed before the JSON was complete. */
function notJson(response: HttpResponse, text: string, error?: Error): never {
  const isTooDeep = error instanceof TooDeep;
  const facts = { code: 'not-json', details: { reason: isTooDeep ? tooDeep : 'not valid JSON' } } as const;
  const reason = error?.message ?? '';
  const found = `${response.header('content-type') ?? 'no content type'}: ${excerpt(text)}`;
  const { status } = response;
  if (response.endedByClose && isCutOff(text, reason)) {
    const goesOn = found.endsWith('...') ? '' : '...';
    throw new Failure('network', `the connection was closed in the middle of the JSON, ${found}${goesOn}`, {
      status,
      retryable: true,
      ...facts,
    });
  }
  const depth = isTooDeep ? ` ${tooDeep}` : '';
  const second = secondValue(text, reason);
  const isNamedJson = !isTooDeep && second === '' && /\bjson\b/i.test(response.header('content-type') ?? '');
  const shown = isNamedJson ? `invalid JSON as ${found}` : found;
  throw new Failure('parse', `expected JSON${second}, found ${shown}${depth}`, { status, ...facts });
}

/** True if JSON.parse failed only because the text ended too early. */
function isCutOff(text: string, reason: string): boolean {
  if (reason.startsWith('Unexpected end') || reason.startsWith('Unterminated')) return true;
  return Number(/at position (\d+)/.exec(reason)?.[1]) === text.length;
}

/** Returns a hint if several JSON values follow each other, with the line of the second one; empty for any other text. */
function secondValue(text: string, reason: string): string {
  const [, at] = /after JSON at position (\d+)/.exec(reason) ?? [];
  if (at === undefined) return '';
  const line = text.slice(0, Number(at)).split('\n').length;
  return line > 1 && /^[[{"\-\dtfn]/.test(text.slice(Number(at))) ? `; a second value begins at line ${line} (NDJSON?)` : '';
}

/** Returns one line that is safe to print. Three dots mark truncated text, so that redaction recognizes a truncated secret there. */
export function excerpt(text: string, length = 200): string {
  const start = text.slice(0, length * 2);
  const line = cleaned(start).replace(/\s+/g, ' ').trim();
  return line.length > length || start.length < text.length ? `${line.slice(0, length).toWellFormed()}...` : line;
}

/** Keeps spaces at either end, because they might be the mistake. */
export function inQuotes(text: string): string {
  const shown = excerpt(text, 80);
  const before = /^\s/.test(text) ? ' ' : '';
  const after = shown !== '' && /\s$/.test(text) ? ' ' : '';
  return JSON.stringify(`${before}${shown}${after}`);
}

/** Removes the characters that could control a terminal. */
export function cleaned(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to remove
  return text.replace(/\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, '');
}

export function answerMessage(response: Encoded & Pick<HttpResponse, 'status'>): string {
  // An excerpt shows fewer than 2,000 bytes, so the excerpt of a longer body still ends in three dots.
  const text = response.body.length === 0 ? '' : excerpt(textStart(response, 2000));
  return `the server answered ${response.status}${text === '' ? '' : `: ${text}`}`;
}
