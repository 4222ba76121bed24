import { mkdir } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { answeringServer } from '../helpers/answering-server.ts';
import { workplace } from '../helpers/cli.ts';

const people = (url: string, more = '') => `name: people
nodes:
  - id: profile
    type: http
    url: ${url}/users/{{id}}
    map: { name: data.user.name, first: "results[0].value" }
${more}`;

const answerOf = (url: string) => {
  const id = decodeURIComponent(url.split('/').at(-1) ?? '');
  return { body: { data: { user: { name: `Name ${id}` } }, results: [{ value: `v${id}` }] } };
};

describe('automate run', () => {
  test('writes an enriched CSV in input order', async () => {
    const server = await answeringServer(async ({ path: url }) => {
      // The later the record, the sooner its response arrives.
      await new Promise((resolve) => setTimeout(resolve, 20 - Number(url.split('/').at(-1))));
      return answerOf(url);
    });
    const rows = Array.from({ length: 20 }, (_, index) => `${index},city ${index}`);
    const place = await workplace({ 'flow.yaml': people(server.origin), 'rows.csv': `id,city\n${rows.join('\n')}\n` });
    const { code, stdout, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv']);
    expect(code).toBe(0);
    expect(stdout).toBe('');
    expect(await place.read('out.csv')).toBe(
      `id,city,name,first\n${rows.map((row, index) => `${row},Name ${index},v${index}\n`).join('')}`,
    );
    expect(stderr).toContain('done: 20 read, 20 written, 0 failed in ');
    expect(stderr).toContain('data.user.name: found in 20 of 20');
    expect(server.requests).toHaveLength(20);
    expect(await place.files()).toEqual(['flow.yaml', 'out.csv', 'rows.csv']);
  });

  test('keeps the types, digits and unusual field names of NDJSON in a pipe', async () => {
    const server = await answeringServer(({ path: url }) => answerOf(url));
    const place = await workplace({ 'flow.yaml': people(server.origin) });
    const stdin = '{"id":12345678901234567890,"price":1.50,"__proto__":{"a":1},"constructor":"x"}\n{"id":2,"nested":{"b":[1,null]}}\n';
    const { code, stdout } = await place.automate(['run', 'flow.yaml', '--in', '-', '--in-format', 'ndjson'], { stdin });
    expect(code).toBe(0);
    expect(stdout).toBe(
      '{"id":12345678901234567890,"price":1.50,"__proto__":{"a":1},"constructor":"x","name":"Name 12345678901234567890","first":"v12345678901234567890"}\n' +
        '{"id":2,"nested":{"b":[1,null]},"name":"Name 2","first":"v2"}\n',
    );
  });

  test('converts a gzipped JSON array into a gzipped TSV file', async () => {
    const server = await answeringServer(({ path: url }) => answerOf(url));
    const place = await workplace({
      'flow.yaml': people(server.origin),
      'rows.json.gz': gzipSync('[{"id":"a\\tb","tags":["x"]},\n {"id":"c","tags":null}]'),
    });
    const { code } = await place.automate(['run', 'flow.yaml', '--in', 'rows.json.gz', '--out', 'out.tsv.gz', '--quiet']);
    expect(code).toBe(0);
    expect(await place.read('out.tsv.gz')).toBe('id\ttags\tname\tfirst\n"a\tb"\t"[""x""]"\t"Name a\tb"\t"va\tb"\nc\t\tName c\tvc\n');
  });

  test('writes a valid gzip file if there are no records', async () => {
    const place = await workplace({
      'flow.yaml': 'nodes: [{ type: set, fields: { half: { cel: "1 / int(id)" } } }]',
      'rows.csv': 'id\n0\n',
    });
    const run = (input: string, output: string) => place.automate(['run', 'flow.yaml', '--in', input, '--out', output]);
    expect((await run('rows.csv', 'out.ndjson.gz')).code).toBe(4);
    expect((await run('out.ndjson.gz', 'again.json')).code).toBe(0);
    expect(await place.read('again.json')).toBe('[]\n');
    const streamed = await place.automate(['run', 'flow.yaml', '--in', 'out.ndjson.gz', '--out-format', 'ndjson.gz']);
    expect([streamed.code, streamed.stdout.length > 0]).toEqual([0, true]);
  });

  test('compresses an errors file named *.gz, and prints a retry command that can read it', async () => {
    const place = await workplace({
      'flow.yaml': 'nodes: [{ type: set, fields: { half: { cel: "2 / int(id)" } } }]',
      'rows.csv': 'id\n0\n1\n',
    });
    const files = ['--out', 'out.csv.gz', '--errors', 'failed.gz'];
    const { stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', ...files]);
    expect(await place.read('out.csv.gz')).toBe('id,half\n1,2\n');
    expect(stderr).toContain('automate retry out.csv.gz\n');
    expect((await place.automate(['retry', 'out.csv.gz'])).stderr).toContain(
      '2 read, 1 written, 1 failed (this part: 1 read, 0 written, 1 failed)',
    );
    const again = '--in failed.gz --in-format csv.gz --out other.csv.gz --errors failed.other.gz';
    expect((await place.automate(['run', 'flow.yaml', ...again.split(' ')])).stderr).toContain('1 read, 0 written, 1 failed');
  });

  test('keeps 1,000 records in order with up to 64 requests in flight', async () => {
    const server = await answeringServer(async ({ path: url }) => {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
      return answerOf(url);
    });
    const ids = Array.from({ length: 1000 }, (_, index) => index);
    const place = await workplace({ 'flow.yaml': people(server.origin), 'rows.csv': `id\n${ids.join('\n')}\n` });
    await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--concurrency', '64']);
    expect(
      (await place.read('out.csv'))
        .trim()
        .split('\n')
        .slice(1)
        .map((line) => Number(line.split(',')[0])),
    ).toEqual(ids);
    expect(server.mostAtOnce()).toBeLessThanOrEqual(64);
    expect(server.mostAtOnce()).toBeGreaterThan(16);
  });

  test('has at most 16 requests in flight by default', async () => {
    const server = await answeringServer(async ({ path: url }) => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      return answerOf(url);
    });
    const place = await workplace({
      'flow.yaml': people(server.origin),
      'rows.csv': `id\n${Array.from({ length: 200 }, (_, i) => i).join('\n')}\n`,
    });
    await place.automate(['run', 'flow.yaml', '--in', 'rows.csv']);
    expect(server.mostAtOnce()).toBe(16);
  });

  test('processes only the records that --skip and --limit select, without renumbering them', async () => {
    const server = await answeringServer(({ path: url }) => (url.endsWith('/4') ? { status: 404 } : answerOf(url)));
    const place = await workplace({ 'flow.yaml': people(server.origin), 'rows.csv': 'id\n1\n2\n3\n4\n5\n' });
    const { code, stdout } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--skip', '2', '--limit', '2']);
    expect(code).toBe(4);
    expect(stdout).toBe('id,name,first\n3,Name 3,v3\n');
    expect(await place.read('flow.errors.csv')).toContain('4,profile,http,404,');
    expect((await place.read('flow.errors.csv')).trim().endsWith(',1,4')).toBe(true);
  });

  test('writes every record once, in the order of completion, with --unordered', async () => {
    let others: (() => void) | undefined;
    const othersAsked = new Promise<void>((resolve) => {
      others = resolve;
    });
    const server = await answeringServer(async ({ path: url }, index) => {
      if (index === 49) others?.();
      if (url.endsWith('/0')) await othersAsked;
      return answerOf(url);
    });
    const ids = Array.from({ length: 50 }, (_, index) => index);
    const place = await workplace({ 'flow.yaml': people(server.origin), 'rows.csv': `id\n${ids.join('\n')}\n` });
    const { stdout } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--unordered']);
    const written = stdout
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => Number(line.split(',')[0]));
    // Only records in flight at the same time as record 0 can be written after it.
    expect(written.indexOf(0)).toBeGreaterThan(30);
    expect([...written].sort((a, b) => a - b)).toEqual(ids);
  });

  test('adds no fields to records if the node has no map', async () => {
    const server = await answeringServer(() => ({ status: 202, body: 'thanks {' }));
    const place = await workplace({
      'flow.yaml': `nodes:
  - type: http
    method: POST
    url: ${server.origin}/hook
    body: { who: "{{name}}", age: "{{age}}", note: "id {{id}}" }
    auth: { type: bearer, credential: hook-token }
    idempotency_key: true
`,
      'rows.ndjson': '{"id":1,"name":"A \\"B\\"","age":41}\n',
    });
    const { code, stdout } = await place.automate(['run', 'flow.yaml', '--in', 'rows.ndjson'], {
      env: { AUTOMATE_CREDENTIAL_HOOK_TOKEN: 'canary-7f3a' },
    });
    expect(code).toBe(0);
    expect(stdout).toBe('{"id":1,"name":"A \\"B\\"","age":41}\n');
    expect(server.requests[0]).toMatchObject({ method: 'POST', body: '{"who":"A \\"B\\"","age":41,"note":"id 1"}' });
    expect(server.requests[0]?.headers).toMatchObject({ authorization: 'Bearer canary-7f3a', 'content-type': 'application/json' });
    expect(server.requests[0]?.headers['idempotency-key']).toMatch(/^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  });

  test("repeats a record's other fields in each of its rows", async () => {
    const server = await answeringServer(({ path: url }) => ({
      body: {
        orders: url.endsWith('/1')
          ? [
              { id: 'o1', lines: [{ sku: 'a' }, { sku: 'b' }] },
              { id: 'o2', lines: [] },
            ]
          : [],
      },
    }));
    const place = await workplace({
      'flow.yaml': `nodes: [{ type: http, url: "${server.origin}/{{id}}", map: { order: "orders[].id", sku: "orders[].lines[].sku" } }]`,
      'rows.csv': 'id,x\n1,p\n2,q\n',
    });
    const { stdout } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv']);
    expect(stdout).toBe('id,x,order,sku\n1,p,o1,a\n1,p,o1,b\n1,p,o2,\n2,q,,\n');
  });
});

describe('the errors file', () => {
  test('can be the input of a run that processes only the failed records', async () => {
    let isUp = false;
    const server = await answeringServer(({ path: url }) =>
      !isUp && /[24]$/.test(url) ? { status: 400, body: { error: 'down' } } : answerOf(url),
    );
    const place = await workplace({ 'flow.yaml': people(server.origin), 'rows.csv': 'id,note\n1,a\n2,"b,\nc"\n3,\n4,d\n' });
    const first = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv']);
    expect(first.code).toBe(4);
    expect(first.stderr).toContain('4 read, 2 written, 2 failed');
    expect(first.stderr).toMatch(/profile {2}http 400 {2}2 x {2}records 2, 4 {2}the server answered 400: \{"error":"down"\}/);
    expect(first.stderr).toContain('automate retry out.csv\n');
    expect(await place.read('out.errors.csv')).toBe(
      'id,note,_error_node,_error_class,_error_status,_error_message,_error_attempts,_error_record\n' +
        '2,"b,\nc",profile,http,400,"the server answered 400: {""error"":""down""}",1,2\n' +
        '4,d,profile,http,400,"the server answered 400: {""error"":""down""}",1,4\n',
    );
    isUp = true;
    const again = await place.automate(['run', 'flow.yaml', '--in', 'out.errors.csv', '--out', 'out.retry.csv']);
    expect(again.code).toBe(0);
    expect(await place.read('out.retry.csv')).toBe('id,note,name,first\n2,"b,\nc",Name 2,v2\n4,d,Name 4,v4\n');
    expect(server.requests.map(({ path: url }) => url.at(-1))).toEqual(['1', '2', '3', '4', '2', '4']);
  });

  test('contains one _error object per record in JSON formats', async () => {
    const server = await answeringServer(() => ({ status: 404 }));
    const place = await workplace({ 'flow.yaml': people(server.origin), 'rows.ndjson': '{"id":1}\nnot json\n' });
    const { code } = await place.automate(['run', 'flow.yaml', '--in', 'rows.ndjson', '--out', 'out.ndjson']);
    expect(code).toBe(4);
    const [first, second] = (await place.read('out.errors.ndjson'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(first).toEqual({
      id: 1,
      _error: { node: 'profile', class: 'http', status: 404, message: 'the server answered 404', attempts: 1, record: 1 },
    });
    expect(second._error).toMatchObject({ class: 'input', record: 2 });
    expect(second._error.message).toMatch(/line 2: .*not json/);
  });

  test('is named after the flow, in the current folder, if the input and output are streams', async () => {
    const server = await answeringServer(() => ({ status: 404 }));
    const place = await workplace({ 'flow.yaml': people(server.origin) });
    const { code } = await place.automate(['run', 'flow.yaml', '--in', '-', '--in-format', 'csv'], { stdin: 'id\n1\n' });
    expect(code).toBe(4);
    expect(await place.files()).toEqual(['flow.errors.csv', 'flow.yaml']);
  });

  test('is named after the output, in the same folder', async () => {
    const server = await answeringServer(() => ({ status: 404 }));
    const place = await workplace({ 'flow.yaml': people(server.origin), 'rows.csv': 'id\n1\n' });
    await mkdir(place.path('results'));
    await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'results/out.csv']);
    expect(await place.read('results/out.errors.csv')).toContain('404');
  });

  test('contains rows with too few or too many cells, and their line number', async () => {
    const server = await answeringServer(({ path: url }) => answerOf(url));
    const place = await workplace({ 'flow.yaml': people(server.origin), 'rows.csv': 'id,b\n1,x\n2\n3,y,z\n4,w\n' });
    const { code, stdout } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv']);
    expect(code).toBe(4);
    expect(stdout).toBe('id,b,name,first\n1,x,Name 1,v1\n4,w,Name 4,v4\n');
    const errors = await place.read('flow.errors.csv');
    expect(errors).toMatch(/^2,,,input,,"line 3: expected 2 cells, found 1",0,2$/m);
    expect(errors).toMatch(/^3,y,,input,,"line 4: expected 2 cells, found 3/m);
    expect(server.requests).toHaveLength(2);
  });

  test('contains a record with a field for which the CSV output has no column', async () => {
    const server = await answeringServer(({ path: url }) => answerOf(url));
    const place = await workplace({ 'flow.yaml': people(server.origin), 'rows.ndjson': '{"id":1}\n{"id":2,"extra":true}\n' });
    const { code, stdout } = await place.automate(['run', 'flow.yaml', '--in', 'rows.ndjson', '--out-format', 'csv']);
    expect(code).toBe(4);
    expect(stdout).toBe('id,name,first\n1,Name 1,v1\n');
    expect(await place.read('flow.errors.ndjson')).toContain('"class":"output"');
  });
});

test("a skipped set node does not rename or remove a record's fields", async () => {
  const flow = `nodes: [{ type: set, when: 'first == "Ann"', rename: { last: surname }, remove: [n] }]`;
  const place = await workplace({ 'flow.yaml': flow, 'rows.csv': 'first,last,n\nAnn,Lee,1\nBob,Ray,2\n' });
  const { code, stdout } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv']);
  expect([code, stdout]).toEqual([0, 'first,last,n,surname\nAnn,,,Lee\nBob,Ray,2,\n']);
});

describe('a run with a record that fails', () => {
  const flow = (url: string, onError: string) => people(url, `    on_error: ${onError}\n`);

  test('passes the record on with an _error field if on_error is "keep"', async () => {
    const server = await answeringServer(({ path: url }) => (url.endsWith('/2') ? { status: 404 } : answerOf(url)));
    const place = await workplace({ 'flow.yaml': flow(server.origin, 'keep'), 'rows.csv': 'id\n1\n2\n' });
    const { code, stdout } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv']);
    expect(code).toBe(0);
    expect(stdout).toBe(
      'id,name,first,_error\n1,Name 1,v1,\n2,,,"{""node"":""profile"",""class"":""http"",""status"":404,""message"":""the server answered 404"",""attempts"":1,""record"":2}"\n',
    );
  });

  test('ends if on_error is "stop"', async () => {
    const server = await answeringServer(({ path: url }) => (url.endsWith('/2') ? { status: 404 } : answerOf(url)));
    const place = await workplace({ 'flow.yaml': flow(server.origin, 'stop'), 'rows.csv': 'id\n1\n2\n3\n4\n5\n' });
    const { code, stdout, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--concurrency', '1']);
    expect(code).toBe(5);
    expect(stdout).toMatch(/^id,name,first\n1,Name 1,v1\n/);
    expect(await place.read('flow.errors.csv')).toContain('2,profile,http,404');
    expect(stderr).toContain('stopped at a failed record (on_error: stop)');
    // One more request may have been sent by the time the record fails.
    expect(server.requests.length).toBeLessThanOrEqual(3);
  });
});

describe('a run stops early', () => {
  test('once more records have failed than --max-errors allows', async () => {
    const server = await answeringServer(() => ({ status: 400 }));
    const place = await workplace({
      'flow.yaml': people(server.origin),
      'rows.csv': `id\n${Array.from({ length: 500 }, (_, i) => i).join('\n')}\n`,
    });
    const { code, stderr } = await place.automate([
      'run',
      'flow.yaml',
      '--in',
      'rows.csv',
      '--out',
      'out.csv',
      '--max-errors',
      '5',
      '--concurrency',
      '2',
    ]);
    expect(code).toBe(5);
    expect(stderr).toContain('stopped: too many records failed');
    expect(server.requests.length).toBeLessThan(20);
  });

  test('once a larger share has failed than --max-errors allows', async () => {
    const server = await answeringServer(({ path: url }) => (Number(url.split('/').at(-1)) % 2 === 0 ? { status: 400 } : answerOf(url)));
    const place = await workplace({
      'flow.yaml': people(server.origin),
      'rows.csv': `id\n${Array.from({ length: 1000 }, (_, i) => i).join('\n')}\n`,
    });
    const { code } = await place.automate([
      'run',
      'flow.yaml',
      '--in',
      'rows.csv',
      '--out',
      'out.csv',
      '--max-errors',
      '30%',
      '--concurrency',
      '2',
    ]);
    expect(code).toBe(5);
    expect(server.requests.length).toBeGreaterThanOrEqual(100);
    expect(server.requests.length).toBeLessThan(300);
  });

  test('once the credits in --max-credits are spent', async () => {
    const server = await answeringServer(({ path: url }) => answerOf(url));
    const place = await workplace({ 'flow.yaml': people(server.origin), 'rows.csv': 'id\n1\n2\n3\n4\n5\n' });
    const { code, stdout, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--max-credits', '3']);
    expect(code).toBe(5);
    expect(stdout).toBe('id,name,first\n1,Name 1,v1\n2,Name 2,v2\n3,Name 3,v3\n');
    expect(stderr).toContain('3 credits');
    expect(server.requests).toHaveLength(3);
  });

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('when it receives %s, but first finishes the records that have begun', async (signal, expected) => {
    let interrupted: (() => void) | undefined;
    const third = new Promise<void>((resolve) => {
      interrupted = resolve;
    });
    let release: (() => void) | undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const server = await answeringServer(async ({ path: url }, index) => {
      if (index === 2) interrupted?.();
      if (index >= 2) await held;
      return answerOf(url);
    });
    const place = await workplace({
      'flow.yaml': people(server.origin),
      'rows.csv': `id\n${Array.from({ length: 100 }, (_, i) => i).join('\n')}\n`,
    });
    const { child, finished } = place.start(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--concurrency', '4']);
    await third;
    child.kill(signal);
    await new Promise<void>((resolve) => child.stderr?.once('data', () => resolve()));
    release?.();
    const { code, stderr } = await finished;
    expect(code).toBe(expected);
    expect(stderr).toContain('finishing the records already started');
    const written = (await place.read('out.csv'))
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => Number(line.split(',')[0]));
    expect(written).toEqual(server.requests.map((_, index) => index));
    expect(server.requests.length).toBeLessThan(12);
  });
});

describe('the standard streams of a run', () => {
  test('are separate: stdout contains only records, and --quiet silences stderr', async () => {
    const server = await answeringServer(({ path: url }) => answerOf(url));
    const place = await workplace({ 'flow.yaml': people(server.origin), 'rows.csv': 'id\n1\n' });
    const { stdout, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--quiet']);
    expect(stdout).toBe('id,name,first\n1,Name 1,v1\n');
    expect(stderr).toBe('');
  });

  test('can be closed: a closed stdout ends the run with 141, without a stack trace', async () => {
    const server = await answeringServer(({ path: url }) => answerOf(url));
    const place = await workplace({
      'flow.yaml': people(server.origin),
      'rows.csv': `id\n${Array.from({ length: 5000 }, (_, i) => i).join('\n')}\n`,
    });
    const { child, finished } = place.start(['run', 'flow.yaml', '--in', 'rows.csv']);
    child.stdout?.once('data', () => child.stdout?.destroy());
    const { code, stderr } = await finished;
    expect(code).toBe(141);
    expect(stderr).not.toMatch(/\bat .*:\d+:\d+/);
    expect(server.requests.length).toBeLessThan(5000);
  });

  test('are colored on stderr only if FORCE_COLOR is set and NO_COLOR is not', async () => {
    const server = await answeringServer(({ path: url }) => answerOf(url));
    const place = await workplace({ 'flow.yaml': people(server.origin), 'rows.csv': 'id\n1\n' });
    const run = (env: Record<string, string>) => place.automate(['run', 'flow.yaml', '--in', 'rows.csv'], { env });
    expect((await run({})).stderr).not.toContain('\u001b');
    expect((await run({ FORCE_COLOR: '1' })).stderr).toContain('\u001b');
    expect((await run({ FORCE_COLOR: '1', NO_COLOR: '1' })).stderr).not.toContain('\u001b');
  });

  test('can be used for --events and for --summary', async () => {
    const server = await answeringServer(({ path: url }, index) =>
      index === 0 ? { status: 503, headers: { 'retry-after-ms': '10' } } : answerOf(url),
    );
    const place = await workplace({ 'flow.yaml': people(server.origin), 'rows.csv': 'id\n1\n2\n' });
    await place.automate([
      'run',
      'flow.yaml',
      '--in',
      'rows.csv',
      '--out',
      'out.csv',
      '--events',
      'events.ndjson',
      '--summary',
      's.json',
      '--concurrency',
      '1',
    ]);
    const events = (await place.read('events.ndjson'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const types = events.map(({ type }) => type);
    // The pause of 10 ms ends for both records at the same time.
    expect(types.slice(0, 2)).toEqual(['run-started', 'gate-paused']);
    expect(types.at(-1)).toBe('run-ended');
    const between = ['call-done', 'call-done', 'call-retried', 'mapped', 'mapped', 'record-done', 'record-done'];
    expect(types.slice(2, -1).sort()).toEqual(between);
    expect(JSON.parse(await place.read('s.json'))).toMatchObject({
      ending: 'complete',
      exit_code: 0,
      read: 2,
      written: 2,
      failed: 0,
      retries: 1,
      credits: 2,
      output: 'out.csv',
      mapped: [
        { node: 'profile', path: 'data.user.name', found: 2, of: 2 },
        { node: 'profile', path: 'results[0].value', found: 2, of: 2 },
      ],
    });
  });
});

describe('secrets in the output of a run', () => {
  test('are masked in all files and streams, however a server encodes them', async () => {
    const secret = 'canary/"7f3a+Zq9=';
    const forms = [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64'), JSON.stringify(secret).slice(1, -1)];
    const server = await answeringServer(({ path: url }) =>
      url.includes('/users/1')
        ? { body: { data: { user: { name: forms.join(' ') } }, results: [{ value: `Bearer ${secret}` }] } }
        : { status: 400, body: forms.join(' ') },
    );
    const place = await workplace({
      'flow.yaml': people(server.origin, '    auth: { type: api_key, query: key, credential: c }\n'),
      'rows.csv': 'id\n1\n2\n',
    });
    const env = { AUTOMATE_CREDENTIAL_C: secret };
    const run = await place.automate(
      ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--events', 'e.ndjson', '--summary', 's.json'],
      { env },
    );
    const preview = await place.automate(['test-request', 'flow.yaml', '--in', 'rows.csv'], { env });
    expect(server.requests[0]?.path).toContain(`key=${encodeURIComponent(secret)}`);
    const everything = [run.stdout, run.stderr, preview.stdout, preview.stderr];
    for (const name of ['out.csv', 'out.errors.csv', 'e.ndjson', 's.json']) everything.push(await place.read(name));
    for (const text of everything) for (const form of forms) expect(text).not.toContain(form);
    expect(await place.read('out.csv')).toContain('***');
  });
});

describe('unreadable input rows in an errors file', () => {
  test('fail unsent in a later run until they are corrected', async () => {
    const server = await answeringServer(({ path: url }) => answerOf(url));
    const place = await workplace({ 'flow.yaml': people(server.origin), 'rows.csv': 'id,b\n1\n', 'rows.ndjson': '{"id":1\n' });
    for (const kind of ['csv', 'ndjson']) {
      await place.automate(['run', 'flow.yaml', '--in', `rows.${kind}`, '--out', `out.${kind}`]);
      const { code } = await place.automate(['run', 'flow.yaml', '--in', `out.errors.${kind}`, '--out', `again.${kind}`]);
      expect(code).toBe(4);
      expect(await place.read(`again.errors.${kind}`)).toContain('could not be read in an earlier run');
    }
    expect(server.requests).toHaveLength(0);
  });
});

test("a request into the internal network is refused if the URL's port comes from the record", async () => {
  const place = await workplace({
    'flow.yaml': 'nodes: [{ type: http, url: "http://127.0.0.1:{{p}}/echo" }]\n',
    'p.ndjson': '{"p":9}\n',
  });
  await place.automate(['run', 'flow.yaml', '--in', 'p.ndjson', '--out', 'out.ndjson']);
  const { _error } = JSON.parse(await place.read('out.errors.ndjson'));
  const where = 'the origin (scheme, host and port) of this request is not written literally in the flow, and "127.0.0.1"';
  expect(_error.message).toMatch(`${where} leads to 127.0.0.1, inside the network\n`);
  expect(_error).toMatchObject({ class: 'request' });
});
