import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compilePath, pathTo, valueAt } from '../../../src/core/answer/path.ts';
import type { Value } from '../../../src/core/value/value.ts';

describe('a path in a response', () => {
  test.each([
    ['name', [['name']]],
    ['data.user.name', [['data', 'user', 'name']]],
    ['results[0].value', [['results', 0, 'value']]],
    ['[0].a', [[0, 'a']]],
    ['a[0][1]', [['a', 0, 1]]],
    ['results[].value', [['results'], ['value']]],
    ['orders[].lines[].sku', [['orders'], ['lines'], ['sku']]],
    ['[].a', [[], ['a']]],
    ['tags[]', [['tags'], []]],
    ['["odd key"]', [['odd key']]],
    ['a["b.c"]["d[0]"].e', [['a', 'b.c', 'd[0]', 'e']]],
    ['["say \\"hi\\""]', [['say "hi"']]],
    ['a["\\u00e9"]', [['a', 'é']]],
    ['first-name', [['first-name']]],
    ['first name', [['first name']]],
    ['größe.名前', [['größe', '名前']]],
    ['data.$ref', [['data', '$ref']]],
    ['["$status"]', [['$status']]],
    ['["$headers"].etag', [['$headers', 'etag']]],
    ['["$body"].a', [['$body', 'a']]],
    ['$body', [[]]],
    ['$body.a', [['a']]],
    ['$body[].a', [[], ['a']]],
    ['__proto__.constructor', [['__proto__', 'constructor']]],
    ['007', [['007']]],
  ])('is parsed: %s', (text, legs) => {
    expect(compilePath(text)).toEqual({ text, root: 'body', legs });
  });

  test('can be $status or $headers.NAME', () => {
    expect(compilePath('$status').root).toBe('status');
    expect(compilePath('$headers.ETag')).toMatchObject({ root: 'headers', legs: [['etag']] });
    expect(compilePath('$headers["X-Rate.Limit"]')).toMatchObject({ root: 'headers', legs: [['x-rate.limit']] });
  });

  test.each([
    ['', 'found nothing'],
    ['a..b', 'found "a..b" (error at character 2)'],
    ['a.', 'found "a." (error at character 2)'],
    ['a[', 'found "a[" (error at character 2)'],
    ['a[-1]', 'error at character 2'],
    ['a[x]', 'error at character 2'],
    ['$.', 'error at character 2'],
    ['.', 'error at character 1'],
    ['$..name', 'error at character 2'],
    ['$.a', 'found "$.a"; did you mean a?'],
    ['.a', 'found ".a"; did you mean a?'],
    ['.data[].id', 'did you mean data[].id?'],
    ['$.items[*].id', 'did you mean items[].id?'],
    ['items[*].id', 'did you mean items[].id?'],
    ['$[0].a', 'did you mean [0].a?'],
    ["$['a b'].c", 'did you mean ["a b"].c?'],
    ["a['b']", 'did you mean a["b"]?'],
    ['{{data.name}}', 'did you mean data.name?'],
    ['{{ $.items[*].id }}', 'did you mean items[].id?'],
    ['{{a}} {{b}}', 'found "{{a}} {{b}}" (error at character 1)'],
    ['a[0]b', 'error at character 5'],
    ['a.[0]', 'error at character 2'],
    ['a]', 'error at character 2'],
    ['a["\\q"]', 'error at character 2'],
    [' a', 'error at character 1'],
    ['a ', 'error at character 2'],
    ['$', 'expected $status, $headers.NAME or $body'],
    ['$.a.b', 'expected $status, $headers.NAME or $body'],
    ['$statuss', 'expected $status, $headers.NAME or $body'],
    ['$status.x', 'expected $status, $headers.NAME or $body'],
    ['$headers', 'expected $headers.NAME'],
    ['$headers.a.b', 'expected $headers.NAME'],
    ['$headers[0]', 'expected $headers.NAME'],
  ])('is refused if it is %j', (text, message) => {
    expect(() => compilePath(text)).toThrow(message);
  });

  test('that test-request prints for a value finds that value, whatever names it contains', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('__proto__', '$status', 'a b', '0')), { minLength: 1 }),
        (names) => {
          const value = names.reduceRight<Value>((inner, name) => Object.fromEntries([[name, inner]]), 'here');
          const path = names.reduce(pathTo, '');
          const [leg] = compilePath(path).legs;
          expect(valueAt(value, leg ?? [])).toBe('here');
        },
      ),
    );
  });
});

describe('the value at a path', () => {
  const value = JSON.parse('{"a":{"b":[10,{"c":null}],"length":3},"__proto__":{"x":1},"t":"text"}') as Value;
  test.each([
    ['a.b[0]', 10],
    ['a.b[1].c', null],
    ['a.length', 3],
    ['__proto__.x', 1],
    ['a.b[2]', undefined],
    ['a.b.length', undefined],
    ['a[0]', undefined],
    ['t[0]', undefined],
    ['t.length', undefined],
    ['constructor', undefined],
    ['a.toString', undefined],
    ['no.such.path', undefined],
    ['a.b[1].c.d', undefined],
  ])('%s is %j', (path, found) => {
    expect(valueAt(value, compilePath(path).legs[0] ?? [])).toEqual(found);
  });
});
