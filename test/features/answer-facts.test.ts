import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/core/failure.ts';
import type { Tools } from '../../src/core/tools.ts';
import { flowProblems, onOneLine } from '../helpers/flow-problems.ts';
import { runFlow } from '../helpers/run-flow.ts';

const all = 'map: { url: $url, at: $at, ms: $ms, attempts: $attempts, cached: $cached }';
const node = (options: string) => `nodes: [{ type: http, url: "https://api.example.com/{{id}}", ${options}, ${all} }]`;

describe('the facts of an answer', () => {
  test('say where it came from, when, how long it took, and after how many attempts', async () => {
    const { rows } = await runFlow(node('retry: { max: 1, backoff: 2s }'), [{ id: 'a' }], {
      http: (_, index) => {
        if (index === 0) throw new Failure('http', 'busy', { status: 503, retryable: true });
        return { body: {} };
      },
    });
    const at = rows[0]?.at as string;
    expect(rows).toEqual([{ id: 'a', url: 'https://api.example.com/a', at, ms: expect.any(Number), attempts: 2, cached: false }]);
    expect(at).toMatch(/^2030-01-01T00:00:0\d\.\d{3}Z$/);
  });

  test('of a cached answer are those of the original one', async () => {
    const { rows } = await runFlow(`serial_by: id\n${node('cache: 1h')}`, [{ id: 'a' }, { id: 'a' }, { id: 'b' }], {
      http: () => ({ body: {} }),
    });
    expect(rows.map(({ cached }) => cached)).toEqual([false, true, false]);
    expect(rows[1]).toEqual({ ...rows[0], cached: true });
  });

  test('mask keys that are sent in the query', async () => {
    const { rows } = await runFlow(node('auth: { type: api_key, query: "the key", credential: k }'), [{ id: 'a?b=1' }]);
    expect(rows).toMatchObject([{ url: expect.stringMatching(/\?the%20key=\*\*\*$/) }]);
  });

  test('mask them in the URL of a redirect, too, to whatever server', async () => {
    const redirected = (path: string, origin = 'https://api.example.com') =>
      runFlow(node('auth: [{ type: api_key, query: "the key", credential: k }, { type: bearer, credential: t }]'), [{ id: 'a' }], {
        http: () => ({ body: {}, redirectedTo: { origin, path } }),
      }).then(({ rows }) => rows[0]?.url);
    expect(await redirected('/b?x=1&the+key=s3cret&y=%zz')).toBe('https://api.example.com/b?x=1&the+key=***&y=%zz&the%20key=***');
    expect(await redirected('/b?the%20key=s3cret', 'https://other.example.com')).toBe('https://other.example.com/b?the%20key=***');
    expect(await redirected('/b?xthe+key=1', 'https://other.example.com')).toBe('https://other.example.com/b?xthe+key=1');
  });

  test('are the same for all records of a batch', async () => {
    const yaml = `nodes: [{ type: http, method: POST, url: "https://api.example.com/all", body: { ids: "{{items}}" },
      batch: { items: "{{id}}", size: 2 }, map: { name: "[].name", url: $url, at: $at, attempts: $attempts } }]`;
    const { rows } = await runFlow(yaml, [{ id: 1 }, { id: 2 }], { http: () => ({ body: [{ name: 'x' }, { name: 'y' }] }) });
    const at = rows[0]?.at;
    expect(rows).toEqual([
      { id: 1, name: 'x', url: 'https://api.example.com/all', at, attempts: 1 },
      { id: 2, name: 'y', url: 'https://api.example.com/all', at, attempts: 1 },
    ]);
  });

  test('are those of the page of a row', async () => {
    const yaml = `nodes: [{ type: http, url: "https://api.example.com/list", paginate: { type: page, param: page, items: items, max: 5 },
      map: { n: "items[].n", url: $url } }]`;
    const { rows } = await runFlow(yaml, [{}], { http: (_, index) => ({ body: { items: index < 2 ? [{ n: index }] : [] } }) });
    expect(rows).toEqual([
      { n: 0, url: 'https://api.example.com/list?page=1' },
      { n: 1, url: 'https://api.example.com/list?page=2' },
    ]);
  });

  test('name the server of a tool and of a model', async () => {
    const tools: Tools = {
      call: async () => ({ kind: 'tool', isError: false, body: { a: 1 }, text: '' }),
      server: () => Promise.reject(new Error('not asked for')),
      abort: () => {},
    };
    const mcp = `connections: { s: { type: mcp, url: https://search.example.com/mcp } }\nnodes: [{ type: mcp, connection: s, tool: t, ${all} }]`;
    expect((await runFlow(mcp, [{}], { tools })).rows).toMatchObject([
      { url: 'https://search.example.com/mcp', ms: 0, attempts: 1, cached: false, at: expect.stringMatching(/^2030-/) },
    ]);
    const llm = `nodes: [{ type: llm, provider: openai, model: m, prompt: hi, ${all} }]`;
    const body = { choices: [{ message: { content: 'x' }, finish_reason: 'stop' }], usage: {} };
    expect((await runFlow(llm, [{}], { http: () => ({ body }) })).rows).toMatchObject([
      { url: 'https://api.openai.com/v1/chat/completions', attempts: 1, cached: false },
    ]);
  });
});

test.each([
  ['map: { u: $ulr }', 'did you mean $url?'],
  ['map: { u: $cahced }', 'did you mean $cached?'],
  ['map: { u: $url.host }', 'found "$url.host"'],
  ['cost: $ms', 'only map reads $ms'],
  ['error_message: $url', 'only map reads $url'],
])('a fact that does not exist, or stands elsewhere, is a problem of the flow: %s', (option, message) => {
  const problems = flowProblems(`nodes: [{ type: http, url: "https://api.example.com/", ${option} }]`).map(onOneLine);
  expect(problems).toEqual([expect.stringContaining(message)]);
});
