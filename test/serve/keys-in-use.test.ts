import { mkdir, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { newKeyValue } from '../../src/serve/store/key-value.ts';
import { askedServer, askingFlow, csvOf } from '../helpers/asking.ts';
import { readAllFiles, workplace } from '../helpers/cli.ts';
import { posting, type Serving, servingHere as serving } from '../helpers/serving.ts';

const flows = { a: 'nodes: [{ type: set, fields: { b: "{{a}}!" } }]', c: 'nodes: [{ type: set, fields: { d: "1" } }]' };

/** Creates an API key with `automate keys create`. */
async function make({ place }: Pick<Serving, 'place'>, ...args: string[]): Promise<string> {
  return (await place.automate(['keys', 'create', ...args])).stdout.trim();
}

const statusOf = async ({ send }: Serving, key: string) => (await send('/v1/flows', { key })).status;

/** Waits for at most 30 s until a request with the key gets the status. Returns the last status. */
async function soon(server: Serving, key: string, status: number): Promise<number> {
  const endMs = performance.now() + 30_000;
  for (;;) {
    const found = await statusOf(server, key);
    if (found === status || performance.now() > endMs) return found;
  }
}

describe('the commands for API keys, while a server is running', () => {
  test('create and revoke keys, and the server follows', async () => {
    const server = await serving(flows);
    const key = await make(server, 'crm');
    expect(await soon(server, key, 200)).toBe(200);
    await server.place.automate(['keys', 'revoke', 'crm']);
    expect(await soon(server, key, 401)).toBe(401);
    const answer = await server.send('/v1/flows', { key });
    expect([answer.headers.get('www-authenticate'), await answer.json()]).toEqual([
      'Bearer',
      expect.objectContaining({ type: '/problems/key-invalid' }),
    ]);
  });

  test('rotate keys: the server accepts both values during the overlap, and then only the new value', async () => {
    const server = await serving(flows);
    const values = [await make(server, 'crm')];
    for (const overlap of ['1h', '0'])
      values.push((await server.place.automate(['keys', 'rotate', 'crm', '--overlap', overlap])).stdout.trim());
    expect(await soon(server, values[2] as string, 200)).toBe(200);
    expect(await Promise.all(values.map((value) => statusOf(server, value)))).toEqual([401, 401, 200]);
    const { stdout } = await server.place.automate(['keys', 'rotate', 'crm', '--overlap', '1h']);
    expect(await soon(server, stdout.trim(), 200)).toBe(200);
    expect(await statusOf(server, values[2] as string)).toBe(200);
  });

  test('revoke a key and stop its runs, whose event streams end', async () => {
    const { origin } = await askedServer(50);
    const server = await serving({ ask: askingFlow(origin, ', concurrency: 1') });
    const [key, reader] = [await make(server, 'crm'), await make(server, 'watch', '--scopes', 'read')];
    await soon(server, reader, 200);
    const started = await server.send('/v1/flows/ask/runs', {
      key,
      method: 'POST',
      body: csvOf(500),
      headers: { 'content-type': 'text/csv' },
    });
    const { id } = (await started.json()) as { id: string };
    const events = await server.send(`/v1/runs/${id}/events`, { key });
    const streamed = events.text().catch(() => 'cut off');
    await server.place.automate(['keys', 'revoke', 'crm', '--stop-runs']);
    await streamed;
    const stateOf = async () => ((await (await server.send(`/v1/runs/${id}`, { key: reader })).json()) as { state: string }).state;
    while ((await stateOf()) !== 'stopped');
    expect(await server.send(`/v1/runs/${id}`, { key })).toMatchObject({ status: 401 });
  });

  test('create keys that the server refuses after their expiry', async () => {
    const server = await serving(flows);
    const key = await make(server, 'crm', '--expires', '3s', '--rate', '1000000/s');
    // The server accepts the key at first, unless the machine is too busy to ask in time.
    await expect
      .poll(async () => (await server.send('/v1/flows', { key })).json(), { interval: 250 })
      .toMatchObject({ type: '/problems/key-expired', status: 401 });
  });

  test('show the usage of keys after the server has stopped', async () => {
    const server = await serving(flows);
    const key = await make(server, 'crm', '--flows', 'a');
    await soon(server, key, 200);
    await server.send('/v1/flows/a/calls', { key, ...posting({ a: 1 }) });
    expect((await server.send('/v1/flows/c', { key })).status).toBe(404);
    expect((await server.send('/v1/flows/a/tests', { key, ...posting({ record: {} }) })).status).toBe(403);
    await server.end();
    const { stdout } = await server.place.automate(['keys', 'usage', '--json']);
    const [usage] = JSON.parse(stdout);
    expect(usage).toMatchObject({ name: 'crm', refused: 2, records: 1, last_used_at: expect.any(String) });
    expect(usage.requests).toBeGreaterThanOrEqual(4);
  });
});

test('the server limits requests with invalid keys: 19 get a 401, the others a 429', async () => {
  const place = await workplace();
  const key = await make({ place }, 'crm');
  const server = await serving(flows, { place });
  const answers = await Promise.all(Array.from({ length: 200 }, () => server.send('/v1/flows', { key: newKeyValue() })));
  const statuses = answers.map(({ status }) => status);
  expect([401, 429].map((status) => statuses.filter((found) => found === status).length)).toEqual([19, 181]);
  const last = answers.find(({ status }) => status === 429) as Response;
  expect(Number(last.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await last.json()).toMatchObject({ type: '/problems/rate-limited' });
  expect(await statusOf(server, key)).toBe(200);
  expect((await readAllFiles(server.place)).match(/key\.refused/g)).toHaveLength(1);
});

test('the value of an API key appears in no response, log or file', async () => {
  const server = await serving(flows);
  const key = await make(server, 'crm');
  await soon(server, key, 200);
  const requests: [string, Record<string, string>][] = [
    [`/v1/flows/${key}`, {}],
    [`/v1/flows/${key.replace('_', '%5F')}`, {}],
    [`/v1/${key}`, {}],
    [`/${key}`, {}],
    [`/v1/flows?key=${key}`, {}],
    [`/v1/runs?flow=${key.replace('amk', '%61mk')}`, {}],
    ['/v1/flows', { 'x-request-id': key }],
    [`/v1/runs?limit=${key.slice(1)}`, {}],
  ];
  const answers = await Promise.all(requests.map(([path, headers]) => server.send(path, { key, headers })));
  answers.push(await server.send('/v1/flows/a/calls', { key, ...posting({ a: 1 }, { 'idempotency-key': key }) }));
  answers.push(await server.send('/v1/flows/a/calls', { key, ...posting(`{"a": "${key.slice(0, 30)}`) }));
  const shown = await Promise.all(answers.map(async (answer) => JSON.stringify([...answer.headers]) + (await answer.text())));
  const { stderr, stdout } = await server.end();
  const all = [...shown, stderr, stdout, await readAllFiles(server.place)].join('\n');
  expect(all.includes(key.slice(5))).toBe(false);
  expect(stderr.match(/ GET \/v1\/flows\/\*\*\* 404 /g)).toHaveLength(2);
});

test('automate serve exits with 74 and advice if its database is damaged', async () => {
  const place = await workplace();
  await mkdir(place.path('.automate'));
  await writeFile(place.path('.automate/serve.db'), 'x'.repeat(5000));
  const { code, stderr } = await place.start(['serve', '.', '--port', '0']).finished;
  expect([code, stderr]).toEqual([74, expect.stringMatching(/serve\.db cannot be used: .+\n {2}stop the server, then put a backup/)]);
});
