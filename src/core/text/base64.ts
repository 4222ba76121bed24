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
