import { describe, expect, test } from 'vitest';
import { didYouMean, nearest, shortName } from '../../../src/core/text/suggest.ts';

test.each([
  ['htp', ['http', 'set'], 'http'],
  ['metod', ['method', 'map'], 'method'],
  ['mehtod', ['method', 'map'], 'method'],
  ['URL', ['url', 'map'], 'url'],
  ['timout', ['timeout', 'retry'], 'timeout'],
  ['maxbody', ['max_body', 'map'], 'max_body'],
  ['emial', ['id', 'email'], 'email'],
  ['ur', ['url', 'id'], 'url'],
  ['id', [' v ', ' id '], ' id '],
])('the misspelt name %s gets the right suggestion from the names %j', (written, choices, meant) => {
  expect(didYouMean(written, choices)).toBe(`; did you mean "${meant}"?`);
});

test.each([
  ['banana', ['url', 'method']],
  ['x', ['id', 'url']],
  ['x', ['y', 'n']],
  ['', ['id', 'url']],
  ['url', []],
  ['password', ['header', 'query']],
])('the name %j gets no suggestion from the names %j', (written, choices) => {
  expect(didYouMean(written, choices)).toBe('');
});

test.each(['\ufeff', '\u200b', '\u00a0'])('a suggestion shows an invisible character as an escape sequence: %j', (character) => {
  const code = character.charCodeAt(0).toString(16).padStart(4, '0');
  expect(didYouMean('id', [`${character}id`])).toBe(`; did you mean "\\u${code}id"?`);
});

test('the most similar name is suggested, or the first name if several are equally similar', () => {
  expect(didYouMean('retr', ['metro', 'retry', 'reset'])).toContain('"retry"');
  expect(didYouMean('mat', ['map', 'max'])).toContain('"map"');
});

describe('very long names', () => {
  const long = 'a'.repeat(100_000_000);

  test('are not compared for suggestions, because that would take too much memory', () => {
    expect(nearest(long, ['id', `${long}b`])).toBeUndefined();
    expect(nearest('id', [long])).toBeUndefined();
    expect(nearest('a'.repeat(200), ['a'.repeat(199)])).toBe('a'.repeat(199));
  });

  test('are truncated in messages', () => {
    expect(shortName(long)).toBe(`${'a'.repeat(200)}...`);
    expect(shortName('a'.repeat(200))).toBe('a'.repeat(200));
  });
});

test('suggestions consider only the first 10,000 names', () => {
  const others = Array.from({ length: 10_000 }, (_, index) => `column ${index}`);
  expect(nearest('emial', [...others.slice(1), 'email'])).toBe('email');
  expect(nearest('emial', [...others, 'email'])).toBeUndefined();
});
