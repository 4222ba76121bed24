import { appendFile, chmod, mkdir, rename, stat } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { answeringServer } from '../helpers/answering-server.ts';
import { askedServer } from '../helpers/asking.ts';
import { workplace } from '../helpers/cli.ts';
import { killed, leftBehind, placeFor } from '../helpers/resuming.ts';
import { shell } from '../helpers/shell.ts';

const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--replace'];

/** Creates a flow over three records and the previous day's output, in which one record had failed. Records in `failing` fail. */
async function secondDay() {
  const failing = new Set<string>(['/2']);
  const server = await answeringServer(({ path }) => (failing.has(path) ? { status: 404 } : { body: { name: `new ${path}` } }));
  const flow = `nodes: [{ type: http, url: "${server.origin}/{{id}}", map: [name] }]`;
  const place = await workplace({
    'flow.yaml': flow,
    'rows.csv': 'id\n1\n2\n3\n',
    'out.csv': 'old output\n',
    'out.errors.csv': 'old errors\n',
  });
  const pair = async () => [
    await place.read('out.csv'),
    (await place.files()).includes('out.errors.csv') && (await place.read('out.errors.csv')),
  ];
  return { ...place, place, pair, failing, server };
}

const old = ['old output\n', 'old errors\n'];

describe('automate run --replace', () => {
  test('replaces the output and the errors file, and keeps their permissions', async () => {
    const { automate, pair, path, files } = await secondDay();
    await chmod(path('out.csv'), 0o640);
    const { code, stderr } = await automate(run);
    expect([code, stderr]).toEqual([4, expect.stringContaining('\n  output: out.csv (2 records)\n  errors: out.errors.csv (1 record)\n')]);
    expect(await pair()).toEqual(['id,name\n1,new /1\n3,new /3\n', expect.stringMatching(/\n2,http-1,http,404,.*,2\n$/)]);
    expect((await stat(path('out.csv'))).mode & 0o777).toBe(0o640);
    expect(await files()).toEqual(['flow.yaml', 'out.csv', 'out.csv.automate', 'out.errors.csv', 'rows.csv']);
  });

  test('deletes the old errors file if no record failed', async () => {
    const { automate, pair, failing } = await secondDay();
    failing.clear();
    expect((await automate(run)).code).toBe(0);
    expect(await pair()).toEqual(['id,name\n1,new /1\n2,new /2\n3,new /3\n', false]);
    const first = [...run.slice(0, -2), 'other.csv', '--replace'];
    expect((await automate(first)).code).toBe(0);
  });

  test('starts over with --resume if the earlier run was killed before it wrote a journal', async () => {
    const { automate, pair, failing } = await secondDay();
    failing.clear();
    const { code, stderr } = await automate([...run, '--resume']);
    expect([code, stderr]).toEqual([0, expect.stringContaining('done: 3 read, 3 written, 0 failed')]);
    expect(await pair()).toEqual(['id,name\n1,new /1\n2,new /2\n3,new /3\n', false]);
  });

  test('replaces or deletes an earlier errors file even if the output is stdout', async () => {
    const { place, failing } = await secondDay();
    const pipe = ['run', 'flow.yaml', '--in', 'rows.csv', '--quiet'];
    await place.write('flow.errors.csv', 'old errors\n');
    const refused = await place.automate(pipe);
    expect([refused.code, refused.stdout]).toEqual([73, '']);
    expect(refused.stderr).toContain('overwrite it with --replace or --force');
    const second = await place.automate([...pipe, '--replace']);
    expect([second.code, second.stdout]).toEqual([4, 'id,name\n1,new /1\n3,new /3\n']);
    expect(second.stderr).not.toContain('unchanged');
    expect(await place.read('flow.errors.csv')).toMatch(/\n2,http-1,http,404,.*,2\n$/);
    failing.clear();
    const third = await place.automate([...pipe, '--replace']);
    expect([third.code, third.stderr]).toEqual([0, '']);
    expect(await place.files()).not.toContain('flow.errors.csv');
  });

  test('keeps the errors file of a different output, and all old files if the run cannot start', async () => {
    const { place } = await secondDay();
    expect((await place.automate(run)).code).toBe(4);
    const other = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--errors', 'out.errors.csv', '--replace']);
    expect([other.code, other.stderr]).toEqual([73, expect.stringContaining('out.errors.csv is already the errors file of out.csv')]);
    await place.write(
      'secret.yaml',
      'nodes: [{ type: http, url: "https://a.example.com", auth: { type: bearer, credential: none-here } }]',
    );
    await place.write('secret.errors.csv', 'old errors\n');
    expect((await place.automate(['run', 'secret.yaml', '--in', 'rows.csv', '--replace'])).code).toBe(7);
    expect(await place.read('secret.errors.csv')).toBe('old errors\n');
  });

  test.each([[[]], [['--quiet']]])('replaces nothing, and says so, if no record was written, with the options %j', async (more) => {
    const { automate, pair, failing, files } = await secondDay();
    for (const id of ['/1', '/3']) failing.add(id);
    const { code, stderr } = await automate([...run, ...more]);
    expect([code, stderr]).toEqual([4, expect.stringContaining('out.csv is unchanged: no record was written')]);
    expect(stderr).not.toContain('retry failed records');
    expect(await pair()).toEqual(old);
    expect(await files()).toEqual(['flow.yaml', 'out.csv', 'out.errors.csv', 'rows.csv']);
  });

  test('replaces nothing if the run ends early and is not resumed', async () => {
    const { automate, pair } = await secondDay();
    const stopped = await automate([...run, '--max-credits', '1']);
    expect([stopped.code, stopped.stderr]).toEqual([5, expect.stringContaining('out.csv is unchanged: the run is not complete')]);
    expect(stopped.stderr).toContain('automate run flow.yaml --in rows.csv --out out.csv --replace --max-credits 1 --resume');
    expect(await pair()).toEqual(old);
    const without = await automate([...run.slice(0, -1), '--resume']);
    expect([without.code, without.stderr]).toEqual([73, expect.stringContaining('replace was true, is not set')]);
    expect(await pair()).toEqual(old);
    expect((await automate([...run, '--resume'])).code).toBe(4);
    expect(await pair()).toEqual(['id,name\n1,new /1\n3,new /3\n', expect.stringMatching(/\n2,/)]);
  });

  test('starts over if an earlier run of the same command ended early', async () => {
    const { automate, pair, files } = await secondDay();
    expect((await automate([...run, '--max-credits', '1'])).code).toBe(5);
    expect((await automate(run)).code).toBe(4);
    expect(await pair()).toEqual(['id,name\n1,new /1\n3,new /3\n', expect.stringMatching(/\n2,/)]);
    expect(await files()).toEqual(['flow.yaml', 'out.csv', 'out.csv.automate', 'out.errors.csv', 'rows.csv']);
  });

  test('refuses --force, and refuses an output of an unfinished run without --replace', async () => {
    const { automate, pair, server } = await secondDay();
    const both = await automate([...run, '--force']);
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('--replace ')]);
    expect([await pair(), server.requests.length]).toEqual([old, 0]);
    const other = [...run.slice(0, 4), '--out', 'new.csv'];
    expect((await automate([...other, '--max-credits', '1'])).code).toBe(5);
    const { code, stderr } = await automate([...other, '--replace']);
    expect([code, stderr]).toEqual([73, expect.stringContaining('an earlier run did not finish new.csv')]);
  });

  test('leaves the old files unchanged if the input is broken', async () => {
    const { automate, pair, write } = await secondDay();
    await write('rows.csv', 'id\n1\n"3\n');
    expect((await automate(run)).code).toBe(6);
    expect(await pair()).toEqual(old);
  });

  test.each([
    [run.slice(0, -1), [73, expect.stringContaining('out.csv exists already')]],
    [
      [...run, '--limit', '2', '--resume'],
      [4, expect.stringContaining('output: out.csv (1 record)')],
    ],
  ])('that was interrupted after replacing one of the two files is completed by the next start: %j', async (args, expected) => {
    const { automate, pair, path, files } = await secondDay();
    expect((await automate([...run, '--limit', '2', '--max-errors', '0'])).code).toBe(5);
    const line = '{"complete":true}';
    await appendFile(path('out.csv.automate-run'), `${crc32(line).toString(16).padStart(8, '0')} ${line}\n`);
    await rename(path('out.errors.csv.automate-part'), path('out.errors.csv'));
    const { code, stderr } = await automate(args);
    expect([code, stderr]).toEqual(expected);
    expect(await pair()).toEqual(['id,name\n1,new /1\n', expect.stringMatching(/\n2,/)]);
    expect(await files()).toEqual(['flow.yaml', 'out.csv', 'out.errors.csv', 'rows.csv']);
  });

  test('replaces the file that a symbolic link points to', async () => {
    const { automate, path, read, place } = await secondDay();
    await mkdir(path('real'));
    await rename(path('out.csv'), path('real/out.csv'));
    await shell(place, 'ln -s real/out.csv out.csv');
    expect((await automate(run)).code).toBe(4);
    expect(await read('real/out.csv')).toBe('id,name\n1,new /1\n3,new /3\n');
  });
});

test('a killed run with --replace keeps the old output and errors file until it is resumed', async () => {
  const server = await askedServer();
  const [whole, place] = [await placeFor(server), await placeFor(server)];
  expect((await whole.automate(run)).code).toBe(4);
  for (const name of ['out.csv', 'out.errors.csv']) await place.write(name, `old ${name}`);
  for (const calls of [1, 300]) {
    expect(await killed(place, server, calls, [...run, ...(calls === 1 ? [] : ['--resume'])])).toBe(true);
    expect([await place.read('out.csv'), await place.read('out.errors.csv')]).toEqual(['old out.csv', 'old out.errors.csv']);
  }
  expect((await place.automate([...run, '--resume'])).code).toBe(4);
  for (const name of ['out.csv', 'out.errors.csv']) expect(await place.read(name)).toBe(await whole.read(name));
  expect(await leftBehind(place)).toEqual([]);
});
