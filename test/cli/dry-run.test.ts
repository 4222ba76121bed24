import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { openBook } from '../../src/credits/book.ts';
import { ownerText } from '../../src/files/owner.ts';
import { answeringServer } from '../helpers/answering-server.ts';
import { askingFlow, idRows } from '../helpers/asking.ts';
import { type RunOptions, type Workplace, workplace } from '../helpers/cli.ts';

interface Given {
  readonly args?: readonly string[];
  readonly input?: string;
  readonly before?: (place: Workplace) => unknown;
  readonly run?: RunOptions;
  /** Files that the dry run itself may write. */
  readonly makes?: readonly string[];
}

/** Starts a dry run. Fails if it sends a request, or if it creates, deletes or changes a file that is not in `makes`. */
async function dryRun(nodes: (origin: string) => string, rows: string | Buffer, given: Given = {}) {
  const { args = [], input = 'rows.csv', before = () => undefined, makes = [] } = given;
  const server = await answeringServer(() => ({}));
  const place = await workplace({ 'flow.yaml': `nodes:\n${nodes(server.origin)}` });
  if (input !== '-') await place.write(input, rows);
  await before(place);
  const files = await contents(place);
  const finished = await place.automate(['run', 'flow.yaml', '--in', input, '--out', 'out.csv', '--dry-run', ...args], {
    env: { AUTOMATE_CREDENTIAL_SOME: 'sesame' },
    ...given.run,
  });
  expect(server.requests).toEqual([]);
  const after = await contents(place);
  const made = Object.fromEntries(makes.map((name) => [name, after[name]]));
  expect(after).toEqual({ ...files, ...made });
  return { ...finished, made, origin: server.origin, lines: linesOf(finished.stdout) };
}

async function contents({ folder }: Workplace): Promise<Record<string, unknown>> {
  const found = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  // SQLite creates these files next to the ledger even if the ledger is only read.
  const paths = found.map(({ parentPath, name }) => join(parentPath, name)).filter((path) => !/-(?:shm|wal)$/.test(path));
  return Object.fromEntries(await Promise.all(paths.map(async (path) => [path.slice(folder.length + 1), await contentOf(path)])));
}

async function contentOf(path: string): Promise<unknown> {
  const text = (await readFile(path)).toString('latin1');
  if (!text.startsWith('SQLite format')) return text;
  const book = openBook(path);
  const facts = { limit: book.limit(), spent: book.spent(), holds: book.holds() };
  book.close();
  return facts;
}

function linesOf(stdout: string): Record<string, string> {
  return Object.fromEntries([...stdout.matchAll(/^(\w+): +(.*)$/gm)].map(([, name, text]) => [name, text]));
}

const one = (origin: string) => `  - { type: http, url: "${origin}/users/{{id}}", auth: { type: bearer, credential: some } }\n`;
const node = (more = '') => {
  return (origin: string) => `  - { type: http, url: "${origin}/{{id}}"${more} }\n`;
};
const both = (...nodes: ((origin: string) => string)[]) => {
  return (origin: string) => nodes.map((written) => written(origin)).join('');
};
describe('a dry run, which sends and writes nothing', () => {
  test('shows the number of records, actions and credits, the duration and the first three requests', async () => {
    const { code, stdout, stderr, origin } = await dryRun(one, 'id,b\n1,x\n2,y\n3,z\n4,z\n');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toBe(`records:   4
actions:   4
credits:   4
time:      about 200 ms with 4 at once and 200 ms per request
requests:  the first 3
  GET ${origin}/users/1
  Authorization: Bearer ***

  GET ${origin}/users/2
  Authorization: Bearer ***

  GET ${origin}/users/3
  Authorization: Bearer ***
`);
  });

  test('shows headers and bodies of requests', async () => {
    const post = (origin: string) =>
      `  - { type: set, fields: { who: "{{id}}!" } }\n  - { type: http, method: POST, url: "${origin}/", headers: { X-Id: "{{id}}" }, body: { who: "{{who}}" } }\n`;
    const { stdout } = await dryRun(post, 'id\n"a""b"\n');
    expect(stdout).toContain('\n  Content-Type: application/json\n  X-Id: a"b\n  \n  {"who":"a\\"b!"}\n');
  });

  test('never shows a secret', async () => {
    const env = { AUTOMATE_CREDENTIAL_SOME: 'canary-4711' };
    const { stdout } = await dryRun(one, idRows(1), { run: { env } });
    expect(stdout).toContain('Bearer ***');
    expect(stdout).not.toContain('canary');
  });

  test('exits with 7 if a credential does not exist, but still shows the plan', async () => {
    const environments: Record<string, string>[] = [{ AUTOMATE_CREDENTIAL_SOME_FILE: '/nowhere' }, { AUTOMATE_CREDENTIAL_SOME: '' }];
    for (const env of environments) {
      const needs = node(', auth: { type: bearer, credential: some }');
      const { code, lines, stderr } = await dryRun(needs, idRows(2), { run: { env } });
      expect([code, lines.records]).toEqual([7, '2']);
      expect(stderr).toMatch(/^flow\.yaml:2:\d+: /);
    }
  });

  test.each([
    ['the output', ['out.csv'], 'out.csv exists already'],
    ['the errors file', ['out.errors.csv'], 'out.errors.csv exists already'],
  ])('exits with 73 if %s exists already, but still shows the plan', async (_, names, message) => {
    const before = async (place: Workplace) => {
      for (const name of names) await place.write(name, 'a\n');
    };
    const { code, lines, stderr } = await dryRun(node(), idRows(2), { before });
    expect([code, lines.records]).toEqual([73, '2']);
    expect(stderr).toContain(message);
    expect(await dryRun(node(), idRows(2), { before, args: ['--force'] })).toMatchObject({ code: 0, stderr: '' });
  });

  test.each([
    ['the output', ['--out', 'nowhere/out.csv'], 74, 'nowhere/out.csv cannot be written: the folder nowhere does not exist'],
    ['the output, a folder,', ['--out', 'folder', '--out-format', 'csv', '--force'], 74, 'folder cannot be written: it is a folder'],
    ['the events file', ['--events', 'nowhere/e.ndjson'], 74, 'nowhere/e.ndjson cannot be written: the folder nowhere does not exist'],
    ['the file of --cacert', ['--cacert', 'none.pem'], 2, '--cacert: none.pem cannot be used'],
  ])('exits like the run itself if %s cannot be used, but still shows the plan', async (_, args, exitCode, message) => {
    const before = async (place: Workplace) => void (await mkdir(place.path('folder')));
    const { code, lines, stderr } = await dryRun(node(), idRows(2), { before, args });
    expect([code, lines.records]).toEqual([exitCode, '2']);
    expect(stderr).toContain(message);
  });

  test('counts only the records that --skip and --limit select', async () => {
    const { lines, stdout, origin } = await dryRun(one, idRows(4), { args: ['--skip', '1', '--limit', '2'] });
    expect(lines).toMatchObject({ records: '2', actions: '2' });
    expect(stdout).toContain(`GET ${origin}/users/2\n`);
    expect((await dryRun(one, idRows(4), { args: ['--limit', '0'] })).lines).toMatchObject({
      records: '0',
      requests: 'none would be sent',
    });
  });

  test('suggests --in-format json if an NDJSON file contains a JSON list of records', async () => {
    const place = await workplace({ 'flow.yaml': askingFlow('https://api.example.com'), 'rows.ndjson': '[{"id":1}]\n' });
    const { stdout } = await place.automate(['run', 'flow.yaml', '--in', 'rows.ndjson', '--dry-run']);
    expect(stdout).toContain('if it is a list of records, pass --in-format json');
  });

  test('counts the records that would fail before their request is sent', async () => {
    const { code, lines } = await dryRun(one, 'id\n1\n..\n2,3\n');
    expect(code).toBe(0);
    expect(lines).toMatchObject({ actions: '1', credits: '1' });
    expect(lines.records).toMatch(/^3 \(2 would fail before anything is sent; the first: record 2: .*"\.\."/);
  });

  test('shows no duration if all records would fail', async () => {
    const { lines } = await dryRun(one, 'id\n..\n.\n');
    expect(lines).toMatchObject({ actions: '0', credits: '0', requests: 'none would be sent' });
    expect(lines.records).toMatch(/^2 \(2 would fail/);
    expect(lines.time).toBeUndefined();
  });

  test('shows 0 for an input without records', async () => {
    const { code, stdout } = await dryRun(one, 'id\n');
    expect(code).toBe(0);
    expect(stdout).toBe('records:   0\nactions:   0\ncredits:   0\nrequests:  none would be sent\n');
  });

  test('says that a flow without HTTP calls sends nothing', async () => {
    const { stdout } = await dryRun(() => '  - { type: set, fields: { a: b } }\n', idRows(1), { args: ['--max-credits', '0'] });
    expect(stdout).toBe('records:   1\nactions:   0\ncredits:   0\nrequests:  none would be sent\n');
  });

  test('reports every problem of the flow', async () => {
    const { code, stdout, stderr } = await dryRun((origin) => `  - { type: http, url: "${origin}/{{idd}}" }\n`, idRows(1));
    expect([code, stdout]).toEqual([3, '']);
    expect(stderr).toContain('no record has a field "idd" here; did you mean "id"?');
  });

  test('prints no control characters from the data', async () => {
    const post = (origin: string) => `  - { type: http, method: POST, url: "${origin}/", body: { id: "{{id}}" } }\n`;
    const { stdout } = await dryRun(post, 'id\n\u009b31m\u202e\n');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the test looks for control characters
    expect(stdout).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]/);
  });
});

describe('the planned number of actions', () => {
  const two = (origin: string) => `  - { type: http, url: "${origin}/two", when: "id != '2'" }\n`;

  test('is a range, shown with its assumptions, if it depends on responses', async () => {
    const { lines } = await dryRun(both(node(), two), idRows(2));
    expect(lines.actions).toBe('2 at least, 4 expected, 4 at most');
    expect(lines.credits).toBe(lines.actions);
    expect(lines.expected).toMatch(/^if every answer is a success/);
  });

  test('has no maximum after a node that can expand one record into many', async () => {
    const expanding = (origin: string) => `  - { type: http, url: "${origin}/{{id}}", map: ["a[].b"] }\n`;
    expect((await dryRun(both(expanding, two), idRows(2))).lines.actions).toBe('2 at least, 4 expected, any number at most');
    expect((await dryRun(expanding, idRows(2))).lines.actions).toBe('2');
  });

  test('is exact if the only condition comes before the first request', async () => {
    expect((await dryRun(two, idRows(3))).lines).toMatchObject({ records: '3', actions: '2', credits: '2' });
    expect((await dryRun(both(two, node()), idRows(3))).lines.actions).toBe('3 at least, 5 expected, 5 at most');
  });

  test('has a minimum of 0 if all responses might come from the cache', async () => {
    expect((await dryRun(node(', cache: 1h'), idRows(3))).lines.actions).toBe('0 at least, 3 expected, 3 at most');
  });

  test('allows for records that fail on any page or loop pass, and then pass through', async () => {
    const pages = (origin: string) =>
      `  - { type: http, on_error: keep, url: "${origin}/{{id}}", paginate: { type: cursor, path: next, param: c, max: 3 }, map: { t: t } }\n`;
    expect((await dryRun(both(pages, node()), idRows(2))).lines.actions).toBe('2 at least, 4 expected, 14 at most');
    const passes = (origin: string) =>
      `  - { type: loop, on_error: keep, while: t != null, max: 3, nodes: [{ type: http, url: "${origin}/{{id}}", map: { t: t } }] }\n`;
    expect((await dryRun(both(passes, node()), idRows(2))).lines.actions).toBe('2 at least, 4 expected, 14 at most');
  });

  test('assumes one pass for each loop and poll', async () => {
    const inside = (kind: string) => (origin: string) =>
      `  - { type: ${kind}, nodes: [{ type: http, url: "${origin}/{{id}}", map: { state: state } }] }\n`;
    const looped = await dryRun(both(node(), inside('loop, while: state != null, max: 5')), idRows(2));
    expect(looped.lines.actions).toBe('2 at least, 4 expected, 12 at most');
    expect(looped.lines.expected).toContain('each loop and poll has one pass');
    const polled = await dryRun(both(inside('poll, until: state != null, every: 1s, timeout: 3s'), node()), idRows(2));
    expect(polled.lines.actions).toBe('2 at least, 4 expected, 10 at most');
    expect(polled.stdout).toContain(`GET ${polled.origin}/1\n`);
  });

  test('includes failed records that on_error: keep passes on, and names a record that would stop the run', async () => {
    const making = (more: string) => () => `  - { type: set, fields: { n: { cel: "int(id)" } }${more} }\n`;
    const rows = 'id\n1\nx\n3\n';
    const kept = await dryRun(both(making(', on_error: keep'), node()), rows);
    expect(kept.lines).toMatchObject({ records: '3 (1 would pass through with _error before anything is sent)', actions: '3' });
    const stopped = await dryRun(both(making(', on_error: stop'), node()), rows);
    expect(stopped.lines.stops).toMatch(/^at record 2, which would fail \(on_error: stop\)/);
    const many = await dryRun(both(making(''), node()), 'id\nx\n1\ny\nz\n', { args: ['--max-errors', '1'] });
    expect(many.lines.stops).toMatch(/^at record 3, which would fail \(--max-errors\)/);
  });
});

test('the planned minimum number of actions is lower if failures can end the run early', async () => {
  expect((await dryRun(node(', on_error: stop, credits: 3'), idRows(5))).lines).toMatchObject({
    actions: '1 at least, 5 expected, 5 at most',
    credits: '3 at least, 15 expected, 15 at most',
  });
  expect((await dryRun(node(), idRows(5), { args: ['--max-errors', '2'] })).lines.actions).toBe('3 at least, 5 expected, 5 at most');
  expect((await dryRun(node(), idRows(5), { args: ['--max-errors', '9'] })).lines.actions).toBe('5');
  expect((await dryRun(node(), idRows(150), { args: ['--max-errors', '1%'] })).lines.actions).toBe(
    '100 at least, 150 expected, 150 at most',
  );
});

test('the planned minimum number of actions is lower still if records share requests or send nothing', async () => {
  const actions = async (more: string, maxErrors: string) => {
    const toAll = (origin: string) => node(more)(origin).replace('/{{id}}', '/');
    return (await dryRun(toAll, idRows(150), { args: ['--max-errors', maxErrors] })).lines.actions;
  };
  const batch = ', method: POST, body: ["{{items}}"], batch: { size: 10, items: "{{id}}" }';
  expect(await actions(batch, '14')).toBe('2 at least, 15 expected, 285 at most');
  expect(await actions(', when: "int(id) > 50"', '20%')).toBe('50 at least, 100 expected, 100 at most');
  expect(await actions(', when: "int(id) > 50"', '70%')).toBe('71 at least, 100 expected, 100 at most');
});

describe('the planned number of credits', () => {
  test('includes the price of each node', async () => {
    const { lines } = await dryRun(both(node(', credits: 2.5'), node(', credits: 0'), node()), idRows(4));
    expect(lines.actions).toBe('4 at least, 12 expected, 12 at most');
    expect(lines.credits).toBe('10 at least, 14 expected, 14 at most');
  });

  test('is exact if the number of calls is unknown only for free nodes', async () => {
    const { lines } = await dryRun(both(node(', map: ["a[].b"], credits: 3'), node(', credits: 0')), idRows(1));
    expect(lines.actions).toBe('1 at least, 2 expected, any number at most');
    expect(lines.credits).toBe('3');
  });

  test('is an estimate from the price, with a note, if responses state the real cost', async () => {
    const { lines } = await dryRun(node(', id: dear, cost: "$headers.x-cost"'), idRows(2));
    expect(lines.credits).toBe('2 (by price; the answers of dear state the real cost)');
  });

  test('is compared with --max-credits', async () => {
    const budgetOf = async (max: string, nodes = node(', credits: 2')) =>
      (await dryRun(nodes, idRows(10), { args: ['--max-credits', max] })).lines.budget;
    expect(await budgetOf('20')).toBe('--max-credits 20 is enough');
    expect(await budgetOf('9')).toBe('--max-credits 9: not enough: the run stops after about 4 records');
    expect(await budgetOf('10', both(node(', map: ["a[].b"], credits: 0'), node()))).toBe(
      '--max-credits 10 is enough, unless more than expected is needed',
    );
  });
});

describe('the monthly allowance in a dry run', () => {
  const month = new Date().toISOString().slice(0, 7);
  const account = { flow: 'f', node: 'n', connection: '', env: 'default' };

  /** Prepares a ledger with an allowance, spent credits, and credits that are reserved by a run in progress. */
  const ledger =
    (limit: number | undefined, spent: number, held = 0, owner = ownerText()) =>
    (place: Workplace) => {
      const book = openBook(place.path('.automate/credits.db'));
      book.setLimit(limit);
      const hold = { run: 'r', owner, month, accounts: [account], logged: 0, total: 0 };
      book.renew(hold, [spent], { credits: 0, min: 0 });
      book.settle('r', 0, []);
      if (held > 0) book.renew({ ...hold, run: 'other' }, [], { credits: held, min: held });
      book.close();
    };

  test('is shown with the credits left before and after the run', async () => {
    const { lines, stderr } = await dryRun(node(', credits: 50'), idRows(10), { before: ledger(10_000, 600) });
    expect(stderr).toBe('');
    expect(lines.allowance).toBe(`9,400 of 10,000 credits are left in ${month}; 8,900 afterwards`);
  });

  test('is shown with the number of records after which it will be used up', async () => {
    const { code, lines } = await dryRun(node(), idRows(10), { before: ledger(1000, 993) });
    expect(code).toBe(0);
    expect(lines.allowance).toBe(`7 of 1,000 credits are left in ${month}: not enough: the run stops after about 7 records`);
    const none = await dryRun(node(), idRows(10), { before: ledger(1000, 1200) });
    expect(none.lines.allowance).toMatch(/^0 of 1,000 .* after about 0 records$/);
  });

  test('excludes credits that other runs have reserved', async () => {
    const { lines } = await dryRun(node(), idRows(10), { before: ledger(1000, 100, 50) });
    expect(lines.allowance).toBe(`850 of 1,000 credits are left in ${month} (active runs can spend 50 more); 840 afterwards`);
  });

  test('is reduced by credits that a crashed run might have spent', async () => {
    const dead = JSON.stringify({ ...JSON.parse(ownerText()), born: '1' });
    const { lines } = await dryRun(node(), idRows(10), { before: ledger(1000, 100, 50, dead) });
    expect(lines.allowance).toBe(`850 of 1,000 credits are left in ${month}; 840 afterwards`);
  });

  test('is shown with a note if the run might need more credits than expected', async () => {
    const { lines } = await dryRun(both(node(', map: ["a[].b"]'), node()), idRows(10), { before: ledger(1000, 0) });
    expect(lines.allowance).toBe(`1,000 of 1,000 credits are left in ${month}; 980 afterwards, unless more than expected is needed`);
  });

  test('is not shown if no allowance is set, or if nothing in the flow costs credits', async () => {
    expect((await dryRun(node(), idRows(1), { before: ledger(undefined, 5) })).lines.allowance).toBeUndefined();
    const set = () => '  - { type: set, fields: { a: b } }\n';
    expect((await dryRun(set, idRows(1), { before: ledger(10, 5) })).lines.allowance).toBeUndefined();
  });

  test.each([
    ['no database', 'this is no database, and longer than a header of one would be ........................................'],
    ['empty', ''],
  ])('is not shown if the credit ledger is %s', async (kind, content) => {
    const before = async (place: Workplace) => {
      await mkdir(place.path('.automate'));
      await writeFile(place.path('.automate/credits.db'), content);
    };
    const { code, lines, stderr } = await dryRun(node(), idRows(3), { before });
    expect([code, lines.actions, lines.allowance]).toEqual([0, '3', undefined]);
    if (kind === 'empty') expect(stderr).toBe('');
    else expect(stderr).toMatch(/^warning: the allowance is not known: the credit ledger .* cannot be used/);
    expect((await dryRun(node(), idRows(3), { before, args: ['--quiet'] })).stderr).toBe('');
  });
});

describe('the planned duration', () => {
  const timeOf = async (nodes: (origin: string) => string, args: readonly string[] = [], count = 600) =>
    (await dryRun(nodes, idRows(count), { args })).lines.time?.replace(/http:\S+/, 'API');

  test.each([
    ['the rate of a node', node(', rate: 2/s'), [], 'about 5 min at 2/s to API'],
    ['the rate of the command line', node(', rate: 2/s'), ['--rate', '1/min'], 'about 9 h 59 min at 1/min to API'],
    ['the default concurrency', node(), [], 'about 7.6 s with 16 at once and 200 ms per request'],
    ['the concurrency of a node', node(', concurrency: 1'), [], 'about 2 min with 1 at once and 200 ms per request'],
    ['the concurrency of the command line', node(), ['--concurrency', '600'], 'about 200 ms with 600 at once and 200 ms per request'],
    ['the slower of rate and concurrency', node(', rate: 1000/s, concurrency: 2'), [], 'about 1 min with 2 at once and 200 ms per request'],
    ['the rate that nodes share', both(node(', rate: 10/s'), node()), [], 'about 2 min at 10/s to API'],
    ['the one credential that most records use', both(node(', rate: 10/s'), one), [], 'about 1 min at 10/s to API'],
    ['a rate of less than one a minute', node(', rate: 30/h'), [], 'about 19 h 58 min at 30/h to API'],
  ])('is determined by %s, if that is the bottleneck', async (_what, nodes, args, expected) => {
    expect(await timeOf(nodes, args)).toBe(expected);
  });

  test("is determined by a connection's concurrency, which its nodes share", async () => {
    const server = await answeringServer(() => ({}));
    const flow = `connections: { api: { type: http, base_url: "${server.origin}", concurrency: 4 } }
nodes: [{ type: http, connection: api, url: "/{{id}}" }, { type: http, connection: api, url: "/{{id}}" }]`;
    const place = await workplace({ 'flow.yaml': flow, 'rows.csv': idRows(600) });
    const { stdout } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--dry-run']);
    expect(linesOf(stdout).time).toBe('about 1 min with 4 at once and 200 ms per request');
  });

  test('is determined by the host that receives most records', async () => {
    const rows = `id\n${Array.from({ length: 30 }, (_, index) => `${index % 3 === 0 ? 'b' : 'a'}.example.com\n`).join('')}`;
    const { lines } = await dryRun(() => '  - { type: http, url: "https://{{id}}/", rate: 1/s }\n', rows);
    expect(lines.time).toBe('about 19.2 s at 1/s to https://a.example.com');
  });
});

describe('the input of a dry run', () => {
  const records = JSON.stringify([{ id: 1 }, { id: null, x: 1 }, { name: 'no id' }, { id: 4 }]);
  // The output is NDJSON because some of these records would fail in a CSV file: their fields do not fit its columns.
  const ndjson = ['--out-format', 'ndjson'];
  const lines = '{"id":1}\n\n{"id":null}\n{"name":"no id"}\n{"id":4}\n';
  const expected = {
    records: '4 (1 would fail before anything is sent; the first: record 3: the record has no field "id")',
    actions: '3',
  };

  test.each([
    ['rows.json', records],
    ['rows.ndjson', lines],
    ['rows.json.gz', gzipSync(records)],
  ])('can be a file: %s', async (input, content) => {
    expect((await dryRun(node(), content, { input, args: ndjson })).lines).toMatchObject(expected);
  });

  test('can come from stdin', async () => {
    const found = await dryRun(node(), '', { input: '-', args: ['--in-format', 'ndjson', ...ndjson], run: { stdin: lines } });
    expect(found.lines).toMatchObject(expected);
  });

  test('can be a JSON list without records', async () => {
    expect((await dryRun(node(), '[]', { input: 'rows.json' })).lines.records).toBe('0');
    expect((await dryRun(node(), '', { input: 'rows.ndjson' })).lines.records).toBe('0');
  });

  const large = Array.from({ length: 120_000 }, (_, index) => ({ id: String(index + 1), note: 'a "long" note,' }));
  const csv = `id,note\n${large.map(({ id }) => `${id},"a ""long"" note,"\n`).join('')}`;
  const faulty = `${csv}..,x\n7\n`;
  const failing = /^120,002 \(2 would fail before anything is sent; the first: record 120001: .*"\.\."/;

  test.each([
    ['rows.csv', faulty],
    ['rows.csv', csv.replace('\n100,', '\n"1"00,') + faulty.slice(csv.length)],
    ['rows.csv.gz', gzipSync(faulty)],
    ['rows.ndjson', `${large.map((record) => JSON.stringify(record)).join('\n')}\n{"id":".."}\n[]`],
  ])('is read to its end even if it is large: %s', async (input, content) => {
    const found = await dryRun(node(), content, { input });
    expect(found.lines.records).toMatch(failing);
    expect(found.lines.actions).toBe('120,000');
  });

  test('is read only as far as --skip and --limit say, even if it is large', async () => {
    const part = await dryRun(node(), faulty, { args: ['--skip', '119999', '--limit', '2'] });
    expect(part.lines.records).toMatch(/^2 \(1 would fail/);
    expect((await dryRun(node(), faulty, { args: ['--limit', '110000'] })).lines.records).toBe('110,000');
  });

  test('ends the dry run with exit code 6 if it cannot be read to its end', async () => {
    const found = await dryRun(node(), Buffer.concat([Buffer.from(csv), Buffer.from([0xff, 10])]));
    expect([found.code, found.stdout]).toEqual([6, '']);
    expect(found.stderr).toContain(`found the byte 0xFF at byte offset ${csv.length}`);
    const open = await dryRun(node(), `${csv}8,"open\n`);
    expect([open.code, open.stdout]).toEqual([6, '']);
    expect(open.stderr).toContain('rows.csv:120002: expected a closing quote');
  });
});

test('a dry run with --summary writes its plan as JSON', async () => {
  const nodes = both(node(', map: ["a[].b"]'), node(', credits: 2, auth: { type: bearer, credential: key }'));
  const args = ['--max-credits', '5'];
  const { made, stdout } = await dryRun(nodes, 'id\n1\n..\n', { args: [...args, '--summary', 'plan.json'], makes: ['plan.json'] });
  expect(stdout).toMatch(/^records:/);
  expect(JSON.parse(made['plan.json'] as string)).toEqual({
    flow: 'flow.yaml',
    input: 'rows.csv',
    dry_run: true,
    records: 2,
    failing: 1,
    kept: 0,
    first_failure: { record: 2, message: expect.stringContaining('".."') },
    stops_at: null,
    actions: { least: 1, expected: 2, most: null },
    credits: { least: 1, expected: 3, most: null },
    max_credits: 5,
    ms: 400,
    requests: [expect.stringMatching(/^GET http:.*\/1\nAccept: application\/json, /)],
  });
  const printed = await dryRun(nodes, idRows(1), { args: ['--summary', '-'] });
  expect(JSON.parse(printed.stdout)).toMatchObject({ records: 1, dry_run: true });
});
