import { describe, expect, test } from 'vitest';
import { ExactNumber } from '../../src/core/value/value.ts';
import type { FakeAnswer } from '../helpers/fake-answer.ts';
import { byId, idsOf, listIn, lists, lookup, named, names, records, sizes } from '../helpers/lookups.ts';
import { runFlow, type SentRequest } from '../helpers/run-flow.ts';

describe('records with the same match value', () => {
  const byBoth = { items: '{ id: "{{id}}", in: "{{in}}" }', more: 'map: { name: "results[].name" }' };
  /** Responds with an element for each item of the list. */
  const each = (request: SentRequest): FakeAnswer => {
    const list = listIn(request) as { id: unknown; in: string }[];
    return { body: { results: list.map((item) => ({ id: item.id, name: `${item.id} in ${item.in}` })) } };
  };

  test.each([1, 2, 3, 100])('are sent in separate batches (size %i) if their items differ', async (size) => {
    const given = ['DE', 'FR', 'IT', 'FR'].flatMap((country) => [7, 8].map((id) => ({ id, in: country })));
    const result = await runFlow(lookup({ ...byBoth, batch: `size: ${size}, ${byId}` }), given, { http: each });
    expect(result.rows.map(({ name }) => name)).toEqual(given.map((record) => `${record.id} in ${record.in}`));
    // The ids 7 and 8 occur in DE, FR, IT, and FR again, so the items for an id change three times.
    if (size === 100) expect(sizes(result)).toEqual([2, 2, 2, 2]);
  });

  test('never share a batch if their items differ, whatever characters the items contain', async () => {
    const given = [
      { id: 'a', in: 'a' },
      { id: 'a', in: 'b' },
      { id: 'a\0b', in: 'a\0b' },
    ];
    const { requests } = await runFlow(lookup({ items: '"{{in}}"' }), given, { http: names() });
    expect(requests.map(listIn)).toEqual([['a'], ['b', 'a\0b']]);
  });

  test('are sent in three thousand requests if their three thousand items all differ', async () => {
    const given = Array.from({ length: 3_000 }, (_, index) => ({ id: 1, in: index }));
    const flow = lookup({ ...byBoth, before: '  - { type: http, url: "https://api.example.com/", map: { in: "in[]" } }\n' });
    const result = await runFlow(flow, [{ id: 1 }], {
      http: (request) => (request.body === undefined ? { body: { in: given.map((record) => record.in) } } : each(request)),
      forget: true,
    });
    expect([result.rows.length, result.rows.at(-1)]).toEqual([3_000, { id: 1, in: 2_999, name: '1 in 2999' }]);
  });

  test('do not prevent other records from filling each batch', async () => {
    const given = ['1a', '2x', '1b', '2y', '1c', '3z'].map((text) => ({ id: text[0], in: text[1] }));
    const result = await runFlow(lookup({ ...byBoth, batch: `size: 2, ${byId}` }), given, { http: each });
    expect(sizes(result)).toEqual([2, 2, 2]);
  });

  test('are sent only once if their items are the same when compared as text', async () => {
    const added = await runFlow(
      lookup({ items: '"{{in}}"' }),
      [1, '1'].map((text) => ({ id: 'a', in: text })),
      { http: names() },
    );
    expect(lists(added)).toEqual([[1]]);
    const result = await runFlow(lookup(), [{ id: 1 }, { id: '1' }, { id: new ExactNumber('1') }], { http: names() });
    expect([lists(result), result.rows.length]).toEqual([[[1]], 3]);
  });
});

describe('a batch with the match option', () => {
  test('assigns response elements to records by the match value, which is compared as text', async () => {
    const given = [{ id: 7 }, { id: '8' }, { id: new ExactNumber('1.50') }, { id: true }];
    const result = await runFlow(lookup(), given, {
      http: () => ({
        body: `{"results":[{"id":true,"name":"yes"},{"id":8,"name":"eight"},{"id":1.50,"name":"more"},{"id":"7","name":"seven"}]}`,
        headers: { 'content-type': 'application/json' },
      }),
    });
    expect(result.rows.map(({ name }) => name)).toEqual(['seven', 'eight', 'more', 'yes']);
  });

  test('assigns all elements with a match value to each record that has this value', async () => {
    const result = await runFlow(lookup(), [{ id: 1 }, { id: 2 }, { id: 1 }], {
      http: () => ({
        body: {
          results: [
            { id: 1, name: 'a' },
            { id: 2, name: 'b' },
            { id: 1, name: 'c' },
          ],
        },
      }),
    });
    expect(result.rows.map(({ id, name }) => `${id}${name}`)).toEqual(['1a', '1c', '2b', '1a', '1c']);
    // The server may return two elements for an id that is sent twice.
    expect(lists(result)).toEqual([[1, 2]]);
  });

  test('quotes an unmatched value in the message with its leading and trailing blanks', async () => {
    const { failures } = await runFlow(lookup(), [{ id: 'r1 ' }], { http: names(['r1 ']) });
    expect(failures).toMatchObject([{ message: 'the answer has nothing for this record: no "results[].id" is "r1 "' }]);
  });

  test('fails a record if the response has no element for it', async () => {
    const result = await runFlow(lookup(), records(3), { http: names(['r2']) });
    expect(idsOf(result.rows)).toEqual(['r1', 'r3']);
    expect(result.failures).toEqual([
      {
        record: 2,
        fields: { id: 'r2' },
        node: 'ask',
        class: 'mapping',
        status: 200,
        message: 'the answer has nothing for this record: no "results[].id" is "r2"',
        attempts: 1,
      },
    ]);
    expect(result.credits).toBe(1);
  });

  test('passes a record without an element on with empty fields if missing is "keep"', async () => {
    for (const more of [named, `${named}, when_empty: drop`, `${named}, when_empty: error`]) {
      const { rows, failures } = await runFlow(lookup({ batch: `missing: keep, ${byId}`, more }), records(3), { http: names(['r2']) });
      expect([rows.map(({ name }) => name), failures]).toEqual([['name r1', null, 'name r3'], []]);
    }
  });

  test.each([
    ['an empty array', { results: [] }],
    ['no array', {}],
    ['null', { results: null }],
    ['elements without the match value', { results: [{ name: 'x' }, { id: null }, 'r1', null, ['r1']] }],
  ])('fails all records if the response contains %s', async (_, body) => {
    const { failures, credits } = await runFlow(lookup(), records(2), { http: () => ({ body }) });
    expect(failures.map(({ message }) => message)).toEqual([
      'the answer has nothing for this record: no "results[].id" is "r1"',
      'the answer has nothing for this record: no "results[].id" is "r2"',
    ]);
    expect(credits).toBe(1);
  });

  test.each([
    [{ results: { id: 'r1' } }, 'mapping', 'expected an array at "results[]", found an object'],
    [{ results: 'r1' }, 'mapping', 'expected an array at "results[]", found a string'],
    ['<html>', 'parse', expect.stringMatching(/JSON/)],
  ])('fails all records if the response has no array where one is expected: %j', async (body, kind, message) => {
    const { failures, credits, requests } = await runFlow(lookup(), records(2), { http: () => ({ body }) });
    expect(failures).toMatchObject([
      { record: 1, class: kind, message, status: 200 },
      { record: 2, class: kind, message },
    ]);
    expect([credits, requests.length]).toEqual([1, 1]);
  });

  test('fails a record without an element even if there is no map', async () => {
    const { rows, failures } = await runFlow(lookup({ more: 'timeout: 5s' }), records(3), { http: names(['r2']) });
    expect([rows, failures.map(({ record }) => record)]).toEqual([[{ id: 'r1' }, { id: 'r3' }], [2]]);
  });

  test('adds the same values to all records if the map has no array path', async () => {
    const more = 'map: { batch: batch, status: $status }';
    const http = () => ({ body: { batch: 'b1', results: [{ id: 'r1' }] } });
    const { rows, failures } = await runFlow(lookup({ more }), records(2), { http });
    expect(rows).toEqual([{ id: 'r1', batch: 'b1', status: 200 }]);
    expect(failures).toMatchObject([{ record: 2, class: 'mapping' }]);
  });

  test('can have a map that reads the whole response and arrays within an element', async () => {
    const more = 'map: { batch: batch, name: "results[].name", sku: "results[].lines[].sku" }';
    const element = (id: string, lines: string[] | null) => ({ id, name: `name ${id}`, lines: lines?.map((sku) => ({ sku })) ?? null });
    const body = { batch: 7, results: [element('r3', null), element('r2', []), element('r1', ['a', 'b'])] };
    const rowsOf = async (whenEmpty: string) => {
      const { rows, failures } = await runFlow(lookup({ more: `${more}${whenEmpty}` }), records(3), { http: () => ({ body }) });
      return [
        ...rows.map(({ id, batch, name, sku }) => [id, batch, name, sku]),
        ...failures.map(({ record, message }) => [record, message]),
      ];
    };
    const full = [
      ['r1', 7, 'name r1', 'a'],
      ['r1', 7, 'name r1', 'b'],
    ];
    expect(await rowsOf('')).toEqual([...full, ['r2', 7, 'name r2', null], ['r3', 7, 'name r3', null]]);
    expect(await rowsOf(', when_empty: drop')).toEqual(full);
    const empty = 'the array "results[].lines[]" is empty or missing';
    expect(await rowsOf(', when_empty: error')).toEqual([...full, [2, empty], [3, empty]]);
  });

  test('can have a map that reads the whole response and elements without arrays', async () => {
    const more = 'map: { batch: batch.no, name: "results[].name", nick: "results[].nick" }';
    const results = [{ id: 'r2', name: 'two' }, { id: 'r1', name: 'one', nick: '1' }, { id: 'r1' }];
    const { rows, events } = await runFlow(lookup({ more }), records(2), { http: () => ({ body: { batch: { no: 7 }, results } }) });
    expect(rows).toEqual([
      { id: 'r1', batch: 7, name: 'one', nick: '1' },
      { id: 'r1', batch: 7, name: null, nick: null },
      { id: 'r2', batch: 7, name: 'two', nick: null },
    ]);
    expect(events.flatMap((event) => (event.type === 'mapped' ? [event.found] : []))).toEqual([
      [true, true, true],
      [true, true, false],
    ]);
  });

  test('ignores elements that have no match value', async () => {
    const { rows, failures } = await runFlow(lookup(), [{ id: '' }, { id: 'null' }], {
      http: () => ({ body: { results: [{ id: null, name: 'x' }, { name: 'y' }, null] } }),
    });
    expect([rows, failures.map(({ record }) => record)]).toEqual([[], [1, 2]]);
  });

  test.each([
    ['error', [['']], 1],
    ['keep', [['']], 0],
  ])('sends no request for a record whose match value is null (missing: %s)', async (missing, asked, failed) => {
    const given = [{ id: null }, { id: '' }];
    const http = (request: SentRequest) => ({ body: { results: listIn(request).map((id) => ({ id, name: `name ${id}` })) } });
    const result = await runFlow(lookup({ batch: `${byId}, missing: ${missing}` }), given, { http });
    expect(lists(result)).toEqual(asked);
    expect(result.rows).toEqual([...(failed === 1 ? [] : [{ id: null, name: null }]), { id: '', name: 'name ' }]);
    const message = '"id" is null, so nothing in an answer can match it (batch.match)';
    expect(result.failures).toMatchObject(Array.from({ length: failed }, () => ({ record: 1, class: 'mapping', attempts: 0, message })));
  });

  test('can compare a nested value in a nested array', async () => {
    const batch = 'match: { field: id, path: "data.found[].user.id" }';
    const more = 'map: { name: "data.found[].user.name" }';
    const body = { data: { found: [{ user: { id: 'r2', name: 'two' } }, { user: { id: 'r1', name: 'one' } }] } };
    const { rows } = await runFlow(lookup({ batch, more }), records(2), { http: () => ({ body }) });
    expect(rows.map(({ name }) => name)).toEqual(['one', 'two']);
  });

  test('can compare elements that are plain values instead of objects', async () => {
    const { rows, failures } = await runFlow(lookup({ batch: 'match: { field: id, path: "[]" }', more: 'timeout: 5s' }), records(3), {
      http: () => ({ body: ['r3', 'r1'] }),
    });
    expect([idsOf(rows), failures.map(({ record }) => record)]).toEqual([['r1', 'r3'], [2]]);
  });

  test('can compare a field that is not part of the items sent', async () => {
    const { rows } = await runFlow(lookup({ items: '"{{mail}}"' }), [{ id: 1, mail: 'a@b.c' }], {
      http: () => ({ body: { results: [{ id: 1, name: 'A' }] } }),
    });
    expect(rows).toEqual([{ id: 1, mail: 'a@b.c', name: 'A' }]);
  });
});

describe('a batch without the match option', () => {
  const positioned = (request: SentRequest) => ({ body: { results: listIn(request).map((id) => ({ name: `name ${id}` })) } });

  test('assigns response elements to records by their position', async () => {
    const { rows } = await runFlow(lookup({ batch: 'size: 2' }), records(5), { http: positioned });
    expect(rows).toEqual(records(5).map(({ id }) => ({ id, name: `name ${id}` })));
  });

  test.each([
    ['too few elements', [{ name: 'x' }], 'found 1'],
    ['too many elements', [{}, {}, {}], 'found 3'],
    ['no elements', undefined, 'found 0'],
  ])('fails all records if the response has %s', async (_, results, found) => {
    const { failures, rows, requests } = await runFlow(lookup({ batch: 'missing: keep' }), records(2), {
      http: () => ({ body: { results } }),
    });
    expect(failures.map(({ message }) => message)).toEqual(
      Array.from({ length: 2 }, () => `expected 2 elements in "results[]" for 2 records, ${found}; batch.match joins them by a value`),
    );
    expect([rows, requests.length]).toEqual([[], 1]);
  });

  test('treats null in the response as a missing record', async () => {
    const http = () => ({ body: { results: [{ name: 'a' }, null, { name: null }] } });
    const failing = await runFlow(lookup({ batch: 'size: 3' }), records(3), { http });
    expect(failing.failures).toMatchObject([{ record: 2, message: 'the answer has nothing for this record: "results[1]" is null' }]);
    expect(failing.rows.map(({ name }) => name)).toEqual(['a', null]);
    const ofAll = { http: () => ({ body: [{ name: 'a' }, null] }) };
    const bare = await runFlow(lookup({ batch: 'size: 2', more: 'map: { name: "[].name" }' }), records(2), ofAll);
    expect(bare.failures).toMatchObject([{ record: 2, message: 'the answer has nothing for this record: "[1]" is null' }]);
    const kept = await runFlow(lookup({ batch: 'missing: keep' }), records(3), { http });
    expect(kept.rows.map(({ name }) => name)).toEqual(['a', null, null]);
  });

  test('adds the same values to all records if the map has no array path', async () => {
    const { rows } = await runFlow(lookup({ batch: 'size: 2', more: 'map: { batch: n }' }), records(3), {
      http: (_, index) => ({ body: { n: index } }),
    });
    expect(rows.map(({ batch }) => batch)).toEqual([0, 0, 1]);
  });

  test('ignores the response if there is no map, as for a webhook', async () => {
    const result = await runFlow(lookup({ batch: 'size: 2', more: 'timeout: 5s' }), records(3), { http: () => ({ body: 'thanks' }) });
    expect([result.rows, sizes(result)]).toEqual([records(3), [2, 1]]);
  });
});
