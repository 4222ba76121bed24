import { mkdir, readFile, writeFile } from 'node:fs/promises';
import Database from 'libsql';
import { describe, expect, test } from 'vitest';
import { AuditStore } from '../../src/serve/store/audit.ts';
import { ServerDatabase } from '../../src/serve/store/database.ts';
import { isKeyValue } from '../../src/serve/store/key-value.ts';
import { UsageStore } from '../../src/serve/store/usage.ts';
import { readAllFiles, readCredits, type Workplace, workplace } from '../helpers/cli.ts';
import { keyStore, settings } from '../helpers/server-keys.ts';
import { shell } from '../helpers/shell.ts';

const dayMs = 86_400_000;

const keys = (place: Workplace, ...args: string[]) => place.automate(['keys', ...args]);

/** Creates an API key and returns its value. */
async function make(place: Workplace, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await keys(place, 'create', ...args);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^amk_\w{49}\n$/)]);
  expect(stderr).toContain('shown only once');
  return stdout.trim();
}

/** Returns the keys as `keys list --all --json` prints them. */
// biome-ignore lint/suspicious/noExplicitAny: tests read any of its fields
const listed = async (place: Workplace): Promise<any[]> => JSON.parse((await keys(place, 'list', '--all', '--json')).stdout);

/** Opens the server's database in the same way as a running server. */
function withDatabase<Result>(place: Workplace, act: (database: ServerDatabase) => Result): Result {
  const database = new ServerDatabase(place.path('.automate'));
  try {
    return act(database);
  } finally {
    database.close();
  }
}

describe('automate keys create', () => {
  test("prints the key's value to stdout, and everything else to stderr", async () => {
    const place = await workplace();
    const { code, stdout, stderr } = await keys(place, 'create', 'crm');
    expect([code, isKeyValue(stdout.trimEnd())]).toEqual([0, true]);
    expect(stderr).toBe(
      'the key "crm" has the scope run for all flows, at 600/min; it does not expire\nits value is shown only once and is not stored: put it where your program can read it\n',
    );
  });

  test("never stores the key's value in a file, and later commands do not print it", async () => {
    const place = await workplace();
    const values = [await make(place, 'crm')];
    values.push((await keys(place, 'rotate', 'crm')).stdout.trim());
    const later = ['list --all', 'list --all --json', 'show crm', 'show crm --json', 'usage', 'usage crm --json', 'revoke crm'];
    let all = '';
    for (const line of [...later, ...values.map((value) => `revoke ${value}`)])
      all += JSON.stringify(await keys(place, ...line.split(' ')));
    all += await readAllFiles(place);
    for (const value of values) expect([all.includes(value), all.includes(value.slice(8, 20))]).toEqual([false, false]);
  });

  test("prints JSON that contains the key's value only once", async () => {
    const place = await workplace();
    const args = ['--flows', 'a,b', '--scopes', 'read,run', '--rate', '5/s', '--credits', '1000', '--expires', '90d', '--json'];
    const before = Date.now();
    const { code, stdout, stderr } = await keys(place, 'create', 'crm', ...args);
    const made = JSON.parse(stdout);
    expect(code).toBe(0);
    expect(stderr).toContain('shown only once');
    expect(made).toEqual({
      id: expect.stringMatching(/^key_\w{17}$/),
      name: 'crm',
      key: expect.stringMatching(/^amk_\w{49}$/),
      start: made.key.slice(0, 8),
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.+Z$/),
      expires_at: expect.any(String),
      scopes: ['run', 'read'],
      flows: ['a', 'b'],
      rate: '5/s',
      credits: 1000,
    });
    expect(Date.parse(made.expires_at) - before).toBeGreaterThanOrEqual(90 * dayMs);
    expect(Date.parse(made.expires_at) - Date.now()).toBeLessThanOrEqual(90 * dayMs);
    const { key: _, ...rest } = made;
    expect(await listed(place)).toEqual([{ ...rest, state: 'living', revoked_at: null, last_used_at: null, old_values: [] }]);
  });

  test.each([
    ['2099-12-31', '2099-12-31T23:59:59.000Z'],
    ['2099-12-31T12:00:00Z', '2099-12-31T12:00:00.000Z'],
    ['2099-12-31t12:00:00.5+02:00', '2099-12-31T10:00:00.500Z'],
  ])('accepts %s as the expiry', async (written, expected) => {
    const place = await workplace();
    await make(place, 'crm', '--expires', written);
    expect((await listed(place))[0].expires_at).toBe(expected);
  });

  test.each([
    ['an empty name', [''], 'expected a name of 1 to 64 characters'],
    ['a name that consists of blanks', ['  '], 'expected a name of 1 to 64 characters'],
    ['a name that is too long', ['x'.repeat(65)], 'expected a name of 1 to 64 characters'],
    ['a line break in the name', ['a\nb'], String.raw`without control characters, found "a\nb"`],
    ['a right-to-left override in the name', ['a\u202eb'], 'without control characters'],
    ['the value of a key as the name', [`amk_${'aB3dE5gH7'.repeat(6).slice(0, 49)}`], 'found the value of a key'],
    ['a past day as the expiry', ['x', '--expires', '2020-01-01'], '--expires: expected a duration such as 90d'],
    ['a day that does not exist as the expiry', ['x', '--expires', '2099-02-31T00:00:00Z'], '--expires: expected'],
    ['text that is not a date as the expiry', ['x', '--expires', 'soon'], '--expires: expected'],
    ['a past time as the expiry', ['x', '--expires', '2020-01-01T00:00:00Z'], '--expires: expected'],
    ['a duration of zero as the expiry', ['x', '--expires', '0s'], '--expires: expected'],
    ['an unknown scope', ['x', '--scopes', 'run,admin'], '--scopes: expected run, test, read, found "admin"'],
    ['an empty list of scopes', ['x', '--scopes', ''], '--scopes: expected run, test, read, found ""'],
    ['an empty list of flows', ['x', '--flows', ''], '--flows: expected names of flow files without .yaml'],
    [
      'the file name of a flow',
      ['x', '--flows', 'a.yaml'],
      '--flows: expected names of flow files without .yaml, such as enrich,geocode, found "a.yaml"',
    ],
    ['the path of a flow', ['x', '--flows', '../a'], '--flows: expected'],
    ['a number without a unit as the rate', ['x', '--rate', '600'], '--rate: expected a whole number of requests per s, min, h or d'],
    ['a rate of zero', ['x', '--rate', '0/min'], '--rate: expected'],
    ['negative credits', ['x', '--credits', '-1'], 'expected a whole number of at least 0'],
    ['credits that are not a number', ['x', '--credits', 'many'], 'expected a whole number of at least 0'],
    ['a second name', ['x', 'y'], 'too many arguments'],
  ])('refuses %s, and creates no key', async (_, args, message) => {
    const place = await workplace();
    const { code, stdout, stderr } = await keys(place, 'create', ...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(message);
    expect(await listed(place)).toEqual([]);
  });

  test('accepts names of 64 characters in any script, and names that look like options', async () => {
    const place = await workplace();
    await make(place, '鍵'.repeat(64));
    await make(place, 'Ada’s key 🔑');
    await make(place, '--', '--all');
    expect((await listed(place)).map(({ name }) => name)).toEqual(['鍵'.repeat(64), 'Ada’s key 🔑', '--all']);
  });

  test('refuses the name of an active key, and accepts the name of a revoked or expired key', async () => {
    const place = await workplace();
    await make(place, 'crm');
    expect(await keys(place, 'create', 'crm')).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^automate: there is a key "crm" already \(amk_....…\)\n {2}rotate it/),
    });
    await keys(place, 'revoke', 'crm');
    await make(place, 'crm');
    expect((await listed(place)).map(({ state }) => state)).toEqual(['revoked', 'living']);
  });

  test('warns about a flow that is not in the current folder', async () => {
    const place = await workplace({ 'a.yaml': '', 'b.yml': '' });
    const { code, stderr } = await keys(place, 'create', 'crm', '--flows', 'a,b,typo');
    expect([code, stderr.match(/there is no flow "(\w+)" in this folder.*\n.*/g)]).toEqual([
      0,
      [expect.stringContaining('in the folder of the flows')],
    ]);
  });

  test("warns about a flow that is not in the server's folder", async () => {
    const place = await workplace({ 'typo.yaml': '' });
    const folder = place.path('flows');
    await mkdir(folder);
    await mkdir(place.path('.automate'));
    await writeFile(place.path('flows/a.yaml'), '');
    await writeFile(place.path('.automate/serve.lock'), JSON.stringify({ pid: process.pid, folder }));
    const born = (await readFile('/proc/self/stat', 'utf8').catch(() => '')).split(') ')[1]?.split(' ')[19] ?? '';
    await writeFile(place.path('.automate/serve.lock.automate-lock'), JSON.stringify({ pid: process.pid, born }));
    const { stderr } = await keys(place, 'create', 'crm', '--flows', 'a,typo');
    expect(stderr).toContain(`warning: there is no flow "typo" in ${folder}, which the server serves`);
    expect(stderr).not.toContain('"a"');
  });

  test.skipIf(process.platform !== 'linux')('revokes the new key immediately if the value cannot be printed', async () => {
    const place = await workplace();
    const { code } = await shell(place, 'node "$AUTOMATE" keys create crm > /dev/full');
    expect([code, (await listed(place)).map(({ state }) => state)]).toEqual([74, ['revoked']]);
  });
});

describe('automate keys list', () => {
  test('explains how to create the first key, without creating a file', async () => {
    const place = await workplace();
    expect(await keys(place, 'list')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'there are no keys\n  make one: automate keys create NAME\n',
    });
    expect(await keys(place, 'list', '--json')).toMatchObject({ code: 0, stdout: '[]\n' });
    expect(await keys(place, 'usage')).toMatchObject({ code: 0, stdout: '' });
    expect((await keys(place, 'show', 'crm')).code).toBe(2);
    expect(await readAllFiles(place)).toBe('');
  });

  test('shows active keys, and with --all revoked and expired keys as well', async () => {
    const place = await workplace();
    const [crm] = [await make(place, 'crm', '--credits', '1000', '--flows', 'a,b', '--expires', '2099-12-31')];
    await make(place, 'old', '--expires', '1ms');
    await make(place, 'gone');
    await keys(place, 'revoke', 'gone');
    const { stdout } = await keys(place, 'list');
    expect(stdout.split('\n')).toEqual([
      'name  key        scopes  flows  rate     credits      expires     last used',
      `crm   ${crm.slice(0, 8)}…  run     a,b    600/min  1,000/month  2099-12-31  never`,
      '',
    ]);
    const all = (await keys(place, 'list', '--all')).stdout;
    expect(all.match(/^(\w+) .* (living|expired|revoked) /gm)?.map((line) => line.split(/ .* /).join(' ').trim())).toHaveLength(3);
    expect((await listed(place)).map(({ name, state }) => [name, state])).toEqual([
      ['crm', 'living'],
      ['old', 'expired'],
      ['gone', 'revoked'],
    ]);
    await keys(place, 'revoke', 'crm');
    expect((await keys(place, 'list')).stderr).toContain('there are no keys; 3 expired or revoked keys: automate keys list --all');
  });
});

describe('automate keys show', () => {
  test('finds a key by its name or id, and prints one fact per line', async () => {
    const place = await workplace();
    const old = await make(place, 'crm', '--scopes', 'run,test');
    await keys(place, 'rotate', 'crm');
    const [{ id, start }] = await listed(place);
    const { stdout } = await keys(place, 'show', 'crm');
    const facts = stdout.split('\n').map((line) => line.replace(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/, 'TIME'));
    expect(facts).toEqual([
      'name:      crm',
      `id:        ${id}`,
      `key:       ${start}…`,
      'state:     living',
      'scopes:    run, test',
      'flows:     all',
      'rate:      600/min',
      'credits:   no limit for this key',
      'created:   TIME',
      'expires:   never',
      'last used: never',
      `old value: ${old.slice(0, 8)}… until TIME`,
      '',
    ]);
    expect((await keys(place, 'show', id)).stdout).toBe(stdout);
    expect(JSON.parse((await keys(place, 'show', 'crm', '--json')).stdout)).toMatchObject({ id, old_values: [{ start: old.slice(0, 8) }] });
  });

  test.each(['show', 'rotate', 'revoke', 'usage'])('exits with 2 if the key does not exist (keys %s)', async (command) => {
    const place = await workplace();
    for (const name of ['before', 'after']) {
      expect(await keys(place, command, 'typo')).toEqual({
        code: 2,
        stdout: '',
        stderr: 'automate: there is no key "typo"\n  list them: automate keys list --all\n',
      });
      await make(place, name);
    }
  });
});

describe('automate keys rotate', () => {
  test('prints a new value, while the old value stays valid for one day or for --overlap', async () => {
    const place = await workplace();
    const first = await make(place, 'crm');
    const { code, stdout, stderr } = await keys(place, 'rotate', 'crm');
    expect([code, isKeyValue(stdout.trimEnd()), stdout.trimEnd() === first]).toEqual([0, true, false]);
    expect(stderr).toMatch(
      /^the key "crm" has a new value; the old one \(amk_....…\) stays valid until \d{4}-\d\d-\d\d \d\d:\d\d UTC\n.*shown only once/,
    );
    const [{ id, old_values }] = await listed(place);
    expect(Date.parse(old_values[0].valid_until) - Date.now()).toBeGreaterThan(dayMs - 60_000);
    const { stderr: said, stdout: json } = await keys(place, 'rotate', 'crm', '--overlap', '0', '--json');
    expect(said).toContain('is no longer valid');
    expect(JSON.parse(json)).toMatchObject({ id, name: 'crm', key: expect.stringMatching(/^amk_/) });
    expect((await listed(place))[0].old_values).toEqual([]);
  });

  test.each(['8d', '169h', '-1h', 'long', ''])('refuses the overlap "%s"', async (overlap) => {
    const place = await workplace();
    await make(place, 'crm');
    const { code, stdout, stderr } = await keys(place, 'rotate', 'crm', `--overlap=${overlap}`);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(`--overlap: expected a duration from 0 to 7d, such as 24h, found "${overlap}"`);
  });

  test('refuses a key that is revoked or expired', async () => {
    const place = await workplace();
    await make(place, 'crm');
    await keys(place, 'revoke', 'crm');
    expect(await keys(place, 'rotate', 'crm')).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('the key "crm" is revoked'),
    });
  });
});

describe('automate keys change', () => {
  test('changes or removes only the limits that its options name', async () => {
    const place = await workplace();
    await make(place, 'crm', '--credits', '10', '--flows', 'a', '--expires', '90d');
    const [before] = await listed(place);
    const { code, stdout, stderr } = await keys(place, 'change', 'crm', '--credits', '5000');
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toMatch(/^the key "crm" now has the scope run for a, at 600\/min, with 5,000 credits a month; it expires on .+ UTC\n$/);
    expect(await listed(place)).toEqual([{ ...before, credits: 5000 }]);
    const lifted = await keys(
      place,
      'change',
      'crm',
      '--credits',
      'unlimited',
      '--flows',
      'all',
      '--expires',
      'never',
      '--rate',
      '7/s',
      '--json',
    );
    expect(JSON.parse(lifted.stdout)).toMatchObject({ id: before.id, credits: null, flows: null, expires_at: null, rate: '7/s' });
    expect(await listed(place)).toEqual([{ ...before, credits: null, flows: null, expires_at: null, rate: '7/s' }]);
  });

  test.each([
    [[], 'expected a limit to change, found none\n  give at least one of --credits, --rate, --expires and --flows'],
    [['--credits', 'many'], 'expected a whole number of at least 0, found "many"'],
    [['--rate', 'often'], '--rate: expected a whole number of requests'],
    [['--expires', 'soon'], '--expires: expected a duration'],
    [['--flows', 'a.yaml'], '--flows: expected names of flow files'],
  ])('refuses the arguments %j, and changes nothing', async (args, message) => {
    const place = await workplace();
    await make(place, 'crm');
    const before = await listed(place);
    expect(await keys(place, 'change', 'crm', ...args)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) });
    expect(await listed(place)).toEqual(before);
  });

  test('refuses a revoked key, but reactivates an expired key with a new expiry', async () => {
    const { store, clock } = keyStore();
    const { key } = store.create(settings({ expiresAtMs: clock.wallMs + 1000 }));
    clock.pass(2000);
    expect(() => store.change('crm', { quota: 5 })).toThrow('the key "crm" is expired');
    expect(store.change('crm', { expiresAtMs: undefined })).toMatchObject({ id: key.id, expiresAtMs: undefined });
    store.change('crm', { expiresAtMs: clock.wallMs + 1000 });
    clock.pass(2000);
    store.create(settings());
    expect(() => store.change(key.id, { expiresAtMs: undefined })).toThrow('there is a key "crm" already');
    store.revoke('crm', { stopRuns: false });
    expect(() => store.change('crm', { quota: 5 })).toThrow('the key "crm" is');
  });
});

test("keys revoke ends a key permanently, and with --stop-runs also stops the key's runs", async () => {
  const place = await workplace();
  await make(place, 'crm');
  const first = await keys(place, 'revoke', 'crm');
  expect(first).toMatchObject({ code: 0, stdout: '' });
  expect(first.stderr).toMatch(
    /^the key "crm" \(amk_....…\) is revoked; runs that the key has started continue \(--stop-runs stops them\)\n$/,
  );
  const again = await keys(place, 'revoke', 'crm', '--stop-runs');
  expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('was revoked before; the server stops the runs')]);
});

test('every change of an API key is recorded in the audit log', async () => {
  const place = await workplace();
  await make(place, 'crm');
  await keys(place, 'rotate', 'crm');
  await keys(place, 'revoke', 'crm');
  await keys(place, 'revoke', 'typo');
  const [{ id }] = await listed(place);
  const lines = withDatabase(place, (database) => new AuditStore(database, Date.now).read({ limit: 10 }));
  expect(lines.map(({ who, what, target, address, outcome }) => [who, what, target, address, outcome])).toEqual(
    ['key.revoke', 'key.rotate', 'key.create'].map((what) => ['command', what, id, '', 'ok']),
  );
});

test('allowance and connection changes are recorded in the audit log once there are API keys', async () => {
  const place = await workplace();
  const change = async (limit: string) => {
    await place.automate(['credits', 'limit', limit]);
    await place.automate(['connections', 'add', 'http', 'crm', '--base-url', 'https://crm.example.com', '--auth', 'none']);
    await place.automate(['connections', 'add', 'mcp', 'tools', '--url', 'https://mcp.example.com/mcp', '--no-test']);
    return place.automate(['connections', 'remove', 'crm']);
  };
  expect(await change('10')).toMatchObject({ code: 0, stderr: '"crm" is removed\n' });
  expect(await readAllFiles(place)).not.toContain('connection.add');
  await place.automate(['connections', 'remove', 'tools']);
  await make(place, 'crm');
  await change('unlimited');
  const lines = withDatabase(place, (database) => new AuditStore(database, Date.now).read({ limit: 10 }));
  expect(lines.map(({ who, what, target }) => [who, what, target])).toEqual([
    ['command', 'connection.remove', 'crm'],
    ['command', 'connection.add', 'tools'],
    ['command', 'connection.add', 'crm'],
    ['command', 'allowance.set', 'unlimited'],
    ['command', 'key.create', expect.stringMatching(/^key_/)],
  ]);
});

test('commands that are not about keys only warn about an audit log that cannot be written', async () => {
  const place = await workplace();
  await mkdir(place.path('.automate'));
  await writeFile(place.path('.automate/serve.db'), 'x'.repeat(5000));
  const { code, stderr } = await place.automate(['credits', 'limit', '5']);
  expect([code, stderr]).toEqual([
    0,
    expect.stringMatching(/^warning: the audit was not written: the server's database .*\n(?:.*\n)*.*allowance is 5 credits\n$/),
  ]);
});

describe('automate keys usage', () => {
  /** Creates an API key with usage on two days, and credits in the ledger. */
  async function used() {
    const place = await workplace();
    await make(place, 'crm', '--credits', '1000');
    await make(place, 'shop');
    const [{ id }] = await listed(place);
    const month = '2026-11';
    const counts = { key: id, refused: 1, records: 30, credits: 20, lastUsedAtMs: Date.now() - 3 * 3_600_000 };
    withDatabase(place, (database) =>
      new UsageStore(database).add([
        { ...counts, day: `${month}-02`, requests: 1500 },
        { ...counts, day: `${month}-03`, requests: 750 },
        { ...counts, day: '2026-12-01', requests: 7 },
      ]),
    );
    await readCredits(place);
    await place.automate(['credits', 'limit', '5000']);
    const book = new Database(place.path('.automate/credits.db'));
    book
      .prepare("insert into spent (month, flow, node, connection, env, credits, key) values (?, 'f', 'a', '', 'default', 40.5, ?)")
      .run(month, id);
    book.close();
    return { place, id, month };
  }

  test("shows each key's requests and credits in a month", async () => {
    const { place, id, month } = await used();
    const { stdout } = await keys(place, 'usage', '--month', month);
    expect(stdout.split('\n')).toEqual([
      'name  requests  refused  records  credits  quota   left  last used',
      'crm      2,250        2       60     40.5  1,000  959.5  3h ago',
      'shop         0        0        0        0      -      -  never',
      '',
    ]);
    const json = JSON.parse((await keys(place, 'usage', '--month', month, '--json')).stdout);
    expect(json[0]).toEqual({
      id,
      name: 'crm',
      month,
      requests: 2250,
      refused: 2,
      records: 60,
      credits: 40.5,
      quota: 1000,
      remaining: 959.5,
      last_used_at: expect.any(String),
    });
  });

  test("shows a key's credits even while the key's requests are not saved yet", async () => {
    const { place, month } = await used();
    withDatabase(place, (database) => database.write((tables) => tables.exec('delete from usage')));
    const { stdout, stderr } = await keys(place, 'usage', '--month', month);
    expect(stdout.split('\n')[1]).toBe('crm          -        -        -     40.5  1,000  959.5  -');
    const later = 'the server saves requests and records once a minute; those of crm are not saved yet\n';
    expect(stderr).toBe(later);
    expect((await keys(place, 'usage', 'crm', '--month', month)).stderr).toBe(later);
  });

  test('shows the usage of a single key day by day', async () => {
    const { place, month } = await used();
    const { stdout } = await keys(place, 'usage', 'crm', '--month', month);
    expect(stdout.split('\n')).toEqual([
      'day         requests  refused  records  credits',
      `2026-11-02     1,500        1       30       20  ${'█'.repeat(30)}`,
      `2026-11-03       750        1       30       20  ${'█'.repeat(15)}`,
      '2026-11        2,250        2       60     40.5',
      '',
    ]);
    const json = JSON.parse((await keys(place, 'usage', 'crm', '--month', month, '--json')).stdout);
    expect(json.days).toEqual([
      { day: '2026-11-02', requests: 1500, refused: 1, records: 30, credits: 20 },
      { day: '2026-11-03', requests: 750, refused: 1, records: 30, credits: 20 },
    ]);
    expect((await keys(place, 'usage', 'shop', '--month', month)).stderr).toBe('the key "shop" was not used in 2026-11\n');
  });

  test.each(['2026-13', '2026', 'now', ''])('refuses "%s" as the month', async (month) => {
    const { code, stderr } = await keys(await workplace(), 'usage', `--month=${month}`);
    expect([code, stderr]).toEqual([2, `automate: --month: expected a month such as 2026-11, found "${month}"\n`]);
  });
});

test.each(['list', 'show x', 'usage', 'rotate x', 'revoke x', 'create x'])(
  'automate keys %s exits with 74 and says what to do if the database is damaged',
  async (args) => {
    const place = await workplace();
    await mkdir(place.path('.automate'));
    await writeFile(place.path('.automate/serve.db'), 'x'.repeat(5000));
    const { code, stdout, stderr } = await keys(place, ...args.split(' '));
    expect([code, stdout]).toEqual([74, '']);
    expect(stderr).toMatch(/the server's database \S+serve\.db cannot be used: .+\n {2}stop the server, then put a backup/);
  },
);

test('automate validate reports a key from `automate keys` in a flow as a literal secret', async () => {
  const place = await workplace();
  const value = await make(place, 'crm');
  for (const line of [`url: "http://127.0.0.1:4020/v1/flows?x=${value}"`, `url: http://127.0.0.1:4020/v1, body: { note: "${value}" }`]) {
    await place.write('flow.yaml', `nodes:\n  - { type: http, ${line} }\n`);
    const { code, stdout, stderr } = await place.automate(['validate', 'flow.yaml']);
    expect([code, stderr + stdout]).toEqual([3, expect.stringContaining('contains a literal secret')]);
    expect(stderr + stdout).not.toContain(value.slice(4));
  }
});
