import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { urlTemplate } from '../../../src/core/template/url.ts';
import { ExactNumber } from '../../../src/core/value/value.ts';
import { naughtyTexts } from '../../helpers/naughty-texts.ts';
import { toFields } from '../../helpers/run-flow.ts';

const strict = { allowHttp: false };

function rendered(url: string, fields: Record<string, unknown>, rules: Parameters<typeof urlTemplate>[1] = strict): string {
  const { origin, path } = urlTemplate(url, rules).render(toFields(fields));
  return origin + path;
}

const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...naughtyTexts));

describe('a URL with references', () => {
  test('keeps the text around its references unchanged', () => {
    const around = (text: string) => rendered(`https://api.example.com/${text}/{{a}}?${text}={{a}}&reference0`, { a: 'x' });
    for (const text of ['reference', 'reference00', 'a'])
      expect(around(text)).toBe(`https://api.example.com/${text}/x?${text}=x&reference0`);
  });

  test('keeps each value within one path segment, at the same origin', () => {
    fc.assert(
      fc.property(anyText, anyText, (a, b) => {
        fc.pre(!['.', '..'].includes(a));
        const url = new URL(rendered('https://api.example.com/v1/{{a}}/x-{{b}}/end?q=1', { a, b }));
        expect(url.origin).toBe('https://api.example.com');
        expect(url.search).toBe('?q=1');
        const segments = url.pathname.split('/').map(decodeURIComponent);
        expect(segments).toEqual(['', 'v1', a, `x-${b}`, 'end']);
      }),
    );
  });

  test('keeps each value within one query parameter', () => {
    fc.assert(
      fc.property(anyText, anyText, (a, b) => {
        const url = new URL(rendered('https://api.example.com/v1?a={{a}}&b=x{{b}}y&c=1', { a, b }));
        expect(url.origin + url.pathname).toBe('https://api.example.com/v1');
        expect([...url.searchParams]).toEqual([
          ['a', a],
          ['b', `x${b}y`],
          ['c', '1'],
        ]);
      }),
    );
  });

  test('is rendered in the normal form of a URL, which a URL parser does not change', () => {
    fc.assert(
      fc.property(anyText, anyText, (a, b) => {
        fc.pre(!['.', '..'].includes(a));
        const url = rendered('https://api.example.com/{{a}}?b={{b}}', { a, b });
        expect(new URL(url).href.replaceAll("'", '%27')).toBe(url.replaceAll("'", '%27'));
      }),
    );
  });

  test.each([
    ['/users/{{a}}', '.'],
    ['/users/{{a}}', '..'],
    ['/users/{{a}}/posts', '..'],
    ['/users/.{{a}}', '.'],
    ['/users/{{a}}{{a}}', '.'],
    ['/users/%2e{{a}}', '.'],
    ['/users/{{a}}?q=1', '..'],
  ])('is refused if a value would lead out of its path: %s with %j', (url, a) => {
    expect(() => rendered(`https://api.example.com${url}`, { a })).toThrow(
      expect.objectContaining({ kind: 'request', message: expect.stringContaining('a path segment must not be "." or ".."') }),
    );
  });

  test('can contain values with dots where they do not change the path', () => {
    expect(rendered('https://a.com/{{a}}/x', { a: '...' })).toBe('https://a.com/.../x');
    expect(rendered('https://a.com/{{a}}?back=/../&q={{a}}', { a: 'x' })).toBe('https://a.com/x?back=/../&q=x');
    expect(rendered('https://a.com/x?q={{a}}', { a: '..' })).toBe('https://a.com/x?q=..');
  });

  test('is refused if it contains a literal ".." that would remove a reference', () => {
    expect(() => urlTemplate('https://a.com/{{a}}/../{{b}}', strict)).toThrow('".."');
    expect(rendered('https://a.com/v2/../v1/{{a}}', { a: 1 })).toBe('https://a.com/v1/1');
  });

  test('is refused if a value contains half of a surrogate pair, in the path, query and host', () => {
    for (const url of ['https://a.com/{{a}}', 'https://a.com/?q={{a}}', '{{a}}']) {
      expect(() => rendered(url, { a: 'https://b.com/\ud800' })).toThrow('a broken character');
    }
  });

  test('renders null as empty, numbers with all their digits, and objects as JSON', () => {
    expect(rendered('https://a.com/{{n}}/x?a={{e}}&b={{o}}', { n: null, e: new ExactNumber('1.50'), o: { a: [1] } })).toBe(
      'https://a.com//x?a=1.50&b=%7B%22a%22%3A%5B1%5D%7D',
    );
  });

  test('percent-encodes text that only looks like a reference', () => {
    expect(rendered('https://a.com/{{first-name}}/{{ id }}', { id: 1 })).toBe('https://a.com/%7B%7Bfirst-name%7D%7D/%7B%7B%20id%20%7D%7D');
  });

  test('is sent without the fragment after #', () => {
    expect(rendered('https://a.com/{{a}}#{{b}}', { a: 1, b: 2 })).toBe('https://a.com/1');
  });
});

describe('a base URL', () => {
  test.each([
    ['https://a.com', '/users/{{id}}', 'https://a.com/users/7'],
    ['https://a.com/', 'users/{{id}}', 'https://a.com/users/7'],
    ['https://a.com/v2', '/users/{{id}}', 'https://a.com/v2/users/7'],
    ['https://a.com/v2/', '/users/{{id}}', 'https://a.com/v2/users/7'],
    ['https://a.com/v2', '?id={{id}}', 'https://a.com/v2?id=7'],
    ['https://a.com/v2', '', 'https://a.com/v2'],
    ['https://a.com/v2', '{{id}}', 'https://a.com/v2/7'],
    ['https://a.com/v2', '{{path}}', 'https://a.com/v2/x%2Fy%3Fz'],
    ['https://a.com/v2', '//evil.example.com/{{id}}', 'https://a.com/v2/evil.example.com/7'],
    ['https://a.com/v2', 'https://b.com/{{id}}', 'https://b.com/7'],
    ['https://a.com/v2', '{{next}}', 'https://c.com/page?n=2'],
    ['https://A.com:443/v2', '/x', 'https://a.com/v2/x'],
  ])('is joined with a relative URL: %s and %s give %s', (baseUrl, url, whole) => {
    expect(rendered(url, { id: 7, path: 'x/y?z', next: 'https://c.com/page?n=2' }, { baseUrl, allowHttp: false })).toBe(whole);
  });

  test("cannot be replaced by a record's value unless the node's whole URL is one reference", () => {
    fc.assert(
      fc.property(anyText, (a) => {
        fc.pre(!/^[a-z][a-z0-9+.-]*:\/\//i.test(a) && !['.', '..'].includes(a));
        const target = urlTemplate('{{a}}/x', { baseUrl: 'https://a.com/v2', allowHttp: false }).render(toFields({ a }));
        expect(target).toMatchObject({ origin: 'https://a.com', fromData: false });
        expect(target.path.split('/')).toHaveLength(4);
      }),
    );
  });
});

describe('hosts that come from the record', () => {
  test.each([
    ['{{url}}', 'https://b.com/x?y=1'],
    ['https://{{host}}/x?y=1', 'https://b.com/x?y=1'],
    ['https://{{sub}}.com/x?y=1', 'https://b.com/x?y=1'],
    ['{{scheme}}://b.com/x?y=1', 'https://b.com/x?y=1'],
    ['https://b.com{{rest}}', 'https://b.com/x?y=1'],
  ])('are recognized in the URL %s', (url, whole) => {
    const template = urlTemplate(url, strict);
    const target = template.render(toFields({ url: whole, host: 'b.com', sub: 'b', scheme: 'https', rest: '/x?y=1' }));
    expect(template.origin).toBeUndefined();
    expect(target.origin + target.path).toBe(whole);
    expect(target.fromData).toBe(true);
  });

  test('do not include a host that is written in the flow', () => {
    expect(urlTemplate('https://b.com/{{a}}', strict).origin).toBe('https://b.com');
    expect(urlTemplate('https://b.com?{{a}}', strict).render(toFields({ a: 1 })).fromData).toBe(false);
  });

  test('are normalized if they are IP addresses in unusual notation', () => {
    expect(rendered('{{url}}', { url: 'http://2130706433/x' })).toBe('http://127.0.0.1/x');
    expect(rendered('{{url}}', { url: 'https://0xA9FEA9FE/latest/meta-data' })).toBe('https://169.254.169.254/latest/meta-data');
  });

  test.each([
    ['', 'expected an absolute https URL, found ""'],
    ['users/7', 'expected an absolute https URL, found "users/7"'],
    ['//b.com/x', 'expected an absolute https URL'],
    ['ftp://b.com/x', 'expected an absolute https URL'],
    ['file:///etc/passwd', 'expected an absolute https URL'],
    ['javascript:alert(1)', 'expected an absolute https URL'],
    ['http://b.com/x', 'expected an https URL, found http://b.com'],
    ['https://user:pass@b.com/x', 'must not contain a user name or password'],
    ['https://b.com@c.com/x', 'must not contain a user name or password'],
    ['https://b.com/a b', 'contains a space at character 16\nwrite {{url}} percent-encoded, with %20 for a space, or remove the character'],
    ['https://b.com\\@c.com/x', 'contains a backslash at character 14\nwrite {{url}} percent-encoded, with %5C for a backslash'],
    ['https://b.com/x\r\nHost: c.com', 'contains the control character U+000D at character 16\nwrite {{url}} percent-encoded, with %0D'],
    ['https://', 'not a valid URL'],
    ['https:///users/7', 'not a valid URL: "https:///users/7"'],
    ['https://b.com/a/../b', 'a path segment must not be "." or ".."'],
    ['https://b.com/a/%2E%2e', 'a path segment must not be "." or ".."'],
  ])('fail the record if its URL is %j', (url, message) => {
    expect(() => rendered('{{url}}', { url })).toThrow(
      expect.objectContaining({ kind: 'request', message: expect.stringContaining(message) }),
    );
  });

  test('fail the record if the field is empty, instead of using the first path segment as the host', () => {
    const refusal = expect.objectContaining({ kind: 'request', message: 'not a valid URL: "https:///users/7"' });
    expect(() => rendered('https://{{host}}/users/{{id}}', { host: '', id: '7' })).toThrow(refusal);
    expect(() => urlTemplate('https:///users/{{id}}', strict)).toThrow('not a valid URL: "https:///users/{{id}}"');
  });

  test('fail the record with a message that shortens a long URL', () => {
    expect(() => rendered('{{url}}', { url: 'x'.repeat(100_000) })).toThrow(/^expected an absolute https URL, found "x{200}\.\.\."$/);
  });

  test('can be followed by references, whose values are escaped', () => {
    expect(rendered('https://{{host}}/users/{{id}}', { host: 'b.com', id: 'a/b?c' })).toBe('https://b.com/users/a%2Fb%3Fc');
  });
});

describe('the https requirement', () => {
  test.each(['http://localhost:8080/x', 'http://127.0.0.1/x', 'http://127.1.2.3/x', 'http://[::1]:8080/x', 'http://api.localhost/x'])(
    'does not apply to loopback addresses such as %s',
    (url) => {
      expect(rendered(url, {})).toBe(url);
    },
  );

  test.each(['http://api.example.com/x', 'http://10.0.0.1/x', 'http://localhost.example.com/x', 'http://[::ffff:8.8.8.8]/x'])(
    'applies to %s unless http is allowed',
    (url) => {
      expect(() => urlTemplate(url, strict)).toThrow(
        /expected an https URL, found .*\nto allow plain HTTP, set allow_http: true on the connection$/,
      );
      expect(rendered(url, {}, { allowHttp: true })).toMatch(/^http:/);
    },
  );

  test.each([
    ['/users', 'expected an absolute URL such as https://api.example.com/'],
    ['api.example.com/users', 'expected an absolute URL'],
    ['ftp://api.example.com/users', 'expected an https URL, found the scheme "ftp"'],
    ['https://', 'not a valid URL'],
    ['https:///users/7', 'not a valid URL: "https:///users/7"'],
    ['https://a b.com/', 'not a valid URL'],
    ['https://user:pass@a.com/', 'must not contain a user name or password'],
  ])('does not hide what else is wrong with a URL: %s', (url, message) => {
    expect(() => urlTemplate(url, strict)).toThrow(message);
  });
});
