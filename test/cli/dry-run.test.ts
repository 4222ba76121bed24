import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { ownerText } from '../../src/io/files/owner.ts';
import { openBook } from '../../src/io/ledger/book.ts';
import { answeringServer } from '../helpers/answering-server.ts';
import { idRows } from '../helpers/asking.ts';
import { type RunOptions, type Workplace, workplace } from '../helpers/cli.ts';

interface Given {
  readonly args?: readonly string[];
  readonly input?: string;
  readonly before?: (place: Workplace) => unknown;
  readonly run?: RunOptions;
  /** Files that the run is asked to write. */
  readonly makes?: readonly string[];
}

/** Runs a flow dry, with a server that must not be asked; no file may come, go or change. */
async function dryRun(nodes: (origin: string) => string, rows: string | Buffer, given: Given = {}) {
  const { args = [], input = 'rows.csv', before = () => undefined, makes = [] } = given;
  const server = await answeringServer(() => ({}));
  const place = await workplace({ 'flow.yaml': `nodes:\n${nodes(server.origin)}` });
  if (input !== '-') await place.write(input, rows);
  await before(place);
  const files = await contents(place);
  const finished = await place.automate(['run', 'flow.yaml', '--in', input, '--out', 'out.csv', '--dry-run', ...args], given.run);
  expect(server.requests).toEqual([]);
  const after = await contents(place);
  const made = Object.fromEntries(makes.map((name) => [name, after[name]]));
  expect(after).toEqual({ ...files, ...made });
  return { ...finished, made, origin: server.origin, lines: linesOf(finished.stdout) };
}

async function contents({ folder }: Workplace): Promise<Record<string, unknown>> {
  const found = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  // Whoever opens the ledger, if only to read it, leaves these beside it.
  const paths = found.map(({ parentPath, name }) => join(parentPath, name)).filter((path) => !/-(?:shm|wal)$/.test(path));
  return Object.fromEntries(await Promise.all(paths.map(async (path) => [path.slice(folder.length + 1), await contentOf(path)])));
}

async function contentOf(path: string): Promise<unknown> {
  const text = (await readFile(path)).toString('latin1');
  if (!text.startsWith('SQLite format')) return text;
  const book = openBook(path);
  const held = { limit: book.limit(), spent: book.spent(), holds: book.holds() };
  book.close();
  return held;
}

function linesOf(stdout: string): Record<string, string> {
  return Object.fromEntries([...stdout.matchAll(/^(\w+): +(.*)$/gm)].map(([, name, text]) => [name, text]));
}

const one = (origin: string) => `  - { type: http, url: "${origin}/users/{{id}}", auth: { type: bearer, credential: none-is-needed } }\n`;
const node = (more = '') => {
  return (origin: string) => `  - { type: http, url: "${origin}/{{id}}"${more} }\n`;
};
const both = (...nodes: ((origin: string) => string)[]) => {
  return (origin: string) => nodes.map((written) => written(origin)).join('');
};
describe('a dry run sends nothing, writes nothing, and tells', () => {
  test('how many records, actions and credits, how long, and the first three requests', async () => {
    const { code, stdout, stderr, origin } = await dryRun(one, 'id,b\n1,x\n2,y\n3,z\n4,z\n');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toBe(`records:   4
actions:   4
credits:   4
time:      about 200 ms at 4 at once and 200 ms a request
requests:  the first 3
  GET ${origin}/users/1
  Authorization: Bearer ***

  GET ${origin}/users/2
  Authorization: Bearer ***

  GET ${origin}/users/3
  Authorization: Bearer ***
`);
  });

  test('the body and the headers, too', async () => {
    const post = (origin: string) =>
      `  - { type: set, fields: { who: "{{id}}!" } }\n  - { type: http, method: POST, url: "${origin}/", headers: { X-Id: "{{id}}" }, body: { who: "{{who}}" } }\n`;
    const { stdout } = await dryRun(post, 'id\n"a""b"\n');
    expect(stdout).toContain('\n  Content-Type: application/json\n  X-Id: a"b\n  \n  {"who":"a\\"b!"}\n');
  });

  test('no secret, which it does not look up', async () => {
    const env = { AUTOMATE_CREDENTIAL_NONE_IS_NEEDED: 'canary-4711' };
    const { stdout } = await dryRun(one, idRows(1), { run: { env } });
    expect(stdout).toContain('Bearer ***');
    expect(stdout).not.toContain('canary');
    const unusable = { AUTOMATE_CREDENTIAL_NONE_IS_NEEDED_FILE: '/nowhere' };
    expect(await dryRun(one, idRows(1), { run: { env: unusable } })).toMatchObject({ code: 0, stderr: '' });
  });

  test('with --skip and --limit, of those records', async () => {
    const { lines, stdout, origin } = await dryRun(one, idRows(4), { args: ['--skip', '1', '--limit', '2'] });
    expect(lines).toMatchObject({ records: '2', actions: '2' });
    expect(stdout).toContain(`GET ${origin}/users/2\n`);
    expect((await dryRun(one, idRows(4), { args: ['--limit', '0'] })).lines).toMatchObject({
      records: '0',
      requests: 'none would be sent',
    });
  });

  test('which records would fail before anything is sent', async () => {
    const { code, lines } = await dryRun(one, 'id\n1\n..\n2,3\n');
    expect(code).toBe(0);
    expect(lines).toMatchObject({ actions: '1', credits: '1' });
    expect(lines.records).toMatch(/^3 \(2 would fail before anything is sent; the first: record 2: .*"\.\."/);
  });

  test('that all of them would', async () => {
    const { lines } = await dryRun(one, 'id\n..\n.\n');
    expect(lines).toMatchObject({ actions: '0', credits: '0', requests: 'none would be sent' });
    expect(lines.records).toMatch(/^2 \(2 would fail/);
    expect(lines.time).toBeUndefined();
  });

  test('that there are none', async () => {
    const { code, stdout } = await dryRun(one, 'id\n');
    expect(code).toBe(0);
    expect(stdout).toBe('records:   0\nactions:   0\ncredits:   0\nrequests:  none would be sent\n');
  });

  test('that no request would be sent', async () => {
    const { stdout } = await dryRun(() => '  - { type: set, fields: { a: b } }\n', idRows(1), { args: ['--max-credits', '0'] });
    expect(stdout).toBe('records:   1\nactions:   0\ncredits:   0\nrequests:  none would be sent\n');
  });

  test('every problem of the flow', async () => {
    const { code, stdout, stderr } = await dryRun((origin) => `  - { type: http, url: "${origin}/{{idd}}" }\n`, idRows(1));
    expect([code, stdout]).toEqual([3, '']);
    expect(stderr).toContain('no record has a field "idd" here; did you mean "id"?');
  });

  test('nothing that could steer a terminal', async () => {
    const post = (origin: string) => `  - { type: http, method: POST, url: "${origin}/", body: { id: "{{id}}" } }\n`;
    const { stdout } = await dryRun(post, 'id\n\u009b31m\u202e\n');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
    expect(stdout).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]/);
  });
});

describe('where it depends on the answers', () => {
  const two = (origin: string) => `  - { type: http, url: "${origin}/two", when: "id != '2'" }\n`;

  test('it says the least, the expected and the most, and what is expected', async () => {
    const { lines } = await dryRun(both(node(), two), idRows(2));
    expect(lines.actions).toBe('2 at least, 4 expected, 4 at most');
    expect(lines.credits).toBe(lines.actions);
    expect(lines.expected).toMatch(/^every answer a success/);
  });

  test('a node that expands leaves no most', async () => {
    const expanding = (origin: string) => `  - { type: http, url: "${origin}/{{id}}", map: ["a[].b"] }\n`;
    expect((await dryRun(both(expanding, two), idRows(2))).lines.actions).toBe('2 at least, 4 expected, any number at most');
    expect((await dryRun(expanding, idRows(2))).lines.actions).toBe('2');
  });

  test('a condition before the first request is decided', async () => {
    expect((await dryRun(two, idRows(3))).lines).toMatchObject({ records: '3', actions: '2', credits: '2' });
    expect((await dryRun(both(two, node()), idRows(3))).lines.actions).toBe('3 at least, 5 expected, 5 at most');
  });

  test('an answer from the cache costs nothing', async () => {
    expect((await dryRun(node(', cache: 1h'), idRows(3))).lines.actions).toBe('0 at least, 3 expected, 3 at most');
  });

  test('a record that is kept goes on behind those of its pages and passes', async () => {
    const pages = (origin: string) =>
      `  - { type: http, on_error: keep, url: "${origin}/{{id}}", paginate: { type: cursor, path: next, param: c, max: 3 }, map: { t: t } }\n`;
    expect((await dryRun(both(pages, node()), idRows(2))).lines.actions).toBe('2 at least, 4 expected, 14 at most');
    const passes = (origin: string) =>
      `  - { type: loop, on_error: keep, while: t != null, max: 3, nodes: [{ type: http, url: "${origin}/{{id}}", map: { t: t } }] }\n`;
    expect((await dryRun(both(passes, node()), idRows(2))).lines.actions).toBe('2 at least, 4 expected, 14 at most');
  });

  test('a loop is expected to pass once', async () => {
    const inside = (kind: string) => (origin: string) =>
      `  - { type: ${kind}, nodes: [{ type: http, url: "${origin}/{{id}}", map: { state: state } }] }\n`;
    const looped = await dryRun(both(node(), inside('loop, while: state != null, max: 5')), idRows(2));
    expect(looped.lines.actions).toBe('2 at least, 4 expected, 12 at most');
    expect(looped.lines.expected).toContain('one pass of each loop');
    const polled = await dryRun(both(inside('poll, until: state != null, every: 1s, timeout: 3s'), node()), idRows(2));
    expect(polled.lines.actions).toBe('2 at least, 4 expected, 10 at most');
    expect(polled.stdout).toContain(`GET ${polled.origin}/1\n`);
  });

  test('a record that is kept goes on, one that is to stop the run is told', async () => {
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

test('a run that failures can end may send no more than those', async () => {
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

test('where one answer may be that of many records, or records send nothing, failures end it sooner', async () => {
  const actions = async (more: string, maxErrors: string) => {
    const toAll = (origin: string) => node(more)(origin).replace('/{{id}}', '/');
    return (await dryRun(toAll, idRows(150), { args: ['--max-errors', maxErrors] })).lines.actions;
  };
  const batch = ', method: POST, body: ["{{items}}"], batch: { size: 10, items: "{{id}}" }';
  expect(await actions(batch, '14')).toBe('2 at least, 15 expected, 285 at most');
  expect(await actions(', when: "int(id) > 50"', '20%')).toBe('50 at least, 100 expected, 100 at most');
  expect(await actions(', when: "int(id) > 50"', '70%')).toBe('71 at least, 100 expected, 100 at most');
});

describe('credits', () => {
  test('are weighed by node, apart from actions', async () => {
    const { lines } = await dryRun(both(node(', credits: 2.5'), node(', credits: 0'), node()), idRows(4));
    expect(lines.actions).toBe('4 at least, 12 expected, 12 at most');
    expect(lines.credits).toBe('10 at least, 14 expected, 14 at most');
  });

  test('that cost nothing stay nothing, however many actions there are', async () => {
    const { lines } = await dryRun(both(node(', map: ["a[].b"], credits: 3'), node(', credits: 0')), idRows(1));
    expect(lines.actions).toBe('1 at least, 2 expected, any number at most');
    expect(lines.credits).toBe('3');
  });

  test('are by price where answers say what they really cost', async () => {
    const { lines } = await dryRun(node(', id: dear, cost: "$headers.x-cost"'), idRows(2));
    expect(lines.credits).toBe('2 (by price; the answers of dear state the real cost)');
  });

  test('are held against --max-credits', async () => {
    const budgetOf = async (most: string, nodes = node(', credits: 2')) =>
      (await dryRun(nodes, idRows(10), { args: ['--max-credits', most] })).lines.budget;
    expect(await budgetOf('20')).toBe('--max-credits 20 is enough');
    expect(await budgetOf('9')).toBe('--max-credits 9: not enough: the run stops after about 4 records');
    expect(await budgetOf('10', both(node(', map: ["a[].b"], credits: 0'), node()))).toBe(
      '--max-credits 10 is enough, if no more than expected is needed',
    );
  });
});

describe('the allowance', () => {
  const month = new Date().toISOString().slice(0, 7);
  const account = { flow: 'f', node: 'n', connection: '', env: 'default' };

  /** A ledger with an allowance, credits that were spent, and credits that a run under way holds. */
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

  test('is told, with what is left of it afterwards', async () => {
    const { lines, stderr } = await dryRun(node(', credits: 50'), idRows(10), { before: ledger(10_000, 600) });
    expect(stderr).toBe('');
    expect(lines.allowance).toBe(`9,400 of 10,000 credits are left in ${month}; 8,900 afterwards`);
  });

  test('that is not enough says so', async () => {
    const { code, lines } = await dryRun(node(), idRows(10), { before: ledger(1000, 993) });
    expect(code).toBe(0);
    expect(lines.allowance).toBe(`7 of 1,000 credits are left in ${month}: not enough: the run stops after about 7 records`);
    const none = await dryRun(node(), idRows(10), { before: ledger(1000, 1200) });
    expect(none.lines.allowance).toMatch(/^0 of 1,000 .* after about 0 records$/);
  });

  test('is less by what runs under way hold', async () => {
    const { lines } = await dryRun(node(), idRows(10), { before: ledger(1000, 100, 50) });
    expect(lines.allowance).toBe(`850 of 1,000 credits are left in ${month} (runs under way may spend 50 more); 840 afterwards`);
  });

  test('is not kept back by a run that is dead, which counts with what it has spent', async () => {
    const dead = JSON.stringify({ ...JSON.parse(ownerText()), born: '1' });
    const { lines } = await dryRun(node(), idRows(10), { before: ledger(1000, 100, 50, dead) });
    expect(lines.allowance).toBe(`850 of 1,000 credits are left in ${month}; 840 afterwards`);
  });

  test('may be enough only for what is expected', async () => {
    const { lines } = await dryRun(both(node(', map: ["a[].b"]'), node()), idRows(10), { before: ledger(1000, 0) });
    expect(lines.allowance).toBe(`1,000 of 1,000 credits are left in ${month}; 980 afterwards, if no more than expected is needed`);
  });

  test('is not told without one, nor where nothing costs', async () => {
    expect((await dryRun(node(), idRows(1), { before: ledger(undefined, 5) })).lines.allowance).toBeUndefined();
    const set = () => '  - { type: set, fields: { a: b } }\n';
    expect((await dryRun(set, idRows(1), { before: ledger(10, 5) })).lines.allowance).toBeUndefined();
  });

  test.each([
    ['no database', 'this is no database, and longer than a header of one would be ........................................'],
    ['empty', ''],
  ])('of a ledger that is %s keeps no plan back', async (kind, content) => {
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

describe('the time', () => {
  const timeOf = async (nodes: (origin: string) => string, args: readonly string[] = [], count = 600) =>
    (await dryRun(nodes, idRows(count), { args })).lines.time?.replace(/http:\S+/, 'API');

  test.each([
    ['the rate of a node', node(', rate: 2/s'), [], 'about 5 min at 2/s to API'],
    ['the rate of the command line', node(', rate: 2/s'), ['--rate', '1/min'], 'about 9 h 59 min at 1/min to API'],
    ['what can be in flight', node(), [], 'about 7.6 s at 16 at once and 200 ms a request'],
    ['the concurrency of a node', node(', concurrency: 1'), [], 'about 2 min at 1 at once and 200 ms a request'],
    ['the concurrency of the command line', node(), ['--concurrency', '600'], 'about 200 ms at 600 at once and 200 ms a request'],
    ['whatever is slower', node(', rate: 1000/s, concurrency: 2'), [], 'about 1 min at 2 at once and 200 ms a request'],
    ['the rate that nodes share', both(node(', rate: 10/s'), node()), [], 'about 2 min at 10/s to API'],
    ['nothing beside other credentials', both(node(', rate: 10/s'), one), [], 'about 1 min at 10/s to API'],
    ['a rate of less than one a minute', node(', rate: 30/h'), [], 'about 19 h 58 min at 30/h to API'],
  ])('is that of %s', async (_what, nodes, args, expected) => {
    expect(await timeOf(nodes, args)).toBe(expected);
  });

  test('is that of a place that nodes of one connection share', async () => {
    const server = await answeringServer(() => ({}));
    const flow = `connections: { api: { type: http, base_url: "${server.origin}", concurrency: 4 } }
nodes: [{ type: http, connection: api, url: "/{{id}}" }, { type: http, connection: api, url: "/{{id}}" }]`;
    const place = await workplace({ 'flow.yaml': flow, 'rows.csv': idRows(600) });
    const { stdout } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--dry-run']);
    expect(linesOf(stdout).time).toBe('about 1 min at 4 at once and 200 ms a request');
  });

  test('is that of the host that most records name', async () => {
    const rows = `id\n${Array.from({ length: 30 }, (_, index) => `${index % 3 === 0 ? 'b' : 'a'}.example.com\n`).join('')}`;
    const { lines } = await dryRun(() => '  - { type: http, url: "https://{{id}}/", rate: 1/s }\n', rows);
    expect(lines.time).toBe('about 19.2 s at 1/s to https://a.example.com');
  });
});

describe('every input', () => {
  const records = JSON.stringify([{ id: 1 }, { id: null, x: 1 }, { name: 'no id' }, { id: 4 }]);
  // As CSV some of these would fail for their fields.
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
  ])('%s is counted', async (input, content) => {
    expect((await dryRun(node(), content, { input, args: ndjson })).lines).toMatchObject(expected);
  });

  test('stdin is counted', async () => {
    const found = await dryRun(node(), '', { input: '-', args: ['--in-format', 'ndjson', ...ndjson], run: { stdin: lines } });
    expect(found.lines).toMatchObject(expected);
  });

  test('empty JSON is no record', async () => {
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
  ])('a large %s, too, to its end', async (input, content) => {
    const found = await dryRun(node(), content, { input });
    expect(found.lines.records).toMatch(failing);
    expect(found.lines.actions).toBe('120,000');
    const part = await dryRun(node(), content, { input, args: ['--skip', '119999', '--limit', '2'] });
    expect(part.lines.records).toMatch(/^2 \(1 would fail/);
    expect((await dryRun(node(), content, { input, args: ['--limit', '110000'] })).lines.records).toBe('110,000');
  });

  test('a large one that cannot be read to its end is an error', async () => {
    const found = await dryRun(node(), Buffer.concat([Buffer.from(csv), Buffer.from([0xff, 10])]));
    expect([found.code, found.stdout]).toEqual([6, '']);
    expect(found.stderr).toContain(`found the byte 0xFF at byte offset ${csv.length}`);
    const open = await dryRun(node(), `${csv}8,"open\n`);
    expect([open.code, open.stdout]).toEqual([6, '']);
    expect(open.stderr).toContain('rows.csv:120002: expected a closing quote');
  });
});

test('--summary writes the plan as JSON', async () => {
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
    requests: [expect.stringMatching(/^GET http:.*\/1$/)],
  });
  const printed = await dryRun(nodes, idRows(1), { args: ['--summary', '-'] });
  expect(JSON.parse(printed.stdout)).toMatchObject({ records: 1, dry_run: true });
});
