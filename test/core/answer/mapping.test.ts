import { describe, expect, test } from 'vitest';
import { compileMapping, type WhenEmpty } from '../../../src/core/answer/mapping.ts';
import type { Value } from '../../../src/core/value/value.ts';
import { toFields } from '../../helpers/run-flow.ts';

/** Applies a map to a response for the record `{id: 1}`. Returns the output rows and whether each path was found. */
function mapped(map: string[] | Record<string, string>, body: unknown, whenEmpty: WhenEmpty = 'keep') {
  const found: boolean[] = [];
  const header = (name: string) => ({ etag: '"abc"' })[name];
  const rows = compileMapping(map, whenEmpty).apply(toFields({ id: 1 }), { status: 201, header, body: body as Value | undefined }, found);
  return { rows: rows.map((row) => Object.fromEntries(row)), found };
}

const orders = {
  customer: 'Ann',
  orders: [{ no: 1, lines: [{ sku: 'a' }, { sku: 'b' }] }, { no: 2, lines: [] }, { no: 3 }, { no: 4, lines: [{ sku: 'c' }, {}] }],
};

describe('a map without an array', () => {
  test('names each field after its path if the map is a list of paths', () => {
    expect(mapped(['data.user.name', 'results[0].value'], { data: { user: { name: 'Ann' } }, results: [{ value: 5 }] })).toEqual({
      rows: [{ id: 1, 'data.user.name': 'Ann', 'results[0].value': 5 }],
      found: [true, true],
    });
  });

  test('can give each field a name, and can replace an existing field', () => {
    expect(mapped({ name: 'user', id: 'user_id' }, { user: 'Ann', user_id: 9 }).rows).toEqual([{ id: 9, name: 'Ann' }]);
  });

  test('leaves a field empty if there is nothing at its path, and does not count the path as found', () => {
    expect(mapped(['a', 'b.c', 'd'], { a: null, b: 'x' })).toEqual({
      rows: [{ id: 1, a: null, 'b.c': null, d: null }],
      found: ['empty', false, false],
    });
  });

  test('counts a path that leads only to null and empty values as empty', () => {
    const body = { a: '', b: [], c: {}, d: 0, e: [{ x: null }, { x: 'y' }], f: [{ x: null }, { x: '' }] };
    expect(mapped(['a', 'b', 'c', 'd'], body).found).toEqual(['empty', 'empty', 'empty', true]);
    expect(mapped(['e[].x'], body).found).toEqual([true]);
    expect(mapped(['f[].x'], body).found).toEqual(['empty']);
  });

  test('can contain $status, $headers and $body', () => {
    expect(mapped({ s: '$status', e: '$headers.ETag', n: '$headers.x-none', all: '$body' }, { a: 1 })).toEqual({
      rows: [{ id: 1, s: 201, e: '"abc"', n: null, all: { a: 1 } }],
      found: [true, true, false, true],
    });
  });

  test('needs a JSON body for every path except $body, $status and $headers', () => {
    const needsJson = (path: string) => compileMapping([path], 'keep').needsJson;
    expect(['a', '[]', '[].a', '$body.a', '$body[]'].map(needsJson)).toEqual([true, true, true, true, true]);
    expect(['$body', '$status', '$headers.etag'].map(needsJson)).toEqual([false, false, false]);
  });

  test('can read only the status and the headers if the body is empty', () => {
    expect(mapped({ s: '$status', all: '$body', a: 'a' }, undefined)).toEqual({
      rows: [{ id: 1, s: 201, all: null, a: null }],
      found: [true, false, false],
    });
  });

  test('treats __proto__ and similar names as data', () => {
    const map = Object.fromEntries([
      ['__proto__', '["__proto__"]'],
      ['constructor', '["a.b"]'],
      ['', '[" "]'],
    ]);
    const row = mapped(map, JSON.parse('{"__proto__":1,"a.b":2," ":3}')).rows[0] as object;
    expect(Object.entries(row)).toEqual([
      ['id', 1],
      ['__proto__', 1],
      ['constructor', 2],
      ['', 3],
    ]);
  });
});

describe('a map that expands an array', () => {
  test('makes one row for each element, and repeats the other fields in each row', () => {
    expect(mapped({ name: 'customer', no: 'orders[].no' }, orders).rows).toEqual([1, 2, 3, 4].map((no) => ({ id: 1, name: 'Ann', no })));
  });

  test('makes one row with empty fields for an element whose inner array is empty', () => {
    const { rows, found } = mapped({ name: 'customer', no: 'orders[].no', sku: 'orders[].lines[].sku' }, orders);
    expect(rows.map(({ no, sku }) => [no, sku])).toEqual([
      [1, 'a'],
      [1, 'b'],
      [2, null],
      [3, null],
      [4, 'c'],
      [4, null],
    ]);
    expect(rows.every(({ name }) => name === 'Ann')).toBe(true);
    expect(found).toEqual([true, true, true]);
  });

  test('can expand arrays of values, nested arrays, and the body itself', () => {
    expect(mapped({ tag: 'tags[]' }, { tags: ['x', 'y'] }).rows.map(({ tag }) => tag)).toEqual(['x', 'y']);
    expect(mapped({ cell: '[][]' }, [[1, 2], [], [3]]).rows.map(({ cell }) => cell)).toEqual([1, 2, null, 3]);
    expect(mapped({ cell: '$body[].a' }, [{ a: 1 }, { a: 2 }]).rows.map(({ cell }) => cell)).toEqual([1, 2]);
  });

  test.each([{ orders: [] }, { orders: null }, {}, null, undefined])(
    'keeps the record as one row if there is nothing to expand, as in %j',
    (body) => {
      expect(mapped({ no: 'orders[].no', s: '$status' }, body)).toEqual({ rows: [{ id: 1, no: null, s: 201 }], found: [false, true] });
    },
  );

  test('with when_empty: drop, makes no row for an empty array, outer or inner', () => {
    expect(mapped({ no: 'orders[].no' }, { orders: [] }, 'drop').rows).toEqual([]);
    const { rows } = mapped({ no: 'orders[].no', sku: 'orders[].lines[].sku' }, orders, 'drop');
    expect(rows.map(({ no, sku }) => [no, sku])).toEqual([
      [1, 'a'],
      [1, 'b'],
      [4, 'c'],
      [4, null],
    ]);
  });

  test('with when_empty: error, fails the record if an array is empty, and names that array', () => {
    expect(() => mapped(['orders[].no'], {}, 'error')).toThrow(
      expect.objectContaining({ kind: 'mapping', message: 'the array "orders[]" is empty or missing' }),
    );
    expect(() => mapped(['orders[].lines[].sku'], orders, 'error')).toThrow('the array "orders[].lines[]" is empty or missing');
  });

  test.each([
    [{ orders: { no: 1 } }, 'expected an array at "orders[]", found an object'],
    [{ orders: 'x' }, 'expected an array at "orders[]", found a string'],
    [{ orders: 0 }, 'expected an array at "orders[]", found a number'],
    [{ orders: [{ lines: true }] }, 'expected an array at "orders[].lines[]", found a boolean'],
  ])('fails the record if a value is not an array where the path expands an array: %j', (body, message) => {
    expect(() => mapped(['orders[].lines[].sku'], body)).toThrow(expect.objectContaining({ kind: 'mapping', message }));
  });

  test('quotes unusual names in an error message as the path does', () => {
    expect(() => mapped(['["a b"][0].c[]'], { 'a b': [{ c: 1 }] })).toThrow('expected an array at "["a b"][0].c[]", found a number');
  });

  test('is refused if its paths expand different arrays', () => {
    expect(() => compileMapping(['a[].x', 'b[].y'], 'keep')).toThrow('"b[].y" and "a[].x" expand different arrays');
    expect(() => compileMapping(['a[].b[].x', 'a[].c[].y'], 'keep')).toThrow('expand different arrays');
    expect(() => compileMapping(['a[].x', '$body.a[].y', 'a[].b[].z', 'c'], 'keep')).not.toThrow();
  });
});
