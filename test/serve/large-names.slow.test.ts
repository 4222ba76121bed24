import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { posting, servingHere as serving } from '../helpers/serving.ts';

const flow = 'nodes: [{ type: set, fields: { x: "{{id}}" } }]\n';

/** The JSON body of a response that refuses a request. */
interface Refusal {
  readonly detail: string;
  readonly errors?: readonly { readonly pointer: string }[];
}

describe.each(['plans', 'runs'])('a request body for /%s with huge field names', (route) => {
  test.each([
    ['whose header unpacks to 64 MB', 'a'.repeat(64_000_000), /at most 1 MB/],
    ['whose header has 3 million names', Array.from({ length: 3_000_000 }, (_, index) => index.toString(36)).join(','), /at most 1 MB/],
    ['with a name of 40 kB', 'a'.repeat(40_000), /names of at most 1,000 characters, found one of 40,000/],
    ['with many long names', Array.from({ length: 1500 }, (_, index) => `c${index}`.padEnd(600, 'x')).join(','), /and 1480 more/],
  ])('is refused with a short response: %s', async (_, header, message) => {
    const { key, send } = await serving({ set: flow });
    const headers = { 'content-type': 'text/csv', 'content-encoding': 'gzip' };
    const body = gzipSync(`${header}\n1\n`, { level: 1 });
    const answer = await send(`/v1/flows/set/${route}`, { key: key(), method: 'POST', headers, body: body as never });
    expect(answer.status).toBe(422);
    const text = await answer.text();
    expect((JSON.parse(text) as Refusal).detail).toMatch(message);
    expect(text.length).toBeLessThan(20_000);
  });
});

test('a call with a field name of 40 kB is refused with a short response', async () => {
  const { key, send } = await serving({ set: flow });
  const answer = await send('/v1/flows/set/calls', { key: key(), ...posting({ id: 1, ['a'.repeat(40_000)]: 2 }) });
  expect(answer.status).toBe(422);
  expect((await answer.text()).length).toBeLessThan(1000);
});

test('a request body with many long unexpected fields is refused with a short response', async () => {
  const { key, send } = await serving({ set: flow });
  const members = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`${index}`.padEnd(4000, 'x'), 1]));
  const answer = await send('/v1/flows/set/tests', { key: key({ scopes: ['test'] }), ...posting({ record: {}, ...members }) });
  expect(answer.status).toBe(400);
  const text = await answer.text();
  expect((JSON.parse(text) as Refusal).errors).toHaveLength(20);
  expect(text.length).toBeLessThan(20_000);
});
