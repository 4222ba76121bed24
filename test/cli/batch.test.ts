import { describe, expect, test } from 'vitest';
import { csvOf, idsTo } from '../helpers/asking.ts';
import { type Finished, readCredits, type Workplace, workplace } from '../helpers/cli.ts';
import { type HttpServer, httpServer, json } from '../helpers/http-server.ts';
import { remembered } from '../helpers/remembered.ts';
import { leftBehind } from '../helpers/resuming.ts';
import { typed } from '../helpers/shell.ts';

/** A server that looks up ids, records its requests, and refuses a list that contains a poisoned id. */
interface LookupServer extends HttpServer {
  /** The ids of each request. */
  lists(): string[][];
  /** Calls `act` once, after `count` requests. */
  after(count: number, act: () => void): void;
}

interface Knowing {
  readonly unknown?: readonly number[];
  readonly poisoned?: readonly number[];
  readonly ms?: number;
}

async function lookupServer(knows: Knowing = {}): Promise<LookupServer> {
  let awaited = 0;
  let act = () => {};
  const server = await httpServer(async ({ body }, response) => {
    if (server.requests.length === awaited) act();
    const ids = idsIn(body);
    const { unknown = [], poisoned = [], ms = 0 } = knows;
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
    if (ids.some((id) => poisoned.includes(Number(id)))) return json(response, { error: 'no such id' }, 422);
    const found = ids.filter((id) => !unknown.includes(Number(id))).reverse();
    return json(response, { results: found.map((id) => ({ id: Number(id), name: `name ${id}` })) });
  });
  return {
    ...server,
    lists: () => server.requests.map(({ body }) => idsIn(body)),
    after(count, then) {
      awaited = count;
      act = then;
    },
  };
}

/** Sorts lists by their first id, because requests that are in flight at the same time arrive in any order. */
const byFirstId = (lists: string[][]): string[][] => lists.sort(([a], [b]) => Number(a) - Number(b));

const idsIn = (body: string): string[] => JSON.parse(body || '{}').ids ?? [];

const flowFor = (origin: string, batch = '', more = '') => `nodes:
  - id: ask
    type: http
    method: POST
    url: ${origin}/lookup
    batch: { items: "{{id}}", match: { field: id, path: "results[].id" }${batch} }
    body: { ids: "{{items}}" }
    map: { name: "results[].name" }
${more}`;

const placeFor = (server: HttpServer, count: number, batch = '', more = '') =>
  workplace({ 'flow.yaml': flowFor(server.origin, batch, more), 'rows.csv': csvOf(count) });

const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'];

const linesOf = (ids: readonly number[]) => `id,note,name\n${ids.map((id) => `${id},"note, ${id}",name ${id}\n`).join('')}`;

const but = (count: number, ids: readonly number[]) => idsTo(count).filter((id) => !ids.includes(id));

const failedIds = async (place: Workplace, name = 'out.errors.csv') => (await place.read(name)).match(/^\d+/gm)?.map(Number);

describe('a batch lookup', () => {
  test('looks up 1,000 ids in batches of 100 with 10 requests, for 10 credits', async () => {
    const server = await lookupServer();
    const place = await placeFor(server, 1000);
    const { code, stderr } = await place.automate(run);
    expect([code, stderr]).toEqual([0, expect.stringContaining('1,000 read, 1,000 written, 0 failed in ')]);
    expect(stderr).toContain('results[].name: found in 1,000 of 1,000');
    expect(byFirstId(server.lists())).toEqual(Array.from({ length: 10 }, (_, batch) => idsTo(100).map((id) => String(batch * 100 + id))));
    expect(await place.read('out.csv')).toBe(linesOf(idsTo(1000)));
    expect(await readCredits(place)).toMatchObject({ spent: 10, held: 0 });
  });

  test('writes records that are missing from the response to the errors file', async () => {
    const unknown = [1, 77, 100, 101, 250];
    const knows: { unknown: readonly number[] } = { unknown };
    const server = await lookupServer(knows);
    const place = await placeFor(server, 250);
    const { code, stderr } = await place.automate(run);
    expect([code, server.requests.length]).toEqual([4, 3]);
    expect(await place.read('out.csv')).toBe(linesOf(but(250, unknown)));
    expect(await failedIds(place)).toEqual(unknown);
    expect(await place.read('out.errors.csv')).toContain(
      '77,"note, 77",ask,mapping,200,"the answer has nothing for this record: no ""results[].id"" is ""77""",1,77\n',
    );
    knows.unknown = [];
    const again = await typed(place, /automate retry .*$/m.exec(stderr)?.[0] ?? '');
    expect(again.code).toBe(0);
    expect(server.lists().at(-1)).toEqual(unknown.map(String));
    expect([server.requests.length, (await readCredits(place)).spent]).toEqual([4, 4]);
  });

  test('writes records that are missing from the response to the output if the missing option is "keep"', async () => {
    const server = await lookupServer({ unknown: [2] });
    const place = await placeFor(server, 3, ', missing: keep');
    const { code, stderr } = await place.automate(run);
    expect([code, await place.read('out.csv')]).toEqual([0, linesOf(idsTo(3)).replace('name 2', '')]);
    expect(stderr).toContain('results[].name: found in 2 of 3');
  });

  test('halves a batch to isolate bad ids, so only their records fail', async () => {
    const poisoned = [13, 14, 222];
    const server = await lookupServer({ poisoned });
    const place = await placeFor(server, 250);
    const { code, stderr } = await place.automate(run);
    expect(code).toBe(4);
    expect(await place.read('out.csv')).toBe(linesOf(but(250, poisoned)));
    expect(await failedIds(place)).toEqual(poisoned);
    expect(await place.read('out.errors.csv')).toMatch(/^222,"note, 222",ask,http,422,.*,1,222$/m);
    expect(stderr).toContain('250 read, 247 written, 3 failed in ');
    expect(await readCredits(place)).toMatchObject({ spent: server.requests.length });
    expect(await readCredits(place)).toMatchObject({ spent: server.requests.length, held: 0 });
    // Each halving of a batch sends two requests, and finding a bad id takes 6 or 7 halvings.
    expect(server.requests.length).toBeLessThanOrEqual(3 + 2 * (2 * 7 + 6));
    for (const id of poisoned) expect(server.lists()).toContainEqual([String(id)]);
  });

  test('keeps every request body within max_bytes', async () => {
    const server = await lookupServer();
    const place = await placeFor(server, 1000, ', size: 1000, max_bytes: 1kB');
    expect((await place.automate(run)).code).toBe(0);
    const bodies = server.requests.map(({ body }) => body).sort((a, b) => Number(idsIn(a)[0]) - Number(idsIn(b)[0]));
    const lengths = bodies.map(({ length }) => length);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(1000);
    // Every body but the last is full: not even an id of three digits, which takes up to six bytes, would still fit.
    expect(Math.min(...lengths.slice(0, -1))).toBeGreaterThan(1000 - 8);
    expect(byFirstId(server.lists()).flat()).toEqual(idsTo(1000).map(String));
    expect(await place.read('out.csv')).toBe(linesOf(idsTo(1000)));
  });

  test('writes records in input order, or with --unordered as soon as their response arrives', async () => {
    const server = await lookupServer({ ms: 5 });
    const place = await placeFor(server, 1000, ', size: 30', '    concurrency: 3\n');
    expect((await place.automate(run)).code).toBe(0);
    expect([await place.read('out.csv'), server.requests.length]).toEqual([linesOf(idsTo(1000)), 34]);
    expect((await place.automate([...run, '--force', '--unordered'])).code).toBe(0);
    const lines = (await place.read('out.csv')).trim().split('\n').slice(1);
    expect(lines.sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10)).join('\n')).toBe(
      linesOf(idsTo(1000)).trim().split('\n').slice(1).join('\n'),
    );
  });

  test('sends each full batch of a slow input at once, and an incomplete batch when the input ends', async () => {
    const server = await lookupServer();
    const place = await placeFor(server, 0);
    const { child, finished } = place.start(['run', 'flow.yaml', '--in', '-', '--in-format', 'csv'], {
      stdin: csvOf(250),
      keepStdin: true,
    });
    while (server.requests.length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(server.lists().map(({ length }) => length)).toEqual([100, 100]);
    child.stdin?.end('251,last\n');
    expect((await finished).code).toBe(0);
    expect(server.lists().map(({ length }) => length)).toEqual([100, 100, 51]);
  });
});

describe('an interrupted batch run', () => {
  /** Returns the output and the errors file of a run that is not interrupted. */
  const undisturbed = remembered(async (knows: Knowing, count: number, batch: string) => {
    const server = await lookupServer(knows);
    const place = await placeFor(server, count, batch);
    const { code } = await place.automate(run);
    const errors = knows.poisoned || knows.unknown ? await place.read('out.errors.csv') : '';
    return { code, out: await place.read('out.csv'), errors };
  });

  async function resumed(place: Workplace): Promise<Finished> {
    const finished = await place.automate([...run, '--resume']);
    expect(await leftBehind(place)).toEqual([]);
    return finished;
  }

  test('writes all paid batches when --max-credits is reached, and requests the rest with --resume', async () => {
    const server = await lookupServer();
    const place = await placeFor(server, 1000);
    const { code, stderr } = await place.automate([...run, '--max-credits', '4']);
    expect([code, server.requests.length]).toEqual([5, 4]);
    expect(stderr).toContain('the 4 credits of this run are used up (--max-credits 4)');
    expect(await place.read('out.csv')).toBe(linesOf(idsTo(400)));
    expect((await resumed(place)).code).toBe(0);
    expect(await place.read('out.csv')).toBe(linesOf(idsTo(1000)));
    expect([server.requests.length, (await readCredits(place)).spent]).toEqual([10, 10]);
  });

  test.each([2, 5, 9, 14])(
    'neither loses nor duplicates records if --max-credits %i ends it while a refused batch is halved',
    async (max) => {
      const knows = { poisoned: [7, 150] };
      const whole = await undisturbed(knows, 200, '');
      const server = await lookupServer(knows);
      const place = await placeFor(server, 200);
      expect((await place.automate([...run, '--max-credits', String(max)])).code).toBe(5);
      expect([server.requests.length, (await readCredits(place)).spent]).toEqual([max, max]);
      expect((await resumed(place)).code).toBe(whole.code);
      expect(await place.read('out.csv')).toBe(whole.out);
      expect(await place.read('out.errors.csv')).toBe(whole.errors);
      expect((await readCredits(place)).spent).toBe(server.requests.length);
    },
  );

  test.each([
    ['SIGKILL at the first batch', 1, {}],
    ['SIGKILL between halves', 60, { poisoned: [5, 333, 334, 999] }],
    ['SIGKILL with missing records', 20, { unknown: [1, 2, 3, 500, 2000] }],
  ])('writes the same output as an uninterrupted run when it is resumed after %s', async (_, calls, knows) => {
    const whole = await undisturbed(knows, 2000, ', size: 20');
    const server = await lookupServer({ ...knows, ms: 3 });
    const place = await placeFor(server, 2000, ', size: 20');
    const { child, finished } = place.start(run);
    server.after(calls, () => child.kill('SIGKILL'));
    await finished;
    expect(child.signalCode).toBe('SIGKILL');
    expect((await resumed(place)).code).toBe(whole.code);
    expect(await place.read('out.csv')).toBe(whole.out);
    if (whole.errors !== '') expect(await place.read('out.errors.csv')).toBe(whole.errors);
    // The killed run's reserved credits count as spent even if a call was never sent, so there can be more credits than requests.
    expect((await readCredits(place)).spent).toBeGreaterThanOrEqual(server.requests.length);
  });

  test('writes the responses of all batches that were sent before SIGINT', async () => {
    const server = await lookupServer({ ms: 20 });
    const place = await placeFor(server, 2000, ', size: 20', '    concurrency: 4\n');
    const { child, finished } = place.start(run);
    server.after(30, () => child.kill('SIGINT'));
    const { code, stderr } = await finished;
    expect([code, stderr]).toEqual([130, expect.stringContaining('--resume')]);
    const sent = server.lists().flat().map(Number);
    expect(sent.length).toBeLessThan(2000);
    expect(await place.read('out.csv')).toBe(linesOf(idsTo(sent.length)));
    expect((await resumed(place)).code).toBe(0);
    expect(await place.read('out.csv')).toBe(linesOf(idsTo(2000)));
    expect(
      server
        .lists()
        .flat()
        .map(Number)
        .sort((a, b) => a - b),
    ).toEqual(idsTo(2000));
    expect([server.requests.length, await readCredits(place)]).toEqual([100, expect.objectContaining({ spent: 100, held: 0 })]);
  });

  test('leaves an incomplete batch to the next run if it receives SIGINT', async () => {
    const server = await lookupServer();
    const place = await placeFor(server, 0);
    const args = ['run', 'flow.yaml', '--in', '-', '--in-format', 'csv', '--out', 'out.csv'];
    const { child, finished } = place.start(args, { stdin: csvOf(150), keepStdin: true });
    while (server.requests.length < 1) await new Promise((resolve) => setTimeout(resolve, 20));
    await new Promise((resolve) => setTimeout(resolve, 300));
    child.kill('SIGINT');
    expect((await finished).code).toBe(130);
    expect([server.requests.length, await place.read('out.csv')]).toEqual([1, linesOf(idsTo(100))]);
    expect((await place.automate([...args, '--resume'], { stdin: csvOf(150) })).code).toBe(0);
    expect([server.requests.length, await place.read('out.csv')]).toEqual([2, linesOf(idsTo(150))]);
  });
});

describe('a dry run of a flow with batches', () => {
  const dry = async (nodes: (origin: string) => string, count: number) => {
    const server = await lookupServer();
    const place = await workplace({ 'flow.yaml': `nodes:\n${nodes(server.origin)}`, 'rows.csv': csvOf(count) });
    const { code, stdout, stderr } = await place.automate([...run, '--dry-run']);
    expect([code, stderr, server.requests.length]).toEqual([0, '', 0]);
    const lines = Object.fromEntries([...stdout.matchAll(/^(\w+): +(.*)$/gm)].map(([, name, text]) => [name, text]));
    return { stdout, lines, actions: lines.actions };
  };
  const batch = (origin: string) => flowFor(origin).split('\n').slice(1).join('\n');
  const inside = (kind: string, nodes: (origin: string) => string) => (origin: string) =>
    `  - type: ${kind}\n    nodes:\n${nodes(origin).replaceAll(/^(?=.)/gm, '    ')}`;
  const pages = (origin: string) =>
    `  - { type: http, url: "${origin}/{{id}}", map: { next: next }, paginate: { type: cursor, path: next, param: c, max: 7 } }\n`;

  test('plans at least one request for each batch, and at most 2n - 1 for n records', async () => {
    const { lines } = await dry(batch, 250);
    expect([lines.actions, lines.credits]).toEqual(['3 at least, 3 expected, 497 at most', '3 at least, 3 expected, 497 at most']);
    expect((await dry(batch, 1)).actions).toBe('1');
  });

  test('shows the request of the batch', async () => {
    expect((await dry(batch, 2)).stdout).toMatch(/POST .*\/lookup\n[\s\S]*\{"ids":\["1"/);
  });

  test('plans at most `max` requests for the pages of each record', async () => {
    expect((await dry(pages, 10)).actions).toBe('10 at least, 10 expected, 70 at most');
  });

  test('plans batches that follow a paging node, and batches in a loop or a poll', async () => {
    const behind = await dry((origin) => pages(origin) + batch(origin), 200);
    expect(behind.actions).toBe(`200 at least, 202 expected, 4,186 at most`);
    expect((await dry(inside("loop\n    while: name != 'x'\n    max: 5", batch), 200)).actions).toBe(
      '2 at least, 2 expected, 1,990 at most',
    );
    expect((await dry(inside("poll\n    until: name == 'x'\n    every: 1s\n    timeout: 3s", batch), 200)).actions).toBe(
      '2 at least, 2 expected, 1,592 at most',
    );
  });
});

describe('test-request of a node with batches', () => {
  test('sends a batch of one record, shows its mapped fields, and costs one credit', async () => {
    const server = await lookupServer();
    const place = await placeFor(server, 5);
    const { code, stdout } = await place.automate(['test-request', 'flow.yaml', '--in', 'rows.csv', '--record', '3']);
    expect([code, server.lists()]).toEqual([0, [['3']]]);
    expect(stdout).toContain('{"ids":["3"]}');
    expect(stdout).toMatch(/results\[\]\.name +string +"name 3"/);
    expect((await readCredits(place)).spent).toBe(1);
  });

  test('reports that the response contains nothing for the record', async () => {
    const server = await lookupServer({ unknown: [1] });
    const place = await placeFor(server, 5);
    const { code, stdout, stderr } = await place.automate(['test-request', 'flow.yaml', '--in', 'rows.csv']);
    expect(stdout + stderr).toContain('the answer has nothing for this record: no "results[].id" is "1"');
    expect(code).toBe(4);
  });

  test('sends no request with --no-send', async () => {
    const server = await lookupServer();
    const place = await placeFor(server, 5);
    const { code, stdout } = await place.automate(['test-request', 'flow.yaml', '--set', 'id=9', '--no-send']);
    expect([code, server.requests.length]).toEqual([0, 0]);
    expect(stdout).toContain('{"ids":["9"]}');
  });
});
