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

describe('run', () => {
  test('writes an enriched CSV in input order', async () => {
    const server = await answeringServer(async ({ path: url }) => {
      // Later records are answered sooner.
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

  test('keeps types, digits and odd names of NDJSON through a pipe', async () => {
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

  test('turns a gzipped JSON array into a gzipped TSV', async () => {
    const server = await answeringServer(({ path: url }) => answerOf(url));
    const place = await workplace({
      'flow.yaml': people(server.origin),
      'rows.json.gz': gzipSync('[{"id":"a\\tb","tags":["x"]},\n {"id":"c","tags":null}]'),
    });
    const { code } = await place.automate(['run', 'flow.yaml', '--in', 'rows.json.gz', '--out', 'out.tsv.gz', '--quiet']);
    expect(code).toBe(0);
    expect(await place.read('out.tsv.gz')).toBe('id\ttags\tname\tfirst\n"a\tb"\t"[""x""]"\t"Name a\tb"\t"va\tb"\nc\t\tName c\tvc\n');
  });

  test('writes a readable gzip file if there are no records', async () => {
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

  test('writes an errors file that ends in only .gz gzipped, in the format of the input, and prints a command that reads it', async () => {
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

  test('keeps 3,000 records in order with at most 64 requests in flight', async () => {
    const server = await answeringServer(async ({ path: url }) => {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
      return answerOf(url);
    });
    const ids = Array.from({ length: 3000 }, (_, index) => index);
    const place = await workplace({ 'flow.yaml': people(server.origin), 'rows.csv': `id\n${ids.join('\n')}\n` });
    await place.start(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--concurrency', '64']).finished;
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

  test('processes only the records between --skip and --limit, which keep their numbers', async () => {
    const server = await answeringServer(({ path: url }) => (url.endsWith('/4') ? { status: 404 } : answerOf(url)));
    const place = await workplace({ 'flow.yaml': people(server.origin), 'rows.csv': 'id\n1\n2\n3\n4\n5\n' });
    const { code, stdout } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--skip', '2', '--limit', '2']);
    expect(code).toBe(4);
    expect(stdout).toBe('id,name,first\n3,Name 3,v3\n');
    expect(await place.read('flow.errors.csv')).toContain('4,profile,http,404,');
    expect((await place.read('flow.errors.csv')).trim().endsWith(',1,4')).toBe(true);
  });

  test('writes every record once with --unordered, before slower ones ahead of it', async () => {
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
    // Only records that were in flight with it at the end may come after it.
    expect(written.indexOf(0)).toBeGreaterThan(30);
    expect([...written].sort((a, b) => a - b)).toEqual(ids);
  });

  test('adds nothing to records from a webhook', async () => {
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

  test('repeats the other fields in each row of an expanded record', async () => {
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
  test('is a valid input: its run sends only the failed records', async () => {
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

  test('holds one _error object in JSON formats', async () => {
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

  test('of a stream is named after the flow, in the current folder', async () => {
    const server = await answeringServer(() => ({ status: 404 }));
    const place = await workplace({ 'flow.yaml': people(server.origin) });
    const { code } = await place.automate(['run', 'flow.yaml', '--in', '-', '--in-format', 'csv'], { stdin: 'id\n1\n' });
    expect(code).toBe(4);
    expect(await place.files()).toEqual(['flow.errors.csv', 'flow.yaml']);
  });

  test('lies beside the output and is named after it', async () => {
    const server = await answeringServer(() => ({ status: 404 }));
    const place = await workplace({ 'flow.yaml': people(server.origin), 'rows.csv': 'id\n1\n' });
    await mkdir(place.path('results'));
    await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'results/out.csv']);
    expect(await place.read('results/out.errors.csv')).toContain('404');
  });

  test('has rows with too few or too many cells, with their line', async () => {
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

  test('has a JSON record with a field for which the CSV output has no column', async () => {
    const server = await answeringServer(({ path: url }) => answerOf(url));
    const place = await workplace({ 'flow.yaml': people(server.origin), 'rows.ndjson': '{"id":1}\n{"id":2,"extra":true}\n' });
    const { code, stdout } = await place.automate(['run', 'flow.yaml', '--in', 'rows.ndjson', '--out-format', 'csv']);
    expect(code).toBe(4);
    expect(stdout).toBe('id,name,first\n1,Name 1,v1\n');
    expect(await place.read('flow.errors.ndjson')).toContain('"class":"output"');
  });
});

test('a record that skips a set node keeps the fields that the node renames and removes', async () => {
  const flow = `nodes: [{ type: set, when: 'first == "Ann"', rename: { last: surname }, remove: [n] }]`;
  const place = await workplace({ 'flow.yaml': flow, 'rows.csv': 'first,last,n\nAnn,Lee,1\nBob,Ray,2\n' });
  const { code, stdout } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv']);
  expect([code, stdout]).toEqual([0, 'first,last,n,surname\nAnn,,,Lee\nBob,Ray,2,\n']);
});

describe('on_error', () => {
  const flow = (url: string, onError: string) => people(url, `    on_error: ${onError}\n`);

  test('keep passes the record on with _error', async () => {
    const server = await answeringServer(({ path: url }) => (url.endsWith('/2') ? { status: 404 } : answerOf(url)));
    const place = await workplace({ 'flow.yaml': flow(server.origin, 'keep'), 'rows.csv': 'id\n1\n2\n' });
    const { code, stdout } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv']);
    expect(code).toBe(0);
    expect(stdout).toBe(
      'id,name,first,_error\n1,Name 1,v1,\n2,,,"{""node"":""profile"",""class"":""http"",""status"":404,""message"":""the server answered 404"",""attempts"":1,""record"":2}"\n',
    );
  });

  test('stop ends the run at the first failed record', async () => {
    const server = await answeringServer(({ path: url }) => (url.endsWith('/2') ? { status: 404 } : answerOf(url)));
    const place = await workplace({ 'flow.yaml': flow(server.origin, 'stop'), 'rows.csv': 'id\n1\n2\n3\n4\n5\n' });
    const { code, stdout, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--concurrency', '1']);
    expect(code).toBe(5);
    expect(stdout).toMatch(/^id,name,first\n1,Name 1,v1\n/);
    expect(await place.read('flow.errors.csv')).toContain('2,profile,http,404');
    expect(stderr).toContain('stopped at a failed record (on_error: stop)');
    // One request may have been on its way when the record failed.
    expect(server.requests.length).toBeLessThanOrEqual(3);
  });
});

describe('a run ends early', () => {
  test('once more records failed than --max-errors allows', async () => {
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

  test('once a larger share failed than --max-errors allows', async () => {
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

  test('once the credits of --max-credits are spent', async () => {
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
  ] as const)('at %s: it finishes and writes the begun records, and begins no more', async (signal, expected) => {
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

describe('streams', () => {
  test('stdout has only records, and --quiet silences stderr', async () => {
    const server = await answeringServer(({ path: url }) => answerOf(url));
    const place = await workplace({ 'flow.yaml': people(server.origin), 'rows.csv': 'id\n1\n' });
    const { stdout, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--quiet']);
    expect(stdout).toBe('id,name,first\n1,Name 1,v1\n');
    expect(stderr).toBe('');
  });

  test('a closed stdout ends the run with 141 and no stack trace', async () => {
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

  test('stderr has colours only if FORCE_COLOR is set and NO_COLOR is not', async () => {
    const server = await answeringServer(({ path: url }) => answerOf(url));
    const place = await workplace({ 'flow.yaml': people(server.origin), 'rows.csv': 'id\n1\n' });
    const run = (env: Record<string, string>) => place.automate(['run', 'flow.yaml', '--in', 'rows.csv'], { env });
    expect((await run({})).stderr).not.toContain('\u001b');
    expect((await run({ FORCE_COLOR: '1' })).stderr).toContain('\u001b');
    expect((await run({ FORCE_COLOR: '1', NO_COLOR: '1' })).stderr).not.toContain('\u001b');
  });

  test('--events writes every event, --summary the figures at the end', async () => {
    const server = await answeringServer(({ path: url }, index) =>
      index === 0 ? { status: 503, headers: { 'retry-after': '0' } } : answerOf(url),
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
    expect(events.map(({ type }) => type)).toEqual([
      'run-started',
      'gate-paused',
      'call-retried',
      ...['call-done', 'mapped', 'call-done', 'mapped'],
      ...['record-done', 'record-done'],
      'run-ended',
    ]);
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

describe('secrets', () => {
  test('a credential that the server sends back in any form is masked in all files and streams', async () => {
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

describe('an errors file with rows that could not be read', () => {
  test('fails these rows until they are corrected, and sends none of them', async () => {
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

test('a request inside the network is refused if the record decides its port', async () => {
  const place = await workplace({
    'flow.yaml': 'nodes: [{ type: http, url: "http://127.0.0.1:{{p}}/echo" }]\n',
    'p.ndjson': '{"p":9}\n',
  });
  await place.automate(['run', 'flow.yaml', '--in', 'p.ndjson', '--out', 'out.ndjson']);
  const { _error } = JSON.parse(await place.read('out.errors.ndjson'));
  const where = 'the flow does not name the whole origin (scheme, host and port) of this request to "127.0.0.1"';
  expect(_error.message).toMatch(`${where}, which leads to 127.0.0.1, inside the network\n`);
  expect(_error).toMatchObject({ class: 'request' });
});
