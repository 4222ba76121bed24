import { Failure } from '../failure.ts';
import type { HttpResponse } from '../ports.ts';
import { parseJson, TooDeep, tooDeep } from '../value/json.ts';
import type { Value } from '../value/value.ts';
import { DocumentError, type DocumentKind, type ParseDocument } from './document.ts';

/** The mode in which a node reads bodies: `auto` goes by the content type, and takes a text for JSON if it looks like it. */
export type ResponseMode = 'auto' | 'json' | 'xml' | 'csv' | 'text';

/**
 * Reads the body of an answer: JSON, XML or CSV if the answer has its parser, or text; `undefined` if it is empty.
 * `needsJson`: true if the map looks into the body, so that a text is a failure. Throws a Failure (`parse`, or `network` for a body cut off).
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

/** True if the node or the answer's content type says that the body is JSON. */
export function announcesJson(response: HttpResponse, mode: ResponseMode): boolean {
  return mode === 'json' || (mode === 'auto' && /[/+]json\b/i.test(response.header('content-type') ?? ''));
}

/** The kind of document that an answer is, if it is neither JSON nor a text. XHTML is a page, as HTML is. */
export function documentKind(response: HttpResponse, mode: ResponseMode): DocumentKind | undefined {
  if (mode === 'xml' || mode === 'csv') return mode;
  if (mode !== 'auto') return undefined;
  const [type = ''] = (response.header('content-type') ?? '').toLowerCase().split(';');
  if (/^\s*text\/csv\s*$/.test(type)) return 'csv';
  return /^\s*(?:(?:application|text)\/xml|(?!application\/xhtml)\S+\+xml)\s*$/.test(type) ? 'xml' : undefined;
}

const documentNames: Readonly<Record<DocumentKind, string>> = { xml: 'XML', csv: 'CSV' };

/** Fails for a text that is not the document. One that was cut off by the end of the connection was lost on its way: that failure is retried. */
function parsedDocument({ parse, status, endedByClose }: HttpResponse, kind: DocumentKind, text: string): Value {
  try {
    return (parse as ParseDocument)(text);
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error;
    const { line, column } = error.place;
    const where = `line ${line}, column ${column}`;
    if (error.isCutOff && endedByClose) {
      const message = `the connection closed in the middle of the ${documentNames[kind]} (${where})`;
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
    return decoder.decode(response.body);
  } catch {
    const found = `${response.body.length} bytes of ${contentType || 'no content type'}`;
    throw new Failure('parse', `the body is not valid ${charset} (${found})`, { status: response.status });
  }
}

/** The charset of XML: its byte order mark, the content type's, or the one in its declaration (RFC 7303, 3). */
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
    // As the server wrote it, so that a secret in it is found and masked.
    const named = /charset/i.test(contentType) ? `the charset of "${contentType}"` : `the encoding ${inQuotes(charset)} of its declaration`;
    throw new Failure('parse', `the body cannot be read: ${named} is not known`, { status });
  }
}

/** Fails for a text that is not JSON. JSON cut off by the end of the connection was lost on its way: that failure is retried. */
function notJson(response: HttpResponse, text: string, error?: Error): never {
  const isTooDeep = error instanceof TooDeep;
  const facts = { code: 'not-json', details: { reason: isTooDeep ? tooDeep : 'not valid JSON' } } as const;
  const reason = error?.message ?? '';
  const found = `${response.header('content-type') ?? 'no content type'}: ${excerpt(text)}`;
  const { status } = response;
  if (response.endedByClose && isCutOff(text, reason)) {
    const goesOn = found.endsWith('...') ? '' : '...';
    throw new Failure('network', `the connection closed in the middle of the JSON, ${found}${goesOn}`, {
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

/** True if JSON.parse failed only at the end of the text. */
function isCutOff(text: string, reason: string): boolean {
  if (reason.startsWith('Unexpected end') || reason.startsWith('Unterminated')) return true;
  return Number(/at position (\d+)/.exec(reason)?.[1]) === text.length;
}

/** Says where another JSON value follows the first on a line of its own; empty for any other text. */
function secondValue(text: string, reason: string): string {
  const [, at] = /after JSON at position (\d+)/.exec(reason) ?? [];
  if (at === undefined) return '';
  const line = text.slice(0, Number(at)).split('\n').length;
  return line > 1 && /^[[{"\-\dtfn]/.test(text.slice(Number(at))) ? `; a second value begins at line ${line} (NDJSON?)` : '';
}

/** The beginning of a text from outside, on one line and safe to show. Three dots mark a cut: redaction needs them to recognize half a secret. */
export function excerpt(text: string, length = 200): string {
  const start = text.slice(0, length * 2);
  const line = cleaned(start).replace(/\s+/g, ' ').trim();
  return line.length > length || start.length < text.length ? `${line.slice(0, length).toWellFormed()}...` : line;
}

/** An excerpt in quotes. A blank at either end is shown, as it may be the mistake. */
export function inQuotes(text: string): string {
  const shown = excerpt(text, 80);
  const before = /^\s/.test(text) ? ' ' : '';
  const after = shown !== '' && /\s$/.test(text) ? ' ' : '';
  return JSON.stringify(`${before}${shown}${after}`);
}

/** A text without the control characters that could control a terminal. */
export function cleaned(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to remove
  return text.replace(/\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, '');
}

/** The message of an answer that is not a success. */
export function answerMessage(response: Pick<HttpResponse, 'status' | 'body'>): string {
  // More bytes than an excerpt holds, so that it sees the cut.
  const text = response.body.length === 0 ? '' : excerpt(new TextDecoder().decode(response.body.subarray(0, 2000)));
  return `the server answered ${response.status}${text === '' ? '' : `: ${text}`}`;
}
