import { readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { expect, test, vi } from 'vitest';
import { workplace } from '../helpers/cli.ts';
import { httpServer } from '../helpers/http-server.ts';

const ids = ['slow', ...Array.from({ length: 20 }, (_, index) => `r${index}`)];
const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.ndjson', '--allow-http'];

/** Creates a flow that polls jobs. The first record's job is done at its fifth request, the others at their first. */
async function pollJobs(more?: string) {
  const asked = new Map<string, number>();
  const server = await httpServer((request, response) => {
    const id = request.path.split('/').at(-1) as string;
    asked.set(id, (asked.get(id) ?? 0) + 1);
    const status = id === 'slow' && (asked.get(id) as number) < 5 ? 'working' : 'done';
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(`{"status":"${status}","more":${more ?? `{"price":1.50,"of":"${id}","token":"canary-7f3a"}`}}`);
  });
  const place = await workplace({
    'flow.yaml': `nodes:
  - type: poll
    every: 100ms
    until: status == "done"
    nodes: [{ type: http, url: "${server.origin}/{{id}}", auth: { type: bearer, credential: key }, map: [status, more] }]
`,
    'rows.csv': `id\n${ids.join('\n')}\n`,
  });
  const env = { AUTOMATE_CREDENTIAL_KEY: 'canary-7f3a' };
  return { place, asked, env, automate: (...args: string[]) => place.automate([...run, ...args], { env }) };
}

test('a parked record, which finished before an earlier record, is written by --resume without another request', async () => {
  const undisturbed = await pollJobs();
  expect((await undisturbed.automate()).code).toBe(0);
  const { place, asked, automate } = await pollJobs();
  const stopped = await automate('--max-credits', '22', '--summary', 'summary.json');
  expect([stopped.code, await place.read('out.ndjson')]).toEqual([5, '']);
  expect(stopped.stderr).toContain('waiting: 20 finished, but waiting for an earlier record; --resume writes them in order');
  expect(JSON.parse(await place.read('summary.json'))).toMatchObject({ read: 0, waiting: 20 });
  expect(await place.read('out.ndjson.automate-run')).not.toContain('canary');
  expect((await automate()).stderr).toContain(
    'out.ndjson: no record is done, and 20 more are finished, but are waiting for an earlier record (journal:',
  );
  // This part of the run cannot finish the slow record either, so the other records stay parked.
  expect((await automate('--max-credits', '1', '--resume')).code).toBe(5);
  expect((await automate('--resume')).code).toBe(0);
  expect(await place.read('out.ndjson')).toBe(await undisturbed.place.read('out.ndjson'));
  expect(ids.map((id) => asked.get(id))).toEqual([5, ...Array(20).fill(1)]);
});

test.each(['out.csv', 'out.json', 'out.csv.gz'])('a part of a run that could only park its records counts: %s', async (out) => {
  const runOf = ({ place, env }: Awaited<ReturnType<typeof pollJobs>>, ...args: string[]) =>
    place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', out, '--allow-http', '--summary', 'summary.json', ...args], { env });
  const contentOf = async ({ place }: Awaited<ReturnType<typeof pollJobs>>) => {
    const bytes = await readFile(place.path(out));
    return (out.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
  };
  const [undisturbed, jobs] = [await pollJobs(), await pollJobs()];
  expect((await runOf(undisturbed)).code).toBe(0);
  expect((await runOf(jobs, '--max-credits', '22')).code).toBe(5);
  expect((await runOf(jobs, '--resume')).code).toBe(0);
  expect(JSON.parse(await jobs.place.read('summary.json')).whole.credits).toBe(25);
  expect(await contentOf(jobs)).toBe(await contentOf(undisturbed));
});

test('parked records survive if the resumed run is killed with SIGKILL', async () => {
  const undisturbed = await pollJobs();
  expect((await undisturbed.automate()).code).toBe(0);
  const { place, asked, env, automate } = await pollJobs();
  expect((await automate('--max-credits', '22')).code).toBe(5);
  const before = asked.get('slow');
  const { child, finished } = place.start([...run, '--resume'], { env });
  await vi.waitFor(() => expect(asked.get('slow')).toBeGreaterThan(before as number), { timeout: 60_000, interval: 5 });
  child.kill('SIGKILL');
  await finished;
  expect((await automate('--resume')).code).toBe(0);
  expect(await place.read('out.ndjson')).toBe(await undisturbed.place.read('out.ndjson'));
  expect(ids.slice(1).map((id) => asked.get(id))).toEqual(Array(20).fill(1));
});

test('a run whose output is a stream parks no record', async () => {
  const { automate } = await pollJobs();
  const { code, stdout, stderr } = await automate('--max-credits', '22', '--out', '-', '--out-format', 'ndjson');
  expect([code, stdout]).toEqual([5, '']);
  expect(stderr).not.toContain('waiting');
});

test('a damaged parked record is requested once more, but undamaged ones are not', async () => {
  const undisturbed = await pollJobs();
  expect((await undisturbed.automate()).code).toBe(0);
  const { place, asked, automate } = await pollJobs();
  expect((await automate('--max-credits', '22')).code).toBe(5);
  const journal = await place.read('out.ndjson.automate-run');
  await place.write('out.ndjson.automate-run', journal.slice(0, -5));
  expect((await automate('--resume')).code).toBe(0);
  expect(await place.read('out.ndjson')).toBe(await undisturbed.place.read('out.ndjson'));
  expect(ids.slice(1).map((id) => asked.get(id))).toEqual([...Array(19).fill(1), 2]);
});

test('a record can be parked even if it has the maximum nesting depth of a response', async () => {
  const more = `${'['.repeat(999)}1.50${']'.repeat(999)}`;
  const { place, asked, automate } = await pollJobs(more);
  expect((await automate('--max-credits', '22')).code).toBe(5);
  expect((await automate('--resume')).code).toBe(0);
  expect(await place.read('out.ndjson')).toBe(ids.map((id) => `{"id":"${id}","status":"done","more":${more}}\n`).join(''));
  expect(ids.slice(1).map((id) => asked.get(id))).toEqual(Array(20).fill(1));
});

test('a parked field whose name contains a secret is masked in the journal', async () => {
  const { place, asked, automate } = await pollJobs();
  await place.write('rows.csv', `id,canary-7f3a\n${ids.map((id) => `${id},1\n`).join('')}`);
  expect((await automate('--max-credits', '22')).code).toBe(5);
  expect(await place.read('out.ndjson.automate-run')).not.toContain('canary');
  expect((await automate('--resume')).code).toBe(0);
  expect(await place.read('out.ndjson')).toContain('{"id":"r19","***":"1",');
  expect(ids.slice(1).map((id) => asked.get(id))).toEqual(Array(20).fill(1));
});

test.each(['out.csv', 'out.json', 'out.ndjson.gz'])('a record with several pages can be parked if the output is %s', async (out) => {
  const pagesRun = async () => {
    const asked = new Map<string, number>();
    const server = await httpServer(async ({ path }, response) => {
      const [, id = '', page = ''] = /^\/(.*)\?page=(\d+)$/.exec(path) ?? [];
      asked.set(id, (asked.get(id) ?? 0) + 1);
      if (id === 'slow') await new Promise((resolve) => setTimeout(resolve, 100));
      const last = id === 'slow' ? 12 : id === 'r3' ? 0 : 2;
      const items = Number(page) > last ? [] : Array.from({ length: 50 }, (_, index) => ({ n: `${id} ${page} ${index} \n"canary-7f3a"` }));
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ items }));
    });
    const flow = `nodes:\n  - type: http\n    url: "${server.origin}/{{id}}"\n    auth: { type: bearer, credential: key }
    paginate: { type: page, param: page, items: items, max: 14 }\n    map: { n: "items[].n" }\n`;
    const place = await workplace({ 'flow.yaml': flow, 'rows.csv': `id\n${ids.join('\n')}\n` });
    const env = { AUTOMATE_CREDENTIAL_KEY: 'canary-7f3a' };
    const automate = (...args: string[]) =>
      place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', out, '--allow-http', '--concurrency', '2', ...args], { env });
    return { asked, place, automate };
  };
  const undisturbed = await pagesRun();
  expect((await undisturbed.automate()).code).toBe(0);
  const { asked, place, automate } = await pagesRun();
  const stopped = await automate('--max-credits', '30');
  expect([stopped.code, stopped.stderr]).toEqual([5, expect.stringMatching(/waiting: \d+ finished, but waiting for an earlier record/)]);
  const waiting = Number(/waiting: (\d+)/.exec(stopped.stderr)?.[1]);
  expect(waiting).toBeGreaterThan(2);
  const before = new Map(asked);
  expect(await place.read(`${out}.automate-run`)).not.toContain('canary');
  expect((await automate('--max-credits', '1', '--resume')).stderr).toContain(`waiting: ${waiting} finished`);
  expect((await automate('--resume')).code).toBe(0);
  expect(await place.read(out)).toBe(await undisturbed.place.read(out));
  const done = ids.slice(1, 1 + waiting);
  expect(done.map((id) => asked.get(id))).toEqual(done.map((id) => before.get(id)));
  expect(done.map((id) => asked.get(id))).toEqual(done.map((id) => undisturbed.asked.get(id)));
});

test('a run that completes no record suggests more credits, even if records are parked', async () => {
  const { automate } = await pollJobs();
  expect((await automate('--max-credits', '3', '--concurrency', '1')).stderr).toContain('  resume with:');
  const vain = await automate('--max-credits', '1', '--resume');
  expect(vain.stderr).toContain('waiting: 2 finished, but waiting for an earlier record');
  expect(vain.stderr).toContain('not even one record could be completed with 1 credit');
});
