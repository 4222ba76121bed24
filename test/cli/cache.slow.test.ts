import { readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'libsql';
import { describe, expect, test } from 'vitest';
import { askedServer, askingFlow, csvOf, idsTo } from '../helpers/asking.ts';
import { type Workplace, workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';

const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--force'];

describe('a cache file that cannot be written', () => {
  /** Runs a flow with a cache over three records. In the environment, `{file}` stands for a file's path, where no folder can be created. */
  async function runWith(environment: Record<string, string>, ...more: string[]) {
    const server = await askedServer();
    const place = await workplace({
      'flow.yaml': askingFlow(server.origin, ', cache: 1h, concurrency: 1'),
      'rows.csv': csvOf(3),
      file: '',
    });
    const env = Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, value.replace('{file}', place.path('file'))]));
    const finished = await place.automate([...run, ...more], { env });
    const warnings = finished.stderr.split('\n').filter((line) => line.includes('not cached'));
    return { code: finished.code, warnings, output: await place.read('out.csv'), calls: [...server.calls.values()] };
  }

  const output = 'id,note,name\n1,"note, 1",name 1\n2,"note, 2",name 2\n3,"note, 3",name 3\n';

  test.each<Record<string, string>>([{ AUTOMATE_HOME: '{file}' }, { AUTOMATE_HOME: '', HOME: '{file}', XDG_CONFIG_HOME: '{file}' }])(
    'causes one warning, and the run still uses all responses: %o',
    async (env) => {
      const warning =
        /^warning: answers are not cached: the cache \S+file\S*cache\.db cannot be used: E[^']+ \(to use a different folder, set AUTOMATE_HOME\)$/;
      expect(await runWith(env)).toEqual({ code: 0, warnings: [expect.stringMatching(warning)], output, calls: [1, 1, 1] });
    },
  );

  test('causes no warning with --quiet', async () => {
    expect(await runWith({ AUTOMATE_HOME: '{file}' }, '--quiet')).toEqual({ code: 0, warnings: [], output, calls: [1, 1, 1] });
  });
});

/** Creates a workplace with a cached flow over `count` records, and starts its server, which does not know every seventh record. */
async function cachedPlace(count: number, more = '', ms?: number) {
  const server = await askedServer(ms);
  const place = await workplace({ 'flow.yaml': askingFlow(server.origin, `, cache: 24h${more}`), 'rows.csv': csvOf(count) });
  return { server, place };
}

/** Returns the credits that the ledger lists as spent. */
function spent(place: Workplace): number {
  const database = new Database(place.path('.automate/credits.db'));
  const { credits } = database.prepare('select sum(credits) as credits from spent').get() as { credits: number };
  database.close();
  return credits;
}

async function summary(place: Workplace): Promise<Record<string, unknown>> {
  return JSON.parse(await place.read('summary.json')) as Record<string, unknown>;
}

async function info(place: Workplace, env: Record<string, string> = {}): Promise<Record<string, unknown>> {
  return JSON.parse((await place.automate(['cache', 'info', '--json'], { env })).stdout) as Record<string, unknown>;
}

describe("a second run that uses the first run's cache", () => {
  test('resolves relative links against the URL after redirects, like the first run', async () => {
    const server = await httpServer(({ path }, response) => {
      if (path === '/items') response.writeHead(302, { location: '/v2/items' }).end();
      else if (path === '/v2/items') json(response, { id: 1, next: '?page=2' });
      else if (path === '/v2/items?page=2') json(response, { id: 2 });
      else response.writeHead(404).end();
    });
    const node = `type: http, url: ${server.origin}/items, cache: 1h, paginate: { type: next_url, path: next }, map: [id]`;
    const place = await workplace({ 'flow.yaml': `nodes: [{ ${node} }]`, 'rows.csv': 'a\n1\n' });
    for (const time of ['first', 'second']) {
      const { code, stderr } = await place.automate(run);
      expect([time, code, stderr]).toEqual([time, 0, expect.any(String)]);
      expect(await place.read('out.csv')).toBe('a,id\n1,1\n1,2\n');
    }
    expect(server.requests.map(({ path }) => path)).toEqual(['/items', '/v2/items', '/v2/items?page=2']);
  });

  test('sends nothing, costs nothing, and writes the same output as the first', async () => {
    const { server, place } = await cachedPlace(1500, ', success: [2xx, 404], credits: 2');
    const first = await place.automate([...run, '--summary', 'summary.json']);
    expect([first.code, server.calls.size, spent(place)]).toEqual([0, 1500, 3000]);
    expect(first.stderr).not.toContain('cache');
    expect(await summary(place)).toMatchObject({ credits: 3000, cached: 0, cached_in_flight: 0, credits_saved: 0 });
    const written = await place.read('out.csv');
    server.forget();
    const second = await place.automate([...run, '--summary', 'summary.json', '--events', 'events.ndjson']);
    expect([second.code, server.calls.size, spent(place)]).toEqual([0, 0, 3000]);
    expect(second.stderr).toContain('\n  from the cache: 1,500 answers (3,000 credits saved)\n');
    expect(await summary(place)).toMatchObject({ credits: 0, cached: 1500, cached_in_flight: 0, credits_saved: 3000 });
    expect(await place.read('out.csv')).toBe(written);
    const events = (await place.read('events.ndjson')).trim().split('\n');
    const hits = events.map((line) => JSON.parse(line)).filter(({ type }) => type === 'cache-hit');
    expect(hits).toHaveLength(1500);
    expect(hits[0]).toMatchObject({ record: 1, node: 'ask', source: 'cached', credits: 2 });
  });

  test('requests only records that failed in the first run', async () => {
    const { server, place } = await cachedPlace(70);
    expect((await place.automate(run)).code).toBe(4);
    server.forget();
    const { code, stderr } = await place.automate(run);
    expect([code, [...server.calls.keys()].map(Number)]).toEqual([4, idsTo(10).map((n) => 7 * n)]);
    expect(stderr).toContain('from the cache: 60 answers\n');
  });

  test('requests cached responses again once they have expired', async () => {
    const { server, place } = await cachedPlace(5);
    await place.write('flow.yaml', askingFlow(server.origin, ', cache: 1ms'));
    await place.automate(run);
    await place.automate(run);
    expect([...server.calls.values()]).toEqual([2, 2, 2, 2, 2]);
  });

  test('requests only responses that the first run had not cached before it was killed', async () => {
    const { server, place } = await cachedPlace(2000, ', success: [2xx, 404]');
    let release = () => {};
    server.after(1001, () => {
      release = server.hold();
    });
    const { child, finished } = place.start(run);
    await expect.poll(async () => (await info(place)).entries).toBe(1000);
    child.kill('SIGKILL');
    await finished;
    release();
    expect((await place.automate(run)).code).toBe(0);
    const again = [...server.calls.values()].filter((calls) => calls > 1);
    expect(server.calls.size).toBe(2000);
    expect(again.length).toBeLessThanOrEqual(16);
  });
});

test('simultaneous identical requests are sent only once', async () => {
  const { server, place } = await cachedPlace(1);
  // All records need a response before the first one arrives.
  server.after(3, server.hold());
  await place.write('rows.csv', `id,note\n${'1,x\n'.repeat(40)}${'2,x\n'.repeat(40)}3,x\n`);
  const { code, stderr } = await place.automate([...run, '--summary', 'summary.json']);
  expect([code, Object.fromEntries(server.calls), spent(place)]).toEqual([0, { 1: 1, 2: 1, 3: 1 }, 3]);
  expect(stderr).toContain('from the cache: 78 answers, 78 of them from requests in flight\n');
  expect(await summary(place)).toMatchObject({ cached: 78, cached_in_flight: 78, credits: 3, credits_saved: 78 });
});

test('three simultaneous runs share their cached responses', async () => {
  const { server, place } = await cachedPlace(600, ', success: [2xx, 404]');
  const runs = ['a', 'b', 'c'].map((name) => place.automate([...run, '--out', name, '--out-format', 'csv', '--errors', `${name}.errors`]));
  expect((await Promise.all(runs)).map(({ code, stderr }) => [code, stderr.includes('warning')])).toEqual(Array(3).fill([0, false]));
  expect(server.calls.size).toBe(600);
  expect(await info(place)).toMatchObject({ entries: 600 });
  server.forget();
  expect((await place.automate(run)).code).toBe(0);
  expect(server.calls.size).toBe(0);
});

test('test-request uses the cache for the nodes before the chosen node', async () => {
  const { server, place } = await cachedPlace(3);
  const other = await httpServer((_, response) => json(response, {}));
  await place.write(
    'flow.yaml',
    `nodes:
  - { id: ask, type: http, url: "${server.origin}/{{id}}", map: { name: name }, cache: 1h }
  - { id: tell, type: http, url: "${other.origin}/{{name}}" }
`,
  );
  for (let i = 0; i < 2; i++) {
    expect((await place.automate(['test-request', 'flow.yaml', '--in', 'rows.csv', '--node', 'tell'])).code).toBe(0);
  }
  expect([[...server.calls.values()], other.requests.length]).toEqual([[1], 2]);
});

test('the cache file never contains a credential that a server echoes', async () => {
  const server = await httpServer(({ headers, path }, response) => {
    response.setHeader('x-echo', `${headers.authorization}`);
    json(response, { name: `${path} for ${headers.authorization}` });
  });
  const auth = ', auth: { type: bearer, credential: token }, cache: 24h';
  const place = await workplace({ 'flow.yaml': askingFlow(server.origin, auth), 'rows.csv': csvOf(20) });
  const env = { AUTOMATE_CREDENTIAL_TOKEN: 'canary-5f1c9e27' };
  expect((await place.automate(run, { env })).code).toBe(0);
  expect((await place.automate(run, { env })).code).toBe(0);
  expect(server.requests).toHaveLength(20);
  expect(server.requests[0]?.headers.authorization).toBe('Bearer canary-5f1c9e27');
  // SQLite deletes the write-ahead log when its last connection is closed, which the garbage collector may do at any time.
  const connection = new Database(place.path('.automate/cache.db'));
  connection.prepare('select * from amount').get();
  const names = (await readdir(place.path('.automate'))).filter((name) => name.startsWith('cache.db'));
  const bytes = Buffer.concat(await Promise.all(names.map((name) => readFile(join(place.path('.automate'), name)))));
  connection.close();
  expect(bytes.includes('/20 for Bearer ***')).toBe(true);
  expect(bytes.includes('canary')).toBe(false);
  expect(await place.read('out.csv')).toContain('/1 for Bearer ***');
  expect((await stat(place.path('.automate/cache.db'))).mode & 0o777).toBe(0o600);
});

test('a cached response is not reused once the flow uses a different credential', async () => {
  const { server, place } = await cachedPlace(3, ', auth: { type: bearer, credential: a }');
  const env = { AUTOMATE_CREDENTIAL_A: 'secret-a', AUTOMATE_CREDENTIAL_B: 'secret-b' };
  await place.automate(run, { env });
  await place.write('flow.yaml', (await place.read('flow.yaml')).replace('credential: a', 'credential: b'));
  await place.automate(run, { env });
  await place.automate(run, { env });
  expect([...server.calls.values()]).toEqual([2, 2, 2]);
});

describe('automate cache', () => {
  test("info shows the cache's size, and clear deletes all responses", async () => {
    const { server, place } = await cachedPlace(1000, ', success: [2xx, 404]');
    const path = place.path('.automate/cache.db');
    const nothing = { path, entries: 0, bytes: 0, max_bytes: 500_000_000, oldest: null, newest: null };
    expect(await info(place)).toEqual(nothing);
    expect((await place.automate(['cache', 'clear'])).stderr).toBe('no answers are cached\n');
    expect(await place.files()).not.toContain('.automate');
    const before = new Date().toISOString();
    await place.automate(run);
    const { entries, bytes, oldest, newest } = (await info(place)) as { entries: number; bytes: number; oldest: string; newest: string };
    expect(entries).toBe(1000);
    expect(bytes).toBeGreaterThan(1000 * 100);
    expect([before, oldest, newest, new Date().toISOString()].sort()).toEqual([before, oldest, newest, expect.any(String)]);
    const text = (await place.automate(['cache', 'info'])).stdout;
    expect(text).toMatch(
      /^path {4}\S+cache\.db\ncached {2}1,000 answers, \d+(\.\d)? kB of at most 500 MB\noldest {2}20\S+Z\nnewest {2}20\S+Z\n$/,
    );
    const size = (await stat(path)).size;
    const cleared = await place.automate(['cache', 'clear']);
    expect([cleared.code, cleared.stdout, cleared.stderr]).toEqual([
      0,
      '',
      expect.stringMatching(/^1,000 answers \(\d+(\.\d)? kB\) are deleted\n$/),
    ]);
    expect(await info(place)).toEqual(nothing);
    expect((await stat(path)).size).toBeLessThan(size / 5);
    server.forget();
    await place.automate(run);
    expect(server.calls.size).toBe(1000);
  });

  test('clear works while a run uses the cache', async () => {
    let cleared: Promise<unknown> | undefined;
    const server = await httpServer(async ({ path }, response) => {
      if (server.requests.length === 700) cleared = place.automate(['cache', 'clear']);
      await cleared;
      json(response, { name: path });
    });
    const place = await workplace({ 'flow.yaml': askingFlow(server.origin, ', cache: 24h'), 'rows.csv': csvOf(1500) });
    expect((await place.automate(run)).code).toBe(0);
    expect(await cleared).toMatchObject({ code: 0, stderr: expect.stringMatching(/answers \(.*\) are deleted\n$/) });
    const { entries } = await info(place);
    expect(entries).toBeGreaterThan(0);
    expect(entries).toBeLessThan(1500);
  });

  test('info shows that the cache stays within AUTOMATE_CACHE_MAX by deleting the oldest responses', async () => {
    const { server, place } = await cachedPlace(300, ', success: [2xx, 404], concurrency: 1');
    const env = { AUTOMATE_CACHE_MAX: '20kB' };
    await place.automate(run, { env });
    const { entries, bytes, max_bytes } = await info(place, env);
    expect([max_bytes, Number(bytes) <= 20_000, Number(bytes) > 19_000]).toEqual([20_000, true, true]);
    server.forget();
    await place.automate([...run, '--skip', String(300 - Number(entries))], { env });
    expect(server.calls.size).toBe(0);
  });

  test.each(['run', 'cache'])('refuses an AUTOMATE_CACHE_MAX that is not a size: %s', async (command) => {
    const { server, place } = await cachedPlace(3);
    const args = command === 'run' ? run : ['cache', 'info'];
    const { code, stderr } = await place.automate(args, { env: { AUTOMATE_CACHE_MAX: 'lots' } });
    expect([code, stderr]).toEqual([2, 'automate: AUTOMATE_CACHE_MAX: expected a size such as 10MB, found "lots"\n']);
    expect(server.calls.size).toBe(0);
  });

  test('info reports a damaged cache file, which the next run or clear replaces', async () => {
    const { server, place } = await cachedPlace(3);
    await place.automate(run);
    await spoil(place);
    const told = await place.automate(['cache', 'info']);
    expect([told.code, told.stderr]).toEqual([
      74,
      expect.stringMatching(/^automate: the cache \S+ cannot be used: .*\n {2}to start a new one: automate cache clear\n$/),
    ]);
    const { code, stderr } = await place.automate(run);
    expect([code, stderr.match(/^warning: the cache .* was damaged/gm)?.length]).toEqual([0, 1]);
    expect(await info(place)).toMatchObject({ entries: 3 });
    await spoil(place);
    expect((await place.automate([...run, '--quiet'])).stderr).toBe('');
    await spoil(place);
    expect((await place.automate(['cache', 'clear'])).stderr).toBe('the cache could not be read, so it was deleted\n');
    expect((await readdir(place.path('.automate'))).filter((name) => name.startsWith('cache'))).toEqual([]);
    expect([...server.calls.values()]).toEqual([3, 3, 3]);
  });

  test('refuses a cache file that is a symbolic link', async () => {
    const { place } = await cachedPlace(3);
    await place.automate(run);
    const linked = await workplace();
    await symlink(place.path('.automate'), linked.path('.automate'));
    expect((await linked.automate(['cache', 'info'])).code).toBe(7);
    expect((await linked.automate(['cache', 'clear'])).code).toBe(7);
    expect(await info(place)).toMatchObject({ entries: 3 });
  });

  /**
   * Replaces the files of the cache with junk. They are not overwritten: this process may still have the old ones mapped into memory, and
   * would be killed (SIGBUS) if they became shorter.
   */
  async function spoil(place: Workplace): Promise<void> {
    const names = (await readdir(place.path('.automate'))).filter((name) => name.startsWith('cache.db'));
    for (const path of names.map((name) => place.path(`.automate/${name}`))) {
      await rm(path);
      await writeFile(path, 'junk'.repeat(5000));
    }
  }
});

test('runs with different credential environments do not share cached responses', async () => {
  const server = await httpServer(({ headers }, response) =>
    json(response, { name: headers.authorization === 'Bearer of-production' ? 'p' : 's' }),
  );
  const flow = askingFlow(server.origin, ', cache: 1h, auth: { type: bearer, credential: key }');
  const place = await workplace({ 'flow.yaml': flow, 'rows.csv': 'id\n1\n' });
  const run = async (env: string, secret: string) => {
    const args = ['run', 'flow.yaml', '--in', 'rows.csv', '--env', env, '--quiet'];
    return (await place.automate(args, { env: { AUTOMATE_CREDENTIAL_KEY: secret } })).stdout.split('\n')[1];
  };
  expect([await run('production', 'of-production'), await run('staging', 'of-staging'), await run('production', 'of-production')]).toEqual([
    '1,p',
    '1,s',
    '1,p',
  ]);
  expect(server.requests).toHaveLength(2);
});

test('a request that several records share is still sent if the first of these records fails', async () => {
  const asked: string[] = [];
  const server = await httpServer(async ({ path: url }, response) => {
    asked.push(url);
    if (url.startsWith('/list')) return json(response, { items: url.endsWith('=1') ? ['bad', 'shared'] : ['shared'] });
    if (url === '/v/shared') return json(response, { v: 'found' });
    await new Promise((resolve) => setTimeout(resolve, 150));
    return json(response, {}, 400);
  });
  const place = await workplace({
    'flow.yaml': `nodes:
  - { type: http, url: "${server.origin}/list?k={{k}}", map: { w: "items[]" } }
  - { type: http, url: "${server.origin}/v/{{w}}", cache: 1h, concurrency: 1, map: { v: v } }
`,
    'rows.csv': 'k\n1\n2\n3\n4\n',
  });
  const { code, stderr } = await place.automate(run);
  expect({ code, stderr }).toEqual({ code: 4, stderr: expect.stringContaining('4 read, 3 written, 1 failed') });
  expect(await place.read('out.csv')).toBe('k,w,v\n2,shared,found\n3,shared,found\n4,shared,found\n');
  expect(asked.filter((url) => url === '/v/shared')).toHaveLength(1);
});
