/** Encodes bytes, or a string as UTF-8, in base64 (RFC 4648, 4). */
export function toBase64(content: string | Uint8Array): string {
  let bytes = '';
  for (const byte of typeof content === 'string' ? new TextEncoder().encode(content) : content) bytes += String.fromCharCode(byte);
  return btoa(bytes);
}

/** Decodes base64 or base64url into a string with one character per byte; undefined if the text is neither. Missing padding is accepted. */
export function bytesOfBase64(text: string): string | undefined {
  if (!/^[\w+/-]+={0,2}$/.test(text)) return undefined;
  const digits = text.replaceAll('-', '+').replaceAll('_', '/').replaceAll('=', '');
  // A single digit after the last group of four encodes less than a byte, so it is dropped.
  return atob(digits.length % 4 === 1 ? digits.slice(0, -1) : digits);
}

/**
 * Decodes text that is complete, as `decoder.decode(bytes)` does. Since Node 20.18.3 and 22.13, that call decodes windows-1252 (also named
 * iso-8859-1, latin1 and ascii, encoding.spec.whatwg.org) without its characters at 0x80 to 0x9f, such as the euro sign
 * (github.com/nodejs/node/issues/60888). Only a decoder that expects more bytes decodes them in all versions of Node.
 */
export function decodeAll(decoder: InstanceType<typeof TextDecoder>, bytes: Uint8Array): string {
  if (decoder.encoding !== 'windows-1252') return decoder.decode(bytes);
  return decoder.decode(bytes, { stream: true }) + decoder.decode();
}
