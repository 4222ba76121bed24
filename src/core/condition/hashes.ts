/** Returns the hash of text (as UTF-8) or bytes, in lower-case hexadecimal digits. */
export type Hash = (algorithm: 'md5' | 'sha1' | 'sha256' | 'sha512', of: string | Uint8Array) => string;

let hash: Hash | undefined;

/** Must be called before expressions with hashes are evaluated, because the functions of hashes belong to the platform. */
export function giveHash(given: Hash): void {
  hash = given;
}

export function hashOf(...[algorithm, of]: Parameters<Hash>): string {
  if (hash) return hash(algorithm, of);
  throw new Error('there is no function for hashes');
}

/** The namespace of URLs (RFC 9562, 6.6). */
const urlNamespace = [0x6b, 0xa7, 0xb8, 0x11, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8];

/** Returns the UUID of the text: version 5 (RFC 9562, 5.5) in the namespace of URLs. */
export function uuidOf(text: string): string {
  return uuidFrom(hashOf('sha1', new Uint8Array([...urlNamespace, ...new TextEncoder().encode(text)])), 5);
}

/** Returns a UUID with the digits of a hash (RFC 9562, 4). */
export function uuidFrom(hex: string, version: number): string {
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${version}${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
