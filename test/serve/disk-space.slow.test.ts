import { describe, expect, test } from 'vitest';
import type { RunShape } from '../../src/serve/shapes.ts';
import { askedServer, askingFlow } from '../helpers/asking.ts';
import { posting, type Serving, servingHere as serving } from '../helpers/serving.ts';

/** A body with 900 kB of rows, which is enough to keep a run in progress. */
const body = `id\n${'1\n'.repeat(450_000)}`;

/** Starts a server whose disk space is enough for two of these bodies, and whose flow never ends a run. */
async function smallServer(): Promise<Serving & { readonly value: string }> {
  const { origin } = await askedServer(100);
  const server = await serving(
    { ask: askingFlow(origin, ', concurrency: 1'), set: 'nodes: [{ type: set, fields: { x: "{{id}}" } }]' },
    { args: ['--max-disk', '2MB', '--max-upload', '1MB'] },
  );
  return { ...server, value: server.key() };
}

const asCsv = { 'content-type': 'text/csv' };

/** Returns the body as a request without a Content-Length. */
function streamed(): RequestInit {
  const stream = new ReadableStream({
    start(controller) {
      controller.enqueue(Buffer.from(body));
      controller.close();
    },
  });
  return { body: stream, duplex: 'half' } as RequestInit;
}

describe('automate serve --max-disk', () => {
  test('limits simultaneous uploads, until the end of a run frees space', async () => {
    const { send, value: key } = await smallServer();
    const upload = async () => (await send('/v1/flows/ask/runs', { key, method: 'POST', headers: asCsv, body })).status;
    const statuses = await Promise.all(Array.from({ length: 8 }, upload));
    expect(statuses.sort()).toEqual([202, 202, 507, 507, 507, 507, 507, 507]);
    expect(await upload()).toBe(507);
    const { runs } = (await (await send('/v1/runs', { key })).json()) as { runs: RunShape[] };
    expect(runs).toHaveLength(2);
    const [first] = runs as [RunShape];
    await send(`/v1/runs/${first.id}/stop`, { key, method: 'POST' });
    await expect.poll(async () => ((await (await send(first.links.self, { key })).json()) as RunShape).state).toBe('stopped');
    expect(await upload()).toBe(202);
    expect((await send(first.links.self, { key })).status).toBe(404);
  });

  test('limits uploads whose size is not known in advance', async () => {
    const { send, value: key } = await smallServer();
    const upload = async () => (await send('/v1/flows/ask/runs', { key, method: 'POST', headers: asCsv, ...streamed() })).status;
    const statuses = await Promise.all(Array.from({ length: 8 }, upload));
    expect(statuses.filter((status) => status === 202).length).toBeLessThanOrEqual(2);
    expect(new Set([...statuses, 507, 202])).toEqual(new Set([202, 507]));
    while ((await upload()) !== 507);
    const { runs } = (await (await send('/v1/runs', { key })).json()) as { runs: RunShape[] };
    expect(runs).toHaveLength(2);
  });

  test('counts stored responses to calls, and refuses calls once the space is used up', async () => {
    const { send, value: key } = await smallServer();
    const call = (name: string) =>
      send('/v1/flows/set/calls', { key, ...posting({ id: 'x'.repeat(30_000) }, { 'idempotency-key': name }) });
    const statuses: number[] = [];
    for (let index = 0; index < 36; index++) statuses.push((await call(`k${index}`)).status);
    expect([statuses.at(0), statuses.at(-1), new Set(statuses)]).toEqual([200, 507, new Set([200, 507])]);
    expect((await call('k0')).headers.get('idempotency-replayed')).toBe('true');
    expect((await send('/v1/flows/set/calls', { key, ...posting({ id: 1 }) })).status).toBe(200);
    expect((await send('/v1/flows/set/runs', { key, method: 'POST', headers: asCsv, body })).status).toBe(507);
  });
});

describe('an uploaded record of more than 10 MB', () => {
  const long = 'x'.repeat(10_000_001);

  test.each([
    ['csv', 'text/csv', `id\n1\n2,\n"${long}"\n`, 4],
    ['csv, and it is the first record', 'text/csv', `id\n"${long}"\n`, 2],
    ['ndjson', 'application/x-ndjson', `{"id":1}\n{"id":"${long}"}\n`, 2],
    ['json', 'application/json', `[{"id":1},{"id":"${long}"}]`, 1],
  ])('makes a run and a plan fail with the line number if the format is %s', async (_, type, text, line) => {
    const { send, key } = await serving({ set: 'nodes: [{ type: set, fields: { x: "1" } }]' });
    const value = key();
    const post = (route: string) =>
      send(`/v1/flows/set/${route}`, { key: value, method: 'POST', headers: { 'content-type': type, prefer: 'wait=20' }, body: text });
    const plan = await post('plans');
    expect([plan.status, await plan.json()]).toEqual([
      422,
      expect.objectContaining({ line, detail: expect.stringContaining('expected a record of at most 10 MB') }),
    ]);
    const run = (await (await post('runs')).json()) as RunShape;
    expect(run).toMatchObject({
      state: 'failed',
      resumable: false,
      reason: expect.stringContaining(`:${line}: expected a record of at most 10 MB`),
    });
  });

  test('is refused during the upload if it is the first record', async () => {
    const { send, key } = await serving({ set: 'nodes: [{ type: set, fields: { x: "1" } }]' });
    const headers = { 'content-type': 'application/x-ndjson' };
    const answer = await send('/v1/flows/set/runs', { key: key(), method: 'POST', headers, body: `{"id":"${long}"}\n` });
    expect([answer.status, await answer.json()]).toEqual([422, expect.objectContaining({ line: 1 })]);
  });
});
