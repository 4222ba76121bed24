import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeAll } from '../../src/core/text/base64.ts';
import { ExactNumber, type Value } from '../../src/core/value/value.ts';
import { createRedactor } from '../../src/credentials/redact.ts';

function redactorOf(...secrets: string[]) {
  const redactor = createRedactor();
  for (const secret of secrets) redactor.add(secret);
  return redactor;
}

const secrets = [
  'canary7f3aZq9',
  'canary/"7f3a+Zq9=',
  "q!u'o(t)e*~,;d",
  'back\\slash"quote',
  'pässwörd-日本-🔑',
  'with spaces & <angles>',
  'user@example.com:p%ss w#rd?',
  'dollar$&`.*+?^$-{}()|[]\\',
  'abcd',
  '12345678',
];

const percentAll = (text: string) => [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
const strictPercent = (text: string) => encodeURIComponent(text).replace(/[-_.!~*'()]/g, percentAll);
const asciiJson = (text: string) =>
  JSON.stringify(text).replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
const dotNetJson = (text: string) =>
  text.replace(/[^A-Za-z0-9]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`);
const html = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;');
const base64 = (text: string) => Buffer.from(text).toString('base64');

const encodings: Record<string, (text: string) => string> = {
  raw: (text) => text,
  percent: encodeURIComponent,
  'percent, lower case': (text) => encodeURIComponent(text).replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
  'percent, all that may be': strictPercent,
  'percent, as a URL writes it': (text) => new URL(`http://x/?${encodeURIComponent(text)}`).search.slice(1),
  'percent, twice': (text) => encodeURIComponent(encodeURIComponent(text)),
  form: (text) => new URLSearchParams({ x: text }).toString().slice(2),
  JSON: (text) => JSON.stringify(text),
  'JSON in JSON': (text) => JSON.stringify(JSON.stringify(text)),
  'JSON, slashes escaped': (text) => JSON.stringify(text).replaceAll('/', '\\/'),
  'JSON in ASCII': asciiJson,
  'JSON with everything escaped': dotNetJson,
  CSV: (text) => `"${text.replaceAll('"', '""')}"`,
  'JSON in CSV': (text) => `"${JSON.stringify(text).replaceAll('"', '""')}"`,
  HTML: html,
  'percent, letters too': percentAll,
  'JSON, letters escaped, too': (text) => text.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  'UTF-8 shown as Windows-1252': (text) => decodeAll(new TextDecoder('windows-1252'), Buffer.from(text)),
  'UTF-8 shown as latin1, in a message': (text) =>
    Buffer.from(text)
      .toString('latin1')
      .replace(/[\u0080-\u009f]/g, ''),
  'UTF-8 shown as latin1': (text) => Buffer.from(text).toString('latin1'),
  base64,
  'base64, one byte later': (text) => base64(`x${text}`),
  'base64, two bytes later': (text) => base64(`xy${text}yz`),
  'base64 of a basic pair': (text) => base64(`user:${text}`),
  base64url: (text) => Buffer.from(`>>>${text}`).toString('base64url'),
  'base64 in a URL': (text) => encodeURIComponent(base64(`?>${text}`)),
};

/** Returns the text decoded in every way in which a secret could be read from it. */
function readable(text: string): string[] {
  const tries: (() => string)[] = [
    () => text,
    () => decodeURIComponent(text),
    () => Buffer.from(text, 'base64').toString(),
    () => Buffer.from(decodeURIComponent(text), 'base64').toString(),
    () => String(JSON.parse(text)),
  ];
  return tries.flatMap((read) => {
    try {
      return [read()];
    } catch {
      return [];
    }
  });
}

describe.each(secrets)('the secret %s', (secret) => {
  test.each(Object.entries(encodings))('is masked in the encoding "%s"', (_name, encode) => {
    const redactor = redactorOf('another-secret', secret);
    const encoded = encode(secret);
    for (const text of [encoded, `before ${encoded} after`, `${encoded}${encoded}`]) {
      expect(redactor.isIn(text)).toBe(true);
      const masked = redactor.text(text);
      expect(masked).toContain('***');
      for (const read of readable(masked.replaceAll('***', ''))) expect(read).not.toContain(secret);
      expect(masked).not.toContain(encoded);
    }
  });

  test.each(Object.entries(encodings))(
    'is masked even if a message was truncated within the secret, in the encoding "%s"',
    (_name, encode) => {
      const redactor = redactorOf('another-secret', secret);
      const encoded = encode(secret);
      const parts = Array.from(secret, (_, at) => secret.slice(at, at + 6)).filter((part) => part.length === 6);
      const wrong: object[] = [];
      for (let length = 0; length <= encoded.length; length++) {
        const cut = encoded.slice(0, length).toWellFormed();
        for (const text of [`${cut}...`, `before ${cut}....`, JSON.stringify([`before ${cut}...`, 'after'])]) {
          const masked = redactor.text(text);
          const left = masked.replaceAll(/\*\*\*|before |\.\.\.|after/g, '');
          const isSaid = redactor.isIn(text) === (masked !== text);
          // The test collects violations first, because an expect for each text and part would take longer than the masking.
          if (!isSaid || readable(left).some((read) => parts.some((part) => read.includes(part)))) wrong.push({ text, masked });
        }
      }
      expect(wrong).toEqual([]);
    },
  );

  test('is masked in nested values and in field names', () => {
    const redactor = redactorOf(secret);
    const value: Value = { plain: 'kept', [`name ${secret}`]: [1, null, true, { deep: `x${secret}y` }, encodeURIComponent(secret)] };
    expect(redactor.value(value)).toEqual({ plain: 'kept', 'name ***': [1, null, true, { deep: 'x***y' }, '***'] });
  });
});

describe('masking secrets', () => {
  test('does not make two different field names equal', () => {
    const value: Value = { 'a/name': 1, 'a%2Fname': 2, '***_2': 3, 'a/names': 4, '***': 5, 'a%2fname': 6 };
    expect(redactorOf('a/name').value(value)).toEqual({ '***_3': 1, '***_4': 2, '***_2': 3, '***s': 4, '***': 5, '***_5': 6 });
  });

  test('keeps JSON text valid', () => {
    const redactor = redactorOf('true', 'null', '12345');
    const text = JSON.stringify({ a: true, b: null, c: 12345, d: 'true', e: [1] }, null, 4);
    expect(redactor.json(text, 2)).toBe(JSON.stringify({ a: true, b: null, c: '***', d: '***', e: [1] }, null, 2));
    expect(redactor.json('{"a": 1}')).toBe('{"a": 1}');
  });

  test('keeps the digits of numbers in a value that is written as JSON, with and without a secret in it', () => {
    const redactor = redactorOf('back\\slash"quote');
    const price = new ExactNumber('1.50');
    expect(redactor.jsonOf({ price, a: ['x'] })).toBe('{"price":1.50,"a":["x"]}');
    expect(redactor.jsonOf({ price, 'back\\slash"quote': ['back\\slash"quote'] })).toBe('{"price":1.50,"***":["***"]}');
  });

  test('finds a secret in JSON inside JSON inside JSON', () => {
    const redactor = redactorOf('back\\slash"quote');
    const inJson = [1, 2, 3].reduce((text) => JSON.stringify(text), 'back\\slash"quote');
    expect(redactor.text(inJson)).not.toContain('slash');
    expect(redactor.json(JSON.stringify({ a: inJson }))).not.toContain('slash');
  });

  test('hides a secret whose euro sign was read as windows-1252', () => {
    expect(redactorOf('s3cr\u20actkey-1234').text('a s3cr\u00e2\u201a\u00actkey-1234 b')).toBe('a *** b');
  });

  test('replaces numbers that contain a secret, and no other numbers', () => {
    const redactor = redactorOf('12345678', '99999999999999999999');
    const value: Value = [12345678, 123456789, 1234567, new ExactNumber('99999999999999999999'), new ExactNumber('1.50'), 0.5];
    expect(redactor.value(value)).toEqual(['***', '***9', 1234567, '***', new ExactNumber('1.50'), 0.5]);
  });

  test('keeps fields named __proto__', () => {
    const value = JSON.parse('{"__proto__":{"a":"secret-1"},"constructor":"b"}') as Value;
    expect(JSON.stringify(redactorOf('secret-1').value(value))).toBe('{"__proto__":{"a":"***"},"constructor":"b"}');
  });

  test('hides a longer secret completely even if it contains a shorter secret', () => {
    for (const order of [
      ['secret', 'secret-and-more'],
      ['secret-and-more', 'secret'],
    ]) {
      expect(redactorOf(...order).text('a secret-and-more b secret c')).toBe('a *** b *** c');
    }
  });

  test('hides the first four or more characters of a secret only where text was truncated', () => {
    const redactor = redactorOf('secret-and-more', 'secret-1');
    expect(redactor.text('sec... secr... secret-a... secret-1...')).toBe('sec... ***... ***... ***...');
    for (const text of ['secret', 'secret-and-mor', 'secret .... secret, ...', 'secrets...', 'ecret-and...']) {
      expect(redactor.isIn(text)).toBe(false);
      expect(redactor.text(text)).toBe(text);
    }
  });

  test('searches a long text for 100 secrets', () => {
    const secrets = Array.from({ length: 100 }, (_, number) => `token-${number}-${(number * 7919).toString(36)}-abcdefgh`);
    const redactor = redactorOf(...secrets);
    expect(redactor.text(`a ${secrets.at(-1)} b ${secrets[0]} c`)).toBe('a *** b *** c');
    const text = 'lorem ipsum dolor sit amet '.repeat(1_000);
    expect(redactor.text(text)).toBe(text);
  });

  test('hides a secret that is as long as a signed token, whole or truncated', () => {
    const redactor = redactorOf('Qx7_'.repeat(1000));
    expect(redactor.text(`a ${'Qx7_'.repeat(1000)} b ${'Qx7_'.repeat(120)}Q...`)).toBe('a *** b ***...');
  });

  test('hides a long secret in every encoding, whole or truncated', () => {
    const long = `eyJh.${'Qx7_-+/='.repeat(70)}z`;
    const redactor = redactorOf(long);
    for (const encode of Object.values(encodings)) {
      expect(redactor.text(`a ${encode(long)} b`)).toMatch(/^a .{0,9}\*\*\*.{0,9} b$/);
      expect(redactor.text(`a ${encode(long).slice(0, 700)}...`)).toMatch(/^a .{0,9}\*\*\*.{0,9}\.\.\.$/);
    }
    // A shorter part of a long secret is not masked.
    expect(redactor.text(`a ${long.slice(0, 550)} b`)).toBe('a *** b');
    for (const text of ['lazy', long.slice(0, 400), `${long.slice(0, 40)} ...`]) expect(redactor.text(text)).toBe(text);
  });

  test('covers the last three tokens of the same credential, and all other secrets', () => {
    const redactor = redactorOf('always-1');
    for (const token of ['token-a', 'token-b', 'token-c', 'token-b', 'token-d', 'always-1']) redactor.add(token, 'tokens');
    redactor.add('other-1', 'others');
    expect(redactor.text('token-a token-b token-c token-d always-1 other-1')).toBe('token-a *** *** *** *** ***');
    redactor.add('token-b');
    for (const token of ['token-e', 'token-f', 'token-g']) redactor.add(token, 'tokens');
    expect(redactor.text('token-b token-d token-g')).toBe('*** token-d ***');
  });

  test('does not become slower with each new token of the same credential', () => {
    const redactor = createRedactor();
    for (let index = 0; index < 150; index++) {
      const token = createHash('sha512').update(String(index)).digest('base64url').repeat(10).slice(0, 800);
      redactor.add(token, 'tokens');
      expect(redactor.text(`a... ${token}`)).toBe('a... ***');
    }
  });

  test.each(['abcd...efgh', `abcdefgh...${'x7-'.repeat(60)}`])(
    'hides a secret that contains three dots and so looks like truncated text: %s',
    (secret) => {
      const redactor = redactorOf(secret);
      expect(redactor.text(`a ${secret} b ${secret}... c ${secret.slice(0, -1)}...`)).toBe('a *** b ***... c ***...');
    },
  );

  test('hides a user:password pair even if it is base64-encoded twice', () => {
    const redactor = redactorOf('user:pässw+rd', `user:${'x9'.repeat(60)}`);
    for (const pair of ['user:pässw+rd', `user:${'x9'.repeat(60)}`]) {
      for (const before of ['', 'B', 'Ba', 'Basic ']) {
        const masked = redactor.text(base64(`${before}${base64(pair)}`));
        expect(masked).toMatch(/^.{0,8}\*\*\*.{0,4}$/);
      }
    }
  });

  test.each([0, 30, 62, 63, 64, 65, 126, 127])('hides a long secret that itself looks escaped after %i characters', (length) => {
    const secret = `${'x7-'.repeat(50).slice(0, length)}%25ab&amp;\\u0041"\\\u00e4 ${'y8_'.repeat(50)}`;
    const redactor = redactorOf(secret);
    for (const [name, encode] of Object.entries(encodings)) {
      expect(redactor.text(`a ${encode(secret)} b`), name).toMatch(/^a .{0,9}\*\*\*.{0,9} b$/);
      expect(redactor.text(`a ${encode(secret).slice(0, 300)}...`), name).toMatch(/^a .{0,9}\*\*\*.{0,9}\.\.\.$/);
    }
  });

  test('hides a whole secret that contains three dots even if it is in text with other dots', () => {
    expect(redactorOf('abcd...efgh-and-more').text('a abcd...efgh-and-more b... c abcd...ef...')).toBe('a *** b... c ***...');
  });

  test('hides a secret with several consecutive spaces even if they were reduced to one space', () => {
    const redactor = redactorOf('two  spaces\u00a0and more');
    expect(redactor.text('a two  spaces\u00a0and more b two spaces and more c two spa...')).toBe('a *** b *** c ***...');
  });

  test('does not hide a secret of fewer than four characters', () => {
    const redactor = redactorOf('', 'a', 'abc');
    expect(redactor.isIn('abc')).toBe(false);
    expect(redactor.text('abcabc')).toBe('abcabc');
  });

  test('changes nothing if there are no secrets', () => {
    const redactor = createRedactor();
    expect(redactor.isIn('anything')).toBe(false);
    expect(redactor.value({ a: ['b', 1] })).toEqual({ a: ['b', 1] });
  });

  test('has the same result every time', () => {
    const redactor = redactorOf('secret-1');
    for (let i = 0; i < 3; i++)
      expect([redactor.isIn('x secret-1'), redactor.isIn('x'), redactor.text('secret-1 secret-1')]).toEqual([true, false, '*** ***']);
  });

  test('is fast even if a secret consists of quotes and backslashes', () => {
    const quotes = ['\\"'.repeat(20), '"'.repeat(30), '\\'.repeat(30)];
    const redactor = redactorOf(...quotes.flatMap((text) => [`${text}x`, `abcd${text}x`]));
    const long = 5_000;
    expect(redactor.isIn(`abcd${'\\'.repeat(long)} abcd${'"'.repeat(long)} abcd${'\\"'.repeat(long)} ...`)).toBe(false);
  });

  test('hides a secret that contains half of a surrogate pair', () => {
    const redactor = redactorOf('lone\ud800secret');
    expect(redactor.text('a lone\ud800secret b')).toBe('a *** b');
  });

  test('changes no text that does not contain a secret', () => {
    const redactor = redactorOf(...secrets.filter((secret) => secret.length > 8));
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 500 }), (text) => {
        expect(redactor.text(text)).toBe(text);
        expect(redactor.isIn(text)).toBe(false);
      }),
    );
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(redactor.value(value as Value)).toEqual(value);
      }),
    );
  });

  test('hides any secret in any text', () => {
    const secretText = fc.string({ unit: 'binary', minLength: 4, maxLength: 40 }).filter((text) => text.isWellFormed());
    fc.assert(
      fc.property(secretText, fc.string(), fc.string(), fc.constantFrom(...Object.keys(encodings)), (secret, before, after, name) => {
        const encoded = (encodings[name] as (text: string) => string)(secret);
        const redactor = redactorOf(secret);
        expect(redactor.text(`${before}${encoded}${after}`)).not.toContain(encoded);
      }),
      { numRuns: 120 },
    );
  });
});
