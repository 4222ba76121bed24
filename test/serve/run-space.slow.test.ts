import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import type { RunShape } from '../../src/serve/shapes.ts';
import { askedServer, askingFlow, idRows } from '../helpers/asking.ts';
import { type Workplace, workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { csvRun, runThat } from '../helpers/served-runs.ts';
import { type Serving, servingHere as serving, serving as servingAlone } from '../helpers/serving.ts';

const long = 'x'.repeat(2000);
const growing = `nodes: [{ type: set, fields: { text: "${long}{{id}}" } }]\n`;
const grown = (count: number) => `id,text\n${Array.from({ length: count }, (_, index) => `${index + 1},${long}${index + 1}\n`).join('')}`;

/** A server whose disk space is full after about 500 rows of the flow `growing`. */
const smallServer = (flows: Record<string, string>, place?: Workplace, size = '1MB', ...more: string[]) =>
  serving(flows, { args: ['--max-disk', size, ...more], ...(place && { place }) });

async function started({ send }: Serving, key: string, flow: string, body: string): Promise<RunShape> {
  const answer = await send(`/v1/flows/${flow}/runs`, { key, ...csvRun(body) });
  expect(answer.status).toBe(202);
  return (await answer.json()) as RunShape;
}

const post = ({ send }: Serving, key: string, run: RunShape, action: string) =>
  send(`/v1/runs/${run.id}/${action}`, { key, method: 'POST' });

const hasEnded = ({ state }: RunShape) => ['stopped', 'finished', 'failed'].includes(state);

const isFull = {
  state: 'stopped',
  ending: 'disk-full',
  exit_code: 74,
  resumable: true,
  reason: expect.stringMatching(/^507: .*\(--max-disk\)\ndelete runs .* or start the server with a larger --max-disk, then resume/),
};

async function sizeOf(place: Workplace): Promise<number> {
  const folder = place.path('.automate/serve/runs');
  // The server still replaces the run's state files: one that was listed may be gone.
  const sizes = await Promise.all(
    (await readdir(folder, { recursive: true })).map((name) => stat(`${folder}/${name}`).catch(() => undefined)),
  );
  return sizes.reduce((sum, file) => sum + (file?.isFile() ? file.size : 0), 0);
}

describe('a run that writes more than --max-disk allows', () => {
  test('stops at the limit, and is complete after a resume with more space', async () => {
    const server = await smallServer({ growing });
    const key = server.key();
    const run = await started(server, key, 'growing', idRows(3000));
    expect(await runThat(server, key, run, hasEnded)).toMatchObject(isFull);
    // A run may exceed the limit by the records that are in flight, of which there are at most 1,024.
    expect(await sizeOf(server.place)).toBeLessThan(1_100_000 + 1024 * long.length);
    const events = await (await server.send(`/v1/runs/${run.id}/events`, { key })).text();
    expect(events).toContain('"state":"stopped","ending":"disk-full","reason":"507: ');
    const upload = await server.send('/v1/flows/growing/runs', { key, ...csvRun('id\n1\n') });
    expect([upload.status, await upload.json()]).toEqual([507, expect.objectContaining({ type: '/problems/disk-full' })]);
    expect((await post(server, key, run, 'resume')).status).toBe(507);
    await server.end();
    const larger = await smallServer({}, server.place, '100MB');
    expect((await post(larger, key, run, 'resume')).status).toBe(202);
    expect(await runThat(larger, key, run, hasEnded)).toMatchObject({ state: 'finished', reason: null, counts: { written: 3000 } });
    expect(await (await larger.send(`/v1/runs/${run.id}/output`, { key })).text()).toBe(grown(3000));
  });

  test('is complete after a resume once another run was deleted', async () => {
    const { origin } = await askedServer(50);
    const server = await smallServer({ growing, ask: askingFlow(origin, ', concurrency: 1') });
    const key = server.key();
    const other = await started(server, key, 'ask', `id\n${'1\n'.repeat(300_000)}`);
    await runThat(server, key, other, ({ state }) => state === 'running');
    const run = await started(server, key, 'growing', idRows(300));
    expect(await runThat(server, key, run, hasEnded)).toMatchObject(isFull);
    await post(server, key, other, 'stop');
    await runThat(server, key, other, hasEnded);
    expect((await server.send(`/v1/runs/${other.id}`, { key, method: 'DELETE' })).status).toBe(204);
    expect((await post(server, key, run, 'resume')).status).toBe(202);
    expect((await runThat(server, key, run, hasEnded)).state).toBe('finished');
    expect(await (await server.send(`/v1/runs/${run.id}/output`, { key })).text()).toBe(grown(300));
  });

  test('continues if deleting older ended runs frees enough space', async () => {
    const server = await smallServer({ growing });
    const key = server.key();
    const old = await started(server, key, 'growing', idRows(200));
    await runThat(server, key, old, hasEnded);
    const run = await started(server, key, 'growing', idRows(400));
    expect((await runThat(server, key, run, hasEnded)).state).toBe('finished');
    expect((await server.send(`/v1/runs/${old.id}`, { key })).status).toBe(404);
  });

  test('deletes no ended run if that does not free enough space', async () => {
    const server = await smallServer({ growing });
    const key = server.key();
    const old = await started(server, key, 'growing', idRows(50));
    await runThat(server, key, old, hasEnded);
    const run = await started(server, key, 'growing', idRows(2000));
    expect(await runThat(server, key, run, hasEnded)).toMatchObject(isFull);
    expect((await server.send('/v1/flows/growing/runs', { key, ...csvRun('id\n1\n') })).status).toBe(507);
    expect((await server.send(`/v1/runs/${old.id}`, { key })).status).toBe(200);
  });

  test('deletes no run that has saved files, and counts them even after a crash of the server', async () => {
    let isHeld = false;
    const api = await httpServer(({ path }, response) => {
      if (!isHeld || api.requests.length <= 30) response.end(path + long.repeat(25));
    });
    const flow = `nodes: [{ type: http, url: "${api.origin}/{{id}}", save: { to: "{{id}}.txt", replace: true }, concurrency: 1 }]\n`;
    const place = await workplace();
    await mkdir(place.path('files'));
    const args = ['--max-disk', '2MB', '--files', place.path('files')];
    const server = await servingAlone({ flow }, { args, place });
    const key = server.key();
    const old = await started(server, key, 'flow', idRows(12));
    expect(await runThat(server, key, old, hasEnded)).toMatchObject({ state: 'finished' });
    isHeld = true;
    const run = await started(server, key, 'flow', `id\n${Array.from({ length: 40 }, (_, index) => `${index + 13}\n`).join('')}`);
    await expect.poll(() => api.requests.length).toBe(31);
    await server.end('SIGKILL');
    isHeld = false;
    const again = await servingAlone({}, { args, place });
    expect(await runThat(again, key, run, hasEnded)).toMatchObject(isFull);
    const saved = (await readdir(place.path('files'))).length;
    expect([saved > 37, saved < 43]).toEqual([true, true]);
    expect((await again.send(`/v1/runs/${old.id}`, { key })).status).toBe(200);
  });

  test('writes the records for which it has sent requests, and sends none of them again after a resume', async () => {
    const api = await httpServer(({ path }, response) => json(response, { text: path }));
    const flow = `nodes: [{ type: http, url: "${api.origin}/{{id}}", map: [text], concurrency: 4 }]\n`;
    const server = await smallServer({ flow }, undefined, '2MB');
    const key = server.key();
    // The last record leaves only 12 kB for the output. The rows of all other records would need more.
    const rows = `id,pad\n${idRows(1500).slice('id\n'.length).replaceAll('\n', ',\n')}`;
    const run = await started(server, key, 'flow', `${rows}0,${'x'.repeat(1_988_000 - rows.length)}\n`);
    const { counts, ...others } = await runThat(server, key, run, hasEnded);
    expect(others).toMatchObject(isFull);
    expect(counts.read).toBe(api.requests.length);
    await server.end();
    const larger = await smallServer({}, server.place, '10MB');
    await post(larger, key, run, 'resume');
    expect((await runThat(larger, key, run, hasEnded)).state).toBe('finished');
    expect(new Set(api.requests.map(({ path }) => path)).size).toBe(api.requests.length);
  });

  test('writes every answer that arrives after the limit, and counts what is in the output', async () => {
    const api = await httpServer(({ path }, response) => json(response, { text: path + long.repeat(5) }));
    const flow = `nodes: [{ type: http, url: "${api.origin}/{{id}}", map: [text], concurrency: 50, retry: { on: [] } }]\n`;
    const server = await smallServer({ flow });
    const key = server.key();
    const run = await started(server, key, 'flow', idRows(400));
    const { counts, credits, ...others } = await runThat(server, key, run, hasEnded);
    expect(others).toMatchObject(isFull);
    const output = await (await server.send(`/v1/runs/${run.id}/output`, { key })).text();
    expect([counts.written + counts.waiting, credits]).toEqual([api.requests.length, api.requests.length]);
    expect(output.trimEnd().split('\n')).toHaveLength(1 + counts.written);
    await server.end();
    const larger = await smallServer({}, server.place, '100MB');
    await post(larger, key, run, 'resume');
    expect(await runThat(larger, key, run, hasEnded)).toMatchObject({ state: 'finished', counts: { written: 400 }, credits: 400 });
    expect(api.requests).toHaveLength(400);
  });

  test('counts what it wrote before a restart of the server, and sends nothing if that is too much', async () => {
    let isHeld = true;
    const held: (() => void)[] = [];
    const api = await httpServer(({ path }, response) => {
      const answer = () => json(response, { text: path + long.repeat(25) });
      if (isHeld && api.requests.length > 60) held.push(answer);
      else answer();
    });
    const flow = `nodes: [{ type: http, url: "${api.origin}/{{id}}", map: [text], concurrency: 1 }]\n`;
    const server = await smallServer({ flow }, undefined, '10MB');
    const key = server.key();
    const run = await started(server, key, 'flow', idRows(100));
    await expect.poll(() => held.length).toBe(1);
    const ended = server.end();
    isHeld = false;
    for (const answer of held) answer();
    await ended;
    const again = await smallServer({}, server.place, '2MB');
    expect(await runThat(again, key, run, hasEnded)).toMatchObject(isFull);
    expect(api.requests).toHaveLength(61);
    await again.end();
    const larger = await smallServer({}, server.place, '10MB');
    await post(larger, key, run, 'resume');
    expect(await runThat(larger, key, run, hasEnded)).toMatchObject({ state: 'finished', counts: { written: 100 } });
    expect(api.requests).toHaveLength(100);
  });

  test('stops in the middle of a record that never ends', async () => {
    const items = Array.from({ length: 50 }, () => ({ long }));
    let page = 0;
    const api = await httpServer((_, response) => json(response, { items, next: `page ${++page}` }));
    const flow = `nodes: [{ type: http, url: "${api.origin}", paginate: { type: cursor, path: next, param: c, max: 100000 }, map: { n: "items[].long" } }]\n`;
    const server = await smallServer({ flow });
    const key = server.key();
    const run = await started(server, key, 'flow', 'id\n1\n');
    expect(await runThat(server, key, run, hasEnded)).toMatchObject({ ...isFull, counts: { written: 0 } });
    expect(api.requests.length).toBeLessThan(30);
  });

  test.each([[], ['--workers', '1']])('counts the files that it saves (options: %j)', async (...options) => {
    const api = await httpServer(({ path }, response) => response.end(path + long.repeat(25)));
    const flow = `nodes: [{ type: http, url: "${api.origin}/{{id}}", save: { to: "{{id}}.txt" }, concurrency: 1 }]\n`;
    const place = await workplace();
    await mkdir(place.path('files'));
    const server = await smallServer({ flow }, place, '1MB', '--files', place.path('files'), ...options);
    const key = server.key();
    const run = await started(server, key, 'flow', idRows(60));
    expect(await runThat(server, key, run, hasEnded)).toMatchObject(isFull);
    const saved = (await readdir(place.path('files'))).length;
    expect([saved > 15, saved < 25]).toEqual([true, true]);
    expect((await server.send('/v1/flows/flow/runs', { key, ...csvRun('id\n99\n') })).status).toBe(507);
    await server.end();
    const larger = await smallServer({}, place, '10MB', '--files', place.path('files'), ...options);
    await post(larger, key, run, 'resume');
    expect(await runThat(larger, key, run, hasEnded)).toMatchObject({ state: 'finished', counts: { written: 60, failed: 0 } });
    expect(await readFile(place.path('files/60.txt'), 'utf8')).toBe(`/60${long.repeat(25)}`);
    expect((await larger.send(`/v1/runs/${run.id}`, { key, method: 'DELETE' })).status).toBe(204);
  });
});
