import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { withoutParameter, withParameter } from '../../../src/core/template/url.ts';

describe('removing a parameter from the query of a URL', () => {
  test.each([
    ['?a=1&key=2&b=3', 'a=1&b=3'],
    ['a=1&key=2&b=3', 'a=1&b=3'],
    ['?key=1', ''],
    ['?key', ''],
    ['?key=', ''],
    ['?key=1&key=2&key', ''],
    ['?k%65y=1&a=1', 'a=1'],
    ['?keys=1&akey=2&KEY=3&key[]=4', 'keys=1&akey=2&KEY=3&key[]=4'],
    ['?a=key&b=x=key', 'a=key&b=x=key'],
    ['?a=%20+b&&c&=&key=1', 'a=%20+b&&c&='],
    ['?a=%E0%A4%A&key=1', 'a=%E0%A4%A'],
    ['', ''],
    ['?', ''],
  ])('leaves the rest unchanged: %s', (search, rest) => {
    expect(withoutParameter(search, 'key')).toBe(rest);
  });

  test('finds a name with a space or plus sign in either encoding', () => {
    expect(withoutParameter('?api+key=1&api%20key=2&a=3', 'api key')).toBe('a=3');
    expect(withoutParameter('?a%26b=1&c=3', 'a&b')).toBe('c=3');
  });
});

describe('setting a parameter in the query of a URL', () => {
  test.each([
    ['/x', 'p', '2', '/x?p=2'],
    ['/x?', 'p', '2', '/x?p=2'],
    ['/x?a=1', 'p', '2', '/x?a=1&p=2'],
    ['/x?p=1', 'p', '2', '/x?p=2'],
    ['/x?p=1&a=1&p=3', 'p', '2', '/x?a=1&p=2'],
    ['/x?a=?&b=/?', 'p', '2', '/x?a=?&b=/?&p=2'],
    ['/x?a=1', 'p', '', '/x?a=1&p='],
    ['/x?a=1', 'page[after]', 'é &=#+', '/x?a=1&page%5Bafter%5D=%C3%A9%20%26%3D%23%2B'],
    ['/x?page[after]=1', 'page[after]', '2', '/x?page%5Bafter%5D=2'],
  ])('changes the URL %s correctly if %s is set to "%s"', (path, name, value, whole) => {
    expect(withParameter(path, name, value)).toBe(whole);
  });

  test('leaves exactly one parameter of that name, and the other parameters unchanged', () => {
    const text = fc.string({ unit: 'grapheme' }).filter((text) => text.isWellFormed());
    const pairs = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'p', 'q'), text));
    fc.assert(
      fc.property(pairs, fc.constantFrom('p', 'a b', 'ä'), text, (pairs, name, value) => {
        const query = new URLSearchParams(pairs).toString();
        const { pathname, searchParams } = new URL(withParameter(`/x?${query}`, name, value), 'https://api.example.com');
        expect(pathname).toBe('/x');
        expect([...searchParams]).toEqual([...pairs.filter(([other]) => other !== name), [name, value]]);
      }),
    );
  });
});
