import { copyFile, mkdir, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { answeringServer } from '../helpers/answering-server.ts';
import { workplace } from '../helpers/cli.ts';

/** Creates two flows for the same input: record 2 fails in `a.yaml`, and record 3 fails in `b.yaml`. */
async function twoFlows() {
  const server = await answeringServer(({ path }) => ({ status: ['/a2', '/b3'].includes(path) ? 404 : 200 }));
  const place = await workplace({
    'a.yaml': `nodes: [{ type: http, url: "${server.origin}/a{{id}}" }]`,
    'b.yaml': `nodes: [{ type: http, url: "${server.origin}/b{{id}}" }]`,
    'rows.csv': 'id\n1\n2\n3\n',
  });
  const run = (name: string, ...more: string[]) => place.automate(['run', `${name}.yaml`, '--in', 'rows.csv', ...more]);
  return { ...place, server, run };
}

describe('the errors file', () => {
  test('is a separate file for each flow, even if two flows read the same input at once', async () => {
    const { run, read } = await twoFlows();
    const both = () => Promise.all(['a', 'b'].map(async (name) => (await run(name, '--out', `${name}.csv`, '--force')).code));
    expect(await both()).toEqual([4, 4]);
    const [a, b] = [await read('a.errors.csv'), await read('b.errors.csv')];
    expect([a, b]).toEqual([expect.stringMatching(/\n2,.*\n$/), expect.stringMatching(/\n3,.*\n$/)]);
    expect((await run('b', '--out', 'b.csv', '--force')).code).toBe(4);
    expect([await read('a.errors.csv'), await read('b.errors.csv')]).toEqual([a, b]);
  });

  test.each([
    ['rows.csv', 'out.ndjson', 'out.errors.csv'],
    ['rows.jsonl', 'out.csv', 'out.errors.jsonl'],
    ['rows.csv.gz', 'out.json', 'out.errors.csv.gz'],
    ['rows.csv', 'out.csv.gz', 'out.errors.csv'],
    ['rows.csv', 'out.2026-11.tsv', 'out.2026-11.errors.csv'],
    ['rows.csv', 'results/out.csv', 'results/out.errors.csv'],
    ['rows.csv', '-', 'flow.errors.csv'],
    ['rows.jsonl', '-', 'flow.errors.jsonl'],
  ])('for the input %s and the output %s is named %s', async (input, out, errors) => {
    const rows = { 'rows.csv': 'id\nx\n', 'rows.jsonl': '{"id":"x"}\n', 'rows.csv.gz': gzipSync('id\nx\n') };
    const flow = 'nodes: [{ type: set, fields: { n: { cel: "int(id)" } } }]';
    const place = await workplace({ ...rows, 'flow.yaml': flow });
    await mkdir(place.path('results'));
    const { code } = await place.automate(['run', 'flow.yaml', '--in', input, '--out', out]);
    expect([code, await place.read(errors)]).toEqual([4, expect.stringContaining('set-1')]);
  });

  test('is created only when the first record fails, and never if --errors is "none"', async () => {
    const { run, files } = await twoFlows();
    expect((await run('a', '--out', 'first.csv', '--limit', '1')).code).toBe(0);
    const { code, stderr } = await run('a', '--out', 'out.csv', '--errors', 'none', '--summary', 's.json');
    expect([code, stderr]).toEqual([4, expect.stringContaining('\n  errors: not written (1 record)')]);
    expect(stderr).not.toContain('retry failed records');
    expect(await files()).toEqual(['a.yaml', 'b.yaml', 'first.csv', 'out.csv', 'rows.csv', 's.json']);
  });

  test('of an unfinished run cannot be used for a different output, even with --force', async () => {
    const { run, read, files, server } = await twoFlows();
    expect((await run('a', '--out', 'a.csv', '--max-errors', '0', '--concurrency', '1')).code).toBe(5);
    const [before, sent] = [await files(), server.requests.length];
    for (const force of [[], ['--force']]) {
      const { code, stderr } = await run('b', '--out', 'b.csv', '--errors', './a.errors.csv', ...force);
      expect([code, stderr]).toEqual([
        73,
        'automate: ./a.errors.csv is already the errors file of a.csv\n  choose another file with --errors\n',
      ]);
    }
    expect([await files(), server.requests.length]).toEqual([before, sent]);
    expect((await run('a', '--out', 'a.csv', '--max-errors', '0', '--concurrency', '1', '--resume')).code).toBe(4);
    expect(await read('a.errors.csv')).toMatch(/\n2,.*\n$/);
  });
});

describe('an errors file that is not next to its output', () => {
  const errors = ['--errors', 'errs/e.csv'];

  test('cannot be used for a different output, even with --force or --replace', async () => {
    const { run, path, read } = await twoFlows();
    await mkdir(path('errs'));
    expect((await run('a', '--out', 'a.csv', ...errors)).code).toBe(4);
    const before = await read('errs/e.csv');
    for (const more of [[], ['--force'], ['--replace']]) {
      const { code, stderr } = await run('b', '--out', 'b.csv', ...errors, ...more);
      expect([code, stderr]).toEqual([
        73,
        'automate: errs/e.csv is already the errors file of a.csv\n  choose another file with --errors\n',
      ]);
    }
    expect(await read('errs/e.csv')).toBe(before);
  });

  test.each(['--force', '--replace'])('is deleted when the run is repeated with %s and a different errors file', async (option) => {
    const { run, path, files } = await twoFlows();
    await mkdir(path('errs'));
    expect((await run('a', '--out', 'a.csv', ...errors)).code).toBe(4);
    const before = await files();
    expect((await run('a', '--out', 'a.csv', '--limit', '1', option)).code).toBe(0);
    expect(await readdir(path('errs'))).toEqual([]);
    expect(await files()).toEqual(before.filter((name) => name !== 'a.csv.automate'));
  });
});

describe('a run that starts over', () => {
  const errors = ['--errors', 'errs/e.csv'];

  test('leaves an old errors file that the user has changed, and that of an output from which the files were copied', async () => {
    const { run, path, write, read } = await twoFlows();
    await mkdir(path('errs'));
    await run('a', '--out', 'a.csv', ...errors);
    const old = await read('errs/e.csv');
    for (const name of ['a.csv', 'a.csv.automate']) await copyFile(path(name), path(name.replace('a.csv', 'copy.csv')));
    expect((await run('a', '--out', 'copy.csv', '--limit', '1', '--replace')).code).toBe(0);
    expect(await read('errs/e.csv')).toBe(old);
    await write('errs/e.csv', 'my own notes\n');
    expect((await run('a', '--out', 'a.csv', '--limit', '1', '--replace')).code).toBe(0);
    expect(await read('errs/e.csv')).toBe('my own notes\n');
  });

  test('writes the errors file even if no record was written, unless there is an old output to keep', async () => {
    const { run, write, read, files } = await twoFlows();
    await write('rows.csv', 'id\n2\n');
    expect((await run('a', '--out', 'a.csv', '--replace')).code).toBe(4);
    expect([await read('a.csv'), await files()]).toEqual(['id\n', expect.arrayContaining(['a.csv.automate', 'a.errors.csv'])]);
  });

  test('is refused before it sends anything if the file about the output is a link or a folder', async () => {
    const { run, path, write, read, server } = await twoFlows();
    await write('precious.txt', 'precious');
    await symlink(path('precious.txt'), path('a.csv.automate'));
    const linked = await run('a', '--out', 'a.csv', '--replace', '--update');
    expect([linked.code, linked.stderr]).toEqual([73, expect.stringContaining('a.csv.automate is a symbolic link')]);
    await rm(path('a.csv.automate'));
    await mkdir(path('a.csv.automate'));
    expect((await run('a', '--out', 'a.csv', '--force')).code).toBe(73);
    expect([await read('precious.txt'), server.requests.length]).toEqual(['precious', 0]);
  });
});

describe('an output', () => {
  test.each(['out.parquet', 'out.xls', 'out', 'out.gz', 'out.csv.zip'])('named %s is refused without --out-format', async (out) => {
    const { run, files, path, server } = await twoFlows();
    const before = await files();
    const { code, stderr } = await run('a', '--out', out);
    expect([code, stderr]).toEqual([
      2,
      `automate: ${out}: expected a file name that ends in .csv, .tsv, .json, .ndjson, .jsonl, one of these with .gz, or .xlsx\n  or give the format to write: --out-format csv, tsv, json, ndjson, jsonl, xlsx\n`,
    ]);
    expect([await files(), server.requests]).toEqual([before, []]);
    expect((await run('a', '--out', out, '--out-format', 'ndjson')).code).toBe(4);
    expect((await readFile(path(out))).includes('{"id":"1"}\n')).toBe(true);
  });
});
