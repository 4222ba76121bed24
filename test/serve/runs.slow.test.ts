import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { RunShape } from '../../src/serve/shapes.ts';
import { askedServer, askingFlow, csvOf, idRows, idsTo } from '../helpers/asking.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { type Serving, servingHere as serving } from '../helpers/serving.ts';

const csv = (body: string | Buffer, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  body: body as never,
  headers: { 'content-type': 'text/csv', ...headers },
});

const waiting = { prefer: 'wait=30' };

async function started({ send }: Serving, key: string, init: RequestInit, path = '/v1/flows/ask/runs'): Promise<RunShape> {
  const answer = await send(path, { key, ...init });
  expect([200, 202]).toContain(answer.status);
  return (await answer.json()) as RunShape;
}

async function shown({ send }: Serving, key: string, { id }: { id: string }): Promise<RunShape> {
  return (await (await send(`/v1/runs/${id}`, { key })).json()) as RunShape;
}

/** Polls a run until it is in one of these states. */
async function until(server: Serving, key: string, run: { id: string }, ...states: string[]): Promise<RunShape> {
  for (;;) {
    const now = await shown(server, key, run);
    if (states.includes(now.state)) return now;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe('a run that is started over HTTP', () => {
  test.each([
    ['', '=1+1'],
    ['?csv_safe=true', "'=1+1"],
    ['?csv_safe=false', '=1+1'],
  ])('writes a formula with an apostrophe only if csv_safe is true (query "%s": %s)', async (query, written) => {
    const { send, key } = await serving({ set: 'nodes: [{ type: set, fields: { b: "1" } }]' });
    const one = key();
    const { links } = (await (await send(`/v1/flows/set/runs${query}`, { key: one, ...csv('a\n=1+1\n', waiting) })).json()) as RunShape;
    expect(await (await send(links.output, { key: one })).text()).toBe(`a,b\n${written},1\n`);
  });

  test('writes the same output and errors as the command', async () => {
    const { origin } = await askedServer();
    const server = await serving({ ask: askingFlow(origin) });
    const { place, key, send } = server;
    await place.write('rows.csv', csvOf(30));
    await place.automate(['run', 'flows/ask.yaml', '--in', 'rows.csv', '--out', 'out.csv']);
    const one = key();
    const answer = await send('/v1/flows/ask/runs', { key: one, ...csv(csvOf(30), waiting) });
    expect([answer.status, answer.headers.get('preference-applied')]).toEqual([200, 'wait=30']);
    const run = (await answer.json()) as RunShape;
    expect(answer.headers.get('location')).toBe(`/v1/runs/${run.id}`);
    expect(run).toMatchObject({
      id: expect.stringMatching(/^run_[0-9a-f-]{36}$/),
      flow: 'ask',
      key: { name: 'crm' },
      state: 'finished',
      ending: 'complete',
      exit_code: 4,
      format: 'csv',
      bytes: csvOf(30).length,
      counts: { read: 30, written: 26, failed: 4, retries: 0, waiting: 0 },
      failures: [{ node: 'ask', class: 'http', status: 404, count: 4 }],
      mapped: [{ node: 'ask', path: 'name', found: 26, of: 26 }],
      credits: 30,
      resumable: false,
      retry_of: null,
    });
    const output = await send(run.links.output, { key: one });
    expect(output.headers.get('content-disposition')).toMatch(/^attachment; filename="ask-output.csv"$/);
    expect(await output.text()).toBe(await place.read('out.csv'));
    expect(await (await send(run.links.errors, { key: one })).text()).toBe(await place.read('out.errors.csv'));
  });

  test.each([
    ['text/tab-separated-values', 'id\tnote\n1\tx\n', '', 'id\tnote\tname\n1\tx\tname 1\n'],
    ['application/json', '[{"id": 1}]', '', '[\n{"id":1,"name":"name 1"}\n]\n'],
    ['application/jsonl', '{"id": 1}\n', '', '{"id":1,"name":"name 1"}\n'],
    ['application/x-ndjson', '{"id": 1}\n', '?out=csv', 'id,name\n1,name 1\n'],
    ['text/csv; charset=latin1', 'id;note\n1;\xe9\n', '?delimiter=;', 'id,note,name\n1,é,name 1\n'],
  ])('accepts an input of the type %s', async (type, body, query, output) => {
    const { origin } = await askedServer();
    const server = await serving({ ask: askingFlow(origin) });
    const one = server.key();
    const init = csv(Buffer.from(body, 'latin1'), { 'content-type': type, ...waiting });
    const run = await started(server, one, init, `/v1/flows/ask/runs${query}`);
    expect(await (await server.send(run.links.output, { key: one })).text()).toBe(output);
  });

  test('accepts gzipped input, and options in the query', async () => {
    const { origin, calls } = await askedServer();
    const server = await serving({ ask: askingFlow(origin) });
    const one = server.key();
    const init = csv(gzipSync(idRows(20)), { 'content-encoding': 'gzip', ...waiting });
    const run = await started(server, one, init, '/v1/flows/ask/runs?skip=2&limit=3');
    expect(run.counts).toMatchObject({ read: 3, written: 3 });
    expect([...calls.keys()].sort()).toEqual(['3', '4', '5']);
    const wrong = await server.send('/v1/flows/ask/runs?lmit=3', { key: one, ...csv(idRows(1)) });
    expect([wrong.status, (await wrong.json()) as { type: string }]).toEqual([
      400,
      expect.objectContaining({ type: '/problems/bad-request' }),
    ]);
  });

  test.each([
    ['of an unsupported type', { 'content-type': 'multipart/form-data; boundary=x' }, 'x', 415, 'media-type'],
    ['without a column that the flow needs', {}, 'name\nx\n', 422, 'input-unreadable'],
    ['that is not gzip', { 'content-encoding': 'gzip' }, 'id\n1\n', 422, 'input-unreadable'],
    ['that is not a list', { 'content-type': 'application/json' }, '{"id": 1}', 422, 'input-unreadable'],
  ])('is refused if its body is %s, and nothing is stored or sent', async (_, headers, body, status, name) => {
    const { origin, calls } = await askedServer();
    const { key, send, place } = await serving({ ask: askingFlow(origin) });
    const one = key();
    const answer = await send('/v1/flows/ask/runs', { key: one, ...csv(body, headers as never) });
    expect([answer.status, ((await answer.json()) as { type: string }).type]).toEqual([status, `/problems/${name}`]);
    expect(await (await send('/v1/runs', { key: one })).json()).toEqual({ runs: [], next_cursor: null });
    expect(calls.size).toBe(0);
    const { readdir } = await import('node:fs/promises');
    expect(await readdir(place.path('.automate/serve/runs'))).toEqual([]);
  });

  test('needs records=PATH if its records are a list within an object, and so does its plan', async () => {
    const { origin } = await askedServer();
    const { key, send } = await serving({ ask: askingFlow(origin) });
    const one = key();
    const body = JSON.stringify({ total: 7, data: { items: idsTo(7).map((id) => ({ id })) } });
    const sent = (path: string, more = {}) => send(path, { key: one, ...csv(body, { 'content-type': 'application/json', ...more }) });
    for (const path of ['runs', 'plans']) {
      const refused = await sent(`/v1/flows/ask/${path}`);
      const detail = 'its list of records is at data.items: add records=data.items to the query';
      expect([refused.status, await refused.json()]).toEqual([422, expect.objectContaining({ detail: expect.stringContaining(detail) })]);
      expect((await sent(`/v1/flows/ask/${path}?records=data.x`)).status).toBe(422);
      expect((await sent(`/v1/flows/ask/${path}?records=data[0]`)).status).toBe(400);
    }
    expect(await (await sent('/v1/flows/ask/plans?records=data.items')).json()).toMatchObject({ records: 7 });
    const run = (await (await sent('/v1/flows/ask/runs?records=data.items', waiting)).json()) as RunShape;
    expect(run.counts).toMatchObject({ read: 7, written: 6, failed: 1 });
    // The errors file is itself a JSON list, so the retry does not need records=PATH.
    const retried = await send(`/v1/runs/${run.id}/retry`, { key: one, method: 'POST' });
    const { id } = (await retried.json()) as RunShape;
    await expect
      .poll(async () => ((await (await send(`/v1/runs/${id}`, { key: one })).json()) as RunShape).counts)
      .toMatchObject({
        read: 1,
        failed: 1,
      });
  });

  test('is refused if its input is larger than --max-upload, even if only after decompression', async () => {
    const { origin } = await askedServer();
    const { key, send } = await serving({ ask: askingFlow(origin) }, { args: ['--max-upload', '1kB'] });
    const one = key();
    const statuses = [];
    for (const init of [csv(idRows(1000)), csv(gzipSync(idRows(10_000)), { 'content-encoding': 'gzip' }), csv(idRows(10), waiting)])
      statuses.push((await send('/v1/flows/ask/runs', { key: one, ...init })).status);
    expect(statuses).toEqual([413, 413, 200]);
  });

  test('is created only once for the same idempotency key', async () => {
    const { origin, calls } = await askedServer();
    const server = await serving({ ask: askingFlow(origin) });
    const one = server.key();
    const send = (count: number) =>
      server.send('/v1/flows/ask/runs', { key: one, ...csv(idRows(count), { 'idempotency-key': 'k', ...waiting }) });
    const [first, second, other] = [await send(3), await send(3), await send(4)];
    expect([first.status, second.status, other.status]).toEqual([200, 200, 422]);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(((await second.json()) as RunShape).id).toBe(((await first.json()) as RunShape).id);
    expect([...calls.values()]).toEqual([1, 1, 1]);
  });

  test('can be created again with its idempotency key after it was deleted', async () => {
    const { origin } = await askedServer();
    const server = await serving({ ask: askingFlow(origin) });
    const one = server.key();
    const init = csv(idRows(3), { 'idempotency-key': 'k', ...waiting });
    const first = await started(server, one, init);
    expect((await server.send(first.links.self, { key: one, method: 'DELETE' })).status).toBe(204);
    const [second, third] = [await started(server, one, init), await started(server, one, init)];
    expect(second.id).not.toBe(first.id);
    expect(third.id).toBe(second.id);
  });

  test('can be stopped, resumed, retried and deleted', async () => {
    const { origin, calls, after, hold } = await askedServer();
    const server = await serving({ ask: askingFlow(origin, ', concurrency: 1') });
    const { key, send } = server;
    const one = key();
    let release = () => {};
    after(10, () => {
      release = hold();
    });
    const run = await started(server, one, csv(csvOf(60)));
    expect(run.state).toMatch(/queued|running/);
    expect((await send(run.links.output, { key: one })).status).toBe(409);
    expect((await send(`/v1/runs/${run.id}`, { key: one, method: 'DELETE' })).status).toBe(409);
    await until(server, one, run, 'running');
    await expect.poll(() => calls.size).toBe(10);
    const post = (action: string) => send(`/v1/runs/${run.id}/${action}`, { key: one, method: 'POST' });
    expect((await post('stop')).status).toBe(202);
    release();
    const stopped = await until(server, one, run, 'stopped');
    expect(stopped).toMatchObject({ ending: 'interrupted', exit_code: 5, resumable: true });
    expect((await post('stop')).status).toBe(200);
    expect((await post('resume')).status).toBe(202);
    const finished = await until(server, one, run, 'finished');
    expect(finished.counts).toMatchObject({ read: 60, written: 52, failed: 8 });
    expect(finished.credits).toBe(60);
    expect(finished.failures).toMatchObject([{ count: 8 }]);
    expect(finished.mapped).toMatchObject([{ found: 52, of: 52 }]);
    expect([...calls.values()].every((count) => count === 1)).toBe(true);
    expect((await post('resume')).status).toBe(409);
    const retry = await post('retry');
    expect(retry.status).toBe(202);
    const again = await until(server, one, (await retry.json()) as RunShape, 'finished');
    expect(again).toMatchObject({ retry_of: run.id, counts: { read: 8, failed: 8 } });
    expect((await send(`/v1/runs/${run.id}`, { key: one, method: 'DELETE' })).status).toBe(204);
    expect((await send(`/v1/runs/${run.id}`, { key: one })).status).toBe(404);
  });

  test('can be read with its own key and with keys that can read all runs', async () => {
    const { origin } = await askedServer();
    const server = await serving({ ask: askingFlow(origin), other: askingFlow(origin) });
    const { key, send } = server;
    const [one, two, reader] = [key(), key({ name: 'two' }), key({ name: 'reader', scopes: ['read'], flows: ['ask'] })];
    const run = await started(server, one, csv(idRows(2), waiting));
    const hidden = await started(server, one, csv(idRows(2), waiting), '/v1/flows/other/runs');
    const seen = async (key: string) => ((await (await send('/v1/runs', { key })).json()) as { runs: RunShape[] }).runs.map(({ id }) => id);
    expect(await seen(one)).toEqual([hidden.id, run.id]);
    expect(await seen(two)).toEqual([]);
    expect(await seen(reader)).toEqual([run.id]);
    expect((await send(run.links.output, { key: two })).status).toBe(404);
    expect((await send(`/v1/runs/${run.id}/stop`, { key: reader, method: 'POST' })).status).toBe(403);
  });

  test('can be read but not changed with a different key', async () => {
    const { origin, calls } = await askedServer();
    const server = await serving({ ask: askingFlow(origin), other: askingFlow(origin) });
    const { key, send } = server;
    const [one, two, stranger] = [key(), key({ name: 'two', scopes: ['run', 'read'] }), key({ name: 'stranger' })];
    const run = await started(server, one, csv(idRows(7), waiting));
    expect((await send(run.links.errors, { key: two })).status).toBe(200);
    const change = async (key: string) => [
      ...(await Promise.all(['stop', 'resume', 'retry'].map((action) => send(`/v1/runs/${run.id}/${action}`, { key, method: 'POST' })))),
      await send(`/v1/runs/${run.id}`, { key, method: 'DELETE' }),
    ];
    for (const answer of await change(two)) {
      expect([answer.status, await answer.json()]).toEqual([
        403,
        expect.objectContaining({ type: '/problems/scope-missing', scope: 'run' }),
      ]);
    }
    expect((await change(stranger)).map(({ status }) => status)).toEqual([404, 404, 404, 404]);
    expect(calls.size).toBe(7);
    expect((await change(one)).map(({ status }) => status)).toEqual([200, 409, 202, 204]);
  });

  test('can join the queue even if a different key has filled the queue', async () => {
    const { origin, hold } = await askedServer();
    const release = hold();
    const { key, send } = await serving({ ask: askingFlow(origin) }, { args: ['--max-runs', '1', '--max-queue', '1'] });
    const [one, two] = [key(), key({ name: 'two' })];
    const post = async (key: string) => (await send('/v1/flows/ask/runs', { key, ...csv(idRows(3)) })).status;
    expect([await post(one), await post(one), await post(one)]).toEqual([202, 202, 503]);
    expect([await post(two), await post(two)]).toEqual([202, 503]);
    release();
  });

  test('is listed page by page, with a filter for flow and state', async () => {
    const { origin } = await askedServer();
    const server = await serving({ ask: askingFlow(origin) });
    const one = server.key();
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) ids.unshift((await started(server, one, csv(idRows(1), waiting))).id);
    const list = async (query: string) => {
      const answer = await server.send(`/v1/runs${query}`, { key: one });
      return {
        status: answer.status,
        link: answer.headers.get('link'),
        ...((await answer.json()) as { runs: RunShape[]; next_cursor: string }),
      };
    };
    const first = await list('?limit=2');
    expect(first.runs.map(({ id }) => id)).toEqual(ids.slice(0, 2));
    expect(first.link).toBe(`</v1/runs?limit=2&cursor=${first.next_cursor}>; rel="next"`);
    expect((await list(`?limit=2&cursor=${first.next_cursor}`)).runs.map(({ id }) => id)).toEqual(ids.slice(2));
    expect((await list('?state=failed')).runs).toEqual([]);
    expect(
      await Promise.all(['?limit=0', '?limit=201', '?state=done', '?flows=ask'].map(async (query) => (await list(query)).status)),
    ).toEqual([400, 400, 400, 400]);
  });
});

describe('the event stream of a run that was started over HTTP', () => {
  test("begins with the run's state, includes failures and the end, and can continue after any event", async () => {
    const { origin } = await askedServer();
    const server = await serving({ ask: askingFlow(origin) });
    const one = server.key();
    const run = await started(server, one, csv(csvOf(30)));
    const answer = await server.send(run.links.events, { key: one });
    expect(answer.headers.get('content-type')).toMatch('text/event-stream');
    const events = eventsOf(await answer.text());
    expect(events[0]).toMatchObject({ event: 'state' });
    expect(events.filter(({ event }) => event === 'failed').map(({ data }) => data.record)).toEqual([7, 14, 21, 28]);
    const end = events.at(-1) as ReturnType<typeof eventsOf>[number];
    expect(end).toMatchObject({ event: 'end', data: { id: run.id, state: 'finished' } });
    expect(events.map(({ id }) => id)).toEqual(events.map(({ id }) => id).toSorted((a, b) => a - b));
    const rest = await server.send(run.links.events, { key: one, headers: { 'last-event-id': String(end.id - 1) } });
    expect(eventsOf(await rest.text()).map(({ event }) => event)).toEqual(['end']);
    expect((await server.send(run.links.events, { key: one, headers: { 'last-event-id': String(end.id) } })).status).toBe(204);
    const late = eventsOf(await (await server.send(run.links.events, { key: one })).text());
    expect(late.map(({ event }) => event)).toEqual(['state', 'failed', 'failed', 'failed', 'failed', 'end']);
    expect(late[0]).toMatchObject({ data: { state: 'finished' } });
    // A client that was disconnected after the first event receives all later events.
    const others = await server.send(run.links.events, { key: one, headers: { 'last-event-id': String(late[0]?.id) } });
    expect(eventsOf(await others.text()).filter(({ event }) => event !== 'state')).toEqual(late.slice(1));
  });
});

function eventsOf(text: string) {
  return text
    .split('\n\n')
    .filter((block) => block.startsWith('id:'))
    .map((block) => {
      const [, id, event, data] = /^id: (\d+)\nevent: (\w+)\ndata: (.*)$/.exec(block) as RegExpExecArray;
      return { id: Number(id), event, data: JSON.parse(data as string) as Record<string, unknown> };
    });
}

describe('the output of a run in progress', () => {
  test('can be read row by row, and ends normally when the run is complete', async () => {
    const { origin } = await askedServer(5);
    const server = await serving({ ask: askingFlow(origin, ', concurrency: 2') });
    const one = server.key();
    const run = await started(server, one, csv(idRows(100)));
    const answer = await server.send(`${run.links.output}?follow=true`, { key: one });
    const text = await answer.text();
    expect(text.split('\n')).toHaveLength(100 - 14 + 2);
    expect(await (await server.send(run.links.output, { key: one })).text()).toBe(text);
  });

  test('breaks off, which clients notice, if the run does not complete', async () => {
    const { origin } = await askedServer(20);
    const server = await serving({ ask: askingFlow(origin, ', concurrency: 1') });
    const one = server.key();
    const run = await started(server, one, csv(idRows(500)));
    await until(server, one, run, 'running');
    const answer = await server.send(`${run.links.output}?follow=true`, { key: one });
    await server.send(`/v1/runs/${run.id}/stop`, { key: one, method: 'POST' });
    await expect(answer.text()).rejects.toThrow();
  });
});

describe('a plan of a run over HTTP', () => {
  test('says what a run would do, and sends nothing', async () => {
    const { origin, requests } = await httpServer((_request, response) => json(response, {}));
    const { key, send } = await serving({ ask: askingFlow(origin) });
    const one = key();
    const answer = await send('/v1/flows/ask/plans', { key: one, ...csv(idRows(7)) });
    expect(await answer.json()).toEqual({
      records: 7,
      actions: { least: 7, most: 7 },
      credits: { least: 7, most: 7 },
      first_request: { method: 'GET', url: `${origin}/1`, headers: expect.anything(), auth: null, body: null },
    });
    expect(requests).toHaveLength(0);
    expect(((await (await send('/v1/runs', { key: one })).json()) as { runs: [] }).runs).toEqual([]);
  });
});

describe('a test of a record over HTTP', () => {
  test('sends one request and returns the response, or returns only the request if send is false', async () => {
    const { origin, requests } = await httpServer((_request, response) => json(response, { name: 'Ada' }));
    const { key, send } = await serving({ ask: askingFlow(origin) });
    const one = key({ scopes: ['test'] });
    const ask = async (body: object) => {
      const answer = await send('/v1/flows/ask/tests', {
        key: one,
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      });
      return { status: answer.status, ...((await answer.json()) as object) };
    };
    expect(await ask({ record: { id: 1 }, send: false })).toMatchObject({ status: 200, request: { url: `${origin}/1` }, response: null });
    expect(requests).toHaveLength(0);
    expect(await ask({ record: { id: 1 } })).toMatchObject({
      response: { status: 200 },
      map: [{ name: 'Ada' }],
      structure: [{ path: 'name', sample: '"Ada"' }],
    });
    expect(await ask({ record: { id: 1 }, sned: false })).toMatchObject({ status: 400 });
    expect(await ask({ record: 7 })).toMatchObject({ status: 400, errors: [{ pointer: '/record' }] });
    expect(await ask({ record: { id: 1 }, node: 'nobody' })).toMatchObject({ status: 400 });
  });
});
