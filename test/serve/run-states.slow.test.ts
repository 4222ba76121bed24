import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type RunEvent, RunEvents } from '../../src/serve/runs/run-events.ts';
import type { RunShape } from '../../src/serve/shapes.ts';
import { askedServer, askingFlow, idRows } from '../helpers/asking.ts';
import { csvRun, runThat, sentEvents, startRunOf } from '../helpers/served-runs.ts';
import { type Serving, servingHere as serving, serving as servingAlone } from '../helpers/serving.ts';

const stopped = ({ state }: RunShape) => state === 'stopped';

async function slowServer(args: readonly string[] = []): Promise<Serving> {
  const { origin } = await askedServer(20);
  return serving({ ask: askingFlow(origin, ', concurrency: 1') }, { args });
}

async function act({ send }: Serving, key: string, { id }: { id: string }, action: string): Promise<number> {
  return (await send(`/v1/runs/${id}/${action}`, { key, method: 'POST' })).status;
}

async function stoppedRun(server: Serving, key: string): Promise<RunShape> {
  const run = await startRunOf(server, key, idRows(300));
  await runThat(server, key, run, ({ counts }) => counts.read > 2);
  await act(server, key, run, 'stop');
  return runThat(server, key, run, stopped);
}

describe('a run on the server', () => {
  test('can be stopped immediately after it was started or resumed', async () => {
    const server = await slowServer();
    const key = server.key();
    for (let round = 0; round < 5; round++) {
      const run = await startRunOf(server, key, idRows(300));
      expect(await act(server, key, run, 'stop')).toBe(202);
      await runThat(server, key, run, stopped);
      expect([await act(server, key, run, 'resume'), await act(server, key, run, 'stop')]).toEqual([202, 202]);
      expect(await runThat(server, key, run, stopped)).toMatchObject({ ending: 'interrupted', resumable: true });
    }
  });

  test('is resumed only once by several simultaneous requests, and is never both resumed and deleted', async () => {
    const server = await slowServer();
    const key = server.key();
    const run = await stoppedRun(server, key);
    expect((await Promise.all([1, 2, 3].map(() => act(server, key, run, 'resume')))).toSorted()).toEqual([202, 409, 409]);
    await act(server, key, run, 'stop');
    await runThat(server, key, run, stopped);
    const deleted = server.send(`/v1/runs/${run.id}`, { key, method: 'DELETE' }).then(({ status }) => status);
    expect([
      [202, 409],
      [404, 204],
    ]).toContainEqual(await Promise.all([act(server, key, run, 'resume'), deleted]));
  });

  test('is accepted only if the queue has room, however many requests arrive at the same time', async () => {
    const server = await slowServer(['--max-runs', '1', '--max-queue', '2']);
    const key = server.key();
    const posts = Array.from({ length: 12 }, () => server.send('/v1/flows/ask/runs', { key, ...csvRun(idRows(300)) }));
    const statuses = (await Promise.all(posts)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 202)).toHaveLength(3);
    expect(statuses.filter((status) => status === 503)).toHaveLength(9);
    expect(readdirSync(server.place.path('.automate/serve/runs'))).toHaveLength(3);
  });

  test('fails, and cannot be resumed, if its input cannot be read', async () => {
    const server = await slowServer();
    const key = server.key();
    const run = await startRunOf(server, key, 'id\n1\n2\n"3\n', { prefer: 'wait=30' });
    expect(run).toMatchObject({ state: 'failed', exit_code: 6, resumable: false });
    expect(await act(server, key, run, 'resume')).toBe(409);
  });

  test('has the counts and credits of its last checkpoint after a crash', async () => {
    const { origin, after, hold } = await askedServer(20);
    let release = () => {};
    after(26, () => {
      release = hold();
    });
    const server = await servingAlone({ ask: askingFlow(origin, ', concurrency: 1') });
    const key = server.key();
    const run = await startRunOf(server, key, idRows(300));
    // The run saves its progress every 100 ms, also while it waits for an answer.
    const journal = server.place.path(`.automate/serve/runs/${run.id}/output.csv.automate-run`);
    await expect.poll(() => readFile(journal, 'utf8').catch(() => '')).toMatch(/"records":25\b/);
    await server.end('SIGKILL');
    release();
    const next = await servingAlone({}, { place: server.place, args: ['--no-resume'] });
    const crashed = await runThat(next, key, run, stopped);
    const { read, written, failed } = crashed.counts;
    expect([read, written, failed]).toEqual([25, 22, 3]);
    // The record that was in progress is paid for, even if it is not yet counted as read.
    expect([read, read + 1]).toContain(crashed.credits);
    expect(crashed.failures).toMatchObject([{ count: failed }]);
    const events = sentEvents(await (await next.send(run.links.events, { key })).text());
    expect(events.at(-1)).toMatchObject({ event: 'end', data: { counts: crashed.counts, credits: crashed.credits } });
    expect(await (await next.send('/v1/usage', { key })).json()).toMatchObject({ records: read });
    await act(next, key, run, 'resume');
    await runThat(next, key, run, ({ counts }) => counts.read > read + 5);
    await act(next, key, run, 'stop');
    const again = await runThat(next, key, run, stopped);
    // The counts are not lost if the server crashes again.
    await next.end('SIGKILL');
    const last = await serving({}, { place: server.place });
    expect(await (await last.send('/v1/usage', { key })).json()).toMatchObject({ records: again.counts.read });
  });

  test('is ignored with a line in the log if its run.json cannot be read', async () => {
    const server = await slowServer();
    const key = server.key();
    const [broken, other] = [await stoppedRun(server, key), await stoppedRun(server, key)];
    await server.end();
    for (const text of ['{"id":', '{}', 'null']) {
      writeFileSync(server.place.path(`.automate/serve/runs/${broken.id}/run.json`), text);
      const next = await serving({}, { place: server.place });
      const { runs } = (await (await next.send('/v1/runs', { key })).json()) as { runs: RunShape[] };
      expect(runs.map(({ id }) => id)).toEqual([other.id]);
      expect(next.said()).toContain(`${broken.id} is left out: its run.json cannot be read`);
      expect((await next.end()).code).toBe(0);
    }
  });
});

describe('the event stream of a run on the server', () => {
  test('does not end where an earlier part of the run ended', async () => {
    const server = await slowServer();
    const key = server.key();
    const run = await stoppedRun(server, key);
    await act(server, key, run, 'resume');
    await runThat(server, key, run, ({ state }) => state === 'running');
    const answer = await server.send(run.links.events, { key, headers: { 'last-event-id': '1' } });
    await act(server, key, run, 'stop');
    const events = sentEvents(await answer.text());
    expect(events.filter(({ event }) => event === 'end')).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({ event: 'end', data: { state: 'stopped' } });
    expect((await server.send('/healthz')).status).toBe(200);
  });

  test('repeats no event id, even after a crash in which events were lost', () => {
    const folder = mkdtempSync(join(tmpdir(), 'automate-events-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'events.ndjson');
    const first = new RunEvents(path);
    const seen: RunEvent[] = [];
    first.listen((event) => seen.push(event));
    first.state('running', null, null);
    for (let i = 0; i < 17; i++) first.progress({ read: i });
    const next = new RunEvents(path);
    next.end({ state: 'finished' });
    expect(next.after(seen.at(-1)?.id).map(({ event }) => event)).toEqual(['end']);
    expect(new RunEvents(path).lastId).toBe(next.lastId);
  });
});

test("any client can recognize a run's incomplete output, even over HTTP/1.0", async () => {
  const server = await slowServer();
  const key = server.key();
  const { links } = await stoppedRun(server, key);
  // The test uses curl, because a Node.js client may mistake a reset after the data for the end.
  const args = ['-s', '--http1.0', `${server.address}${links.output}?follow=true`, '-H', `Authorization: Bearer ${key}`];
  const code = await new Promise((resolve) => spawn('curl', args).once('close', resolve));
  expect(code).toBe(56);
});
