import fc from 'fast-check';
import { expect, test } from 'vitest';
import { editDistance } from '../../../src/core/text/suggest.ts';
import { NearKeys } from '../../../src/places/data/folded-text.ts';

test.each([
  ['starbuks', 'starbucks', 1],
  ['starbukcs', 'starbucks', 1],
  ['xtarbucks', 'starbucks', 1],
  ['starbucksx', 'starbucks', 1],
  ['kentuckyfridchickn', 'kentuckyfriedchicken', 2],
  ['entuckyfriedchickenn', 'kentuckyfriedchicken', 2],
])('the search for misspelt keys finds for %s the key %s', (text, key, mistakes) => {
  expect([...new NearKeys([key, 'somethingelse']).near(text)]).toEqual([[key, mistakes]]);
});

test.each([['starks'], ['abc'], ['']])('the search for misspelt keys finds nothing for %j', (text) => {
  expect(new NearKeys(['starbucks', 'abcd']).near(text).size).toBe(0);
});

test('the search for misspelt keys finds any key with one typing error, wherever the error is', () => {
  const key = fc.stringMatching(/^[a-e]{5,20}$/);
  fc.assert(
    fc.property(key, fc.nat(), fc.constantFrom('', 'x', 'xy'), (key, at, instead) => {
      const place = at % key.length;
      const text = `${key.slice(0, place)}${instead === 'xy' ? `x${key[place]}` : instead}${key.slice(place + 1)}`;
      fc.pre(text.length >= 5);
      expect(new NearKeys([key]).near(text).get(key)).toBe(editDistance(text, key));
    }),
  );
});
