import { expect, test, vi } from 'vitest';
import { workplace } from '../helpers/cli.ts';
import { httpServer } from '../helpers/http-server.ts';

const ids = ['slow', ...Array.from({ length: 20 }, (_, index) => `r${index}`)];
const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.ndjson', '--allow-http'];

/** Every job is done at its first question, but for the first one: that at its fifth. */
async function jobs(more?: string) {
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

test('a record that is done behind one that is not waits for --resume, which sends nothing for it', async () => {
  const undisturbed = await jobs();
  expect((await undisturbed.automate()).code).toBe(0);
  const { place, asked, automate } = await jobs();
  const stopped = await automate('--max-credits', '22', '--summary', 'summary.json');
  expect([stopped.code, await place.read('out.ndjson')]).toEqual([5, '']);
  expect(stopped.stderr).toContain('waiting: 20 done behind a record that is not; --resume writes them in turn');
  expect(JSON.parse(await place.read('summary.json'))).toMatchObject({ read: 0, waiting: 20 });
  expect(await place.read('out.ndjson.automate-run')).not.toContain('canary');
  expect((await automate()).stderr).toContain('out.ndjson: no record is done and written, 20 more behind one that is not, as');
  // Once more in vain: what waits goes on waiting.
  expect((await automate('--max-credits', '1', '--resume')).code).toBe(5);
  expect((await automate('--resume')).code).toBe(0);
  expect(await place.read('out.ndjson')).toBe(await undisturbed.place.read('out.ndjson'));
  expect(ids.map((id) => asked.get(id))).toEqual([5, ...Array(20).fill(1)]);
});

test('a kill -9 of the run that goes on leaves what waits where it is', async () => {
  const undisturbed = await jobs();
  expect((await undisturbed.automate()).code).toBe(0);
  const { place, asked, env, automate } = await jobs();
  expect((await automate('--max-credits', '22')).code).toBe(5);
  const before = asked.get('slow');
  const { child, finished } = place.start([...run, '--resume'], { env });
  await vi.waitFor(() => expect(asked.get('slow')).toBeGreaterThan(before as number), { timeout: 20_000, interval: 5 });
  child.kill('SIGKILL');
  await finished;
  expect((await automate('--resume')).code).toBe(0);
  expect(await place.read('out.ndjson')).toBe(await undisturbed.place.read('out.ndjson'));
  expect(ids.slice(1).map((id) => asked.get(id))).toEqual(Array(20).fill(1));
});

test('an output that is a stream keeps nothing', async () => {
  const { automate } = await jobs();
  const { code, stdout, stderr } = await automate('--max-credits', '22', '--out', '-', '--out-format', 'ndjson');
  expect([code, stdout]).toEqual([5, '']);
  expect(stderr).not.toContain('waiting');
});

test('each record that waits stands for itself: a damaged one is asked for again, and no other before it', async () => {
  const undisturbed = await jobs();
  expect((await undisturbed.automate()).code).toBe(0);
  const { place, asked, automate } = await jobs();
  expect((await automate('--max-credits', '22')).code).toBe(5);
  const journal = await place.read('out.ndjson.automate-run');
  await place.write('out.ndjson.automate-run', journal.slice(0, -5));
  expect((await automate('--resume')).code).toBe(0);
  expect(await place.read('out.ndjson')).toBe(await undisturbed.place.read('out.ndjson'));
  expect(ids.slice(1).map((id) => asked.get(id))).toEqual([...Array(19).fill(1), 2]);
});

test('what is nested as deep as an answer may be waits, too', async () => {
  const more = `${'['.repeat(999)}1.50${']'.repeat(999)}`;
  const { place, asked, automate } = await jobs(more);
  expect((await automate('--max-credits', '22')).code).toBe(5);
  expect((await automate('--resume')).code).toBe(0);
  expect(await place.read('out.ndjson')).toBe(ids.map((id) => `{"id":"${id}","status":"done","more":${more}}\n`).join(''));
  expect(ids.slice(1).map((id) => asked.get(id))).toEqual(Array(20).fill(1));
});

test('a record with a field that is called as a secret does not wait', async () => {
  const { place, automate } = await jobs();
  await place.write('rows.csv', `id,canary-7f3a\n${ids.map((id) => `${id},1\n`).join('')}`);
  expect((await automate('--max-credits', '22')).code).toBe(5);
  expect(await place.read('out.ndjson.automate-run')).not.toContain('canary');
  expect((await automate('--resume')).code).toBe(0);
  expect(await place.read('out.ndjson')).toContain('{"id":"r19","***":"1",');
});

test('credits that bring no record to its end are not offered again, whatever waits from before', async () => {
  const { automate } = await jobs();
  expect((await automate('--max-credits', '3', '--concurrency', '1')).stderr).toContain('  go on:');
  const vain = await automate('--max-credits', '1', '--resume');
  expect(vain.stderr).toContain('waiting: 2 done behind a record that is not');
  expect(vain.stderr).toContain('1 credit brought no record to its end');
});
