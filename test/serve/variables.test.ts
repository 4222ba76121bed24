import { beforeEach, describe, expect, test } from 'vitest';
import type { RunShape } from '../../src/serve/shapes.ts';
import { type HttpServer, httpServer, json } from '../helpers/http-server.ts';
import { csvRun } from '../helpers/served-runs.ts';
import { posting, servingHere as serving } from '../helpers/serving.ts';

let upstream: HttpServer;

beforeEach(async () => {
  upstream = await httpServer(({ path }, response) => json(response, { asked: path }));
});

const node = (query: string) => `nodes:\n  - { type: http, url: "{{vars.api}}/{{id}}?${query}", map: [asked] }\n`;

/** A flow with a variable that a caller must give, and one that it may give. */
const regions = () => `vars: { api: "${upstream.origin}", region: null, size: 10 }
open_vars: [region, size]
${node('r={{vars.region}}&n={{vars.size}}')}`;

describe('open variables', () => {
  test('are in the description of their flow, with their defaults, and only there', async () => {
    const { key, send } = await serving({ ask: regions(), plain: node('x').replace('{{vars.api}}', upstream.origin) });
    const one = key();
    const shown = async (flow: string) =>
      ((await (await send(`/v1/flows/${flow}`, { key: one })).json()) as { open_vars?: object }).open_vars;
    expect(await shown('ask')).toEqual([
      { name: 'region', default: null },
      { name: 'size', default: '10' },
    ]);
    expect(await shown('plain')).toBeUndefined();
  });

  test('are parameters in the OpenAPI description, for keys that see a flow with them', async () => {
    const { key, send } = await serving({ ask: regions(), more: regions(), plain: node('x').replace('{{vars.api}}', upstream.origin) });
    const [some, other] = [key({ flows: ['ask', 'more'] }), key({ name: 'other', flows: ['plain'] })];
    const parameters = async (given: string, route: string) => {
      const api = (await (await send('/v1/openapi.json', { key: given })).json()) as {
        paths: Record<string, { post: { parameters?: { name: string; in: string; required: boolean; description: string }[] } }>;
      };
      return (api.paths[route]?.post.parameters ?? []).filter(({ name }) => name.startsWith('var.'));
    };
    for (const route of ['calls', 'runs', 'plans', 'tests']) {
      expect(await parameters(some, `/v1/flows/{flow}/${route}`)).toMatchObject([
        { name: 'var.region', in: 'query', required: false, description: 'the variable "region" of ask (needed), more (needed)' },
        { name: 'var.size', in: 'query', required: false, description: 'the variable "size" of ask, more' },
      ]);
    }
    expect(await parameters(other, '/v1/flows/{flow}/calls')).toEqual([]);
    expect(await parameters(some, '/v1/runs/{run}/stop')).toEqual([]);
  });

  test('are given by each call in its query, escaped as a template is', async () => {
    const { key, send } = await serving({ ask: regions() });
    const one = key();
    const asked = async (query: string) => (await send(`/v1/flows/ask/calls?${query}`, { key: one, ...posting({ id: 1 }) })).json();
    expect(await asked('var.region=eu')).toMatchObject({ records: [{ asked: '/1?r=eu&n=10' }] });
    expect(await asked('var.region=us&var.size=5')).toMatchObject({ records: [{ asked: '/1?r=us&n=5' }] });
    expect(await asked(`var.region=${encodeURIComponent('a&n=9/..')}`)).toMatchObject({ records: [{ asked: '/1?r=a%26n%3D9%2F..&n=10' }] });
    expect(await asked('var.region=eu')).toMatchObject({ records: [{ asked: '/1?r=eu&n=10' }] });
  });

  test('are given by a run, its plan and a test, and hold for a retry of the run', async () => {
    upstream = await httpServer(({ path }, response) => json(response, { asked: path }, path.startsWith('/2') ? 404 : 200));
    const { key, send } = await serving({ ask: regions() });
    const one = key({ scopes: ['run', 'test'] });
    const plan = await send('/v1/flows/ask/plans?var.region=eu', { key: one, ...csvRun('id\n1\n') });
    expect(await plan.json()).toMatchObject({ records: 1, first_request: { url: `${upstream.origin}/1?r=eu&n=10` } });
    const tested = await send('/v1/flows/ask/tests?var.region=eu', { key: one, ...posting({ record: { id: 1 } }) });
    expect(await tested.json()).toMatchObject({ request: { url: `${upstream.origin}/1?r=eu&n=10` } });
    const answer = await send('/v1/flows/ask/runs?var.region=eu', { key: one, ...csvRun('id\n1\n2\n', { prefer: 'wait=30' }) });
    const run = (await answer.json()) as RunShape;
    expect(run).toMatchObject({ state: 'finished', counts: { written: 1, failed: 1 } });
    expect(await (await send(`/v1/runs/${run.id}/output`, { key: one })).text()).toBe('id,asked\n1,/1?r=eu&n=10\n');
    await send(`/v1/runs/${run.id}/retry`, { key: one, method: 'POST' });
    await expect.poll(() => upstream.requests.filter(({ path }) => path === '/2?r=eu&n=10').length).toBe(2);
  });

  test.each([
    ['', 'the variable "region" has no value\ngive it one in the query: var.region=VALUE'],
    [
      'var.api=https%3A%2F%2Fevil.example.com&var.region=x',
      'var.NAME: "api" is no variable that a caller may set; callers may set region, size',
    ],
    ['var.nope=1', 'var.NAME: "nope" is no variable that a caller may set; callers may set region, size'],
    ['var.region=eu&var.size=many', 'var.NAME: expected a number for "size", as in the flow, found "many"'],
    ['var.region=%7B%7Bid%7D%7D', 'var.NAME: the value of a variable is fixed for the run: expected no references in it, found {{'],
    ['var.region=eu&region=us', 'querystring: "region": nothing of this name is expected'],
    ['var.region=eu&var.region=us', 'querystring: "var.region": expected one value'],
  ])('%j is refused with 400, and nothing is sent', async (query, detail) => {
    const { key, send } = await serving({ ask: regions() });
    const one = key({ scopes: ['run', 'test'] });
    const requests: [string, RequestInit][] = [
      ['calls', posting({ id: 1 })],
      ['tests', posting({ record: { id: 1 } })],
      ['plans', csvRun('id\n1\n')],
      ['runs', csvRun('id\n1\n')],
    ];
    for (const [route, init] of requests) {
      const answer = await send(`/v1/flows/ask/${route}?${query}`, { key: one, ...init });
      expect([route, answer.status, await answer.json()]).toEqual([
        route,
        400,
        expect.objectContaining({ type: '/problems/bad-request', detail }),
      ]);
    }
    expect(upstream.requests).toEqual([]);
    expect(await (await send('/v1/runs', { key: one })).json()).toMatchObject({ runs: [] });
  });

  test('that look like a secret are refused without being shown', async () => {
    const { key, send } = await serving({ ask: regions() });
    const token = `ghp_${'a1B2'.repeat(9)}`;
    const answer = await send(`/v1/flows/ask/calls?var.region=${token}`, { key: key(), ...posting({ id: 1 }) });
    const text = await answer.text();
    expect([answer.status, text.includes(token), text.includes('looks like a secret')]).toEqual([400, false, true]);
  });

  test('without a value leave the flow valid; other variables without one do not', async () => {
    const { key, send } = await serving({ ask: regions(), shut: regions().replace(/open_vars.*\n/, '') });
    const one = key();
    expect(await (await send('/v1/flows/ask', { key: one })).json()).toMatchObject({ state: 'valid', problems: [], fields: ['id'] });
    expect(await (await send('/v1/flows/shut', { key: one })).json()).toMatchObject({
      state: 'invalid',
      problems: [{ line: 1, message: 'the variable "region" has no value\nwrite one into the flow, or list it under open_vars' }],
    });
    expect((await send('/v1/flows/shut/calls?var.region=eu', { key: one, ...posting({ id: 1 }) })).status).toBe(409);
  });

  test('may not decide the host of a URL: such a flow is not served', async () => {
    const { key, send } = await serving({ ask: regions().replace('open_vars: [region, size]', 'open_vars: [api, region]') });
    const one = key();
    expect(await (await send('/v1/flows/ask', { key: one })).json()).toMatchObject({
      state: 'invalid',
      problems: [{ line: 4, column: 25 }],
    });
    const answer = await send('/v1/flows/ask/calls?var.api=https%3A%2F%2Fx.example.com&var.region=a', { key: one, ...posting({ id: 1 }) });
    expect(answer.status).toBe(409);
  });

  test('count for an Idempotency-Key', async () => {
    const { key, send } = await serving({ ask: regions() });
    const one = key();
    const call = (region: string) =>
      send(`/v1/flows/ask/calls?var.region=${region}`, { key: one, ...posting({ id: 1 }, { 'idempotency-key': 'a' }) });
    expect([(await call('eu')).status, (await call('eu')).status, (await call('us')).status]).toEqual([200, 200, 422]);
    expect(upstream.requests).toHaveLength(1);
  });
});

test('a server takes the values of its environment', async () => {
  const flow = `vars: { api: "${upstream.origin}", region: { default: eu, staging: test } }\n${node('r={{vars.region}}')}`;
  const { key, send } = await serving({ ask: flow }, { args: ['--env', 'staging'] });
  const one = key();
  expect(await (await send('/v1/flows/ask/calls', { key: one, ...posting({ id: 1 }) })).json()).toMatchObject({
    records: [{ asked: '/1?r=test' }],
  });
  const answer = await send('/v1/flows/ask/runs', { key: one, ...csvRun('id\n1\n', { prefer: 'wait=30' }) });
  const { id } = (await answer.json()) as RunShape;
  expect(await (await send(`/v1/runs/${id}/output`, { key: one })).text()).toBe('id,asked\n1,/1?r=test\n');
});
