import { Failure } from '../failure.ts';
import type { HttpResponse } from '../ports.ts';
import { parseJson } from '../value/json.ts';
import type { Value } from '../value/value.ts';

/** How a node reads bodies: `auto` takes JSON when the content type or the text says so. */
export type ResponseMode = 'auto' | 'json' | 'text';

/**
 * The body of an answer: JSON or text; `undefined` when it is empty.
 * `needsJson`: the map looks into it, so a text that is no JSON is a failure. Throws a Failure (`parse`, or `network` for a body cut off).
 */
export function readBody(response: HttpResponse, mode: ResponseMode, needsJson: boolean): Value | undefined {
  if (response.body.length === 0) return undefined;
  const contentType = response.header('content-type') ?? '';
  const text = decoded(response, contentType);
  if (mode === 'text') return text;
  const announced = announcesJson(response, mode);
  if (text.trim() === '') return undefined;
  if (!announced && !/^\s*[[{"\-\dtfn]/.test(text)) return needsJson ? notJson(response, text) : text;
  try {
    return parseJson(text);
  } catch (error) {
    if (announced || needsJson) return notJson(response, text, (error as Error).message);
    return text;
  }
}

/** Whether the node or the answer's content type says that the body is JSON. */
export function announcesJson(response: HttpResponse, mode: ResponseMode): boolean {
  return mode === 'json' || (mode === 'auto' && /[/+]json\b/i.test(response.header('content-type') ?? ''));
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decoded(response: HttpResponse, contentType: string): string {
  const charset = /;\s*charset="?([\w-]+)/i.exec(contentType)?.[1] ?? 'utf-8';
  const decoder = /^utf-?8$/i.test(charset) ? utf8 : decoderOf(charset, response);
  try {
    return decoder.decode(response.body);
  } catch {
    const found = `${response.body.length} bytes of ${contentType || 'no content type'}`;
    throw new Failure('parse', `the body is not valid ${charset} (${found})`, { status: response.status });
  }
}

function decoderOf(charset: string, { status }: HttpResponse): InstanceType<typeof TextDecoder> {
  try {
    return new TextDecoder(charset, { fatal: true });
  } catch {
    throw new Failure('parse', `the body cannot be read: the charset "${charset}" is not known`, { status });
  }
}

/** JSON cut off where only the end of the connection could tell is an answer lost on its way, so it is tried again. */
function notJson(response: HttpResponse, text: string, reason = ''): never {
  const found = `${response.header('content-type') ?? 'no content type'}: ${excerpt(text)}`;
  const { status } = response;
  if (response.endedByClose && isCutOff(text, reason)) {
    const goesOn = found.endsWith('...') ? '' : '...';
    throw new Failure('network', `the connection closed in the middle of the JSON, ${found}${goesOn}`, { status, retryable: true });
  }
  const tooDeep = reason.startsWith('nested') ? ` ${reason}` : '';
  throw new Failure('parse', `expected JSON, found ${found}${tooDeep}`, { status });
}

/** Whether JSON.parse liked a text up to its very end. */
function isCutOff(text: string, reason: string): boolean {
  if (reason.startsWith('Unexpected end') || reason.startsWith('Unterminated')) return true;
  return Number(/at position (\d+)/.exec(reason)?.[1]) === text.length;
}

/** The beginning of a text that came from outside, on one line and safe to show. Dots tell that it goes on: half a secret is known by them. */
export function excerpt(text: string, length = 200): string {
  const start = text.slice(0, length * 2);
  const line = cleaned(start).replace(/\s+/g, ' ').trim();
  return line.length > length || start.length < text.length ? `${line.slice(0, length).toWellFormed()}...` : line;
}

/** An excerpt in quotes. Of the blanks at its ends, which may be why it is refused, one is shown. */
export function inQuotes(text: string, length = 80): string {
  const shown = excerpt(text, length);
  const before = /^\s/.test(text) ? ' ' : '';
  const behind = shown !== '' && /\s$/.test(text) ? ' ' : '';
  return JSON.stringify(`${before}${shown}${behind}`);
}

/** A text without the control characters that could steer a terminal. */
export function cleaned(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
  return text.replace(/\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, '');
}

/** What a server said of itself in an answer that is no success. */
export function answerMessage(response: Pick<HttpResponse, 'status' | 'body'>): string {
  // More bytes than an excerpt can hold, so that it sees where it cuts.
  const text = response.body.length === 0 ? '' : excerpt(new TextDecoder().decode(response.body.subarray(0, 2000)));
  return `the server answered ${response.status}${text === '' ? '' : `: ${text}`}`;
}
