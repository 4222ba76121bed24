import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';

const prefix = 'amk_';

/** The number of base62 characters for 256 random bits, and for their CRC-32. */
const length = { random: 43, check: 6 };

const shape = /^amk_[0-9A-Za-z]{49}$/;

const shapeInside = /amk_[0-9A-Za-z]{49}/g;

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Makes the value of a key. `random`: 32 bytes, for tests. */
export function newKeyValue(random: Uint8Array = randomBytes(32)): string {
  const text = base62(BigInt(`0x${Buffer.from(random).toString('hex')}`), length.random);
  return prefix + text + checkOf(text);
}

/** True if a text can be a key: its shape and its check characters are right. */
export function isKeyValue(text: string): boolean {
  return shape.test(text) && text.endsWith(checkOf(text.slice(prefix.length, prefix.length + length.random)));
}

/** True if a text holds something in the shape of a key. */
export function holdsKey(text: string): boolean {
  return text.search(shapeInside) >= 0;
}

/** Masks the values of keys in a text. */
export function withoutKeys(text: string): string {
  return text.replace(shapeInside, '***');
}

/** Masks the values of keys in the path of an address, however they are percent-encoded. */
export function pathWithoutKeys(path: string): string {
  if (!path.includes('%')) return withoutKeys(path);
  // decodeURIComponent would refuse the whole path because of one wrong escape.
  const decoded = path.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return holdsKey(decoded) ? encodeURI(withoutKeys(decoded)) : path;
}

/** The hash under which the value of a key is stored. The value has 256 random bits, so it needs no salt and no slow hash. */
export function keyHash(value: string): string {
  return hash('sha256', value);
}

/** True for two equal hashes, in constant time. */
export function isSameHash(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}

/** The first characters of a key, which may be shown. */
export function keyStart(value: string): string {
  return value.slice(0, 8);
}

/** The shape of a key's id. */
export const keyId = /^key_[0-9A-Za-z]{17}$/;

/** Makes the id of a key. The id is not a secret. */
export function newKeyId(): string {
  return `key_${base62(BigInt(`0x${randomBytes(12).toString('hex')}`), 17)}`;
}

function checkOf(text: string): string {
  let check = '';
  for (let rest = crc32(text); rest > 0; rest = Math.floor(rest / 62)) check = digits.charAt(rest % 62) + check;
  return check.padStart(length.check, '0');
}

/** Writes a number in base62, most significant digit first, padded with 0. */
function base62(number: bigint, width: number): string {
  let text = '';
  for (let rest = number; rest > 0n; rest /= 62n) text = digits.charAt(Number(rest % 62n)) + text;
  return text.padStart(width, '0');
}
