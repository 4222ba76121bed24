import { describe, expect, test } from 'vitest';
import { ExactNumber } from '../../src/core/value/value.ts';
import { flowProblems, onOneLine, shown } from '../helpers/flow-problems.ts';
import { byId, idsOf, type LookupParts, lists, lookup, names, records, sizes } from '../helpers/lookups.ts';
import { runFlow } from '../helpers/run-flow.ts';

test('the check of batches refuses a map that refers to only one element of the matched array', () => {
  const problemsOf = (path: string, batch: string) => flowProblems(lookup({ batch, more: `map: { name: "${path}" }` })).map(onOneLine);
  const refused =
    '"results[0].name.first" reads the same element for all records of a batch; write "results[].name.first" to read each record\'s own';
  expect(problemsOf('results[0].name.first', byId)).toEqual([expect.stringContaining(refused)]);
  expect(problemsOf('versions[0]', byId)).toEqual([]);
  expect(problemsOf('results[0].name', 'size: 10')).toEqual([]);
});

describe('the value of the batch.items option', () => {
  test('keeps the type of the field if it is a single reference', async () => {
    const given = [7, '7', 1.5, true, null, { a: [1] }, ['x'], new ExactNumber('12345678901234567890'), new ExactNumber('1.50')];
    const { requests } = await runFlow(
      lookup({ batch: 'size: 100', more: 'map: { echo: "[]" }' }),
      given.map((id) => ({ id })),
    );
    expect(requests.map(({ body }) => body)).toEqual(['{"ids":[7,"7",1.5,true,null,{"a":[1]},["x"],12345678901234567890,1.50]}']);
  });

  test('is a string if it refers to a CSV cell', async () => {
    const { requests } = await runFlow(lookup(), [{ id: '7' }, { id: '' }], { csv: true, http: names() });
    expect(requests.map(({ body }) => body)).toEqual(['{"ids":["7",""]}']);
  });

  test('can be text that contains fields', async () => {
    const result = await runFlow(lookup({ items: '"{{kind}}:{{id}}"', batch: 'missing: keep' }), [{ id: 1, kind: 'a"' }], {
      http: () => ({ body: { results: [{ name: 'x' }] } }),
    });
    expect(lists(result)).toEqual([['a":1']]);
  });

  test('can be a mapping', async () => {
    const result = await runFlow(
      lookup({ items: '{ key: "{{id}}", label: "no. {{id}}", kind: person, n: 5, "{{id}}": null }' }),
      [{ id: 1 }, { id: 'b' }],
      {
        http: () => ({
          body: {
            results: [
              { id: 'b', name: 'B' },
              { id: 1, name: 'one' },
            ],
          },
        }),
      },
    );
    expect(lists(result)).toEqual([
      [
        { key: 1, label: 'no. 1', kind: 'person', n: 5, '{{id}}': null },
        { key: 'b', label: 'no. b', kind: 'person', n: 5, '{{id}}': null },
      ],
    ]);
    expect(result.rows).toEqual([
      { id: 1, name: 'one' },
      { id: 'b', name: 'B' },
    ]);
  });

  test.each([
    ['a list in a list', '[{ in: ["{{items}}"] }]', '[{"in":[["r1","r2"]]}]'],
    ['JSON text', `'{"ids": {{items}}, "n": 1}'`, '{"ids": ["r1","r2"], "n": 1}'],
    ['only the list', '"{{items}}"', '["r1","r2"]'],
  ])('is inserted as a list wherever {{items}} is in the body: %s', async (_, body, sent) => {
    const { requests } = await runFlow(lookup({ body, batch: 'size: 9', more: 'map: { all: $status }' }), records(2));
    expect(requests.map((request) => request.body)).toEqual([sent]);
  });

  test("can refer to a record's field that is called items", async () => {
    const result = await runFlow(lookup({ items: '"{{items}}"', batch: 'size: 2', more: 'map: { all: $status }' }), [
      { items: 'x' },
      { items: 'y' },
    ]);
    expect(lists(result)).toEqual([['x', 'y']]);
    expect(result.rows).toEqual([
      { items: 'x', all: 200 },
      { items: 'y', all: 200 },
    ]);
  });

  test('makes only those records fail that do not have the field', async () => {
    const result = await runFlow(lookup(), [{ id: 'a' }, {}, { id: 'c' }], { http: names() });
    expect(result.failures).toMatchObject([
      { record: 2, node: 'ask', class: 'template', message: 'the record has no field "id"', attempts: 0 },
    ]);
    expect([lists(result), idsOf(result.rows), result.credits]).toEqual([[['a', 'c']], ['a', 'c'], 1]);
  });
});

describe('a node with the batch.max_bytes option', () => {
  test('accepts a single record whose request just fits', async () => {
    const most = '{"ids":["r1"]}'.length;
    const result = await runFlow(lookup({ batch: `max_bytes: ${most}, ${byId}` }), records(2), { http: names() });
    expect([sizes(result), result.failures]).toEqual([[1, 1], []]);
  });

  test('sends a batch before the body exceeds the limit', async () => {
    const most = '{"ids":["r1","r2","r3"]}'.length;
    const result = await runFlow(lookup({ batch: `max_bytes: ${most}, ${byId}` }), records(8), { http: names() });
    expect(sizes(result)).toEqual([3, 3, 2]);
    const less = await runFlow(lookup({ batch: `max_bytes: ${most - 1}, ${byId}` }), records(8), { http: names() });
    expect(sizes(less)).toEqual([2, 2, 2, 2]);
  });

  test('counts the bytes of the whole body, not the characters and not only the list', async () => {
    const body = '{ about: "ü", ids: "{{items}}" }';
    const most = Buffer.byteLength('{"about":"ü","ids":["äöü","öüä"]}');
    const result = await runFlow(
      lookup({ body, batch: `max_bytes: ${most}, ${byId}` }),
      ['äöü', 'öüä', 'üäö', 'aäö', 'öäü'].map((id) => ({ id })),
      {
        http: names(),
      },
    );
    expect(sizes(result)).toEqual([2, 2, 1]);
    for (const request of result.requests) expect(Buffer.byteLength(request.body ?? '')).toBeLessThanOrEqual(most);
  });

  test('fails a record that alone exceeds the limit, without sending a request', async () => {
    const big = 'x'.repeat(100);
    const result = await runFlow(lookup({ batch: `max_bytes: 50, ${byId}` }), [{ id: 'a' }, { id: big }, { id: 'c' }], { http: names() });
    const over = `{"ids":["${big}"]}`.length - 50;
    expect(result.failures).toMatchObject([
      { record: 2, class: 'request', message: `a body with only this record is ${over} bytes larger than batch.max_bytes`, attempts: 0 },
    ]);
    expect([lists(result), result.credits]).toEqual([[['a', 'c']], 1]);
  });
});

describe('the check of a flow with batches', () => {
  const problems = (written: LookupParts, header?: readonly string[]) =>
    flowProblems(lookup(written), header ? { header } : {}).map(onOneLine);
  const node = (method: string, more: string) =>
    flowProblems(`nodes:\n  - { type: http, method: ${method}, url: https://api.example.com, batch: { items: "{{id}}" }, ${more} }\n`).map(
      onOneLine,
    );

  test('accepts a correct flow', () => {
    expect(problems({}, ['id'])).toEqual([]);
    expect(problems({ batch: 'max_bytes: 1MB, missing: keep', items: '{ a: "{{id}}", b: 5 }' }, ['id'])).toEqual([]);
  });

  test('requires {{items}} in the body', () => {
    expect(node('POST', 'map: [a]')).toEqual([
      '2:70 a batch needs a method such as POST and a body with {{items}}, the list of its records',
    ]);
    expect(node('POST', 'body: { ids: "{{id}}" }')).toEqual(['2:97 expected {{items}} in the body, the list of the records in a batch']);
    expect(node('GET', 'body: { ids: "{{items}}" }')).toEqual([
      '2:96 a GET request has no body; expected a method such as POST, PUT or PATCH',
    ]);
    expect(node('GET', 'map: [a]')).toEqual([expect.stringContaining('a batch needs a method such as POST and a body with {{items}}')]);
  });

  test('refuses pages and a cache in a node with batches', () => {
    expect(node('POST', 'body: ["{{items}}"], map: [a], paginate: { type: link_header }')).toEqual([
      '2:132 a batch has one answer for all its records; leave paginate or batch out',
    ]);
    expect(node('POST', 'body: ["{{items}}"], cache: 1h')).toEqual([
      '2:119 the same batch is rarely sent twice, so its answer is not cached; leave out cache or batch',
    ]);
  });

  test.each([
    ['match: { field: id, path: results.id }', 'expected a path through one array, such as results[].id, found "results.id"'],
    ['match: { field: id, path: "a[].b[].id" }', 'expected a path through one array, such as results[].id, found "a[].b[].id"'],
    ['match: { field: id, path: $status }', 'expected a path through one array, such as results[].id, found "$status"'],
    ['match: { field: id, path: "other[].id" }', '"other[].id" and the map go through different arrays'],
    ['match: { field: id, path: "results[" }', expect.stringContaining('results[')],
    ['match: { field: "", path: "results[].id" }', 'expected a field name, found an empty string'],
    ['match: { field: id }', 'the key "path" is missing'],
    ['match: { feld: id, path: "results[].id" }', 'unknown key "feld"; did you mean "field"?'],
    ['size: 0', expect.stringContaining('1')],
    ['size: 10001', expect.stringContaining('10000')],
    ['size: many', expect.stringContaining('many')],
    ['max_bytes: 0', expect.stringContaining('expected a size such as 10MB')],
    ['missing: drop', expect.stringContaining('expected')],
    ['siez: 5', 'unknown key "siez"; did you mean "size"?'],
    ['mach: { field: id }', 'unknown key "mach"; did you mean "match"?'],
  ])('refuses %s', (batch, message) => {
    const found = problems({ batch });
    expect(found.length).toBeGreaterThan(0);
    for (const problem of found) expect(problem).toMatch(/^2:\d+ /);
    expect(found.map((problem) => problem.replace(/^\S+ /, ''))).toContainEqual(message);
  });

  test.each(['[a]', '5', '{ a: [1] }', '{ a: { b: 1 } }'])('refuses %s as the items option', (items) => {
    expect(problems({ items })).toEqual([expect.stringMatching(/^2:\d+ expected text with \{\{field\}\}, or a/)]);
  });

  test('requires the items option', () => {
    const flow = lookup().replace(', items: "{{id}}"', '');
    expect(flowProblems(flow).map(onOneLine)).toEqual([expect.stringContaining('the key "items" is missing')]);
  });

  test('reports unknown fields with their position', () => {
    expect(problems({ items: '"{{idd}}"' }, ['id'])).toEqual([
      expect.stringMatching(/^2:\d+ no record has a field "idd" here; did you mean "id"\?$/),
    ]);
    expect(problems({ items: '{ a: "{{idd}}", b: "{{x}}" }' }, ['id'])).toHaveLength(2);
    const [problem] = flowProblems(lookup({ batch: 'match: { field: idd, path: "results[].id" }' }), { header: ['id'] });
    expect(problem && onOneLine(problem)).toMatch(/^2:\d+ no record has a field "idd" here; did you mean "id"\?$/);
    const [, text = '', caret = ''] = (problem ? shown(problem) : '').split('\n');
    expect(text.slice(caret.indexOf('^'), caret.length)).toBe('idd');
    expect(problems({ more: 'headers: { X: "{{items}}" }' }, ['id'])).toEqual([
      expect.stringContaining('no record has a field "items" here'),
    ]);
    expect(problems({ body: '{ ids: "{{items}}", team: "{{team}}" }' }, ['id'])).toEqual([
      expect.stringContaining('no record has a field "team" here'),
    ]);
  });

  test('treats {{items}} in a later node as a reference to a field', () => {
    expect(problems({ behind: '  - { type: set, fields: { a: "{{items}}" } }\n' }, ['id'])).toEqual([
      expect.stringContaining('no record has a field "items" here'),
    ]);
  });
});
