import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { readCredits, type Workplace, workplace } from '../helpers/cli.ts';
import { type HttpServer, httpServer } from '../helpers/http-server.ts';

const records = 400;
const table = `id\n${Array.from({ length: records }, (_, index) => `${index + 1}\n`).join('')}`;
const flow = (origin: string, more = '') => `nodes:\n  - { type: http, url: "${origin}/{{id}}", concurrency: 4, map: [name]${more} }\n`;

/** A server that takes some ms for each answer. Every 9th record does not exist. */
const slowServer = (ms = 10): Promise<HttpServer> =>
  httpServer(async ({ path }, response) => {
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

/** The child processes of a process. */
const childrenOf = (pid: number): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const parent = Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${name}/stat`, 'latin1'))?.[1]);
        return parent === pid ? [Number(name)] : [];
      } catch {
        return [];
      }
    });

/** Kills a process, unless it is gone already. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {}
}

const run = (place: Workplace, more: readonly string[] = []) =>
  place.start(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--workers', '2', '--summary', 'summary.json', ...more]);

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(5);
}

describe('workers of one run', () => {
  test.each([1, 2, 3])('killed at any moment lose and double no record (%d)', async (round) => {
    const server = await slowServer();
    const place = await workplace({ 'flow.yaml': flow(server.origin), 'in.csv': table });
    const { child, finished } = run(place);
    for (const share of [0.2, 0.5]) {
      await until(() => server.requests.length > records * share + round * 10);
      const children = childrenOf(child.pid as number);
      kill(children[round % children.length] as number);
    }
    expect((await finished).code).toBe(4);
    expect(await place.read('out.csv')).toBe(expectedRows());
    const summary = JSON.parse(await place.read('summary.json'));
    expect(summary).toMatchObject({ workers: { most: 2, lost: 2 }, read: records });
    // Each kill repeats no more than what was under way or not reported.
    expect(server.requests.length).toBeLessThanOrEqual(records + 2 * 300);
    // Credits that a lost worker may have spent count.
    expect((await readCredits(place)).spent).toBeGreaterThanOrEqual(server.requests.length - 8);
  });

  test('end soon after their run was killed, and the run is resumed', async () => {
    const server = await slowServer();
    const place = await workplace({ 'flow.yaml': flow(server.origin), 'in.csv': table });
    const { child, finished } = run(place);
    await until(() => server.requests.length > 150);
    const children = childrenOf(child.pid as number);
    expect(children).toHaveLength(2);
    process.kill(child.pid as number, 'SIGKILL');
    await finished;
    await until(() => children.every((pid) => !readdirSync('/proc').includes(String(pid))));
    // One process goes on where several have begun.
    const resumed = await place.start(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--resume']).finished;
    expect(resumed.code, resumed.stderr).toBe(4);
    expect(await place.read('out.csv')).toBe(expectedRows());
  });

  test('let requests finish at Ctrl-C, and the run is resumed', async () => {
    const server = await slowServer();
    const place = await workplace({ 'flow.yaml': flow(server.origin), 'in.csv': table });
    const { child, finished } = run(place);
    await until(() => server.requests.length > 100);
    process.kill(child.pid as number, 'SIGINT');
    expect((await finished).code).toBe(130);
    const before = server.requests.length;
    expect(before).toBeLessThan(records);
    const resumed = await run(place, ['--resume']).finished;
    expect(resumed.code, resumed.stderr).toBe(4);
    expect(await place.read('out.csv')).toBe(expectedRows());
    // A failed record that waited for an earlier one is not saved, as in a run of one process.
    expect(server.requests.length).toBeLessThanOrEqual(records + 20);
  });

  test('that die at one record end the run, which names it', async () => {
    const deadly = '77';
    let runner = 0;
    const server = await httpServer(async ({ path }, response) => {
      // Kills the workers once only this record is left.
      if (path === `/${deadly}`) {
        await sleep(700);
        for (const pid of childrenOf(runner)) kill(pid);
        return;
      }
      response.end('{"name":"a"}');
    });
    const place = await workplace({ 'flow.yaml': flow(server.origin), 'in.csv': 'id\n1\n77\n2\n' });
    const { child, finished } = run(place, ['--workers', '1']);
    runner = child.pid as number;
    const { code, stderr } = await finished;
    expect(code).toBe(5);
    expect(stderr).toContain('3 workers in a row have died while record 2 was under way');
    expect(stderr).toContain('--resume');
  });
});

describe('limits of a run hold over all its workers', () => {
  test('rate', async () => {
    const times: number[] = [];
    const server = await httpServer((_, response) => {
      times.push(performance.now());
      response.end('{"name":"a"}');
    });
    const place = await workplace({ 'flow.yaml': flow(server.origin, ', rate: 50/s'), 'in.csv': table });
    expect((await run(place, ['--limit', '150', '--workers', '3']).finished).code).toBe(0);
    const most = Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 1000).length));
    expect(most).toBeLessThanOrEqual(50 * 1.05 + 2);
  });

  test('a pause after a 429', async () => {
    const times: number[] = [];
    let isPaused = false;
    const server = await httpServer((_, response) => {
      times.push(performance.now());
      if (times.length === 60 && !isPaused) {
        isPaused = true;
        response.statusCode = 429;
        response.setHeader('retry-after', '3');
      }
      setTimeout(() => response.end('{"name":"a"}'), 20);
    });
    const place = await workplace({ 'flow.yaml': flow(server.origin), 'in.csv': table });
    expect((await run(place).finished).code).toBe(0);
    const pausedAt = times[59] as number;
    expect(times.filter((at) => at > pausedAt + 1000 && at < pausedAt + 2900)).toEqual([]);
  });

  test('credits, to the last one', async () => {
    const server = await slowServer(5);
    const place = await workplace({ 'flow.yaml': flow(server.origin), 'in.csv': table });
    const { code, stderr } = await run(place, ['--max-credits', '137']).finished;
    expect(code, stderr).toBe(5);
    expect(server.requests.length).toBe(137);
    expect((await readCredits(place)).spent).toBe(137);
  });

  test('max_cost of a model', async () => {
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
    const { code, stderr } = await run(place).finished;
    expect(code, stderr).toBe(5);
    // 110 tokens at 10 per million.
    expect(server.requests.length * 0.0011).toBeLessThanOrEqual(0.02);
    expect(server.requests.length).toBeGreaterThan(10);
  });
});

test('a retry takes workers, and puts the rows into their places', async () => {
  let isMended = false;
  const server = await httpServer(({ path }, response) => {
    if (!isMended && Number(path.slice(1)) % 9 === 0) response.statusCode = 404;
    response.end(`{"name":"name ${path.slice(1)}"}`);
  });
  const place = await workplace({ 'flow.yaml': flow(server.origin), 'in.csv': table });
  expect((await run(place).finished).code).toBe(4);
  isMended = true;
  const { code, stderr } = await place.start(['retry', 'out.csv', '--workers', '2']).finished;
  expect(code, stderr).toBe(0);
  expect(await place.read('out.csv')).toBe(
    `id,name\n${Array.from({ length: records }, (_, index) => `${index + 1},name ${index + 1}\n`).join('')}`,
  );
});

test('a flow that saves files does not run in workers: it is refused before anything is sent', async () => {
  const server = await httpServer();
  const place = await workplace({
    'flow.yaml': flow(server.origin, ', save: { to: "{{id}}.txt" }').replace(', map: [name]', ''),
    'in.csv': table,
  });
  const { code, stderr } = await run(place).finished;
  expect([code, stderr, server.requests]).toEqual([
    2,
    expect.stringContaining('--workers: expected a flow that sends and saves no files'),
    [],
  ]);
});

test('workers that die before they have finished a record end the run', async () => {
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

test('a second Ctrl-C ends a run with workers at once, and its workers with it', async () => {
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
