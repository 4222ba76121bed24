import type { ChildProcess } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type Gate, gate } from '../helpers/asking.ts';
import { readCredits, type Workplace, workplace } from '../helpers/cli.ts';
import { type HttpServer, httpServer } from '../helpers/http-server.ts';
import { childrenOf } from '../helpers/processes.ts';

const records = 400;
const table = `id\n${Array.from({ length: records }, (_, index) => `${index + 1}\n`).join('')}`;
const flow = (origin: string, more = '') => `nodes:\n  - { type: http, url: "${origin}/{{id}}", concurrency: 4, map: [name]${more} }\n`;

/** Starts a server that responds after `ms`. Every ninth record gets a 404. */
const slowServer = (ms = 10, passed: Gate['passed'] = () => undefined): Promise<HttpServer> =>
  httpServer(async ({ path }, response) => {
    await passed();
    await sleep(ms);
    const id = Number(path.slice(1));
    if (id % 9 === 0) response.statusCode = 404;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ name: `name ${id}` }));
  });

const expectedRows = () =>
  `id,name\n${Array.from({ length: records }, (_, index) => index + 1)
    .filter((id) => id % 9 !== 0)
    .map((id) => `${id},name ${id}\n`)
    .join('')}`;

/** Kills a process, unless it has already ended. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {}
}

const args = ['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--workers', '2', '--summary', 'summary.json'];

/** Starts a run in its own process, which a test can kill. */
const run = (place: Workplace, more: readonly string[] = []) => place.start([...args, ...more]);

/** Runs to the end, in the process of the test. */
const finishedRun = (place: Workplace, more: readonly string[] = []) => place.automate([...args, ...more]);

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(5);
}

/** Resolves when a run that has been interrupted starts no more records. */
async function untilInterrupted({ stderr }: ChildProcess): Promise<void> {
  let said = '';
  stderr?.on('data', (chunk) => (said += chunk));
  await until(() => said.includes('finishing the records already started'));
}

describe("a run's worker processes", () => {
  test.each([1, 2, 3])('neither lose nor duplicate records if they are killed at any moment (round %d)', async (round) => {
    const server = await slowServer();
    const place = await workplace({ 'flow.yaml': flow(server.origin), 'in.csv': table });
    const { child, finished } = run(place);
    const killed = new Set<number>();
    for (const share of [0.2, 0.5]) {
      await until(() => server.requests.length > records * share + round * 10);
      const children = childrenOf(child.pid as number).filter((pid) => !killed.has(pid));
      const chosen = children[round % children.length] as number;
      kill(chosen);
      killed.add(chosen);
    }
    expect((await finished).code).toBe(4);
    expect(await place.read('out.csv')).toBe(expectedRows());
    const summary = JSON.parse(await place.read('summary.json'));
    expect(summary).toMatchObject({ workers: { most: 2 }, read: records });
    // The second process to be killed may already have finished its part of the run. It is then not counted as lost.
    expect([1, 2]).toContain(summary.workers.lost);
    // Each kill repeats at most the records that were in progress or not yet reported.
    expect(server.requests.length).toBeLessThanOrEqual(records + 2 * 300);
    // The credits that a killed worker may have spent are charged.
    expect((await readCredits(place)).spent).toBeGreaterThanOrEqual(server.requests.length - 8);
  });

  test('end soon after their run is killed, and the run can be resumed', async () => {
    const server = await slowServer();
    const place = await workplace({ 'flow.yaml': flow(server.origin), 'in.csv': table });
    const { child, finished } = run(place);
    await until(() => server.requests.length > 150);
    const children = childrenOf(child.pid as number);
    expect(children).toHaveLength(2);
    process.kill(child.pid as number, 'SIGKILL');
    await finished;
    await until(() => children.every((pid) => !readdirSync('/proc').includes(String(pid))));
    // The run can be resumed in a single process, although several processes worked on it before.
    const resumed = await place.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--resume']);
    expect(resumed.code, resumed.stderr).toBe(4);
    expect(await place.read('out.csv')).toBe(expectedRows());
  });

  test('finish their requests after Ctrl-C, and the run can be resumed', async () => {
    const { passed, hold } = gate();
    const server = await slowServer(10, passed);
    const place = await workplace({ 'flow.yaml': flow(server.origin), 'in.csv': table });
    const { child, finished } = run(place);
    await until(() => server.requests.length > 100);
    const release = hold();
    process.kill(child.pid as number, 'SIGINT');
    await untilInterrupted(child);
    release();
    expect((await finished).code).toBe(130);
    const before = server.requests.length;
    expect(before).toBeLessThan(records);
    const resumed = await finishedRun(place, ['--resume']);
    expect(resumed.code, resumed.stderr).toBe(4);
    expect(await place.read('out.csv')).toBe(expectedRows());
    // A failed record that waited for an earlier record is processed again, as in a run without workers.
    expect(server.requests.length).toBeLessThanOrEqual(records + 20);
  });

  test('are not lost if Ctrl-C or SIGTERM reaches all processes of the run, so no request is repeated', async () => {
    const { passed, hold } = gate();
    let release = () => {};
    const server = await httpServer(async (_, response) => {
      const count = server.requests.length;
      if (count === 21) release = hold();
      // Both workers have started: each sends four requests at once. A process that is starting would be killed by the signals.
      await until(() => server.requests.length >= 8);
      await passed();
      response.end('{"name":"a"}');
    });
    const place = await workplace({ 'flow.yaml': flow(server.origin), 'in.csv': table });
    const summary = async () => JSON.parse(await place.read('summary.json'));
    const args = ['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--workers', '2', '--summary', 'summary.json', '--limit', '60'];
    const { child, finished } = place.start(args, { ownGroup: true });
    const pid = child.pid as number;
    await until(() => server.requests.length > 20);
    // A terminal sends the signal to the process group, and a service manager to all processes of the service.
    const all = childrenOf(pid);
    process.kill(-pid, 'SIGINT');
    for (const signal of ['SIGTERM', 'SIGHUP'] as const) for (const one of all) process.kill(one, signal);
    await untilInterrupted(child);
    release();
    const { code, stderr } = await finished;
    expect(code, stderr).toBe(130);
    expect(await summary()).toMatchObject({ credits: server.requests.length, workers: { most: 2, lost: 0 } });
    expect(await summary()).not.toHaveProperty('maybe_spent');
    await until(() => all.every((one) => !readdirSync('/proc').includes(String(one))));
    expect((await place.automate([...args, '--resume'])).code).toBe(0);
    expect(server.requests).toHaveLength(60);
    expect(new Set(server.requests.map(({ path }) => path)).size).toBe(60);
    expect((await readCredits(place)).spent).toBe(60);
  });

  test('end the run with a message about a record if each of them crashes at this record', async () => {
    const deadly = '77';
    let runner = 0;
    const server = await httpServer(async ({ path }, response) => {
      // Kills each worker only when this record is the only one left.
      if (path === `/${deadly}`) {
        while (!(await place.read('out.csv').catch(() => '')).includes('2,a\n')) await sleep(20);
        for (const pid of childrenOf(runner)) kill(pid);
        return;
      }
      response.end('{"name":"a"}');
    });
    const place = await workplace({ 'flow.yaml': flow(server.origin), 'in.csv': 'id\n1\n2\n77\n' });
    const { child, finished } = run(place, ['--workers', '1']);
    runner = child.pid as number;
    const { code, stderr } = await finished;
    expect(code).toBe(5);
    expect(stderr).toContain('3 workers in a row have died while record 3 was in progress');
    expect(stderr).toContain('--resume');
  });
});

describe('the workers of one run', () => {
  test('share a rate limit', async () => {
    const times: number[] = [];
    const server = await httpServer((_, response) => {
      times.push(performance.now());
      response.end('{"name":"a"}');
    });
    const place = await workplace({ 'flow.yaml': flow(server.origin, ', rate: 50/s'), 'in.csv': table });
    expect((await finishedRun(place, ['--limit', '150', '--workers', '3'])).code).toBe(0);
    // If each worker had its own limit, this would be a second. On a busy machine, it is longer than 3 s.
    expect((times.at(-1) as number) - (times[0] as number)).toBeGreaterThan(2000);
  });

  test('share a pause after a response with status 429', async () => {
    const times: number[] = [];
    const { passed, hold } = gate();
    const server = await httpServer(async (_, response) => {
      times.push(performance.now());
      if (times.length === 60) {
        // In this time, the other worker hears of the pause. It can send few requests, because the earlier ones have no response.
        setTimeout(hold(), 5000);
        response.writeHead(429, { 'retry-after': '8' }).end();
        return;
      }
      await passed();
      setTimeout(() => response.end('{"name":"a"}'), 20);
    });
    const place = await workplace({ 'flow.yaml': flow(server.origin), 'in.csv': table });
    expect((await finishedRun(place)).code).toBe(0);
    const pausedAt = times[59] as number;
    expect(times.filter((at) => at > pausedAt + 4900 && at < pausedAt + 7900)).toEqual([]);
  });

  test('share the credits of the run, exactly to the last one', async () => {
    const server = await slowServer(5);
    const place = await workplace({ 'flow.yaml': flow(server.origin), 'in.csv': table });
    const { code, stderr } = await finishedRun(place, ['--max-credits', '137']);
    expect(code, stderr).toBe(5);
    expect(server.requests.length).toBe(137);
    expect((await readCredits(place)).spent).toBe(137);
  });

  test('share the max_cost of a language model', async () => {
    const server = await httpServer(async (_, response) => {
      await sleep(20);
      response.setHeader('content-type', 'application/json');
      const message = { role: 'assistant', content: '{"a":"x"}' };
      response.end(JSON.stringify({ choices: [{ message, finish_reason: 'stop' }], usage: { prompt_tokens: 100, completion_tokens: 10 } }));
    });
    const llm = `connections:
  m: { type: http, base_url: "${server.origin}/v1" }
nodes:
  - { type: llm, provider: openai, connection: m, model: m, prompt: "${'x'.repeat(300)} {{id}}", max_tokens: 10, output: { a: string }, price: { input: 10, output: 10 }, max_cost: 0.02 }
`;
    const place = await workplace({ 'flow.yaml': llm, 'in.csv': table });
    const { code, stderr } = await finishedRun(place);
    expect(code, stderr).toBe(5);
    // 110 tokens cost 0.0011 at 10 per million.
    expect(server.requests.length * 0.0011).toBeLessThanOrEqual(0.02);
    expect(server.requests.length).toBeGreaterThan(10);
  });
});

test("a run ends if a worker's disk is full, and can be resumed", async () => {
  const server = await httpServer(({ path }, response) => {
    const page = Number(path.split('/')[2]);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ items: [{ text: 'x'.repeat(200_000) }], next: page < 3 ? `/1/${page + 1}` : null }));
  });
  const node = `{ type: http, url: "${server.origin}/{{id}}/1", paginate: { type: next_url, path: next, items: items }, map: { text: "items[].text" } }`;
  const place = await workplace({ 'flow.yaml': `nodes:\n  - ${node}\n`, 'in.csv': 'id\n1\n' });
  const args = ['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--workers', '2'];
  // A worker writes the rows of a record with many pages to a temporary file. Here, the folder for that file is missing.
  const { code, stderr } = await place.automate(args, { env: { TMPDIR: place.path('not-there') } });
  expect(code, stderr).toBe(74);
  expect(stderr).toContain('the temporary file for waiting rows cannot be written');
  expect((await place.automate([...args, '--resume'])).code).toBe(0);
  expect((await place.read('out.csv')).split('\n')).toHaveLength(5);
});

test('automate retry can use workers, and puts the rows into their old positions', async () => {
  let isMended = false;
  const server = await httpServer(({ path }, response) => {
    if (!isMended && Number(path.slice(1)) % 9 === 0) response.statusCode = 404;
    response.end(`{"name":"name ${path.slice(1)}"}`);
  });
  const place = await workplace({ 'flow.yaml': flow(server.origin), 'in.csv': table });
  expect((await finishedRun(place)).code).toBe(4);
  isMended = true;
  const { code, stderr } = await place.automate(['retry', 'out.csv', '--workers', '2']);
  expect(code, stderr).toBe(0);
  expect(stderr).toContain('at most 4 requests at once in each worker\n');
  expect(await place.read('out.csv')).toBe(
    `id,name\n${Array.from({ length: records }, (_, index) => `${index + 1},name ${index + 1}\n`).join('')}`,
  );
});

test('workers begin hardly more records than the credits can complete', async () => {
  const server = await httpServer(async ({ path }, response) => {
    // Many records have passed the first node when the first record ends.
    await sleep(path.startsWith('/b') ? 300 : 5);
    response.end('{"name":"a"}');
  });
  const node = (field: string) => `  - { type: http, url: "${server.origin}/${field}/{{id}}", map: { ${field}: name } }\n`;
  const place = await workplace({ 'flow.yaml': `nodes:\n${node('a')}${node('b')}`, 'in.csv': table });
  expect((await finishedRun(place, ['--workers', '2', '--max-credits', '30', '--summary', 'summary.json'])).code).toBe(5);
  const { written, failed, waiting } = JSON.parse(await place.read('summary.json'));
  // 30 credits are enough for 15 records. If each worker began as many as it can, 6 would reach the end.
  expect(written + failed + waiting).toBeGreaterThanOrEqual(8);
});

test('a run with workers and --quiet prints nothing', async () => {
  const server = await httpServer((_, response) => void response.end('{"name":"a"}'));
  const place = await workplace({ 'flow.yaml': flow(server.origin), 'in.csv': 'id\n1\n' });
  expect(await finishedRun(place, ['--quiet'])).toEqual({ code: 0, stdout: '', stderr: '' });
});
test('a run ends at --max-credits even if records wait for a worker', async () => {
  const server = await slowServer(100);
  const place = await workplace({ 'flow.yaml': flow(server.origin), 'in.csv': table });
  const few = ['--workers', '1', '--concurrency', '2'];
  const { code, stderr } = await finishedRun(place, [...few, '--max-credits', '30']);
  expect(code, stderr).toBe(5);
  expect((await finishedRun(place, ['--workers', '2', '--resume'])).code).toBe(4);
  expect(await place.read('out.csv')).toBe(expectedRows());
});

test('a run whose server never responds fails no record, even if its workers send few requests', async () => {
  const batch = 'batch: { size: 100, items: "{{id}}" }, method: POST, body: { ids: "{{items}}" }, retry: { max: 2, backoff: 50ms }';
  const place = await workplace({
    'flow.yaml': `nodes:\n  - { type: http, url: "http://127.0.0.1:1/", ${batch} }\n`,
    'in.csv': `id\n${Array.from({ length: 3000 }, (_, index) => `${index + 1}\n`).join('')}`,
  });
  const { code, stderr } = await finishedRun(place);
  expect([code, stderr]).toEqual([5, expect.stringContaining('attempts was answered')]);
  expect(stderr).toContain('0 failed');
});

test("a run saves each record's file once, even if a worker is killed", async () => {
  const server = await slowServer();
  const saving = ', save: { to: "kept/{{id}}.json" }';
  const place = await workplace({ 'flow.yaml': flow(server.origin, saving).replace(', map: [name]', ''), 'in.csv': table });
  const { child, finished } = run(place);
  await until(() => server.requests.length > 150);
  kill(childrenOf(child.pid as number)[0] as number);
  expect((await finished).code).toBe(4);
  const files = readdirSync(place.path('kept')).filter((name) => !name.endsWith('.automate-part'));
  expect(files).toHaveLength(records - Math.floor(records / 9));
  expect((await place.read('out.csv')).trimEnd().split('\n')).toHaveLength(files.length + 1);
  expect(existsSync(place.path('out.csv.automate-run'))).toBe(false);
});

test('a run fails the second of two records that save the same file, even in different workers', async () => {
  const server = await slowServer();
  const saving = ', save: { to: "one.json" }';
  const place = await workplace({ 'flow.yaml': flow(server.origin, saving).replace(', map: [name]', ''), 'in.csv': 'id\n1\n2\n' });
  const { code, stderr } = await finishedRun(place);
  expect([code, stderr]).toEqual([4, expect.stringContaining('another record of this run saves "one.json"')]);
});

test('a run ends if its workers crash repeatedly before they finish a record', async () => {
  let runner = 0;
  const server = await httpServer(() => new Promise(() => undefined));
  const place = await workplace({ 'flow.yaml': flow(server.origin), 'in.csv': 'id\n1\n' });
  const { child, finished } = run(place, ['--workers', '1']);
  runner = child.pid as number;
  const killing = setInterval(() => {
    for (const pid of childrenOf(runner)) kill(pid);
  }, 5);
  const { code, stderr } = await finished;
  clearInterval(killing);
  expect([code, stderr]).toEqual([5, expect.stringMatching(/workers in a row have died/)]);
});

test('a second Ctrl-C ends a run and all its workers at once', async () => {
  const server = await httpServer(() => new Promise(() => undefined));
  const place = await workplace({ 'flow.yaml': flow(server.origin), 'in.csv': table });
  const { child, finished } = run(place);
  await until(() => server.requests.length > 3);
  const children = childrenOf(child.pid as number);
  process.kill(child.pid as number, 'SIGINT');
  await sleep(200);
  process.kill(child.pid as number, 'SIGINT');
  expect((await finished).code).toBe(130);
  await until(() => children.every((pid) => !readdirSync('/proc').includes(String(pid))));
});
