import { expect, test } from 'vitest';
import { didYouMean } from '../../../src/core/text/suggest.ts';

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
])('%s is near one of %j', (written, choices, meant) => {
  expect(didYouMean(written, choices)).toBe(`; did you mean "${meant}"?`);
});

test.each([
  ['banana', ['url', 'method']],
  ['x', ['id', 'url']],
  ['x', ['y', 'n']],
  ['', ['id', 'url']],
  ['url', []],
  ['password', ['header', 'query']],
])('%j is near none of %j', (written, choices) => {
  expect(didYouMean(written, choices)).toBe('');
});

test.each(['\ufeff', '\u200b', '\u00a0'])('a character that nobody sees is shown as an escape: %j', (character) => {
  const code = character.charCodeAt(0).toString(16).padStart(4, '0');
  expect(didYouMean('id', [`${character}id`])).toBe(`; did you mean "\\u${code}id"?`);
});

test('the nearest of several choices wins, the first of equals', () => {
  expect(didYouMean('retr', ['metro', 'retry', 'reset'])).toContain('"retry"');
  expect(didYouMean('mat', ['map', 'max'])).toContain('"map"');
});
