import { describe, expect, test } from 'vitest';
import type { RunShape } from '../../src/serve/shapes.ts';
import { askedServer, askingFlow, idRows } from '../helpers/asking.ts';
import { readCredits } from '../helpers/cli.ts';
import { pageSession } from '../helpers/page-session.ts';
import { posting, type Serving, servingHere as serving } from '../helpers/serving.ts';

const records = (count: number): RequestInit => ({
  method: 'POST',
  body: idRows(count),
  headers: { 'content-type': 'text/csv', prefer: 'wait=30' },
});

async function call({ send }: Serving, key: string, id: number) {
  return send('/v1/flows/ask/calls', { key, ...posting({ id }) });
}

async function usage({ send }: Serving, key: string): Promise<Record<string, unknown>> {
  return (await (await send('/v1/usage', { key })).json()) as Record<string, unknown>;
}

describe('the credits of an API key', () => {
  test("pay for the key's calls and runs, up to its quota", async () => {
    const { origin, requests } = await askedServer();
    const server = await serving({ ask: askingFlow(origin) });
    const key = server.key({ quota: 10 });
    expect((await call(server, key, 1)).status).toBe(200);
    expect(await usage(server, key)).toMatchObject({ requests: 2, records: 1, credits: 1, quota: 10, remaining: 9 });
    await expect.poll(async () => (await readCredits(server.place)).held).toBe(0);
    const run = (await (await server.send('/v1/flows/ask/runs', { key, ...records(20) })).json()) as RunShape;
    expect(run).toMatchObject({ state: 'stopped', ending: 'max-credits', exit_code: 5, resumable: true });
    expect(run.reason).toMatch('the quota of 10 credits of the key "crm"');
    expect(requests).toHaveLength(10);
    const refused = await call(server, key, 3);
    expect(await refused.json()).toMatchObject({
      type: '/problems/credits-used-up',
      of: 'key',
      resets_at: expect.stringMatching(/-01T00:00/),
    });
    expect(await usage(server, key)).toMatchObject({ credits: 10, remaining: 0 });
    const other = await server.send('/v1/flows/ask/runs', { key, ...records(1) });
    expect(other.status).toBe(402);
    expect(requests).toHaveLength(10);
  });

  test('limit calls: once they are used up, a call is refused and not counted', async () => {
    const { origin, requests } = await askedServer(50);
    const server = await serving({ ask: askingFlow(origin) });
    const key = server.key({ quota: 5, rate: '1000/s' });
    const statuses = await Promise.all(Array.from({ length: 30 }, async (_, id) => (await call(server, key, id)).status));
    expect([requests.length, statuses.filter((status) => status === 402)]).toEqual([5, Array(25).fill(402)]);
    expect(await usage(server, key)).toMatchObject({ records: 5, credits: 5 });
  });

  test('can be changed at any time, even for a run and calls in progress', async () => {
    const { origin, requests, hold } = await askedServer();
    const server = await serving({ ask: askingFlow(origin, ', concurrency: 1') });
    const key = server.key({ quota: 1, rate: '1000/s' });
    const change = (...args: string[]) => server.place.automate(['keys', 'change', 'crm', ...args]);
    expect((await call(server, key, 1)).status).toBe(200);
    expect((await call(server, key, 2)).status).toBe(402);
    await change('--credits', 'unlimited', '--rate', '900/s');
    await expect.poll(async () => (await call(server, key, 2)).status).toBe(200);
    const headers = (await server.send('/v1/flows', { key })).headers;
    expect(headers.get('ratelimit-policy')).toBe('"key";q=900;w=1');
    await change('--credits', '12');
    await expect.poll(async () => (await usage(server, key)).quota).toBe(12);
    // The calls release the credits that they had reserved.
    await expect.poll(async () => (await readCredits(server.place)).held).toBe(0);
    const before = requests.length;
    const release = hold();
    const run = server.send('/v1/flows/ask/runs', { key, ...records(14) });
    await expect.poll(() => requests.length).toBeGreaterThan(before);
    await change('--credits', '40');
    await expect.poll(async () => (await usage(server, key)).quota).toBe(40);
    release();
    expect(await (await run).json()).toMatchObject({ state: 'finished', credits: 14 });
  });

  test('are needed to resume a run, unless a different key pays', async () => {
    const { origin, requests } = await askedServer();
    const server = await serving({ ask: askingFlow(origin), other: askingFlow(origin) });
    const key = server.key({ quota: 5 });
    const payer = server.key({ name: 'payer', scopes: ['run', 'read'] });
    const poor = server.key({ name: 'poor', scopes: ['run', 'read'], quota: 0 });
    const elsewhere = server.key({ name: 'elsewhere', scopes: ['run', 'read'], flows: ['other'] });
    const { id } = (await (await server.send('/v1/flows/ask/runs', { key, ...records(20) })).json()) as RunShape;
    const resume = async (by: string, query = '') =>
      (await server.send(`/v1/runs/${id}/resume${query}`, { key: by, method: 'POST' })).status;
    const refused = await server.send(`/v1/runs/${id}/resume`, { key, method: 'POST' });
    expect([refused.status, await refused.json()]).toEqual([402, expect.objectContaining({ of: 'key' })]);
    const runOnly = server.key({ name: 'run-only' });
    const readOnly = server.key({ name: 'read-only', scopes: ['read'] });
    const statuses = [await resume(payer), await resume(payer, '?charge=you'), await resume(poor, '?charge=me')];
    for (const by of [elsewhere, runOnly, readOnly]) statuses.push(await resume(by, '?charge=me'));
    expect(statuses).toEqual([403, 400, 402, 404, 404, 403]);
    expect(requests).toHaveLength(5);
    expect(await resume(payer, '?charge=me')).toBe(202);
    const state = async () => ((await (await server.send(`/v1/runs/${id}`, { key })).json()) as RunShape).state;
    await expect.poll(state).toBe('finished');
    expect(await (await server.send(`/v1/runs/${id}`, { key })).json()).toMatchObject({
      key: { name: 'crm' },
      credits: 20,
      counts: { written: 18 },
    });
    expect([(await usage(server, key)).credits, (await usage(server, payer)).credits]).toEqual([5, 15]);
    const { entries } = (await (await (await pageSession(server))('/ui/audit')).json()) as {
      entries: { who: string; what: string; on: string }[];
    };
    expect(entries.find(({ what }) => what === 'run.charge')).toMatchObject({ who: 'payer', on: id });
    await server.end();
    const { keys } = await readCredits(server.place);
    expect(keys).toEqual([expect.objectContaining({ name: 'payer', credits: 15 }), expect.objectContaining({ name: 'crm', credits: 5 })]);
  });

  test('must be used up before a different key can pay for a resumed run', async () => {
    const { origin } = await askedServer(20);
    const server = await serving({ ask: askingFlow(origin, ', concurrency: 1') });
    const key = server.key({ quota: 1000 });
    const payer = server.key({ name: 'payer', scopes: ['run', 'read'] });
    const { id } = (await (
      await server.send('/v1/flows/ask/runs', { key, ...records(500), headers: { 'content-type': 'text/csv' } })
    ).json()) as RunShape;
    await server.send(`/v1/runs/${id}/stop`, { key, method: 'POST' });
    const state = async () => ((await (await server.send(`/v1/runs/${id}`, { key })).json()) as RunShape).state;
    await expect.poll(state).toBe('stopped');
    const refused = await server.send(`/v1/runs/${id}/resume?charge=me`, { key: payer, method: 'POST' });
    expect([refused.status, await refused.json()]).toEqual([
      403,
      expect.objectContaining({ detail: expect.stringContaining('has credits left') }),
    ]);
    const page = await pageSession(server);
    expect((await page(`/ui/runs/${id}/resume`, 'POST')).status).toBe(202);
    expect((await server.send(`/v1/runs/${id}/stop`, { key, method: 'POST' })).status).toBe(202);
  });

  test('are recorded in the ledger soon after a call, and unused reserved credits are released', async () => {
    const { origin } = await askedServer();
    const server = await serving({ ask: askingFlow(origin) });
    await server.place.automate(['credits', 'limit', '1000']);
    const key = server.key();
    for (const id of [1, 2, 3]) expect((await call(server, key, id)).status).toBe(200);
    await expect.poll(async () => (await readCredits(server.place)).held).toBe(0);
    expect(await readCredits(server.place)).toMatchObject({ spent: 3, held: 0, remaining: 997, keys: [{ name: 'crm', credits: 3 }] });
    expect((await call(server, key, 4)).status).toBe(200);
  });

  test('are recorded in the ledger under the names of the flow and the key', async () => {
    const { origin } = await askedServer();
    const server = await serving({ ask: askingFlow(origin) });
    const key = server.key({ scopes: ['run', 'read'] });
    await server.send('/v1/flows/ask/runs', { key, ...records(5) });
    await call(server, key, 1);
    await server.end();
    const { stdout } = await server.place.automate(['credits', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ spent: 6, flows: [{ flow: 'ask', credits: 6 }], keys: [{ name: 'crm', credits: 6 }] });
  });

  test('are also limited by the monthly allowance of the machine', async () => {
    const { origin, requests } = await askedServer();
    const server = await serving({ ask: askingFlow(origin) });
    await server.place.automate(['credits', 'limit', '1']);
    const key = server.key({ scopes: ['run', 'read'] });
    expect((await call(server, key, 1)).status).toBe(200);
    const refused = await call(server, key, 2);
    expect([refused.status, await refused.json()]).toEqual([402, expect.objectContaining({ of: 'allowance' })]);
    expect(await usage(server, key)).toMatchObject({ allowance: { limit: 1 }, remaining: 0 });
    expect(requests).toHaveLength(1);
  });

  test('cannot be spent by other keys while a run has reserved them', async () => {
    const { origin, hold } = await askedServer();
    const release = hold();
    const server = await serving({ ask: askingFlow(origin) });
    await server.place.automate(['credits', 'limit', '100']);
    const key = server.key({ scopes: ['run', 'read'] });
    await server.send('/v1/flows/ask/runs', { key, ...records(5), headers: { 'content-type': 'text/csv' } });
    const allowance = async () => (await usage(server, key)) as { remaining: number; allowance: { held: number; remaining: number } };
    await expect.poll(async () => (await allowance()).allowance.held).toBeGreaterThan(0);
    const { remaining, allowance: all } = await allowance();
    expect(remaining).toBe(all.remaining);
    expect(remaining).toBeLessThan(100);
    release();
  });
});
