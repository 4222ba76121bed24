import { deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createSeal } from '../../../src/workers/queue/seal.ts';

const key = 'a key of the tests';
const sealed = createSeal(key, 'default');

const long = 'a record with a value, again and again; '.repeat(100);

describe('encrypted text in a queue', () => {
  test('can be decrypted to the same text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 2000 }), (text) => sealed.unseal(sealed.seal(text, 'run 1'), 'run 1') === text),
    );
  });

  test('is compressed if it is long', () => {
    expect(sealed.seal(long, 'run 1').length).toBeLessThan(long.length / 5);
    expect(sealed.unseal(sealed.seal(long, 'run 1'), 'run 1')).toBe(long);
  });

  test.each([
    [Buffer.alloc(0)],
    [Buffer.from('{"flow":"text of another"}')],
    [Buffer.of(1, 255, 255)],
    [Buffer.of(3, 1, 2, 3)],
    [Buffer.of(9)],
    [Buffer.concat([Buffer.of(1), deflateRawSync(long)])],
  ])('is not read if it was not encrypted with the queue key: %j', (bytes) => {
    expect(sealed.unseal(bytes, 'run 1')).toBeUndefined();
  });
});

test('encrypted text in a queue is not unpacked beyond the maximum size', () => {
  const bytes = sealed.seal(JSON.stringify('0'.repeat(10_000)), 'run 1');
  expect(sealed.unsealValue(bytes, 'run 1', 10_002)).toBe('0'.repeat(10_000));
  expect(sealed.unsealValue(bytes, 'run 1', 10_001)).toBeUndefined();
});

test('encrypted text in a queue reveals nothing, and differs each time', () => {
  const one = sealed.seal('canary', 'run 1');
  expect(one.toString('latin1')).not.toContain('canary');
  expect(sealed.seal('canary', 'run 1').equals(one)).toBe(false);
});

test('encrypted text in a queue is refused if any byte was changed', () => {
  for (const text of ['short', long]) {
    const bytes = sealed.seal(text, 'run 1');
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] as number) ^ 1;
      expect(sealed.unseal(changed, 'run 1')).toBeUndefined();
    }
    expect(sealed.unseal(bytes.subarray(0, -1), 'run 1')).toBeUndefined();
  }
});

test('encrypted text in a queue can be decrypted only with its queue key, in its queue and under its Redis key', () => {
  const bytes = sealed.seal('text', 'run 1 unit 2');
  expect(sealed.unseal(bytes, 'run 1 unit 2')).toBe('text');
  expect(sealed.unseal(bytes, 'run 1 unit 3')).toBeUndefined();
  expect(createSeal(key, 'other').unseal(bytes, 'run 1 unit 2')).toBeUndefined();
  expect(createSeal(`${key}.`, 'default').unseal(bytes, 'run 1 unit 2')).toBeUndefined();
});

test('the fingerprints of two queue keys differ', () => {
  expect(createSeal(key, 'default').fits(sealed.fingerprint)).toBe(true);
  expect(createSeal(`${key}.`, 'default').fits(sealed.fingerprint)).toBe(false);
  expect(createSeal(key, 'other').fits(sealed.fingerprint)).toBe(false);
});

test('the hash of a name in a queue does not reveal the name, and depends on the queue key', () => {
  expect(sealed.hash('https://api.example.com crm')).toMatch(/^[0-9a-f]{32}$/);
  expect(sealed.hash('a')).toBe(createSeal(key, 'default').hash('a'));
  expect(sealed.hash('a')).not.toBe(createSeal(`${key}.`, 'default').hash('a'));
  expect(sealed.hash('a')).not.toBe(sealed.hash('b'));
});
