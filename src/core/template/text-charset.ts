import { isOneByte } from '../answer/charset.ts';
import { Failure } from '../failure.ts';
import { decodeAll } from '../text/base64.ts';
import { orUndefined } from '../value/value.ts';

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
