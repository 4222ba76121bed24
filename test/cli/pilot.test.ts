import { describe, expect, test } from 'vitest';
import { runCommand } from '../../src/cli/run/run-command.ts';
import { createTerminal } from '../../src/cli/terminal.ts';
import { answeringServer } from '../helpers/answering-server.ts';
import { askedServer, askingFlow, csvOf, idsTo } from '../helpers/asking.ts';
import { type Workplace, workplace } from '../helpers/cli.ts';
import { parsedMetrics } from '../helpers/prometheus.ts';

const count = 60;

/** A flow over 60 records, of which each seventh fails, and the files of a run without a pilot. */
async function pilotPlace(more = '', files: Record<string, string> = {}) {
  const server = await askedServer();
  const ndjson = idsTo(count)
    .map((id) => `{"id":${id},"n":12345678901234567890}\n`)
    .join('');
  const place = await workplace({
    'flow.yaml': askingFlow(server.origin, more),
    'rows.csv': csvOf(count),
    'rows.ndjson': ndjson,
    'rows.json': `[${ndjson.trim().split('\n').join(',')}]`,
    ...files,
  });
  const run = (...args: string[]) => place.automate(['run', 'flow.yaml', ...args]);
  return { server, place, run };
}

const runs = (of: ReadonlyMap<string, number>) => ({ records: of.size, requests: [...of.values()].reduce((sum, one) => sum + one, 0) });

/** Answers the questions of a run, which then goes on in the same process. Returns what it printed, and the questions. */
async function answering(
  place: Workplace,
  answers: string[],
  options: object = {},
  whileAsking: (printed: string) => Promise<void> = async () => undefined,
) {
  const questions: string[] = [];
  let printed = '';
  const terminal = {
    ...createTerminal(),
    say: (text: string) => {
      printed += `${text}\n`;
    },
    findAsker: () => ({
      line: async (question: string) => {
        questions.push(question);
        await whileAsking(printed);
        return answers.shift();
      },
    }),
  };
  const given = { in: [place.path('rows.csv')], out: place.path('out.csv'), input: true, set: [], var: [], pilot: 10, ...options };
  const code = await runCommand({ flow: place.path('flow.yaml'), options: given as never, written: new Map() }, terminal as never);
  return { code, questions, printed };
}

describe('automate run --pilot', () => {
  test.each([
    ['rows.csv', 'out.csv'],
    ['rows.csv', 'out.csv.gz'],
    ['rows.csv', 'out.json'],
    ['rows.ndjson', 'out.ndjson'],
    ['rows.json', 'out.csv'],
  ])('runs some records of %s, and --resume writes the same %s without running them again', async (input, out) => {
    const { server, place, run } = await pilotPlace(', credits: 2');
    expect((await run('--in', input, '--out', `plain-${out}`)).code).toBe(4);
    server.forget();
    const pilot = await run('--in', input, '--out', out, '--pilot', '10', '--summary', 'summary.json');
    expect(pilot.code).toBe(5);
    expect(pilot.stderr).toMatch(/^pilot: 10 of 60 records: \d+ succeeded, \d failed in/m);
    expect(pilot.stderr).toContain('the other 50 records will take about 50 requests, 100 credits, ');
    expect(pilot.stderr).toContain(
      `  go on with the other records:\n    automate run flow.yaml --in ${input} --out ${out} --summary summary.json --resume\n`,
    );
    expect(runs(server.calls)).toEqual({ records: 10, requests: 10 });
    expect([...server.calls.keys()]).toEqual(expect.arrayContaining(['1', '60']));
    expect(JSON.parse(await place.read('summary.json'))).toMatchObject({
      ...{ ending: 'pilot', exit_code: 5, read: 10, error_records: 0, credits: 20 },
      pilot: { records: 10, at_random: 8, rest: { records: 50, requests: 50, credits: 100, cost: null } },
    });
    const resumed = await run('--in', input, '--out', out, '--resume');
    expect([resumed.code, resumed.stderr]).toEqual([4, expect.stringContaining('done: 60 read, 52 written, 8 failed, 120 credits')]);
    expect(runs(server.calls)).toEqual({ records: count, requests: count });
    const [plain, piloted] = [await place.read(`plain-${out}`), await place.read(out)];
    expect(piloted).toBe(plain);
    const errorsOf = async (name: string) => place.read(`${name.replace(/\.(csv\.gz|\w+)$/, '')}.errors.${input.split('.')[1]}`);
    expect(await errorsOf(out)).toBe(await errorsOf(`plain-${out}`));
    expect((await place.files()).filter((name) => name.endsWith('-run'))).toEqual([]);
  });

  test('shows up to ten records with the fields that the flow adds, and what the paths mean for all', async () => {
    const server = await answeringServer(({ path }) => ({
      body: { tags: ['a', 'b'], ...(Number(path.slice(1)) % 2 === 0 && { mail: { address: `u${path.slice(1)}@example.com` } }) },
    }));
    const { run } = await pilotPlace('', {
      'flow.yaml': `nodes:
  - { id: ask, type: http, url: "${server.origin}/{{id}}", map: { email: mail.address, tags: tags } }
  - { type: set, fields: { note: "n{{id}}" } }
`,
    });
    const { stderr } = await run('--in', 'rows.csv', '--out', 'out.csv', '--pilot', '40');
    const [, found = ''] = /\n {4}mail\.address: found in (\d+) of 38 chosen at random: expect \d+ % to \d+ %\n/.exec(stderr) ?? [];
    expect(Number(found)).toBeGreaterThan(8);
    expect(stderr).toContain('\n    tags: found in 38 of 38 chosen at random: expect 91 % to 100 %\n');
    const table = stderr.split('\n').filter((line) => /^ {2}(record|\d+) /.test(line));
    expect(table).toHaveLength(11);
    expect(table[0]).toMatch(/^ {2}record +email +tags +note$/);
    expect(table[1]).toMatch(/^ {2}1 +\["a","b"\] +n1$/);
    expect(table[10]).toMatch(/^ {2}60 +u60@example\.com +\["a","b"\] +n60$/);
  });

  test('reports how each record ended only once, in the run that writes it', async () => {
    const server = await answeringServer(({ path }) => {
      const [, node, id = ''] = path.split('/');
      return (node === 'a' && Number(id) % 3 === 0) || (node === 'b' && Number(id) % 5 === 0) ? { status: 404 } : { body: {} };
    });
    const { run, place } = await pilotPlace('', {
      'flow.yaml': `nodes:
  - { id: a, type: http, url: "${server.origin}/a/{{id}}", on_error: keep }
  - { id: b, type: http, url: "${server.origin}/b/{{id}}" }
  - { type: filter, where: int(id) % 7 != 0 }
`,
    });
    const args = ['--in', 'rows.csv', '--out', 'out.csv', '--events', 'events.ndjson'];
    expect((await run(...args, '--pilot', '40')).code).toBe(5);
    const read = async () =>
      (await place.read('events.ndjson'))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
    const piloted = await read();
    expect(piloted.filter(({ type }) => type === 'record-parked')).toHaveLength(40);
    expect(piloted.filter(({ type }) => /^record-(?:done|failed|filtered)/.test(type))).toEqual([]);
    expect((await run(...args, '--resume')).code).toBe(4);
    const events = (await read()).filter(({ type }) => type !== 'record-parked');
    const countOf = (name: string) => events.filter(({ type }) => type === name).length;
    const ended = events.flatMap(({ type, record }) =>
      ['record-done', 'record-failed', 'record-filtered'].includes(type) ? [record] : [],
    );
    expect(ended.sort((one, other) => one - other)).toEqual(idsTo(count).map(Number));
    expect([countOf('record-failed'), countOf('record-passed-through'), countOf('call-done')]).toEqual([12, 20, 40 + 48]);
  });

  test('counts a path as found only if it has a value', async () => {
    const answers: Record<string, object> = {
      1: { mail: null },
      2: { mail: '' },
      3: { mail: [] },
      4: {},
      5: { mail: {} },
      6: { mail: 0 },
      7: { mail: ' ' },
    };
    const server = await answeringServer(({ path }) => {
      const [, node = '', id = ''] = path.split('/');
      if (node === 'check') return id === '8' ? { status: 404 } : { body: {} };
      const user = answers[id] ?? { mail: 'x' };
      return { body: { user, rows: [{ mail: null }, user] } };
    });
    const { run, place } = await pilotPlace('', {
      'flow.yaml': `nodes:
  - { id: ask, type: http, url: "${server.origin}/ask/{{id}}", map: { mail: user.mail, seen: "$status" } }
  - { id: rows, type: http, url: "${server.origin}/ask/{{id}}", map: { each: "rows[].mail" } }
  - { id: later, type: http, url: "${server.origin}/check/{{id}}" }
`,
    });
    await place.write('few.csv', `id\n${idsTo(10).join('\n')}\n`);
    const { stderr } = await run('--in', 'few.csv', '--out', 'out.csv', '--pilot', '9', '--events', 'events.ndjson', '--summary', 's.json');
    const { paths } = JSON.parse(await place.read('s.json')).pilot;
    // The first and the last record, and another one, are not chosen at random. Records 6, 7 and 9 have a value, and record 8 failed.
    const events = (await place.read('events.ndjson'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const ran = new Set(events.flatMap(({ type, record }) => (type === 'mapped' ? [record] : [])));
    const expected = [6, 7, 9].filter((id) => ran.has(id)).length;
    expect(paths).toMatchObject([
      { node: 'ask', path: 'user.mail', found: expected, of: 7 },
      { node: 'ask', path: '$status', found: ran.has(8) ? 6 : 7, of: 7 },
      { node: 'rows', path: 'rows[].mail', found: expected, of: 7 },
    ]);
    expect(stderr).toContain(`user.mail: found in ${expected} of 7 chosen at random`);
    const first = events.find(({ type, record, node }) => type === 'mapped' && record === 1 && node === 'ask');
    expect(first).toMatchObject({ paths: ['user.mail', '$status'], found: [true, true], empty: ['user.mail'] });
  });

  test('shows the first row of records that have become several, page by page', async () => {
    const server = await answeringServer(({ path }) => ({
      body: path.includes('page=2') ? { items: [{ x: 3 }] } : { items: [{ x: 1 }, { x: 2 }], next: `${path}&page=2` },
    }));
    const flow = `nodes:
  - { type: http, url: "${server.origin}/list?id={{id}}", paginate: { type: next_url, path: next }, map: { x: "items[].x" } }
`;
    const { run, place } = await pilotPlace('', { 'flow.yaml': flow });
    expect(await run('--in', 'rows.csv', '--out', 'plain.csv')).toMatchObject({ code: 0 });
    const { stderr, code } = await run('--in', 'rows.csv', '--out', 'out.csv', '--pilot', '5');
    expect(code).toBe(5);
    expect(stderr).toMatch(/\n {2}record +x\n {2}1 \(1 of 3 rows\) +1\n/);
    expect(stderr).toContain('the other 55 records will take about 110 requests, ');
    expect((await run('--in', 'rows.csv', '--out', 'out.csv', '--resume')).code).toBe(0);
    expect(await place.read('out.csv')).toBe(await place.read('plain.csv'));
  });

  test('estimates the requests of batches, and keeps batches of its own', async () => {
    const server = await answeringServer(({ body }) => ({
      body: (JSON.parse(body) as string[]).map((id) => ({ id, name: `n${id}` })),
    }));
    const flow = `nodes:
  - type: http
    method: POST
    url: ${server.origin}/
    credits: 3
    batch: { size: 20, items: "{{id}}", match: { field: id, path: "$body[].id" } }
    body: "{{items}}"
    map: { name: "$body[].name" }
`;
    const { run, place } = await pilotPlace('', { 'flow.yaml': flow });
    expect(await run('--in', 'rows.csv', '--out', 'plain.csv')).toMatchObject({ code: 0 });
    const { stderr } = await run('--in', 'rows.csv', '--out', 'out.csv', '--pilot', '10');
    expect(server.requests).toHaveLength(3 + 1);
    expect(stderr).toContain('the other 50 records will take about 3 requests, 9 credits, ');
    expect((await run('--in', 'rows.csv', '--out', 'out.csv', '--resume')).code).toBe(0);
    expect(server.requests).toHaveLength(3 + 1 + 3);
    expect(await place.read('out.csv')).toBe(await place.read('plain.csv'));
  });

  test('is a plain run if there are no more records than asked for', async () => {
    const { server, place, run } = await pilotPlace();
    const { code, stderr } = await run('--in', 'rows.csv', '--out', 'out.csv', '--pilot', '60');
    expect([code, stderr]).toEqual([4, expect.stringMatching(/^done: 60 read/m)]);
    expect(runs(server.calls)).toEqual({ records: count, requests: count });
    await place.write('empty.csv', 'id,note\n');
    expect((await run('--in', 'empty.csv', '--out', 'empty-out.csv', '--pilot', '1')).code).toBe(0);
  });

  test.each([
    [1, ['1']],
    [2, ['1', '60']],
  ])('--pilot %i runs the first record, and then the last', async (pilot, ids) => {
    const { server, run } = await pilotPlace();
    const { stderr } = await run('--in', 'rows.csv', '--out', 'out.csv', '--pilot', String(pilot));
    expect([...server.calls.keys()].sort()).toEqual(ids);
    expect(stderr).toContain(`\n    name: found in ${pilot} of ${pilot}\n`);
  });

  test('after a pilot, the same command line with --resume goes on without asking, and without it is refused', async () => {
    const { server, run } = await pilotPlace();
    const args = ['--in', 'rows.csv', '--out', 'out.csv', '--pilot', '10'];
    expect((await run(...args, '--resume')).code).toBe(5);
    expect(await run(...args)).toMatchObject({ code: 73, stderr: expect.stringContaining('an earlier run did not finish out.csv') });
    expect(runs(server.calls).requests).toBe(10);
    expect((await run(...args, '--resume')).code).toBe(4);
    expect(runs(server.calls)).toEqual({ records: count, requests: count });
    expect((await run(...args, '--resume')).stderr).toContain('out.csv is complete already');
    expect((await run(...args)).code).toBe(73);
    expect((await run(...args, '--force')).code).toBe(5);
  });

  test('runs again with automate retry what failed in the pilot', async () => {
    const { place, run } = await pilotPlace();
    await run('--in', 'rows.csv', '--out', 'out.csv', '--pilot', '50');
    await run('--in', 'rows.csv', '--out', 'out.csv', '--resume');
    expect(await place.automate(['retry', 'out.csv'])).toMatchObject({ code: 4, stderr: expect.stringContaining('8 failed') });
  });

  test('with --update, chooses among the records that will run', async () => {
    const { server, place, run } = await pilotPlace();
    const update = ['--in', 'rows.csv', '--out', 'out.csv', '--update'];
    expect((await run(...update, '--pilot', '20')).code).toBe(5);
    expect((await run(...update, '--resume')).code).toBe(4);
    const changed = csvOf(count).replace(/^(2[02468]|3\d),/gm, '$100,');
    await place.write('rows.csv', changed);
    server.forget();
    const { stderr, code } = await run(...update, '--pilot', '6');
    expect([code, stderr]).toEqual([5, expect.stringContaining('the other 15 records will take about 15 requests')]);
    expect([...server.calls.keys()].every((id) => /^(2\d00|3\d00|7|14|21|42|49|56)$/.test(id))).toBe(true);
    expect((await run(...update, '--resume')).code).toBe(4);
    expect(runs(server.calls)).toEqual({ records: 21, requests: 21 });
    await run('--in', 'rows.csv', '--out', 'plain.csv');
    expect(await place.read('out.csv')).toBe(await place.read('plain.csv'));
    expect(await place.read('out.errors.csv')).toBe(await place.read('plain.errors.csv'));
    server.forget();
    expect((await run(...update, '--pilot', '60')).stderr).toMatch(/unchanged: taken over/);
  });

  test('a failure that on_error: keep passes through counts as one of the whole run, and --update runs its record again', async () => {
    const { server, place, run } = await pilotPlace(', on_error: keep');
    const update = ['--in', 'rows.csv', '--out', 'out.csv', '--update'];
    expect((await run(...update, '--pilot', '50')).code).toBe(5);
    const { stderr } = await run(...update, '--resume');
    expect(stderr).toContain('done: 60 read, 60 written, 0 failed, 8 kept with _error in ');
    await run('--in', 'rows.csv', '--out', 'plain.csv');
    expect(await place.read('out.csv')).toBe(await place.read('plain.csv'));
    server.forget();
    await run(...update);
    expect([...server.calls.keys()]).toEqual(['7', '14', '21', '28', '35', '42', '49', '56']);
  });

  test('says if the rest will take more credits than are left', async () => {
    const { place, run } = await pilotPlace(', credits: 2');
    await place.automate(['credits', 'limit', '70']);
    const { stderr } = await run('--in', 'rows.csv', '--out', 'out.csv', '--pilot', '10');
    expect(stderr).toContain('\n  only 50 credits can be spent: the run will stop after about 25 more records\n');
  });

  test('with --replace, keeps the old output until the whole run is complete', async () => {
    const { server, place, run } = await pilotPlace();
    await place.write('out.csv', 'old\n');
    const args = ['--in', 'rows.csv', '--out', 'out.csv', '--replace'];
    expect((await run(...args, '--pilot', '10')).code).toBe(5);
    expect(await place.read('out.csv')).toBe('old\n');
    expect((await run(...args, '--resume')).code).toBe(4);
    expect(runs(server.calls)).toEqual({ records: count, requests: count });
    await run('--in', 'rows.csv', '--out', 'plain.csv');
    expect(await place.read('out.csv')).toBe(await place.read('plain.csv'));
  });

  test('a key that is refused stops the run as usual', async () => {
    const server = await answeringServer(() => ({ status: 401 }));
    const { run } = await pilotPlace('', { 'flow.yaml': askingFlow(server.origin) });
    const { code, stderr } = await run('--in', 'rows.csv', '--out', 'out.csv', '--pilot', '40');
    expect(code).toBe(5);
    expect(stderr).toContain('stopped: every record fails in the same way');
    expect(stderr).not.toContain('chosen at random');
    expect(server.requests.length).toBeLessThan(41);
  });

  test('limits hold in the pilot, and over the whole run', async () => {
    const { server, run } = await pilotPlace(', credits: 1');
    const limited = await run('--in', 'rows.csv', '--out', 'out.csv', '--pilot', '10', '--max-credits', '4');
    expect([limited.code, limited.stderr]).toEqual([5, expect.stringContaining('stopped: a limit is reached')]);
    expect(runs(server.calls).requests).toBe(4);
    expect((await run('--in', 'rows.csv', '--out', 'out.csv', '--resume', '--max-credits', '20')).code).toBe(5);
    expect(runs(server.calls).requests).toBe(24);
    expect((await run('--in', 'rows.csv', '--out', 'out.csv', '--resume')).code).toBe(4);
    expect(runs(server.calls)).toEqual({ records: count, requests: count });
    const errors = await run('--in', 'rows.csv', '--out', 'other.csv', '--pilot', '50', '--max-errors', '1');
    expect(errors.stderr).toContain('stopped: too many records failed');
  });

  test('a flow that stops at a failed record does so in the pilot, too, and goes on after it', async () => {
    const { server, place, run } = await pilotPlace(', on_error: stop');
    expect(await run('--in', 'rows.csv', '--out', 'out.csv', '--pilot', '59')).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('stopped at a failed record'),
    });
    let code: number | null = 5;
    for (let parts = 0; code === 5 && parts < 20; parts++) code = (await run('--in', 'rows.csv', '--out', 'out.csv', '--resume')).code;
    expect([code, runs(server.calls)]).toEqual([4, { records: count, requests: count }]);
    expect((await place.read('out.csv')).split('\n')).toHaveLength(54);
  });

  test('no secret is written into the file that keeps its results', async () => {
    const server = await answeringServer(({ path }) =>
      path === '/1' ? { status: 404, body: { error: 'no canary-7f3a here' } } : { body: { name: 'canary-7f3a' } },
    );
    const { place } = await pilotPlace('', {
      'flow.yaml': askingFlow(server.origin, ', auth: { type: bearer, credential: key }'),
    });
    const env = { AUTOMATE_CREDENTIAL_KEY: 'canary-7f3a' };
    const args = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'];
    const { stderr } = await place.automate([...args, '--pilot', '5'], { env });
    expect(stderr + (await place.read('out.csv.automate-run'))).not.toContain('canary');
    expect((await place.automate([...args, '--resume'], { env })).code).toBe(4);
    expect(await place.read('out.errors.csv')).toContain('no *** here');
  });

  test('--quiet shows the failures, and the command that goes on', async () => {
    const { run } = await pilotPlace();
    const { stderr } = await run('--in', 'rows.csv', '--out', 'out.csv', '--pilot', '58', '--quiet');
    expect(stderr).toMatch(/^pilot: 58 of 60 records: .*\n {2}failed:\n.*\n {2}the other 2 .*\n {2}go on with .*\n.* --quiet --resume\n$/);
  });

  test('--notify does not tell that the run has stopped', async () => {
    const server = await answeringServer(({ path }) => ({ body: { name: path } }));
    const { place } = await pilotPlace('', { 'flow.yaml': askingFlow(server.origin) });
    const env = { AUTOMATE_CREDENTIAL_OPS: `${server.origin}/hook` };
    const args = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--pilot', '5', '--notify', 'slack:OPS'];
    expect((await place.automate(args, { env })).code).toBe(5);
    expect(server.requests.filter(({ path }) => path === '/hook')).toEqual([]);
    expect((await place.automate([...args, '--force', '--notify-if', 'always'], { env })).code).toBe(5);
    expect(server.requests.filter(({ path }) => path === '/hook')).toHaveLength(1);
  });

  test('its records run in one process, and the others in workers', async () => {
    const { server, place, run } = await pilotPlace();
    await run('--in', 'rows.csv', '--out', 'plain.csv');
    server.forget();
    expect((await run('--in', 'rows.csv', '--out', 'out.csv', '--pilot', '10', '--workers', '2')).code).toBe(5);
    expect((await run('--in', 'rows.csv', '--out', 'out.csv', '--workers', '2', '--resume')).code).toBe(4);
    expect(runs(server.calls)).toEqual({ records: count, requests: count });
    expect(await place.read('out.csv')).toBe(await place.read('plain.csv'));
  });

  test.each([
    [['--out', 'out.csv'], '--pilot needs an input file'],
    [['--in', '-', '--out', 'out.csv'], '--pilot needs an input file'],
    [['--in', '/dev/null', '--in-format', 'csv', '--out', 'out.csv'], '--pilot needs an input file'],
    [['--no-input', '--out', 'out.csv'], '--no-input has none'],
    [['--in', 'rows.csv'], '--pilot needs an output file'],
    [['--in', 'rows.csv', '--out', '-'], '--pilot needs an output file'],
    [['--in', 'rows.csv', '--out', '/dev/null', '--out-format', 'csv'], '--pilot needs an output file'],
    [['--in', 'rows.csv', '--out', 'out.xlsx'], 'write CSV'],
    [['--in', 'rows.csv', '--out', 'out.csv', '--unordered'], 'leave --unordered out'],
    [['--in', 'rows.csv', '--out', 'out.csv', '--limit', '9'], 'leave --limit and --skip out'],
    [['--in', 'rows.csv', '--out', 'out.csv', '--skip', '9'], 'leave --limit and --skip out'],
    [['--in', 'rows.csv', '--out', 'out.csv', '--queue', 'redis://127.0.0.1:1'], 'leave --queue out'],
  ])('is refused with %j', async (args, message) => {
    const { server, place, run } = await pilotPlace();
    const before = await place.files();
    expect(await run(...args, '--pilot', '5')).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
    expect([await place.files(), runs(server.calls).requests]).toEqual([before, 0]);
  });

  test.each(['0', '-1', '1.5', 'all', '10%'])('refuses --pilot %s', async (value) => {
    const { run } = await pilotPlace();
    expect(await run('--in', 'rows.csv', '--out', 'out.csv', '--pilot', value)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--pilot'),
    });
  });

  test('is refused for a flow with serial_by, and sends nothing if the input cannot be read to its end', async () => {
    const { server, place, run } = await pilotPlace();
    await place.write('serial.yaml', `serial_by: id\n${askingFlow(server.origin)}`);
    expect(await place.automate(['run', 'serial.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--pilot', '5'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('serial_by: id'),
    });
    await place.write('broken.json', `[${idsTo(30).map((id) => `{"id":${id}}`)}`);
    expect((await run('--in', 'broken.json', '--out', 'out.csv', '--pilot', '5')).code).toBe(6);
    expect((await run('--in', 'none.csv', '--out', 'out.csv', '--pilot', '5')).code).toBe(6);
    expect(server.calls.size).toBe(0);
  });
});

describe('the question after a pilot', () => {
  test('y goes on in the same process', async () => {
    const { server, place, run } = await pilotPlace();
    await run('--in', 'rows.csv', '--out', 'plain.csv');
    server.forget();
    const { code, questions, printed } = await answering(place, ['', 'x', 'Y'], { workers: undefined, summary: place.path('s.json') });
    expect(questions).toEqual(Array(3).fill('go on with the other 50? [y]es, [n]o, [m]ore'));
    expect([code, printed]).toEqual([4, expect.stringContaining('expected y, n or m, found x\n')]);
    expect(runs(server.calls)).toEqual({ records: count, requests: count });
    expect(await place.read('out.csv')).toBe(await place.read('plain.csv'));
    expect(JSON.parse(await place.read('s.json'))).toMatchObject({ ending: 'complete', read: count });
  });

  test.each([['n'], ['no'], []])('n, or no answer, ends with exit code 5: %j', async (...answers) => {
    const { server, place } = await pilotPlace();
    const { code, printed } = await answering(place, answers);
    expect([code, printed]).toEqual([5, expect.stringContaining('go on with the other records:\n')]);
    expect(runs(server.calls).requests).toBe(10);
  });

  test('the metrics of a pilot count its calls, and leave its records to the run that goes on and writes them', async () => {
    const { place } = await pilotPlace();
    const seen: object[] = [];
    await answering(place, ['n'], { metrics: { host: '127.0.0.1', port: 0 } }, async (printed) => {
      const url = /http:\S+\/metrics/.exec(printed)?.[0] ?? '';
      const samples = [...parsedMetrics(await (await fetch(url)).text()).values()].flatMap((metric) => metric.samples);
      const sumOf = (name: string) => samples.filter((sample) => sample.name === name).reduce((sum, { value }) => sum + value, 0);
      seen.push({ records: sumOf('automate_records_total'), calls: sumOf('automate_calls_total'), open: sumOf('automate_open_records') });
    });
    expect(seen).toEqual([{ records: 0, calls: 10, open: 0 }]);
  });

  test('m runs as many more at random, until no more than that are left', async () => {
    const { server, place, run } = await pilotPlace();
    await run('--in', 'rows.csv', '--out', 'plain.csv');
    server.forget();
    const { code, questions, printed } = await answering(place, ['m', 'more', 'm'], { pilot: 20 });
    expect(questions.map((question) => /\d+/.exec(question)?.[0])).toEqual(['40', '20']);
    expect(printed).toMatch(/^pilot: 40 of 60 records: /m);
    expect(printed).toMatch(/found in \d+ of 38 chosen at random/);
    expect(code).toBe(4);
    expect(runs(server.calls)).toEqual({ records: count, requests: count });
    expect(await place.read('out.csv')).toBe(await place.read('plain.csv'));
    expect(await place.read('out.errors.csv')).toBe(await place.read('plain.errors.csv'));
  });
});
