import { describe, expect, test } from 'vitest';
import { csvOf, idsTo } from '../helpers/asking.ts';
import { readCredits, type Workplace, workplace } from '../helpers/cli.ts';
import { type Handler, type HttpServer, httpServer, json } from '../helpers/http-server.ts';
import { leftBehind, run } from '../helpers/resuming.ts';

/** Starts a server that calls `act` once, when it has received `count` requests. */
async function actingServer(handler: Handler): Promise<HttpServer & { after(count: number, act: () => void): void }> {
  let awaited = 0;
  let act = () => {};
  const server = await httpServer((request, response) => {
    if (server.requests.length === awaited) act();
    return handler(request, response);
  });
  return {
    ...server,
    after(count, then) {
      awaited = count;
      act = then;
    },
  };
}

/** Returns a flow with a loop over the pages of each record. Each page has two items. */
const looping = (origin: string, options = '', more = '') => `nodes:
  - { type: set, fields: { cursor: 0 } }
  - type: loop
    while: cursor != null
    carry: [cursor]
    ${options}
    nodes:
      - { id: page, type: http, url: "${origin}/{{id}}?cursor={{cursor}}", map: { cursor: next, item: "items[].n" }${more} }
`;

/** Responds with pages of two items, up to page `last`. */
const pages =
  (last: number, { next = (page: number): unknown => page + 1, ms = 0 } = {}): Handler =>
  async ({ path }, response) => {
    const page = Number(new URL(path, 'http://a').searchParams.get('cursor'));
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
    json(response, { next: page < last ? next(page) : null, items: [{ n: page * 2 }, { n: page * 2 + 1 }] });
  };

/** Returns a flow that polls a job for each record. */
const polling = (origin: string, options: string, more = '') => `nodes:
  - type: poll
    until: status == "done"
    ${options}
    nodes: [{ id: ask, type: http, url: "${origin}/{{id}}", map: { status: status, note: note }${more} }]
`;

/** Responds `times` times with "working" for each job, and then with "done". */
function jobs(times: (id: number) => number, { ms = 0, headers = {} }: { ms?: number; headers?: Record<string, string> } = {}): Handler {
  const asked = new Map<string, number>();
  return async ({ path }, response) => {
    const count = (asked.get(path) ?? 0) + 1;
    asked.set(path, count);
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    json(response, { status: count > times(Number(path.slice(1))) ? 'done' : 'working', note: `job ${path.slice(1)}` });
  };
}

const placeFor = (flow: string, count: number) => workplace({ 'flow.yaml': flow, 'rows.csv': csvOf(count) });

const asked = ({ requests }: HttpServer) => requests.map(({ path }) => path);

const rowsIn = async (place: Workplace) => (await place.read('out.csv')).trim().split('\n').slice(1);

/** Checks that the ledger of credits contains one credit for each request. */
async function expectCounted(place: Workplace, server: HttpServer): Promise<void> {
  expect((await readCredits(place)).spent).toBe(server.requests.length);
}

describe('a loop node', () => {
  test('ends when its condition is false, and has then requested every page once, in order', async () => {
    const server = await httpServer(pages(3));
    const place = await placeFor(looping(server.origin), 2);
    const { code } = await place.automate([...run, '--concurrency', '1']);
    expect([code, asked(server).sort()]).toEqual([0, [1, 2].flatMap((id) => [0, 1, 2, 3].map((page) => `/${id}?cursor=${page}`))]);
    expect((await rowsIn(place)).map((row) => row.split(',').at(-1))).toEqual(
      [1, 2].flatMap(() => ['0', '1', '2', '3', '4', '5', '6', '7']),
    );
    await expectCounted(place, server);
  });

  test("fails the record after max passes, without writing any of the record's rows", async () => {
    const server = await httpServer(pages(9));
    const place = await placeFor(looping(server.origin, 'max: 4'), 1);
    const { code, stderr } = await place.automate(run);
    expect([code, asked(server).length, stderr]).toEqual([4, 4, expect.stringContaining('the loop is not finished after 4 passes (max)')]);
    expect([await rowsIn(place), await place.read('out.errors.csv')]).toEqual([[], expect.stringContaining(',loop-2,mapping,')]);
    expect(await leftBehind(place)).toEqual([]);
    await expectCounted(place, server);
  });

  test.each([
    ['the same page', (page: number) => page, 1, 'pass 1 ends with what the loop began with: cursor = 0'],
    ['an earlier page', (page: number) => (page === 2 ? 1 : page + 1), 3, 'pass 3 ends with what pass 1 ended with: cursor = 1'],
  ])('fails the record if the server leads back to %s', async (_, next, requests, message) => {
    const server = await httpServer(pages(9, { next }));
    const place = await placeFor(looping(server.origin), 1);
    const { code, stderr } = await place.automate(run);
    expect([code, asked(server).length]).toEqual([4, requests]);
    expect(stderr + (await place.read('out.errors.csv'))).toContain(message);
    await expectCounted(place, server);
  });

  test("fails the record with the inner node's reason, without writing any of the record's rows", async () => {
    const server = await httpServer((request, response) =>
      request.path.endsWith('cursor=2') ? json(response, {}, 410) : pages(9)(request, response),
    );
    const place = await placeFor(looping(server.origin), 3);
    expect((await place.automate(run)).code).toBe(4);
    expect([await rowsIn(place), asked(server).length]).toEqual([[], 9]);
    expect((await place.read('out.errors.csv')).match(/,page,http,410,/g)).toHaveLength(3);
    await expectCounted(place, server);
  });

  test('ends if a pass produces no records', async () => {
    const server = await httpServer((_, response) => json(response, { next: 1, items: [] }));
    const place = await placeFor(looping(server.origin, '', ', when_empty: drop'), 2);
    expect((await place.automate(run)).code).toBe(0);
    expect([await rowsIn(place), asked(server).length]).toEqual([[], 2]);
  });

  test.each(['each', 'last'])('writes no incomplete record when the credits run out, and --resume continues (emit: %s)', async (emit) => {
    const server = await httpServer(pages(3));
    const [place, whole] = [
      await placeFor(looping(server.origin, `emit: ${emit}`), 10),
      await placeFor(looping(server.origin, `emit: ${emit}`), 10),
    ];
    await whole.automate(run);
    const before = server.requests.length;
    const { code, stderr } = await place.automate([...run, '--max-credits', '10', '--concurrency', '1']);
    expect([code, server.requests.length - before]).toEqual([5, 10]);
    expect(stderr).toContain('the 10 credits of this run are used up (--max-credits 10)');
    const complete = (await place.read('out.csv')).trimEnd();
    expect((await whole.read('out.csv')).startsWith(complete)).toBe(true);
    expect((await rowsIn(place)).length % (emit === 'each' ? 8 : 2)).toBe(0);
    expect((await place.automate([...run, '--resume'])).code).toBe(0);
    expect(await place.read('out.csv')).toBe(await whole.read('out.csv'));
    expect(await leftBehind(place)).toEqual([]);
    expect((await readCredits(place)).spent).toBe(server.requests.length - before);
  });

  test.each([
    ['each', 1],
    ['each', 400],
    ['last', 400],
    ['each', 777],
  ])('produces the same bytes as an uninterrupted run after SIGKILL and --resume (emit: %s, request %i)', async (emit, calls) => {
    const server = await actingServer(pages(4, { ms: 2 }));
    const flow = looping(server.origin, `emit: ${emit}`);
    const [place, whole] = [await placeFor(flow, 200), await placeFor(flow, 200)];
    await whole.automate(run);
    const { child, finished } = place.start(run);
    server.after(server.requests.length + calls, () => child.kill('SIGKILL'));
    await finished;
    expect(child.signalCode).toBe('SIGKILL');
    expect((await place.automate([...run, '--resume'])).code).toBe(0);
    expect(await place.read('out.csv')).toBe(await whole.read('out.csv'));
    expect(await leftBehind(place)).toEqual([]);
  });

  test('finishes the records in progress after SIGINT, and requests each page only once', async () => {
    const server = await actingServer(pages(4, { ms: 10 }));
    const place = await placeFor(looping(server.origin), 100);
    const { child, finished } = place.start([...run, '--concurrency', '4']);
    server.after(100, () => child.kill('SIGINT'));
    expect((await finished).code).toBe(130);
    expect((await rowsIn(place)).length % 10).toBe(0);
    expect((await place.automate([...run, '--resume'])).code).toBe(0);
    expect([(await rowsIn(place)).length, server.requests.length, new Set(asked(server)).size]).toEqual([1000, 500, 500]);
    await expectCounted(place, server);
  });

  test('stops between two passes after SIGINT if it sends no requests, and --resume repeats the record', async () => {
    const server = await actingServer((_, response) => json(response, { found: 'yes' }));
    const place = await placeFor(
      `nodes:
  - { type: http, when: id == "1", url: "${server.origin}/{{id}}", map: { note: found } }
  - { type: set, fields: { n: { cel: 'id == "1" ? 299999 : 0' } } }
  - type: loop
    max: 1000000
    while: n < 300000
    carry: [n]
    emit: last
    nodes: [{ type: set, fields: { n: { cel: n + 1 } } }]
`,
      2,
    );
    const { child, finished } = place.start(run);
    server.after(1, () => child.kill('SIGINT'));
    expect((await finished).code).toBe(130);
    expect(await rowsIn(place)).toEqual(['1,yes,300000']);
    expect((await place.automate([...run, '--resume'])).code).toBe(0);
    expect(await rowsIn(place)).toEqual(['1,yes,300000', '2,"note, 2",300000']);
    await expectCounted(place, server);
  });
});

describe('a poll node', () => {
  test('ends when until is true, after a different number of passes for each record', async () => {
    const server = await httpServer(jobs((id) => id % 4));
    const place = await placeFor(polling(server.origin, 'every: 20ms'), 40);
    const { code } = await place.automate(run);
    const times = idsTo(40).map((id) => asked(server).filter((path) => path === `/${id}`).length);
    expect([code, times]).toEqual([0, idsTo(40).map((id) => (id % 4) + 1)]);
    expect(await rowsIn(place)).toEqual(idsTo(40).map((id) => `${id},job ${id},done`));
    await expectCounted(place, server);
  });

  test("fails the record at its timeout, and shows the fields' last values", async () => {
    const server = await httpServer(jobs((id) => (id === 1 ? 0 : 1000)));
    const place = await placeFor(polling(server.origin, 'every: 50ms\n    timeout: 400ms'), 2);
    const { code } = await place.automate(run);
    expect([code, await rowsIn(place)]).toEqual([4, ['1,job 1,done']]);
    expect(await place.read('out.errors.csv')).toMatch(
      /^2,"note, 2",poll-1,timeout,,"not done within 400 ms, after \d passe?s?: status is ""working""",\d+,2$/m,
    );
    const times = asked(server).filter((path) => path === '/2').length;
    expect([times >= 1, times <= 9]).toEqual([true, true]);
    await expectCounted(place, server);
  });

  test('fails the record without a further request if fail_when is true', async () => {
    const server = await httpServer(({ path }, response) => json(response, { status: path === '/2' ? 'failed' : 'done', note: 'x' }));
    const place = await placeFor(polling(server.origin, `every: 20ms\n    fail_when: status == 'failed'`), 3);
    expect((await place.automate(run)).code).toBe(4);
    expect(asked(server).sort()).toEqual(['/1', '/2', '/3']);
    expect(await rowsIn(place)).toEqual(['1,x,done', '3,x,done']);
    expect(await place.read('out.errors.csv')).toContain(',poll-1,http,,"it failed: status is ""failed"" (fail_when, pass 1)",');
    await expectCounted(place, server);
  });

  test('fails the record if an inner node fails', async () => {
    const server = await httpServer((_, response) => json(response, {}, 404));
    const place = await placeFor(polling(server.origin, 'every: 20ms'), 2);
    expect([(await place.automate(run)).code, server.requests.length]).toEqual([4, 2]);
    expect((await place.read('out.errors.csv')).match(/,ask,http,404,/g)).toHaveLength(2);
  });

  test('waits as long as Retry-After requires, even if "every" is longer', async () => {
    const server = await httpServer(jobs(() => 1, { headers: { 'retry-after': '1' } }));
    const place = await placeFor(polling(server.origin, 'every: 6h\n    timeout: 1d'), 5);
    expect((await place.automate([...run, '--concurrency', '1'])).code).toBe(0);
    expect(asked(server).sort()).toEqual(['/1', '/1', '/2', '/2', '/3', '/3', '/4', '/4', '/5', '/5']);
    await expectCounted(place, server);
  });

  test('fails the record at once if Retry-After is longer than the timeout', async () => {
    const server = await httpServer(jobs(() => 9, { headers: { 'retry-after': '3600' } }));
    const place = await placeFor(polling(server.origin, 'every: 10ms\n    timeout: 30m'), 2);
    expect((await place.automate(run)).code).toBe(4);
    expect(server.requests).toHaveLength(2);
    expect(await place.read('out.errors.csv')).toContain(
      '"not done within 30 min, after 1 pass (the server asks you to wait 1 h more): status is ""working"""',
    );
  });

  test('writes no incomplete record when the credits run out (exit code 5), and --resume continues', async () => {
    const server = await httpServer(jobs((id) => (id <= 5 ? 0 : 3)));
    const place = await placeFor(polling(server.origin, 'every: 20ms'), 12);
    const { code, stderr } = await place.automate([...run, '--max-credits', '20']);
    expect([code, server.requests.length]).toEqual([5, 20]);
    expect(stderr).toContain('the 20 credits of this run are used up (--max-credits 20)');
    expect(await rowsIn(place)).toEqual(idsTo(5).map((id) => `${id},job ${id},done`));
    expect((await place.automate([...run, '--resume'])).code).toBe(0);
    expect(await rowsIn(place)).toEqual(idsTo(12).map((id) => `${id},job ${id},done`));
    await expectCounted(place, server);
  });

  test.each([1, 150, 420])('produces the same bytes as an uninterrupted run after SIGKILL and --resume (request %i)', async (calls) => {
    const server = await actingServer(jobs((id) => id % 3, { ms: 2 }));
    const place = await placeFor(polling(server.origin, 'every: 30ms'), 300);
    const { child, finished } = place.start(run);
    server.after(calls, () => child.kill('SIGKILL'));
    await finished;
    expect(child.signalCode).toBe('SIGKILL');
    expect((await place.automate([...run, '--resume'])).code).toBe(0);
    expect(await rowsIn(place)).toEqual(idsTo(300).map((id) => `${id},job ${id},done`));
    expect(await leftBehind(place)).toEqual([]);
  });

  test('stops at once after SIGINT if its records would wait for hours, and --resume continues', async () => {
    const server = await actingServer(jobs((id) => (id <= 3 ? 0 : 1)));
    const place = await placeFor(polling(server.origin, 'every: 6h\n    timeout: 2d'), 6);
    const { child, finished } = place.start(run);
    server.after(6, () => setTimeout(() => child.kill('SIGINT'), 300));
    const { code, stderr } = await finished;
    expect([code, stderr]).toEqual([130, expect.stringContaining('--resume')]);
    expect(await rowsIn(place)).toEqual(idsTo(3).map((id) => `${id},job ${id},done`));
    expect((await place.automate([...run, '--resume'])).code).toBe(0);
    expect(await rowsIn(place)).toEqual(idsTo(6).map((id) => `${id},job ${id},done`));
    expect(server.requests).toHaveLength(9);
    await expectCounted(place, server);
  });

  test('finishes a short wait after SIGINT, and completes the records in progress', async () => {
    const server = await actingServer(jobs(() => 2));
    const place = await placeFor(polling(server.origin, 'every: 200ms'), 4);
    const { child, finished } = place.start(run);
    server.after(4, () => child.kill('SIGINT'));
    expect((await finished).code).toBe(130);
    expect([server.requests.length, (await rowsIn(place)).length]).toEqual([12, 4]);
  });
});

test('hundreds of records poll at the same time, with at most two requests in progress', async () => {
  let under = 0;
  let most = 0;
  const answer = jobs(() => 2, { ms: 1 });
  const server = await httpServer(async (request, response) => {
    most = Math.max(most, ++under);
    await answer(request, response);
    under--;
  });
  const place = await placeFor(polling(server.origin, 'every: 100ms', ', concurrency: 2'), 500);
  expect((await place.automate(run)).code).toBe(0);
  expect([most <= 2, server.requests.length, (await rowsIn(place)).length]).toEqual([true, 1500, 500]);
  await expectCounted(place, server);
});

describe('a run with a batch inside other nodes', () => {
  const batch = (origin: string, map: string) =>
    `{ id: ask, type: http, method: POST, url: ${origin}, batch: { size: 20, items: "{{id}}", match: { field: id, path: "r[].id" } }, body: { ids: "{{items}}" }, map: { ${map} } }`;

  test.each([
    [
      'a loop',
      (origin: string) =>
        `{ type: loop, while: n < 3, carry: [n], emit: last, nodes: [{ type: set, fields: { n: { cel: n + 1 } } }, ${batch(origin, 'seen: "r[].seen"')}] }`,
    ],
    ['a poll', (origin: string) => `{ type: poll, every: 30ms, until: seen >= 3, nodes: [${batch(origin, 'seen: "r[].seen"')}] }`],
  ])('neither loses nor duplicates records if it is killed inside %s and resumed', async (_, node) => {
    const seen = new Map<string, number>();
    const server = await actingServer(async ({ body }, response) => {
      const ids: string[] = JSON.parse(body).ids;
      for (const id of ids) seen.set(id, (seen.get(id) ?? 0) + 1);
      await new Promise((resolve) => setTimeout(resolve, 5));
      json(response, { r: ids.reverse().map((id) => ({ id, seen: seen.get(id) })) });
    });
    const flow = `nodes:\n  - { type: set, fields: { n: 0 } }\n  - ${node(server.origin)}\n`;
    const place = await placeFor(flow, 200);
    const { child, finished } = place.start(run);
    server.after(17, () => child.kill('SIGKILL'));
    await finished;
    expect(child.signalCode).toBe('SIGKILL');
    expect((await place.automate([...run, '--resume'])).code).toBe(0);
    expect((await rowsIn(place)).map((row) => Number.parseInt(row, 10))).toEqual(idsTo(200));
    for (const times of seen.values()) expect(times).toBeGreaterThanOrEqual(3);
    expect(await leftBehind(place)).toEqual([]);
  });
});
