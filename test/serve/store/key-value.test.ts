import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import {
  holdsKey,
  isKeyValue,
  isSameHash,
  keyHash,
  keyStart,
  newKeyId,
  newKeyValue,
  pathWithoutKeys,
  withoutKeys,
} from '../../../src/serve/store/key-value.ts';

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Parses base62 independently of the code under test. */
const numberOf = (text: string) => [...text].reduce((sum, digit) => sum * 62n + BigInt(digits.indexOf(digit)), 0n);

test('the value of an API key consists of amk_, 256 random bits in 43 characters, and a CRC-32 in 6', () => {
  const value = newKeyValue();
  expect(value).toMatch(/^amk_[0-9A-Za-z]{49}$/);
  const random = value.slice(4, 47);
  expect(numberOf(random) < 2n ** 256n).toBe(true);
  expect(numberOf(value.slice(47))).toBe(BigInt(crc32(random)));
});

test('the random bits of an API key always fill 43 characters, even if all bits are 0 or all are 1', () => {
  const none = newKeyValue(new Uint8Array(32));
  const all = newKeyValue(new Uint8Array(32).fill(255));
  expect(none.slice(4, 47)).toBe('0'.repeat(43));
  expect(numberOf(all.slice(4, 47))).toBe(2n ** 256n - 1n);
  expect([none, all].map(isKeyValue)).toEqual([true, true]);
  expect(newKeyValue(new Uint8Array(32).fill(1))).not.toBe(newKeyValue());
});

test.each([
  ['a changed character', (value: string) => value.slice(0, 20) + (value[20] === 'a' ? 'b' : 'a') + value.slice(21)],
  ['a changed checksum', (value: string) => value.slice(0, -1) + (value.endsWith('0') ? '1' : '0')],
  ['a missing last character', (value: string) => value.slice(0, -1)],
  ['an additional character', (value: string) => `${value}0`],
  ['a different prefix', (value: string) => value.replace('amk_', 'amq_')],
  ['a line break', (value: string) => `${value}\n`],
  ['no characters', () => ''],
])('an API key with %s is invalid', (_, change) => {
  expect(isKeyValue(change(newKeyValue()))).toBe(false);
});

test('an API key is hashed with SHA-256, and displayed by its first 8 characters', () => {
  const value = newKeyValue();
  expect(keyHash(value)).toBe(createHash('sha256').update(value).digest('hex'));
  expect(keyStart(value)).toBe(value.slice(0, 8));
});

test('two hashes are equal only if all their bytes are equal', () => {
  const hash = keyHash('a');
  expect([isSameHash(hash, keyHash('a')), isSameHash(hash, keyHash('b')), isSameHash(hash, 'short')]).toEqual([true, false, false]);
});

test('API keys within text are found and masked', () => {
  const text = `/v1/flows?key=${newKeyValue()}&x=${newKeyValue()}`;
  expect([holdsKey(text), withoutKeys(text), holdsKey('amk_short')]).toEqual([true, '/v1/flows?key=***&x=***', false]);
});

test.each([
  ['/v1/flows/KEY', '/v1/flows/***'],
  ['/v1/a%20b/KEY', '/v1/a%20b/***'],
  ['/v1/KEY%0ax', '/v1/***%0Ax'],
  ['/v1/%zz/KEY', '/v1/%25zz/***'],
  ['/v1/a%2Fb', '/v1/a%2Fb'],
])('the path %s is logged as %s, without the API key', (path, shown) => {
  const key = newKeyValue();
  expect(pathWithoutKeys(path.replace('KEY', key))).toBe(shown);
  const encoded = [...key].map((character) => `%${character.charCodeAt(0).toString(16)}`).join('');
  expect(pathWithoutKeys(path.replace('KEY', encoded))).toBe(shown);
});

test('the id of an API key reveals nothing about its value', () => {
  expect(newKeyId()).toMatch(/^key_[0-9A-Za-z]{17}$/);
  expect(newKeyId()).not.toBe(newKeyId());
});
