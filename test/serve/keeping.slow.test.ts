import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ServerDatabase } from '../../src/serve/store/database.ts';
import { askedServer, askingFlow, idRows } from '../helpers/asking.ts';
import { workplace } from '../helpers/cli.ts';
import { runThat, startRunOf } from '../helpers/served-runs.ts';
import { posting, servingHere as serving } from '../helpers/serving.ts';

describe('a finished run on the server', () => {
  test('is deleted after the time in --keep, when the server starts or later', async () => {
    const { origin } = await askedServer();
    const server = await serving({ ask: askingFlow(origin) });
    const key = server.key();
    const old = await startRunOf(server, key, idRows(1), { prefer: 'wait=30' });
    const folder = server.place.path(`.automate/serve/runs/${old.id}`);
    expect(existsSync(folder)).toBe(true);
    await server.end();
    const next = await serving({}, { place: server.place, args: ['--keep', '1s'] });
    await expect.poll(() => existsSync(folder)).toBe(false);
    const later = await startRunOf(next, key, idRows(1), { prefer: 'wait=30' });
    await expect.poll(async () => (await next.send(later.links.self, { key })).status).toBe(404);
  });
});

describe('the usage that the server counts for an API key', () => {
  test('includes calls that fail or take too long, and their credits', async () => {
    const { origin } = await askedServer(1500);
    const server = await serving({ ask: askingFlow(origin) });
    const key = server.key();
    const call = async (id: number, headers?: Record<string, string>) =>
      (await server.send('/v1/flows/ask/calls', { key, ...posting({ id }, headers) })).status;
    expect(await Promise.all([call(1), call(7), call(2, { prefer: 'wait=1' })])).toEqual([200, 422, 504]);
    expect(await (await server.send('/v1/usage', { key })).json()).toMatchObject({ records: 3, credits: 3 });
    await server.end();
    const { stdout } = await server.place.automate(['keys', 'usage', 'crm', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ records: 3, credits: 3, days: [{ records: 3, credits: 3 }] });
  });

  test("includes a run's records only once, however often the run is stopped and resumed", async () => {
    const { origin, requests, after, hold } = await askedServer();
    const server = await serving({ ask: askingFlow(origin, ', concurrency: 1') });
    const key = server.key();
    let release = () => {};
    const holdSoon = () =>
      after(6, () => {
        release = hold();
      });
    holdSoon();
    const run = await startRunOf(server, key, idRows(40));
    const post = (action: string) => server.send(`/v1/runs/${run.id}/${action}`, { key, method: 'POST' });
    for (const sent of [6, 12]) {
      await expect.poll(() => requests.length).toBe(sent);
      await post('stop');
      release();
      await runThat(server, key, run, ({ state }) => state === 'stopped');
      holdSoon();
      await post('resume');
      await runThat(server, key, run, ({ state }) => state === 'running');
    }
    await expect.poll(() => requests.length).toBe(18);
    release();
    await runThat(server, key, run, ({ state }) => state === 'finished');
    expect(await (await server.send('/v1/usage', { key })).json()).toMatchObject({ records: 40, credits: 40 });
  });
});

test.each(['keys', 'key_values', 'usage', 'audit', 'idempotency', 'webhooks', 'deliveries'])(
  'automate serve exits with 74 if the table %s is missing in its database',
  async (table) => {
    const place = await workplace();
    expect((await place.automate(['keys', 'create', 'crm'])).code).toBe(0);
    const database = new ServerDatabase(place.path('.automate'));
    database.write((open) => open.exec(`drop table ${table}`));
    database.close();
    const { code, stderr } = await place.automate(['serve', '.', '--port', '0']);
    expect([code, stderr]).toEqual([74, expect.stringContaining(`no such table: ${table}`)]);
    expect(stderr).toContain('put a backup of the file in its place');
  },
);

test('automate serve accepts only one folder, in which `automate keys create` then looks for flows', async () => {
  const server = await serving({ a: 'nodes: [{ type: set, fields: { n: "1" } }]\n' }, { folder: 'elsewhere' });
  await server.end();
  const { place } = server;
  expect((await place.automate(['keys', 'create', 'one', '--flows', 'a'])).stderr).not.toContain('warning');
  expect((await place.automate(['keys', 'create', 'two', '--flows', 'b'])).stderr).toContain(
    `there is no flow "b" in ${place.path('elsewhere')}, which the server serves`,
  );
  const { code, stderr } = await place.automate(['serve', 'elsewhere', 'nodir']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('expected one folder with flows, as in: automate serve flows')]);
});
