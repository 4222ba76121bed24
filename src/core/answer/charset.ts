import { Failure } from '../failure.ts';
import type { HttpResponse } from '../ports.ts';
import { decodeAll } from '../text/base64.ts';
import { shortName } from '../text/suggest.ts';
import { orUndefined } from '../value/value.ts';

export type Encoded = Pick<HttpResponse, 'body' | 'header' | 'charset'>;

type Decoder = InstanceType<typeof TextDecoder>;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Decodes a body. Many servers label JSON in UTF-8 with their default charset, such as iso-8859-1. So JSON is read as UTF-8 if it is valid
 * UTF-8 and its label is a charset with one byte per character: text in such a charset is hardly ever valid UTF-8 by chance. Throws a Failure
 * (`parse`) if the charset is unknown, or if the body contains bytes that are invalid in it.
 */
export function decodedText(response: HttpResponse, kind: 'json' | 'xml' | 'text'): string {
  const { body, status } = response;
  const contentType = response.header('content-type') ?? '';
  const stated = statedCharset(response, kind === 'xml');
  const charset = stated ?? response.charset ?? 'utf-8';
  const decoder = /^utf-?8$/i.test(charset) ? utf8 : decoderOf(charset, contentType, status);
  try {
    const text = kind === 'json' && decoder !== utf8 && isOneByte(decoder) ? orUndefined(() => utf8.decode(body)) : undefined;
    return text ?? decodeAll(decoder, body);
  } catch {
    const found = `${body.length} bytes of ${contentType || 'no content type'}`;
    const advice = stated === undefined ? `\n${body.includes(0) ? noText : otherCharset}` : '';
    throw new Failure('parse', `the body is not valid ${charset} (${found})${advice}`, { status });
  }
}

const otherCharset = 'if it has a different charset, set it in the node or its connection: charset: windows-1252';

/** Only for a body with zero bytes, which no text has that is not valid UTF-8. */
const noText = 'it is no text; to write it to a file, add to the node: save: { to: PATH }';

/** Decodes as UTF-8 if the text is valid UTF-8, otherwise in its charset. Never throws: bytes that cannot be decoded become U+FFFD. */
export function textStart(response: Encoded, maxBytes: number): string {
  const start = response.body.subarray(0, maxBytes);
  // With `stream`, a character that is cut off at the end is not an error.
  const text = orUndefined(() => new TextDecoder('utf-8', { fatal: true }).decode(start, { stream: true }));
  if (text !== undefined) return text;
  const charset = statedCharset(response, true) ?? response.charset ?? 'utf-8';
  return decodeAll(orUndefined(() => new TextDecoder(charset)) ?? new TextDecoder(), start);
}

/** Reads the charset from the byte order mark, the content type or the XML declaration (RFC 7303, 3). */
function statedCharset({ body, header }: Encoded, isXml: boolean): string | undefined {
  return markedCharset(body) ?? labelledCharset(header('content-type')) ?? (isXml ? declaredIn(body) : undefined);
}

export function labelledCharset(contentType = ''): string | undefined {
  return /;\s*charset\s*=\s*["']?([\w.:-]+)/i.exec(contentType)?.[1];
}

function markedCharset(body: Uint8Array): string | undefined {
  if (body[0] === 0xfe && body[1] === 0xff) return 'utf-16be';
  if (body[0] === 0xff && body[1] === 0xfe) return 'utf-16le';
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? 'utf-8' : undefined;
}

function declaredIn(body: Uint8Array): string | undefined {
  return declaredCharset(new TextDecoder('latin1').decode(body.subarray(0, 200)));
}

export function declaredCharset(xml: string): string | undefined {
  const declared = /^\s*<\?xml[^>]*\sencoding\s*=\s*["']([\w.:-]+)/.exec(xml)?.[1];
  // A declaration that can be read byte by byte is not in UTF-16. Programs on .NET declare UTF-16 and send UTF-8.
  return declared !== undefined && /^utf-?16/i.test(declared) ? 'utf-8' : declared;
}

/** True for a charset with one byte per character. */
function isOneByte({ encoding }: Pick<Decoder, 'encoding'>): boolean {
  return /^(?:windows|iso-8859|koi8|ibm|mac|x-mac)/.test(encoding);
}

function decoderOf(charset: string, contentType: string, status: number): Decoder {
  try {
    return new TextDecoder(charset, { fatal: true });
  } catch {
    // The message repeats the charset exactly as the server wrote it. If it contains a secret, masking can then find the secret.
    const named = /charset/i.test(contentType)
      ? `the charset of "${contentType}"`
      : `the encoding "${shortName(charset)}" of its declaration`;
    throw new Failure('parse', `the body cannot be read: ${named} is not supported`, { status });
  }
}

/** Converts a text to its bytes in a charset. Throws a Failure if the charset lacks one of the characters. */
export type TextEncoding = (text: string) => Uint8Array;

/** Returns the encoding for a charset with one byte per character; undefined for any other charset. */
export function oneByteEncoding(charset: string): TextEncoding | undefined {
  const bytes = bytesOf(charset);
  if (!bytes) return undefined;
  return (text) => Uint8Array.from([...text], (character) => bytes.get(character) ?? refuse(character, charset));
}

/**
 * Returns the byte of each character; undefined for a charset with several bytes per character. TextDecoder reads us-ascii and iso-8859-1
 * as windows-1252 (encoding.spec.whatwg.org, 4.2), but other readers do not know its additional characters.
 */
function bytesOf(charset: string): ReadonlyMap<string, number> | undefined {
  const decoder = orUndefined(() => new TextDecoder(charset));
  if (!decoder || !isOneByte(decoder)) return undefined;
  const characters = decodeAll(
    decoder,
    Uint8Array.from({ length: 256 }, (_, byte) => byte),
  );
  const size = /ascii/i.test(charset) ? 0x80 : 0x100;
  const isLatin1 = decoder.encoding === 'windows-1252' && !/1252/.test(charset);
  const pairs = [...characters].map((character, byte) => [isLatin1 ? String.fromCharCode(byte) : character, byte] as const);
  return new Map(pairs.slice(0, size).filter(([character]) => character !== '\ufffd'));
}

function refuse(character: string, charset: string): never {
  const code = (character.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0');
  const shown = /\p{C}/u.test(character) ? '' : `${character} `;
  throw new Failure('request', `the text contains the character ${shown}(U+${code}), which its charset ${charset} does not have`, {
    sent: false,
  });
}
