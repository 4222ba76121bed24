import { describe, expect, test } from 'vitest';
import { ExactNumber } from '../../src/core/value/value.ts';
import type { FakeAnswer } from '../helpers/fake-answer.ts';
import { runFlow } from '../helpers/run-flow.ts';

const node = (more: string) => `nodes:\n  - { type: http, url: "https://api.example.com/{{id}}", ${more} }\n`;

const answered = (more: string, answer: FakeAnswer) => runFlow(node(more), [{ id: 1 }], { http: () => answer });

describe('an http node with a map', () => {
  test('accepts a list of paths or a mapping as its map', async () => {
    const body = { data: { user: { name: 'Ann' } }, results: [{ value: 5 }] };
    expect((await answered('map: [data.user.name, "results[0].value"]', { body })).rows).toEqual([
      { id: 1, 'data.user.name': 'Ann', 'results[0].value': 5 },
    ]);
    expect((await answered('map: { name: data.user.name }', { body })).rows).toEqual([{ id: 1, name: 'Ann' }]);
    expect((await answered('when: "true"', { body })).rows).toEqual([{ id: 1 }]);
  });

  test('can map the status, the headers and the body', async () => {
    const map = 'map: { s: $status, e: $headers.etag, b: $body }, response: text';
    expect((await answered(map, { status: 201, headers: { ETag: '"x"' }, body: 'hi' })).rows).toEqual([
      { id: 1, s: 201, e: '"x"', b: 'hi' },
    ]);
  });

  test('expands a record into rows, which pass through the later nodes in order', async () => {
    const yaml = `nodes:
  - { type: http, url: "https://a.com/{{id}}", map: { order: "orders[].no", sku: "orders[].lines[].sku" } }
  - { type: http, url: "https://b.com/{{sku}}", when: sku != null, map: { price: price } }
`;
    const orders = [
      { no: 1, lines: [{ sku: 'a' }, { sku: 'b' }] },
      { no: 2, lines: [] },
    ];
    const { rows } = await runFlow(yaml, [{ id: 7 }], {
      http: ({ origin, path }) =>
        origin === 'https://a.com' ? { body: { orders } } : { body: { price: path }, afterMs: path === '/a' ? 50 : 1 },
    });
    expect(rows).toEqual([
      { id: 7, order: 1, sku: 'a', price: '/a' },
      { id: 7, order: 1, sku: 'b', price: '/b' },
      { id: 7, order: 2, sku: null },
    ]);
  });

  test('fails the whole record if one of its rows fails', async () => {
    const yaml = `nodes:
  - { type: http, url: "https://a.com", map: { n: "list[]" } }
  - { type: http, url: "https://b.com/{{n}}", retry: { max: 0 } }
`;
    const { rows, failures } = await runFlow(yaml, [{ id: 7 }], {
      http: ({ path }) => (path === '/' ? { body: { list: [1, 2] } } : { status: path === '/2' ? 500 : 200 }),
    });
    expect(rows).toEqual([]);
    expect(failures).toMatchObject([{ record: 1, fields: { id: 7 }, node: 'http-2', class: 'http', status: 500 }]);
  });

  test.each([
    ['keep', [{ id: 1, n: null }]],
    ['drop', []],
  ])('passes on or drops a record whose array is empty, as when_empty says: %s', async (whenEmpty, rows) => {
    expect((await answered(`map: { n: "list[].n" }, when_empty: ${whenEmpty}`, { body: { list: [] } })).rows).toEqual(rows);
  });

  test('fails a record whose array is empty if when_empty is "error"', async () => {
    const { failures } = await answered('map: { n: "list[].n" }, when_empty: error', { body: {} });
    expect(failures).toMatchObject([{ class: 'mapping', message: 'the array "list[]" is empty or missing' }]);
  });

  test('reports once per record which paths of the map were found', async () => {
    const { events } = await answered('map: [a, b, "list[].c"]', { body: { a: 1, list: [{}, { c: 1 }] } });
    expect(events.filter(({ type }) => type === 'mapped')).toEqual([
      { type: 'mapped', record: 1, node: 'http-1', paths: ['a', 'b', 'list[].c'], found: [true, false, true] },
    ]);
  });

  test('keeps all digits of the numbers that it maps', async () => {
    const body = Buffer.from('{"id":12345678901234567890,"price":0.10}');
    expect((await answered('map: { big: id, price: price }', { body })).rows).toEqual([
      { id: 1, big: new ExactNumber('12345678901234567890'), price: new ExactNumber('0.10') },
    ]);
  });
});

describe("a node's success option", () => {
  test.each([200, 201, 204, 299])('includes the status %i by default', async (status) => {
    expect((await answered('map: { s: $status }', { status })).rows).toEqual([{ id: 1, s: status }]);
  });

  test.each([199, 300, 304, 400, 404])('excludes the status %i by default', async (status) => {
    const { failures, credits } = await answered('map: { s: $status }', { status, body: { error: 'no such user' } });
    expect(failures).toMatchObject([
      { class: 'http', status, message: `the server answered ${status}: {"error":"no such user"}`, attempts: 1, fields: { id: 1 } },
    ]);
    expect(credits).toBe(1);
  });

  test('can list other statuses and classes such as 2xx', async () => {
    expect((await answered('map: { s: $status }, success: [404, 3xx]', { status: 404 })).rows).toEqual([{ id: 1, s: 404 }]);
    expect((await answered('map: { s: $status }, success: [404, 3xx]', { status: 304 })).rows).toEqual([{ id: 1, s: 304 }]);
    expect((await answered('map: { s: $status }, success: [404, 3xx]', { status: 200 })).failures).toMatchObject([
      { class: 'http', status: 200 },
    ]);
  });

  test.each([
    [{ status: 404, body: '<html><h1>Not Found</h1></html>', headers: { 'Content-Type': 'text/html' } }],
    [{ status: 404, body: 'Not Found' }],
    [{ status: 410, body: '{"name":', headers: { 'Content-Type': 'application/json' } }],
    [{ status: 302, body: '' }],
  ])('leaves the fields empty if a listed status outside 2xx has a body that cannot be read: %j', async (answer) => {
    const success = 'success: [2xx, 302, 404, 410]';
    expect((await answered(`map: { name: data.name, s: $status }, ${success}`, answer)).rows).toEqual([
      { id: 1, name: null, s: answer.status },
    ]);
    expect((await answered(`map: { name: "list[].name" }, ${success}`, answer)).rows).toEqual([{ id: 1, name: null }]);
    expect((await answered(`map: { name: a }, answer: xml, ${success}`, answer)).rows).toEqual([{ id: 1, name: null }]);
    expect((await answered(`map: { name: { path: a, required: true } }, ${success}`, answer)).failures).toMatchObject([
      { class: 'mapping', message: 'the answer has no "a", but "name" is required' },
    ]);
    expect((await answered(`map: { name: a }, ${success}`, { ...answer, status: 200, body: '<html>' })).failures).toMatchObject([
      { class: 'parse' },
    ]);
  });

  test('takes precedence over retry.on: a response that counts as success is not retried', async () => {
    expect((await answered('success: [5xx], retry: { on: [5xx] }', { status: 503 })).requests).toHaveLength(1);
  });
});

describe('an http node with the response option', () => {
  const json = { headers: { 'Content-Type': 'application/json' } };

  test.each([
    ['HTML with 200', { body: '<html>', headers: { 'Content-Type': 'text/html' } }],
    ['broken JSON', { body: '{"a":', ...json }],
    ['bytes that are not UTF-8', { body: Buffer.from([0x22, 0xff, 0x22]), ...json }],
    ['in a different charset from its header', { body: Buffer.from([0xff]), headers: { 'Content-Type': 'text/plain; charset=utf-8' } }],
  ])('fails the record without a retry if the option requires JSON and the response is %s', async (_what, answer) => {
    const { failures, requests, credits } = await answered('map: [a]', answer);
    expect(failures).toMatchObject([{ class: 'parse', status: 200 }]);
    expect({ sent: requests.length, credits }).toEqual({ sent: 1, credits: 1 });
  });

  test('leaves mapped fields empty if the body is empty or the status is 204', async () => {
    expect((await answered('map: [a]', { status: 204 })).rows).toEqual([{ id: 1, a: null }]);
    expect((await answered('map: [a], response: json', { body: '', ...json })).rows).toEqual([{ id: 1, a: null }]);
  });

  test('reads the body as JSON or as text, as the map needs, with the value "auto"', async () => {
    expect((await answered('map: [a]', { body: '{"a":1}' })).rows).toEqual([{ id: 1, a: 1 }]);
    expect((await answered('map: { b: $body }', { body: 'hello' })).rows).toEqual([{ id: 1, b: 'hello' }]);
  });

  test('requires JSON with the value "json", and reads text with the value "text"', async () => {
    expect((await answered('map: { b: $body }, response: json', { body: 'hello' })).failures).toMatchObject([{ class: 'parse' }]);
    expect((await answered('map: { b: $body }, response: text', { body: '{"a":1}', ...json })).rows).toEqual([{ id: 1, b: '{"a":1}' }]);
  });

  test('accepts an invalid body if the node has no map', async () => {
    expect((await answered('when: "true"', { body: '{"a":', ...json })).rows).toEqual([{ id: 1 }]);
  });

  test('accepts a binary body if the map reads nothing from the body', async () => {
    const image = { body: Buffer.from([0x89, 0xff]), headers: { 'Content-Type': 'image/png' } };
    const map = 'map: { s: $status, t: $headers.content-type';
    expect((await answered(`${map} }`, image)).rows).toEqual([{ id: 1, s: 200, t: 'image/png' }]);
    expect((await answered(`${map}, b: $body }`, image)).failures).toMatchObject([{ class: 'parse' }]);
    expect((await answered(`${map} }`, { body: '{"a":', ...json })).failures).toMatchObject([{ class: 'parse' }]);
  });

  test('retries if the connection closes before the JSON is complete', async () => {
    const { rows, requests } = await runFlow(node('map: [a]'), [{ id: 1 }], {
      http: (_request, index) => (index === 0 ? { body: '{"a": 1', endedByClose: true, ...json } : { body: { a: 1 } }),
    });
    expect(rows).toEqual([{ id: 1, a: 1 }]);
    expect(requests).toHaveLength(2);
  });
});

describe('a node with the when option', () => {
  test('skips the node for a record, at no cost, if the condition is false', async () => {
    const { rows, requests, credits } = await runFlow(node('when: id > 1, map: [a]'), [{ id: 1 }, { id: 2 }], {
      http: () => ({ body: { a: 5 } }),
    });
    expect(rows).toEqual([{ id: 1 }, { id: 2, a: 5 }]);
    expect({ sent: requests.length, credits }).toEqual({ sent: 1, credits: 1 });
  });

  test('fails the record if the condition cannot be evaluated', async () => {
    const { failures, requests } = await runFlow(node('when: id > 1'), [{ id: '2' }]);
    expect(failures).toMatchObject([{ class: 'template', message: expect.stringContaining('a CSV cell is text') }]);
    expect(requests).toEqual([]);
  });
});

describe('a record that fails at a node', () => {
  const fails = { http: ({ path }: { path: string }) => (path === '/2' ? { status: 404 } : { body: { a: 1 } }) };
  const records = [{ id: 1 }, { id: 2 }, { id: 3 }];

  test('does not affect other records by default', async () => {
    for (const more of ['map: [a]', 'map: [a], on_error: reject']) {
      const { rows, failures, ending } = await runFlow(node(more), records, fails);
      expect(rows).toEqual([
        { id: 1, a: 1 },
        { id: 3, a: 1 },
      ]);
      expect(failures).toMatchObject([{ record: 2, class: 'http', status: 404 }]);
      expect(ending).toBe('complete');
    }
  });

  test('is passed on with _error and without the mapped fields if on_error is "keep"', async () => {
    const { rows, failures } = await runFlow(node('map: [a], on_error: keep'), records, fails);
    expect(rows).toEqual([
      { id: 1, a: 1 },
      { id: 2, _error: { node: 'http-1', class: 'http', status: 404, message: 'the server answered 404', attempts: 1, record: 2 } },
      { id: 3, a: 1 },
    ]);
    expect(failures).toEqual([]);
  });

  test('has no status in its _error if no request was sent for it (on_error: keep)', async () => {
    const { rows } = await runFlow(node('on_error: keep, headers: { X: "{{no}}" }'), [{ id: 1 }]);
    expect(rows).toMatchObject([{ _error: { class: 'template', status: null, attempts: 0 } }]);
  });

  test.each([
    ['a reference', '{ type: http, id: behind, url: "https://a.com/{{a}}" }', ''],
    ['a condition', '{ type: set, id: behind, when: a > 1, remove: [id] }', ''],
    ['an expression', '{ type: set, id: behind, fields: { b: { cel: a + 1 } } }', 'the field "b" cannot be made: '],
    ['the option while of a loop', '{ type: loop, id: behind, while: a > 1, nodes: [{ type: set }] }', 'while: '],
  ])('has its failure mentioned if a later node needs a field that was not mapped: %s', async (_, behind, start) => {
    const { failures } = await runFlow(`${node('map: [a], on_error: keep').trimEnd()}\n  - ${behind}\n`, [{ id: 2 }], fails);
    const message = `${start}the record has no field "a"; before, http-1: the server answered 404`;
    expect(failures).toMatchObject([{ node: 'behind', class: 'template', message }]);
  });

  test('ends the run, after the records in progress, if on_error is "stop"', async () => {
    const hundred = Array.from({ length: 100 }, (_, index) => ({ id: index + 1 }));
    const { rows, failures, ending, requests } = await runFlow(node('map: [a], on_error: stop, concurrency: 5'), hundred, fails);
    expect(ending).toBe('on-error-stop');
    expect(rows[0]).toEqual({ id: 1, a: 1 });
    expect(failures).toMatchObject([{ record: 2 }]);
    expect(rows.length + failures.length).toBe(requests.length);
    expect(requests.length).toBeLessThanOrEqual(10);
  });
});
