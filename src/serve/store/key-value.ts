import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { apiKey } from '../../core/text/secret-shapes.ts';

const { begins: prefix, rest } = apiKey;

/** Number of base62 characters in an API key: 43 for 256 random bits, and 6 for the CRC-32 of these. */
const length = { random: 43, check: 6 };

const shape = new RegExp(`^${prefix}${rest}$`);

const shapeInside = new RegExp(prefix + rest, 'g');

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** `random` is 32 random bytes, which only tests set. */
export function newKeyValue(random: Uint8Array = randomBytes(32)): string {
  const text = base62(BigInt(`0x${Buffer.from(random).toString('hex')}`), length.random);
  return prefix + text + checkOf(text);
}

/** Also checks the check characters (a CRC-32). */
export function isKeyValue(text: string): boolean {
  return shape.test(text) && text.endsWith(checkOf(text.slice(prefix.length, prefix.length + length.random)));
}

export function holdsKey(text: string): boolean {
  return text.search(shapeInside) >= 0;
}

/** Replaces keys by `***`. */
export function withoutKeys(text: string): string {
  return text.replace(shapeInside, '***');
}

/** Finds API keys even if they are percent-encoded. */
export function pathWithoutKeys(path: string): string {
  if (!path.includes('%')) return withoutKeys(path);
  // `decodeURIComponent` is not used, because it would reject the whole path if a single escape is invalid.
  const decoded = path.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return holdsKey(decoded) ? encodeURI(withoutKeys(decoded)) : path;
}

/** Stored instead of the key. A key has 256 random bits, so neither a salt nor a slow hash is necessary. */
export function keyHash(value: string): string {
  return hash('sha256', value);
}

/** The comparison takes the same time for all hashes of the same length, so attackers cannot learn anything from the time. */
export function isSameHash(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}

/** The first characters are not secret. */
export function keyStart(value: string): string {
  return value.slice(0, 8);
}

/** The id is not secret. */
export const keyId = /^key_[0-9A-Za-z]{17}$/;

export function newKeyId(): string {
  return `key_${base62(BigInt(`0x${randomBytes(12).toString('hex')}`), 17)}`;
}

function checkOf(text: string): string {
  let check = '';
  for (let rest = crc32(text); rest > 0; rest = Math.floor(rest / 62)) check = digits.charAt(rest % 62) + check;
  return check.padStart(length.check, '0');
}

/** Puts zeros in front until the number has `width` digits. */
function base62(number: bigint, width: number): string {
  let text = '';
  for (let rest = number; rest > 0n; rest /= 62n) text = digits.charAt(Number(rest % 62n)) + text;
  return text.padStart(width, '0');
}
