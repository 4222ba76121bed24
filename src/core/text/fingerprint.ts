/**
 * Returns a short string that identifies a long one: its length and two hashes of 53 bits (cyrb53, public domain). Among a million strings,
 * two collide with a probability of about 1 in 10^20. It does not protect against deliberate collisions.
 */
export function fingerprint(text: string | Uint8Array): string {
  const bytes = typeof text === 'string' ? encoder.encode(text) : text;
  return `${bytes.length} ${cyrb53(bytes, 0)} ${cyrb53(bytes, 0x9e3779b9)}`;
}

const encoder = new TextEncoder();

function cyrb53(bytes: Uint8Array, seed: number): number {
  let high = 0xdeadbeef ^ seed;
  let low = 0x41c6ce57 ^ seed;
  // An index is used because iterating with `for ... of` would take ten times as long, and bodies are long.
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    high = Math.imul(high ^ byte, 2654435761);
    low = Math.imul(low ^ byte, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  return 4294967296 * (2097151 & low) + (high >>> 0);
}
