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

/** Returns a flow with one variable that a caller has to set, and one that a caller can set. */
const regions = () => `vars: { api: "${upstream.origin}", region: null, size: 10 }
open_vars: [region, size]
${node('r={{vars.region}}&n={{vars.size}}')}`;

describe('flow variables that callers are allowed to set', () => {
  test('are listed with their defaults in the description of the flow, unlike other variables', async () => {
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

  test('are parameters in the OpenAPI description for keys that can use the flow', async () => {
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

  test('can be set in the query of a call, and are escaped like fields in a template', async () => {
    const { key, send } = await serving({ ask: regions() });
    const one = key();
    const asked = async (query: string) => (await send(`/v1/flows/ask/calls?${query}`, { key: one, ...posting({ id: 1 }) })).json();
    expect(await asked('var.region=eu')).toMatchObject({ records: [{ asked: '/1?r=eu&n=10' }] });
    expect(await asked('var.region=us&var.size=5')).toMatchObject({ records: [{ asked: '/1?r=us&n=5' }] });
    expect(await asked(`var.region=${encodeURIComponent('a&n=9/..')}`)).toMatchObject({ records: [{ asked: '/1?r=a%26n%3D9%2F..&n=10' }] });
    expect(await asked('var.region=eu')).toMatchObject({ records: [{ asked: '/1?r=eu&n=10' }] });
  });

  test('can be set for a run, its plan and a test, and stay the same in a retry', async () => {
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
    ['', 'the variable "region" has no value\ngive it a value in the query: var.region=VALUE'],
    [
      'var.api=https%3A%2F%2Fevil.example.com&var.region=x',
      'var.NAME: "api" is not a variable that a caller may set; callers may set region, size',
    ],
    ['var.nope=1', 'var.NAME: "nope" is not a variable that a caller may set; callers may set region, size'],
    ['var.region=eu&var.size=many', 'var.NAME: expected a number for "size", as in the flow, found "many"'],
    ['var.region=%7B%7Bid%7D%7D', 'var.NAME: the value of a variable is fixed for the run: expected no references in it, found {{'],
    ['var.region=eu&region=us', 'querystring: "region": this name is not expected here'],
    ['var.region=eu&var.region=us', 'querystring: "var.region": expected one value'],
  ])('cannot be set with the query %j, which gets a 400 before anything is sent', async (query, detail) => {
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

  test('are refused without being shown if the value looks like a secret', async () => {
    const { key, send } = await serving({ ask: regions() });
    const token = `ghp_${'a1B2'.repeat(9)}`;
    const answer = await send(`/v1/flows/ask/calls?var.region=${token}`, { key: key(), ...posting({ id: 1 }) });
    const text = await answer.text();
    expect([answer.status, text.includes(token), text.includes('looks like a secret')]).toEqual([400, false, true]);
  });

  test('do not need a value in the flow, unlike other variables', async () => {
    const { key, send } = await serving({ ask: regions(), shut: regions().replace(/open_vars.*\n/, '') });
    const one = key();
    expect(await (await send('/v1/flows/ask', { key: one })).json()).toMatchObject({ state: 'valid', problems: [], fields: ['id'] });
    expect(await (await send('/v1/flows/shut', { key: one })).json()).toMatchObject({
      state: 'invalid',
      problems: [
        { line: 1, message: 'the variable "region" has no value\nwrite a value into the flow, or list the variable under open_vars' },
      ],
    });
    expect((await send('/v1/flows/shut/calls?var.region=eu', { key: one, ...posting({ id: 1 }) })).status).toBe(409);
  });

  test('must not set the host of a URL: the flow is then invalid', async () => {
    const { key, send } = await serving({ ask: regions().replace('open_vars: [region, size]', 'open_vars: [api, region]') });
    const one = key();
    expect(await (await send('/v1/flows/ask', { key: one })).json()).toMatchObject({
      state: 'invalid',
      problems: [{ line: 4, column: 25 }],
    });
    const answer = await send('/v1/flows/ask/calls?var.api=https%3A%2F%2Fx.example.com&var.region=a', { key: one, ...posting({ id: 1 }) });
    expect(answer.status).toBe(409);
  });

  test('are compared when an idempotency key is used a second time', async () => {
    const { key, send } = await serving({ ask: regions() });
    const one = key();
    const call = (region: string) =>
      send(`/v1/flows/ask/calls?var.region=${region}`, { key: one, ...posting({ id: 1 }, { 'idempotency-key': 'a' }) });
    expect([(await call('eu')).status, (await call('eu')).status, (await call('us')).status]).toEqual([200, 200, 422]);
    expect(upstream.requests).toHaveLength(1);
  });
});

test("the server uses the variables' values for its environment (--env)", async () => {
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
