import { mkdir, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import Database from 'libsql';
import { describe, expect, test } from 'vitest';
import { ServerDatabase } from '../../src/serve/store/database.ts';
import { KeyStore } from '../../src/serve/store/keys.ts';
import { askedServer, askingFlow, csvOf, idsTo } from '../helpers/asking.ts';
import { readCredits, type Workplace, workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { settings } from '../helpers/server-keys.ts';
import { shell } from '../helpers/shell.ts';

const month = new Date().toISOString().slice(0, 7);

/** Reads the ledger directly, because `automate credits` would first settle the runs that have died. */
function ledger(place: Workplace): { spent: number; held: number } {
  const database = new Database(place.path('.automate/credits.db'));
  const sum = (table: string) => (database.prepare(`select coalesce(sum(credits), 0) as sum from ${table}`).get() as { sum: number }).sum;
  const sums = { spent: sum('spent'), held: sum('holds') };
  database.close();
  return sums;
}

const running = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'];
const run = (place: Workplace, ...more: string[]) => place.automate([...running, ...more]);

describe('the credit ledger (credits.db)', () => {
  test('counts one credit for each call, by flow, node, connection and environment', async () => {
    const server = await httpServer((_, response) => json(response, { name: 'x' }));
    const flow = `name: enrich
connections: { crm: { type: http, base_url: "${server.origin}" } }
nodes:
  - { id: first, type: http, connection: crm, url: "/a/{{id}}", map: { name: name } }
  - { id: second, type: http, url: "${server.origin}/b/{{id}}", when: 'int(id) > 4' }
`;
    const place = await workplace({ 'flow.yaml': flow, 'rows.csv': csvOf(10) });
    expect(await run(place)).toMatchObject({ code: 0 });
    expect(await run(place, '--force', '--limit', '2', '--env', 'staging')).toMatchObject({ code: 0 });
    expect(await readCredits(place)).toEqual({
      month,
      spent: server.requests.length,
      held: 0,
      limit: null,
      remaining: null,
      flows: [{ flow: 'enrich', credits: 18 }],
      nodes: [
        { node: 'enrich first', credits: 12 },
        { node: 'enrich second', credits: 6 },
      ],
      connections: [
        { connection: 'crm', credits: 12 },
        { connection: '', credits: 6 },
      ],
      environments: [
        { env: 'default', credits: 16 },
        { env: 'staging', credits: 2 },
      ],
    });
  });

  test('counts a failed call, but neither its retries nor a call that was never sent', async () => {
    const tries = new Map<string, number>();
    const server = await httpServer(({ path }, response: ServerResponse) => {
      tries.set(path, (tries.get(path) ?? 0) + 1);
      if (path === '/2') return response.writeHead(503).end();
      if (path === '/3' && tries.get(path) === 1) return response.writeHead(500).end();
      return path === '/4' ? response.writeHead(404).end() : json(response, { name: 'x' });
    });
    const flow = askingFlow(server.origin, ', retry: { max: 2, backoff: 1ms }, headers: { X-Note: "{{note}}" }');
    const place = await workplace({ 'flow.yaml': flow, 'rows.csv': 'id,note\n1,a\n2,b\n3,c\n4,d\n5,"line\nbreak"\n' });
    expect((await run(place)).code).toBe(4);
    expect([...tries]).toEqual(
      expect.arrayContaining([
        ['/1', 1],
        ['/2', 3],
        ['/3', 2],
        ['/4', 1],
      ]),
    );
    expect((await readCredits(place)).spent).toBe(4);
  });

  test('counts nothing if a server cannot be reached', async () => {
    const place = await workplace({ 'flow.yaml': askingFlow('http://127.0.0.1:1', ', retry: { max: 0 }'), 'rows.csv': csvOf(20) });
    expect((await run(place)).code).toBe(5);
    expect((await readCredits(place)).spent).toBe(0);
  });

  test('counts a test request and a connection test', async () => {
    const server = await httpServer((_, response) => json(response, { name: 'x' }));
    const place = await workplace({ 'flow.yaml': askingFlow(server.origin), 'rows.csv': csvOf(1) });
    await place.automate(['test-request', 'flow.yaml', '--in', 'rows.csv']);
    await place.automate(['test-request', 'flow.yaml', '--in', 'rows.csv', '--no-send']);
    await run(place, '--dry-run');
    await place.automate(['connections', 'add', 'http', 'crm', '--base-url', server.origin]);
    await place.automate(['connections', 'test', 'crm']);
    expect([server.requests.length, (await readCredits(place)).spent]).toEqual([2, 2]);
  });

  test('counts exactly the calls of four concurrent runs, even if two are killed and resumed', async () => {
    let isHolding = true;
    const waiting: (() => void)[] = [];
    const release = () => {
      isHolding = false;
      for (const answer of waiting.splice(0)) answer();
    };
    const everybodyWaits = () => reached(() => waiting.length === 4 * 16);
    const server = await httpServer(async (_, response) => {
      if (isHolding) await new Promise<void>((resolve) => waiting.push(resolve));
      json(response, { name: 'x' });
    });
    const place = await workplace({ 'flow.yaml': askingFlow(server.origin), 'rows.csv': csvOf(400) });
    const started = idsTo(4).map((n) =>
      place.start(['run', 'flow.yaml', '--in', 'rows.csv', '--out', `${n}.csv`, '--errors', `${n}.errors.csv`, '--quiet']),
    );
    // Waits until each of the four runs has 16 requests in flight, so that no run gets ahead while others are still starting.
    await everybodyWaits();
    release();
    await reached(() => server.requests.length > 350);
    isHolding = true;
    await everybodyWaits();
    const [first, second] = started;
    first?.child.kill('SIGKILL');
    second?.child.kill('SIGKILL');
    await Promise.all([first?.finished, second?.finished]);
    release();
    const codes = (await Promise.all(started.slice(2).map(({ finished }) => finished))).map(({ code }) => code);
    expect(codes).toEqual([0, 0]);
    const { spent, held } = ledger(place);
    expect(spent).toBeLessThanOrEqual(server.requests.length);
    expect(spent + held).toBeGreaterThanOrEqual(server.requests.length);
    expect(held).toBeLessThanOrEqual(2 * 1024);
    // A killed run is settled when it is resumed, or by the next command that reads the ledger.
    await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', '1.csv', '--errors', '1.errors.csv', '--resume']);
    expect(await readCredits(place)).toMatchObject({ spent: server.requests.length, held: 0 });
    await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', '2.csv', '--errors', '2.errors.csv', '--resume']);
    expect(await readCredits(place)).toMatchObject({ spent: server.requests.length, held: 0 });
    expect(server.requests.length).toBeGreaterThanOrEqual(4 * 400);
  });

  test('counts every call of a run that was interrupted', async () => {
    const server = await askedServer(20);
    const place = await workplace({ 'flow.yaml': askingFlow(server.origin), 'rows.csv': csvOf(200) });
    const { child, finished } = place.start(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv']);
    server.after(40, () => child.kill('SIGINT'));
    expect((await finished).code).toBe(130);
    expect(ledger(place)).toEqual({ spent: server.requests.length, held: 0 });
    await run(place, '--resume');
    expect(ledger(place)).toEqual({ spent: server.requests.length, held: 0 });
  });
});

describe('the monthly allowance', () => {
  const limited = async (limit: string, records: number) => {
    const server = await httpServer((_, response) => json(response, { name: 'x' }));
    const place = await workplace({ 'flow.yaml': askingFlow(server.origin), 'rows.csv': csvOf(records) });
    expect((await place.automate(['credits', 'limit', limit])).code).toBe(0);
    return { server, place };
  };

  test('ends a run once it is used up, after the finished records are written', async () => {
    const { server, place } = await limited('30', 100);
    const { code, stderr } = await run(place);
    expect([code, server.requests.length]).toEqual([5, 30]);
    expect(stderr).toContain(`reason: the allowance of 30 credits for ${month} is used up`);
    expect(stderr).toContain('automate run flow.yaml --in rows.csv --out out.csv --resume');
    expect((await place.read('out.csv')).trim().split('\n')).toHaveLength(31);
    await place.automate(['credits', 'limit', 'unlimited']);
    expect((await run(place, '--resume')).code).toBe(0);
    expect([server.requests.length, (await readCredits(place)).spent]).toEqual([100, 100]);
  });

  test('is never exceeded, even by several simultaneous runs', async () => {
    const { server, place } = await limited('1000', 300);
    const runs = await Promise.all(
      idsTo(4).map((n) => place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', `${n}.csv`, '--errors', `${n}.errors.csv`])),
    );
    expect(runs.map(({ code }) => code)).toContain(5);
    expect(server.requests.length).toBeLessThanOrEqual(1000);
    expect((await readCredits(place)).spent).toBe(server.requests.length);
  });

  test.each([
    [79, 'allowance: 79 of 100 credits used'],
    [80, 'warning: 80 % or more of the allowance is used: 80 of 100 credits used'],
    [95, 'warning: 95 % or more of the allowance is used: 95 of 100 credits used'],
  ])('appears in the summary once %i %% is used', async (records, line) => {
    const { place } = await limited('100', records);
    expect((await run(place)).stderr).toContain(`${line} in ${month} (${records} %)`);
  });

  test('refuses a test request once it is used up', async () => {
    const { server, place } = await limited('0', 1);
    const { code, stderr } = await place.automate(['test-request', 'flow.yaml', '--in', 'rows.csv']);
    expect([code, server.requests.length]).toEqual([5, 0]);
    expect(stderr).toContain('the allowance of 0 credits');
  });

  test.each(['-1', '1.5', 'many', '', '1e9'])('cannot be set to "%s"', async (limit) => {
    const place = await workplace();
    const { code, stderr } = await place.automate(['credits', 'limit', '--', limit]);
    expect([code, stderr]).toEqual([2, `automate: expected a whole number of credits, or unlimited, found "${limit}"\n`]);
  });
});

describe('the price of a call', () => {
  test('is set by the connection, the node, or a cost in the response', async () => {
    const server = await httpServer(({ path }, response) => {
      response.setHeader('x-credits-used', path.endsWith('/3') ? 'free' : '0.5');
      json(response, { name: 'x', usage: { credits: 7 } });
    });
    const connection = `connections: { crm: { type: http, base_url: "${server.origin}", credits: 3 } }\n`;
    const node = (id: string, more: string) => `  - { id: ${id}, type: http, connection: crm, url: "/${id}/{{id}}"${more} }\n`;
    const nodes = [
      node('a', ''),
      node('b', ', credits: 2'),
      node('c', ', cost: $headers.x-credits-used'),
      node('d', ', cost: usage.credits'),
    ];
    const place = await workplace({ 'flow.yaml': `${connection}nodes:\n${nodes.join('')}`, 'rows.csv': csvOf(3) });
    expect((await run(place)).code).toBe(0);
    expect((await readCredits(place)).nodes).toEqual([
      { node: 'flow d', credits: 21 },
      { node: 'flow a', credits: 9 },
      { node: 'flow b', credits: 6 },
      { node: 'flow c', credits: 4 },
    ]);
  });

  test('counts towards --max-credits', async () => {
    const server = await httpServer((_, response) => json(response, { name: 'x' }));
    const place = await workplace({ 'flow.yaml': askingFlow(server.origin, ', credits: 4'), 'rows.csv': csvOf(10) });
    const { code, stderr } = await run(place, '--max-credits', '10');
    expect([code, server.requests.length]).toEqual([5, 2]);
    expect(stderr).toContain('the 10 credits of this run are used up (--max-credits 10)');
  });

  test('cannot be read from a response if its path leads to several numbers', async () => {
    const place = await workplace({ 'flow.yaml': askingFlow('http://127.0.0.1:1', ', cost: "items[].cost"'), 'rows.csv': csvOf(1) });
    expect(await run(place)).toMatchObject({ code: 3, stderr: expect.stringContaining('expected a path to one number') });
  });
});

describe('a run with too few credits for all records', () => {
  const asks = (id: string, origin: string) => `  - { id: ${id}, type: http, url: "${origin}/${id}/{{id}}" }\n`;

  test.each([
    ['--max-credits', undefined],
    ['the allowance', '20'],
  ])('completes records that have started before it starts new records, if the limit is %s', async (_whose, allowance) => {
    const server = await httpServer((_, response) => json(response, { name: 'x' }));
    const place = await workplace({
      'flow.yaml': `nodes:\n${asks('first', server.origin)}${asks('second', server.origin)}`,
      'rows.csv': csvOf(60),
    });
    if (allowance) await place.automate(['credits', 'limit', allowance]);
    const { code, stderr } = await run(place, ...(allowance ? [] : ['--max-credits', '20']));
    expect([code, server.requests.length]).toEqual([5, 20]);
    expect(stderr).toContain('10 read, 10 written, 0 failed, 20 credits');
    if (allowance) await place.automate(['credits', 'limit', 'unlimited']);
    expect((await run(place, '--resume')).code).toBe(0);
    expect(server.requests).toHaveLength(120);
  });

  test.each([
    ['the allowance', ['credits', 'limit', '30'], []],
    ['--max-credits', ['credits'], ['--max-credits', '30']],
  ])("finishes a poll that has begun, even if %s is too small for a different record's expensive call", async (_name, before, more) => {
    let looks = 0;
    let answerFirst = () => {};
    const server = await httpServer(({ path }, response) => {
      if (path === '/first') answerFirst = () => json(response, {});
      else if (path === '/look') {
        if (++looks === 25) {
          // Lets the expensive call continue only when the poll is waiting.
          response.setHeader('retry-after', '1').on('finish', () => answerFirst());
        }
        json(response, { done: looks > 25 });
      } else json(response, {});
    });
    const flow = `nodes:
    - { id: first, type: http, url: "${server.origin}/first", when: 'id == "2"' }
    - { id: dear, type: http, url: "${server.origin}/dear", credits: 5, when: 'id == "2"' }
    - id: wait
      type: poll
      when: 'id == "1"'
      every: { initial: 10ms, factor: 1 }
      until: done
      nodes: [{ id: look, type: http, url: "${server.origin}/look", map: { done: done } }]
  `;
    const place = await workplace({ 'flow.yaml': flow, 'rows.csv': csvOf(2) });
    await place.automate(before);
    expect((await run(place, ...more)).code).toBe(5);
    expect(server.requests.map(({ path }) => path).filter((path) => path !== '/look')).toEqual(['/first']);
    expect((await place.read('out.csv')).split('\n')).toEqual([expect.stringContaining('done'), expect.stringMatching(/^1,.*true$/), '']);
  });
});

describe('automate credits', () => {
  test('shows zero before the first credit is spent, and creates no file', async () => {
    const place = await workplace();
    expect(await place.automate(['credits'])).toMatchObject({ code: 0, stdout: expect.stringMatching(`^${month}  0 used, no limit\n`) });
    expect(await place.automate(['credits', 'history'])).toEqual({ code: 0, stdout: '', stderr: 'no credits were spent yet\n' });
    expect((await place.automate(['credits', 'export'])).stdout).toBe('month,flow,node,connection,env,credits\n');
    expect(await place.files()).toEqual([]);
  });

  test("shows the month's credits by flow, and history shows a bar for each month", async () => {
    const server = await httpServer((_, response) => json(response, { name: 'x' }));
    const place = await workplace({ 'flow.yaml': askingFlow(server.origin), 'rows.csv': csvOf(12) });
    await run(place);
    await place.automate(['credits', 'limit', '24']);
    const database = new Database(place.path('.automate/credits.db'));
    database
      .prepare(
        "insert into spent (month, flow, node, connection, env, key, credits) values ('2025-01', 'old, flow', 'n', '', 'default', '', 24)",
      )
      .run();
    database.close();
    const { stdout } = await place.automate(['credits']);
    expect(stdout).toContain(`${month}  ${'█'.repeat(15)}${'░'.repeat(15)}  12 of 24 used (50 %)\nremaining: 12\n`);
    expect(stdout).toContain('by flow:\n  flow  12\n');
    expect((await place.automate(['credits', 'history'])).stdout).toBe(
      `2025-01  ${'█'.repeat(40)}  24\n${month}  ${'█'.repeat(20)}${' '.repeat(20)}  12\n`,
    );
    expect(JSON.parse((await place.automate(['credits', 'history', '--json'])).stdout)).toEqual([
      { month: '2025-01', credits: 24 },
      { month, credits: 12 },
    ]);
    expect((await place.automate(['credits', 'export', '--csv'])).stdout).toBe(
      `month,flow,node,connection,env,credits\n${month},flow,ask,,default,12\n2025-01,"old, flow",n,,default,24\n`,
    );
    expect(JSON.parse((await place.automate(['credits', 'export', '--json'])).stdout)[0]).toEqual({
      month,
      flow: 'flow',
      node: 'ask',
      connection: '',
      env: 'default',
      credits: 12,
    });
  });
});

describe('credits that were spent with API keys', () => {
  /** Creates a ledger in which a known API key, a forgotten API key and a command have spent credits. */
  const withKeys = async () => {
    const place = await workplace();
    const home = place.path('.automate');
    const database = new ServerDatabase(home);
    const { key } = new KeyStore(database, Date.now).create(settings({ name: 'crm' }));
    database.close();
    await place.automate(['credits', 'limit', '100']);
    const book = new Database(place.path('.automate/credits.db'));
    const add = book.prepare(
      "insert into spent (month, flow, node, connection, env, credits, key) values (?, 'f', 'a', '', 'default', ?, ?)",
    );
    for (const [credits, id] of [
      [1, ''],
      [5, key.id],
      [3, 'key_gone'],
    ])
      add.run(month, credits, id);
    book.close();
    return { place, key };
  };

  test('are shown for each key', async () => {
    const { place, key } = await withKeys();
    expect((await place.automate(['credits'])).stdout).toMatch(/\n\nby key:\n {2}crm {7}5\n {2}key_gone {2}3\n {2}\(no key\) {2}1\n$/);
    expect((await readCredits(place)).keys).toEqual([
      { key: key.id, name: 'crm', credits: 5 },
      { key: 'key_gone', name: null, credits: 3 },
      { key: null, name: null, credits: 1 },
    ]);
    expect((await place.automate(['credits', 'export'])).stdout).toBe(
      `month,flow,node,connection,env,credits,key\n${month},f,a,,default,5,${key.id}\n${month},f,a,,default,3,key_gone\n${month},f,a,,default,1,\n`,
    );
  });

  test("are shown with key ids if the keys' names cannot be read", async () => {
    const { place, key } = await withKeys();
    await rm(place.path('.automate/serve.db'));
    expect((await place.automate(['credits'])).stdout).toContain(`by key:\n  ${key.id}  5\n`);
  });
});

describe('a credit ledger that cannot be used', () => {
  test('causes a warning if there is no folder in which to create it', async () => {
    const server = await httpServer((_, response) => json(response, { name: 'x' }));
    const place = await workplace({ 'flow.yaml': askingFlow(server.origin), 'rows.csv': csvOf(2), file: '' });
    const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv'], {
      env: { AUTOMATE_HOME: place.path('file/home') },
    });
    expect([code, server.requests.length]).toEqual([0, 2]);
    expect(stderr).toMatch(
      /^warning: credits are not counted: the credit ledger \S+credits.db cannot be used: .+ \(to use a different folder, set AUTOMATE_HOME\)$/m,
    );
  });

  test.skipIf(process.platform !== 'linux')('causes a warning if its folder cannot be created', async () => {
    const server = await httpServer((_, response) => json(response, { name: 'x' }));
    const place = await workplace({ 'flow.yaml': askingFlow(server.origin), 'rows.csv': csvOf(2) });
    // The timeout kills the run if it tries to open the ledger forever.
    const script = 'timeout -s KILL 200 node "$AUTOMATE" run flow.yaml --in rows.csv';
    const { code, stderr } = await shell(place, script, { AUTOMATE_HOME: '/proc/home/automate' });
    expect([code, server.requests.length]).toEqual([0, 2]);
    expect(stderr).toMatch(/^warning: credits are not counted: .* cannot be used: ENOENT: no such file or directory/m);
  });

  test.each([
    ['is not a database', spoiled, /file is not a database$/m],
    ['was made by a newer version', newer, /newer version/],
    ['is a folder', inTheWay, /cannot be used: EISDIR: illegal operation on a directory$/m],
  ])('ends the run before anything is sent if the ledger file %s', async (_, spoil, reason) => {
    const server = await httpServer((_, response) => json(response, { name: 'x' }));
    const place = await workplace({ 'flow.yaml': askingFlow(server.origin), 'rows.csv': csvOf(2) });
    // Each command runs in its own process, because a database that is already open would hide the damage to its file.
    await place.start([...running, '--dry-run']).finished;
    await place.start(['credits', 'limit', '5']).finished;
    await spoil(place.path('.automate/credits.db'));
    const { code, stderr } = await place.start(running).finished;
    expect([code, server.requests.length]).toEqual([74, 0]);
    expect(stderr).toMatch(/the credit ledger \S+ cannot be used: /);
    expect(stderr).toMatch(reason);
  });
});

async function inTheWay(path: string): Promise<void> {
  await rm(path);
  await mkdir(path);
}

async function newer(path: string): Promise<void> {
  const database = new Database(path);
  database.exec('PRAGMA user_version = 99');
  database.close();
}

async function spoiled(path: string): Promise<void> {
  for (const beside of ['-wal', '-shm']) await rm(path + beside, { force: true });
  await writeFile(path, 'x'.repeat(5000));
}

/** Waits until a condition is true. */
async function reached(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
}
