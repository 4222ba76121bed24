import { Failure } from '../failure.ts';
import type { HttpResponse } from '../ports.ts';
import { decodeAll } from '../text/decode-all.ts';
import { parseJson, TooDeep, tooDeep } from '../value/json.ts';
import type { Value } from '../value/value.ts';
import { DocumentError, type DocumentKind, type ParseDocument } from './document.ts';

/** The format in which a node reads bodies. `auto` follows the content type, and parses text as JSON if it looks like JSON. */
export type ResponseMode = 'auto' | 'json' | 'xml' | 'csv' | 'text';

/**
 * Reads the body of a response as JSON, as text, or with the response's parser for XML or CSV; undefined if the body is empty. `needsJson`
 * is true if the map reads values inside the body, so that plain text is a failure. Throws a Failure if the body cannot be read (`parse`),
 * or was cut off (`network`).
 */
export function readBody(response: HttpResponse, mode: ResponseMode, needsJson: boolean): Value | undefined {
  if (response.body.length === 0) return undefined;
  const contentType = response.header('content-type') ?? '';
  const kind = response.parse && documentKind(response, mode);
  const text = decodedText(response, contentType, kind);
  if (mode === 'text') return text;
  const announced = announcesJson(response, mode);
  if (text.trim() === '') return undefined;
  if (kind) return parsedDocument(response, kind, text);
  if (!announced && !/^\s*[[{"\-\dtfn]/.test(text)) return needsJson ? notJson(response, text) : text;
  try {
    return parseJson(text);
  } catch (error) {
    if (announced || needsJson) return notJson(response, text, error as Error);
    return text;
  }
}

/** True if the node's option or the response's content type says that the body is JSON. */
export function announcesJson(response: HttpResponse, mode: ResponseMode): boolean {
  return mode === 'json' || (mode === 'auto' && /[/+]json\b/i.test(response.header('content-type') ?? ''));
}

/** Returns the document format of a response; undefined for JSON and text. XHTML is treated as text, like HTML. */
export function documentKind(response: HttpResponse, mode: ResponseMode): DocumentKind | undefined {
  if (mode === 'xml' || mode === 'csv') return mode;
  if (mode !== 'auto') return undefined;
  const contentType = response.header('content-type');
  // Most responses are neither, and this check is faster than the following ones.
  if (contentType === undefined || !/xml|csv/i.test(contentType)) return undefined;
  const [type = ''] = contentType.toLowerCase().split(';');
  if (/^\s*text\/csv\s*$/.test(type)) return 'csv';
  return /^\s*(?:(?:application|text)\/xml|(?!application\/xhtml)\S+\+xml)\s*$/.test(type) ? 'xml' : undefined;
}

const documentNames: Readonly<Record<DocumentKind, string>> = { xml: 'XML', csv: 'CSV' };

/**
 * Parses a document. Throws a Failure if the document is invalid. The failure is retryable if the connection closed before the document was
 * complete.
 */
function parsedDocument({ parse, status, endedByClose }: HttpResponse, kind: DocumentKind, text: string): Value {
  try {
    return (parse as ParseDocument)(text);
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error;
    const { line, column } = error.place;
    const where = `line ${line}, column ${column}`;
    if (error.isCutOff && endedByClose) {
      const message = `the connection was closed in the middle of the ${documentNames[kind]} (${where})`;
      throw new Failure('network', message, { status, retryable: true });
    }
    throw new Failure('parse', `the body is not valid ${documentNames[kind]}: ${where}: ${excerpt(error.message)}`, { status });
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decodedText(response: HttpResponse, contentType: string, kind: DocumentKind | undefined): string {
  const named = /;\s*charset="?([\w-]+)/i.exec(contentType)?.[1];
  const charset = (kind === 'xml' ? xmlCharset(response.body, named) : named) ?? 'utf-8';
  const decoder = /^utf-?8$/i.test(charset) ? utf8 : decoderOf(charset, contentType, response);
  try {
    return decodeAll(decoder, response.body);
  } catch {
    const found = `${response.body.length} bytes of ${contentType || 'no content type'}`;
    throw new Failure('parse', `the body is not valid ${charset} (${found})`, { status: response.status });
  }
}

/** Returns the charset of an XML document, as stated by its byte order mark, its content type or its XML declaration (RFC 7303, 3). */
function xmlCharset(body: Uint8Array, named: string | undefined): string | undefined {
  const [first, second] = body;
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  const start = new TextDecoder('latin1').decode(body.subarray(0, 200));
  return named ?? /^(?:\xef\xbb\xbf)?<\?xml[^>]*\sencoding\s*=\s*["']([\w.-]+)/.exec(start)?.[1];
}

function decoderOf(charset: string, contentType: string, { status }: HttpResponse): InstanceType<typeof TextDecoder> {
  try {
    return new TextDecoder(charset, { fatal: true });
  } catch {
    // The message repeats the charset exactly as the server wrote it. If it contains a secret, masking can then find the secret.
    const named = /charset/i.test(contentType) ? `the charset of "${contentType}"` : `the encoding ${inQuotes(charset)} of its declaration`;
    throw new Failure('parse', `the body cannot be read: ${named} is not supported`, { status });
  }
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

/**
 * Returns the beginning of text from a server or file, on one line and safe to print. If the text is truncated, three dots mark its end, so
 * that redaction can recognize a truncated secret there.
 */
export function excerpt(text: string, length = 200): string {
  const start = text.slice(0, length * 2);
  const line = cleaned(start).replace(/\s+/g, ' ').trim();
  return line.length > length || start.length < text.length ? `${line.slice(0, length).toWellFormed()}...` : line;
}

/** Returns an excerpt of the text in quotes. Spaces at either end are kept, because they might be the mistake. */
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

/** Returns the message for a response with an unsuccessful status. */
export function answerMessage(response: Pick<HttpResponse, 'status' | 'body'>): string {
  // An excerpt shows fewer than 2,000 bytes, so the excerpt of a longer body still ends in three dots.
  const text = response.body.length === 0 ? '' : excerpt(new TextDecoder().decode(response.body.subarray(0, 2000)));
  return `the server answered ${response.status}${text === '' ? '' : `: ${text}`}`;
}
