import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nextLink } from '../../../src/core/answer/link.ts';

describe('the URL marked rel=next in a Link header', () => {
  test.each<[string, string | undefined]>([
    ['<https://api.example.com/x?page=2>; rel="next"', 'https://api.example.com/x?page=2'],
    ['</x?page=2>;rel=next', '/x?page=2'],
    ['<?a=1,2;b=3>; rel=next', '?a=1,2;b=3'],
    ['<a> ; REL = "NEXT"', 'a'],
    ['<a>; rel="prev", <b>; rel="next"', 'b'],
    ['<a>; rel=first,<b>; rel=next,<c>; rel=last', 'b'],
    ['<a>; rel="next", <b>; rel="next"', 'a'],
    ['<a>; rel="last next"', 'a'],
    ['<a>; rel="  last \t next "', 'a'],
    ["<a>; rel='next'", 'a'],
    ["<a>; rel='prev', <b>; rel='next'", 'b'],
    ["<a>;REL='Last NEXT';title='x, y'", 'a'],
    ["<a,b;c>; rel = 'next' , <d>; rel='last'", 'a,b;c'],
    ["<a>; rel='nextpage'", undefined],
    ["<a>; rel='next", undefined],
    ['<a>; rel="https://example.com/next-relation"', undefined],
    ['<a>; rel="nextpage"', undefined],
    ['<a>; rel', undefined],
    ['<a>; rel=', undefined],
    ['<a>', undefined],
    ['a; rel=next', undefined],
    ['<a; rel=next', undefined],
    // A link begins at the last <, so that a header of many < is read only once.
    ['<<a>; rel=next', 'a'],
    ['<<<; rel=next, <b>; rel=next', 'b'],
    ['', undefined],
  ])('is read correctly from the header %s', (header, link) => {
    expect(nextLink(header)).toBe(link);
  });

  test('is undefined if there is no such header', () => {
    expect(nextLink(undefined)).toBeUndefined();
  });

  test('refers to the same page if it is empty', () => {
    expect(nextLink('<>; rel=next')).toBe('');
  });
});

describe('a Link header with parameters other than rel', () => {
  test.each([
    ['<a>; title="x"; rel="next"; type="y"', 'a'],
    ['<a>; title="a \\" quote; rel=prev"; rel=next', 'a'],
    ['<a>; title="<b>; rel=next, ", <c>; rel=next', 'c'],
    ['<a>; title="; rel=next"; rel=prev', undefined],
    ["<a>; title*=UTF-8''n%c3%a4chste; rel=next", 'a'],
    ["<a>; title='<b>; rel=next, ', <c>; rel=next", 'c'],
    ["<a>; title='; rel=next'; rel='prev'", undefined],
    ["<a>; title=it's; rel=next; x=one's", 'a'],
    ['<a>; rel=next; anchor="#part"', undefined],
    ['<a>; anchor="/other"; rel="next", <b>; rel="next"', 'b'],
    ["<a>; ANCHOR='https://example.com/'; rel='next'", undefined],
    ['<a>; title="anchor=x"; rel=next', 'a'],
    ['<a>; rel*=next', undefined],
    ['<a>; xrel=next', undefined],
    ['<a>; rel="prev"; rel="next"', undefined],
    ['<a>;; rel=next;', 'a'],
    ['<a>; crossorigin; rel=next', 'a'],
    ['<a>; title="open; rel=next', 'a'],
  ])('is parsed: %s', (header, link) => {
    expect(nextLink(header)).toBe(link);
  });
});

test('the first link with rel=next is used, whatever else the Link header contains', () => {
  const text = fc.string({ maxLength: 20 }).map((title) => `title="${title.replace(/["\\]/g, '\\$&')}"`);
  const rel = fc.constantFrom('next', 'prev', 'last', 'up').map((name) => ({ name, text: `rel="${name}"` }));
  const link = fc.record({ target: fc.webPath(), rel, title: text, isFirst: fc.boolean() });
  fc.assert(
    fc.property(fc.array(link, { maxLength: 5 }), (links) => {
      const header = links.map(({ target, rel, title, isFirst }) => {
        return `<${target}>; ${isFirst ? `${title}; ${rel.text}` : `${rel.text}; ${title}`}`;
      });
      expect(nextLink(header.join(', '))).toBe(links.find(({ rel }) => rel.name === 'next')?.target);
    }),
  );
});

test('parsing a Link header never throws an error, even for random text', () => {
  fc.assert(fc.property(fc.string(), (header) => void nextLink(header)));
  fc.assert(fc.property(fc.string({ unit: fc.constantFrom(...'<>;,="\\ rel next') }), (header) => void nextLink(header)));
});
