import { describe, expect, test } from 'vitest';
import { responseTimeLines } from '../../src/cli/run/summary.ts';
import { earlyWarnings } from '../../src/report/early-warnings.ts';
import { ResponseTimes } from '../../src/report/response-times.ts';
import { responseTimesOf } from '../../src/report/run-view.ts';
import { createTally } from '../../src/report/tally.ts';
import { workplace } from '../helpers/cli.ts';
import { type Handler, httpServer, json } from '../helpers/http-server.ts';
import { shell } from '../helpers/shell.ts';

const rowsOf = (count: number) => `id\n${Array.from({ length: count }, (_, index) => index + 1).join('\n')}\n`;

/** Runs a flow with one node over a few rows. */
async function run(node: string, handler: Handler, { records = 2, args = [] as readonly string[] } = {}) {
  const server = await httpServer(handler);
  const flow = `nodes: [{ type: http, id: ask, url: "${server.origin}/{{id}}", ${node} }]\n`;
  const place = await workplace({ 'rows.csv': rowsOf(records), 'flow.yaml': flow });
  const env = { AUTOMATE_CREDENTIAL_KEY: 'canary-7f3a' };
  const finished = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', ...args], { env });
  return { ...finished, place, server };
}

describe('automate run --verbose', () => {
  test('prints a line for each attempt, and masks secrets', async () => {
    let asked = 0;
    const answer: Handler = (_request, response) => json(response, {}, asked++ === 0 ? 503 : 200);
    const node = 'concurrency: 1, retry: { backoff: 1ms }, auth: { type: api_key, query: key, credential: key }';
    const { stderr, server } = await run(node, answer, { records: 1, args: ['--verbose'] });
    const lines = stderr.split('\n').filter((line) => line.startsWith('record '));
    expect(lines.map((line) => line.replace(/ {2}[\d.]+ m?s$/, '  N ms'))).toEqual([
      `record 1  ask  GET ${server.origin}/1?key=***  503  N ms`,
      `record 1  ask  GET ${server.origin}/1?key=***  200  N ms`,
    ]);
    expect(stderr).not.toContain('canary');
  });

  test('shows why there was no response, and whether a response was cached or delayed', async () => {
    const dead = await run('retry: { max: 0 }, timeout: 1s', () => new Promise(() => {}), { records: 1, args: ['-v', '--keep-going'] });
    expect(dead.stderr).toMatch(/^record 1 {2}ask {2}GET .* {2}timeout: no response within 1 s {2}[\d.]+ m?s$/m);
    const cached = await run('cache: 1h', (_request, response) => json(response, {}), {
      args: ['-v', '--set', 'id=7', '--concurrency', '1'],
    });
    expect(cached.stderr).toMatch(/^record 2 {2}ask {2}from the cache$/m);
    let asked = 0;
    const limited: Handler = (_request, response) => {
      if (asked++ > 0) return json(response, {});
      response.writeHead(429, { 'Retry-After': '1' }).end();
    };
    const paused = await run('concurrency: 1', limited, { records: 1, args: ['-v'] });
    expect(paused.stderr).toContain(`429: every request to ${paused.server.origin} waits 1 s`);
  });

  test('cannot be combined with --quiet', async () => {
    const { code, stderr, server } = await run('when: "true"', () => {}, { args: ['-q', '-v'] });
    expect([code, stderr, server.requests]).toEqual([2, 'automate: expected --quiet or --verbose, found both\n', []]);
  });
});

describe('the response times of a run', () => {
  test('are shown in the summary and in the summary file', async () => {
    const { stderr, place } = await run('method: GET', () => {}, { args: ['--summary', 'summary.json'] });
    expect(stderr).toMatch(/^ {2}response times: p50 [\d.]+ m?s, p95 [\d.]+ m?s, max [\d.]+ m?s$/m);
    const { response_ms: ms } = JSON.parse(await place.read('summary.json'));
    expect(ms).toEqual({ p50: expect.any(Number), p95: expect.any(Number), max: expect.any(Number) });
    expect(ms.p50 <= ms.p95 && ms.p95 <= ms.max).toBe(true);
  });

  test('have percentiles that are at most 10 % too high', () => {
    const times = new ResponseTimes();
    for (let ms = 1; ms <= 100_000; ms++) times.add(ms);
    for (const share of [0.5, 0.95]) {
      expect(times.percentileMs(share)).toBeGreaterThanOrEqual(share * 100_000);
      expect(times.percentileMs(share)).toBeLessThan(share * 100_000 * 1.1);
    }
    expect(responseTimeLines({ responseTimes: responseTimesOf(times) })).toEqual([
      '  response times: p50 51 s, p95 1 min 40 s, max 1 min 40 s',
    ]);
    expect(responseTimeLines({ responseTimes: responseTimesOf(new ResponseTimes()) })).toEqual([]);
  });
});

describe('the warnings during a run', () => {
  test('report that the first 100 records all failed with the same status', async () => {
    const { stderr } = await run('retry: { max: 0 }', (_request, response) => json(response, {}, 404), { records: 150 });
    const [before = ''] = stderr.split('\ndone: ');
    expect(before).toContain('warning: each of the first 100 records failed at ask with status 404: the server answered 404: {}');
  });

  test('report that none of the first 100 responses has a value at a mapped path', async () => {
    const node = 'map: { a: data.name, b: data.nmae }';
    const { stderr, code } = await run(node, (_request, response) => json(response, { data: { name: 'x' } }), { records: 150 });
    const [before = ''] = stderr.split('\ndone: ');
    expect(before).toMatch(
      /warning: none of the first \d+ answers of ask has "data\.nmae"; automate test-request shows the paths of an answer/,
    );
    expect([code, before.includes('"data.name"')]).toEqual([0, false]);
  });

  test('are not printed for fewer records, for different failures, or with --quiet', async () => {
    const none: Handler = (_request, response) => json(response, {}, 404);
    expect((await run('retry: { max: 0 }', none, { records: 99 })).stderr).not.toContain('each of the first');
    expect((await run('retry: { max: 0 }', none, { records: 101, args: ['-q'] })).stderr).not.toContain('each of the first');
    expect(earlyWarnings({ type: 'record-done', record: 1, rows: 1 }, { ...createTally(), read: 100 })).toEqual([]);
  });
});

describe('errors in a response that also contains data', () => {
  const answer: Handler = ({ path }, response) => json(response, { data: {}, errors: path === '/1' ? [{ message: 'no' }] : [] });

  test('are reported once in the summary, with the option that makes the records fail', async () => {
    const { code, stderr } = await run('map: [data.name]', answer);
    expect(code).toBe(0);
    expect(stderr).toContain(
      '  warning: 1 answer of ask has errors next to data, but counts as a success; to fail such records, add to ask:\n    fail_when: has(body.errors) && body.errors.size() > 0\n',
    );
  });

  test('are not reported if the node checks responses with fail_when', async () => {
    expect((await run('map: [data.name], fail_when: "false"', answer)).stderr).not.toContain('errors next to data');
  });
});

test('the summary shows the number of rows if a record has several', async () => {
  const list: Handler = (_request, response) => json(response, { list: [1, 2, 3] });
  expect((await run('map: { n: "list[]" }', list)).stderr).toContain('  output: out.csv (6 rows of 2 records)');
});

describe('the summary of a run shows the spent credits', () => {
  const answer: Handler = (_request, response) => json(response, {});

  test.each([
    ['credits: 1', false],
    ['credits: 2', true],
  ])("only if a node's price is not 1 credit (%s, shown: %s)", async (price, isShown) => {
    expect(/\d credits? in /.test((await run(price, answer)).stderr)).toBe(isShown);
  });
});

test('the summary counts the records without a field that a node renames', async () => {
  const place = await workplace({
    'rows.json': '[{"id":1},{"id":2,"a b":3}]',
    'flow.yaml': 'nodes: [{ type: set, id: names, rename: { "a b": a } }]\n',
  });
  const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.json', '--out', 'out.json']);
  expect([code, stderr]).toEqual([0, expect.stringContaining('\n  warning: 1 record had no field "a b" that names could rename\n')]);
});

test('a closed pipe in --events ends the run with 74, unlike a closed stdout', async () => {
  const place = await workplace({ 'rows.csv': rowsOf(2), 'flow.yaml': 'nodes: [{ type: set, fields: { a: 1 } }]\n' });
  const { code, stderr } = await shell(
    place,
    'mkfifo pipe; (exec 3<pipe) & automate run flow.yaml --in rows.csv --out out.csv --events pipe; code=$?; wait; exit $code',
  );
  expect([code, stderr]).toEqual([74, expect.stringContaining('automate: pipe cannot be written: its reader has closed it\n')]);
});
