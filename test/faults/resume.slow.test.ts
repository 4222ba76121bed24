import { appendFile, mkdir, rm, stat, truncate, utimes } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { askedServer, askingFlow, csvOf, idsTo } from '../helpers/asking.ts';
import { type Workplace, workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { unusedPort } from '../helpers/raw-server.ts';
import {
  contentsOf,
  count,
  journal,
  killed,
  killedAfterSaving,
  leftBehind,
  placeFor,
  run,
  stopped,
  windowSize,
} from '../helpers/resuming.ts';
import { shell } from '../helpers/shell.ts';

describe('a run that is killed with SIGKILL and resumed', () => {
  test.each([
    ['CSV', 'rows.csv', 'out.csv', 'out.errors.csv', []],
    ['NDJSON', 'rows.ndjson', 'out.ndjson', 'out.errors.ndjson', []],
    ['a JSON array', 'rows.json', 'out.json', 'out.errors.json', []],
    ['several inputs', ['rows.1.csv', 'rows.2.csv', 'rows.3.csv'], 'out.csv', 'out.errors.csv', []],
    ['a list in a JSON object', 'wrapped.json', 'out.json', 'out.errors.json', ['--records', 'data.items']],
    ['gzipped input and output', 'rows.csv.gz', 'out.csv.gz', 'out.errors.csv.gz', []],
    ['a gzipped JSON array', 'rows.json', 'out.json.gz', 'out.errors.json', []],
    ['--skip and --limit', 'rows.csv', 'out.csv', 'out.errors.csv', ['--skip', '50', '--limit', '700']],
    ['--csv-safe', 'rows.csv', 'out.csv', 'out.errors.csv', ['--csv-safe']],
    ['stdin', '-', 'out.csv', 'out.errors.csv', ['--in-format', 'csv']],
  ])('writes the same output as an uninterrupted run: %s', async (kind, input, out, errors, more) => {
    const server = await askedServer();
    const [whole, place] = [await placeFor(server), await placeFor(server)];
    const args = ['run', 'flow.yaml', ...[input].flat().flatMap((name) => ['--in', name]), '--out', out, ...more];
    const stdin = input === '-' ? csvOf(count) : '';
    expect((await whole.automate(args, { stdin })).code).toBe(4);
    server.forget();
    // The first format is also killed before anything is written.
    const kills = [...(kind === 'CSV' ? [1] : []), 500 + Math.ceil(Math.random() * 150)];
    for (const calls of kills) expect(await killed(place, server, calls, [...args, '--resume'], stdin)).toBe(true);
    const { code, stderr } = await place.automate([...args, '--resume'], { stdin });
    expect(code).toBe(4);
    expect(await place.read(out)).toBe(await whole.read(out));
    expect(await place.read(errors)).toBe(await whole.read(errors));
    expect(await leftBehind(place)).toEqual([]);
    expect(stderr).toMatch(/resumed after record \d+/);
    const repeated = [...server.calls.values()].reduce((sum, times) => sum + times - 1, 0);
    expect(repeated).toBeLessThanOrEqual(windowSize * kills.length);
  });

  test('neither loses nor duplicates records if --unordered is set', async () => {
    const server = await askedServer();
    const place = await placeFor(server);
    const args = [...run, '--unordered', '--resume'];
    for (const calls of [100, 250, 200]) await killed(place, server, calls, args);
    expect((await place.automate(args)).code).toBe(4);
    const idsIn = async (name: string) => (await place.read(name)).match(/^\d+/gm)?.map(Number) ?? [];
    const ids = [...(await idsIn('out.csv')), ...(await idsIn('out.errors.csv'))];
    expect(ids.sort((a, b) => a - b)).toEqual(idsTo(count));
  });

  test('repeats few calls, because it has made a checkpoint even if no further record is finished', async () => {
    const server = await askedServer();
    const place = await placeFor(server);
    await killedAfterSaving(place, server, 600);
    await place.automate([...run, '--resume']);
    const repeated = [...server.calls.values()].filter((times) => times > 1).length;
    expect(repeated).toBeLessThan(100);
    expect(server.calls.size).toBe(count);
  });

  test('truncates partially written files to their last whole line', async () => {
    const server = await askedServer();
    const [whole, place] = [await placeFor(server), await placeFor(server)];
    await whole.automate(run);
    await killedAfterSaving(place, server, 700);
    await appendFile(place.path('out.csv'), '9999,"half a rec');
    await appendFile(place.path('out.errors.csv'), '\0\0\0\0');
    const lines = (await place.read(journal)).trimEnd().split('\n');
    expect(lines.length).toBeGreaterThan(2);
    // Cuts off the end of the journal's last line, and appends invalid and incomplete lines to it.
    await truncate(place.path(journal), (await stat(place.path(journal))).size - 5);
    await appendFile(place.path(journal), '\n00000000 {"records":900,"outBytes":0}\n{"rec');
    const { code } = await place.automate([...run, '--resume']);
    expect(code).toBe(4);
    expect(await place.read('out.csv')).toBe(await whole.read('out.csv'));
    expect(await place.read('out.errors.csv')).toBe(await whole.read('out.errors.csv'));
  });

  test('refuses a journal that is damaged at its beginning, and changes no file', async () => {
    const server = await askedServer();
    const place = await placeFor(server);
    await stopped(place, 500);
    const before = await place.read('out.csv');
    await place.write(journal, 'nonsense\n');
    const { code, stderr } = await place.automate([...run, '--resume']);
    expect(code).toBe(73);
    expect(stderr).toMatch(/out\.csv\.automate-run is damaged at its beginning.*\n.*--force/);
    expect(await place.read('out.csv')).toBe(before);
  });

  test('writes the same output as an uninterrupted run even if --max-credits ended the first part', async () => {
    const server = await askedServer(0);
    const [whole, place] = [await placeFor(server), await placeFor(server)];
    await whole.automate(run);
    const first = await place.automate([...run, '--max-credits', '300']);
    expect(first.code).toBe(5);
    expect(first.stderr).toContain('automate run flow.yaml --in rows.csv --out out.csv --max-credits 300 --resume');
    server.forget();
    const second = await place.automate([...run, '--resume']);
    expect(second.code).toBe(4);
    expect(server.calls.size).toBe(600);
    expect(await place.read('out.csv')).toBe(await whole.read('out.csv'));
  });

  test('writes the same output as an uninterrupted run even if --max-errors ended the first part', async () => {
    const server = await askedServer(0);
    const [whole, place] = [await placeFor(server), await placeFor(server)];
    await whole.automate(run);
    expect((await place.automate([...run, '--max-errors', '20'])).code).toBe(5);
    expect((await place.automate([...run, '--resume'])).code).toBe(4);
    expect(await place.read('out.csv')).toBe(await whole.read('out.csv'));
    expect(await place.read('out.errors.csv')).toBe(await whole.read('out.errors.csv'));
  });
});

describe('the journal of an unfinished run', () => {
  test('makes a new run without --resume fail with advice on --resume and --force', async () => {
    const server = await askedServer();
    const place = await placeFor(server);
    await stopped(place, 500);
    const { code, stderr } = await place.automate(run);
    expect(code).toBe(73);
    expect(stderr).toMatch(/an earlier run did not finish out\.csv: \d+ records are done \(journal: out\.csv\.automate-run\)/);
    expect(stderr).toContain('resume it: the command line of that run and --resume');
    expect(stderr).toContain('start over: the command line of that run and --force');
    expect((await place.automate([...run, '--force'])).code).toBe(4);
    expect(await leftBehind(place)).toEqual([]);
  });

  test.each<[string, (place: Workplace) => Promise<unknown>, readonly string[], RegExp]>([
    ['one byte of the input', (place) => change(place, 'rows.csv', '"note, 5"', '"note, 6"'), run, /the content of the input has changed/],
    [
      'the size of the input',
      (place) => appendFile(place.path('rows.csv'), '901,x\n'),
      run,
      /the size of the input was \d+ bytes, is \d+ bytes/,
    ],
    ['the flow', (place) => change(place, 'flow.yaml', 'id: ask', 'id: asks'), run, /the flow has changed/],
    ['--limit', async () => {}, [...run, '--limit', '5'], /\n {2}the way the input is read: limit was not set, is 5\n/],
    ['--csv-safe', async () => {}, [...run, '--csv-safe'], /\n {2}the way the output is written: csv-safe was not set, is true\n/],
    ['--unordered', async () => {}, [...run, '--unordered'], /\n {2}the way the output is written: unordered was not set, is true\n/],
  ])('makes --resume fail if the run has changed, and the message names the change: %s', async (_, changeIt, args, expected) => {
    const server = await askedServer();
    const place = await placeFor(server);
    await stopped(place, 400);
    await changeIt(place);
    server.forget();
    const before = await place.read('out.csv');
    const { code, stderr } = await place.automate([...args, '--resume']);
    expect(code).toBe(73);
    expect(stderr).toContain('out.csv cannot be resumed, because this is not the run that began it');
    expect(stderr).toMatch(expected);
    expect(stderr).toContain('undo these changes, or start over with --force');
    expect(server.calls.size).toBe(0);
    expect(await place.read('out.csv')).toBe(before);
  });

  test.each<[string, (place: Workplace) => Promise<unknown>, RegExp]>([
    ['the output does not exist any more', (place) => rm(place.path('out.csv')), /out\.csv is gone/],
    ['the output is shorter', (place) => truncate(place.path('out.csv'), 100), /out\.csv has 100 bytes, but \d+ were written/],
    ['the output was edited', (place) => change(place, 'out.csv', 'name 2', 'nome 2'), /out\.csv does not contain what was written/],
    ['the errors file does not exist any more', (place) => rm(place.path('out.errors.csv')), /out\.errors\.csv is gone/],
    ['the errors file was edited', (place) => change(place, 'out.errors.csv', '404', '405'), /out\.errors\.csv does not contain/],
  ])('makes --resume fail, without changing any file, if %s', async (_, changeIt, expected) => {
    const server = await askedServer();
    const place = await placeFor(server);
    await stopped(place, 700);
    await changeIt(place);
    server.forget();
    const before = await contentsOf(place);
    const { code, stderr } = await place.automate([...run, '--resume']);
    expect(code).toBe(73);
    expect(stderr).toMatch(expected);
    expect(stderr).toContain('restore its content, or start over with --force');
    expect([server.calls.size, await contentsOf(place)]).toEqual([0, before]);
  });

  test('makes --resume fail if the errors file is in a different folder than before', async () => {
    const server = await askedServer();
    const place = await placeFor(server);
    const args = ['run', place.path('flow.yaml'), '--in', place.path('rows.csv'), '--out', place.path('out.csv'), '--errors', 'e.csv'];
    await stopped(place, 500, args);
    await mkdir(place.path('other'));
    const second = await shell(place, `cd other; automate ${args.join(' ')} --resume`);
    expect([second.code, second.stderr]).toEqual([73, expect.stringContaining('the errors file was ')]);
    expect((await place.automate([...args.slice(0, -1), place.path('e.csv'), '--resume'])).code).toBe(4);
  });

  test('stays if a new run with --force cannot begin', async () => {
    const server = await askedServer();
    const place = await placeFor(server);
    await stopped(place, 500);
    await place.write('locked.yaml', askingFlow(server.origin, ', auth: { type: bearer, credential: nobody }'));
    expect((await place.automate(['run', 'locked.yaml', ...run.slice(2), '--force'])).code).toBe(7);
    expect(await leftBehind(place)).toEqual([journal]);
    expect((await place.automate([...run, '--resume'])).code).toBe(4);
  });

  test('prevents advice to retry failed records until the run is complete', async () => {
    const server = await askedServer(0);
    const place = await placeFor(server);
    const stopped = await place.automate([...run, '--max-credits', '100']);
    expect([stopped.code, stopped.stderr]).toEqual([5, expect.not.stringContaining('retry failed records')]);
    const done = await place.automate([...run, '--resume']);
    expect([done.code, done.stderr]).toEqual([4, expect.stringContaining('retry failed records')]);
  });

  test('is enough to resume a run whose errors go to a device', async () => {
    const server = await askedServer(0);
    const place = await placeFor(server);
    const args = [...run, '--errors', '/dev/null', '--events', 'events.ndjson'];
    expect((await place.automate([...args, '--max-credits', '100'])).code).toBe(5);
    expect((await place.automate([...args, '--resume'])).code).toBe(4);
    const ended = (await place.read('events.ndjson')).match(/"type":"record-(?:done|failed)","record":\d+/g) ?? [];
    expect(ended.map((text) => Number(/\d+$/.exec(text)?.[0]))).toEqual(idsTo(count));
  });

  test.each<[string, string, (text: string) => unknown[]]>([
    ['CSV', 'rows.csv', (text) => text.match(/^(?:id,note,_error_node|\d+,)/gm) ?? []],
    ['a JSON array', 'rows.json', (text) => ['header', ...JSON.parse(text)]],
  ])('is enough to resume a run whose errors go to stdout: %s', async (_, input, linesOf) => {
    const server = await askedServer(0);
    const place = await placeFor(server);
    const args = ['run', 'flow.yaml', '--in', input, '--out', 'out.csv', '--errors', '-'];
    const first = await place.automate([...args, '--max-credits', '100']);
    const second = await place.automate([...args, '--resume']);
    expect([first.code, second.code, second.stderr]).toEqual([5, 4, expect.stringContaining('errors: stdout (128 records)')]);
    expect([linesOf(first.stdout).length, linesOf(second.stdout).length]).toEqual([1 + 14, 1 + 114]);
  });

  test('can be missing: --resume then starts from the beginning', async () => {
    const server = await askedServer(0);
    const place = await placeFor(server);
    expect((await place.automate([...run, '--resume'])).code).toBe(4);
    expect(server.calls.size).toBe(count);
  });

  test('is removed when the run is complete, and --resume then has nothing to do', async () => {
    const server = await askedServer(0);
    const place = await placeFor(server);
    await place.automate(run);
    expect(await leftBehind(place)).toEqual([]);
    const { code, stderr } = await place.automate([...run, '--resume']);
    expect(code).toBe(73);
    expect(stderr).toContain('there is nothing to resume');
  });
});

test("a record's idempotency key is unique and the same for every attempt, even after --resume", async () => {
  const keys = new Map<string, Set<string>>();
  const server = await httpServer(async ({ path, headers }, response) => {
    keys.set(path, (keys.get(path) ?? new Set()).add(String(headers['idempotency-key'])));
    if (keys.size === 300) child.kill('SIGKILL');
    await new Promise((resolve) => setTimeout(resolve, 3));
    json(response, { name: 'x' });
  });
  const flow = askingFlow(server.origin, ', method: POST, body: {}, idempotency_key: true');
  const place = await workplace({ 'flow.yaml': flow, 'rows.csv': csvOf(400) });
  const { child, finished } = place.start(run);
  await finished;
  expect((await place.automate([...run, '--resume'])).code).toBe(0);
  const all = [...keys.values()].map((of) => [...of]);
  expect(server.requests.length).toBeGreaterThan(400);
  expect(all.map((of) => of.length)).toEqual(idsTo(400).map(() => 1));
  expect(new Set(all.flat()).size).toBe(400);
});

test('a run requests later records only until its window is full while one record gets no response', async () => {
  const calls = new Set<string>();
  const server = await httpServer(({ path }, response) => {
    calls.add(path);
    if (path !== '/1') json(response, { name: 'x' });
  });
  const place = await workplace({ 'flow.yaml': askingFlow(server.origin), 'rows.csv': csvOf(3000) });
  const { child, finished } = place.start(run);
  await expect.poll(() => calls.size).toBe(windowSize);
  // In this time, a larger window would send more.
  await new Promise((resolve) => setTimeout(resolve, 500));
  child.kill('SIGKILL');
  await finished;
  expect(calls.size).toBe(windowSize);
});

test('a run ends early if no server responds, without counting attempts that on_error: keep passes through', async () => {
  const [one, other] = [await unusedPort(), await unusedPort()];
  const node = (port: number, more: string) => `{ type: http, url: "http://127.0.0.1:${port}/", retry: { max: 0 }${more} }`;
  const flow = `nodes: [${node(one, ', on_error: keep')}, ${node(other, '')}]`;
  const place = await workplace({ 'flow.yaml': flow, 'rows.csv': csvOf(900) });
  const { code, stderr } = await place.automate([...run, '--concurrency', '1']);
  expect([code, stderr]).toEqual([5, expect.stringContaining('none of the first 10 attempts was answered')]);
});

test('a run with --max-errors 0 and concurrency 1 sends nothing after the first failure', async () => {
  const server = await httpServer((_, response) => response.writeHead(500).end());
  const flow = askingFlow(server.origin, ', retry: { max: 0 }');
  const place = await workplace({ 'flow.yaml': flow, 'rows.csv': csvOf(20) });
  const { code } = await place.automate([...run, '--concurrency', '1', '--max-errors', '0']);
  expect([code, server.requests.length]).toEqual([5, 1]);
});

test('a run ends early with the reason if its server refuses every connection', async () => {
  const port = await unusedPort();
  const flow = askingFlow(`http://127.0.0.1:${port}`, ', retry: { max: 1, backoff: 10ms }');
  const place = await workplace({ 'flow.yaml': flow, 'rows.csv': csvOf(2000) });
  const { code, stderr } = await place.automate(run);
  expect(code).toBe(5);
  expect(stderr).toMatch(/the connection was refused/);
  expect(stderr).toContain('automate run flow.yaml --in rows.csv --out out.csv --resume');
  const { length: failed } = (await place.read('out.errors.csv').catch(() => '')).trim().split('\n').slice(1);
  expect(failed).toBeLessThan(100);
  expect(await leftBehind(place)).toEqual([journal]);
});

/** Changes a file's content but not its modification time. */
async function change(place: Workplace, name: string, from: string, to: string): Promise<void> {
  const { atime, mtime } = await stat(place.path(name));
  await place.write(name, (await place.read(name)).replace(from, to));
  await utimes(place.path(name), atime, mtime);
}
