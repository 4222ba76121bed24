import { appendFile, readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { answeringServer } from '../helpers/answering-server.ts';
import { workplace } from '../helpers/cli.ts';

const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--update'];

/** Creates a flow over four records. Those in `failing` fail. `asked` returns the paths requested since its last call. */
async function firstDay(more = '', node = '') {
  const failing = new Set<string>();
  const paths: string[] = [];
  const server = await answeringServer(({ path }) => {
    paths.push(path);
    return failing.has(path) ? { status: 404 } : { body: { name: `new ${path}`, items: [{ x: 1 }, { x: 2 }] } };
  });
  const flow = `nodes: [{ type: http, url: "${server.origin}/{{id}}", map: { name: name ${more} } ${node} }]`;
  const place = await workplace({ 'flow.yaml': flow, 'rows.csv': 'id,note\n1,a\n2,b\n3,c\n2,d\n' });
  return { ...place, place, failing, flow, asked: () => paths.splice(0).sort() };
}

const unchanged = (count: number) =>
  expect.stringMatching(new RegExp(`\\n  ${count} unchanged: taken over from out.\\S+ of \\d+ \\w+, without a request\\n`));

describe('automate run --update', () => {
  test('runs new and changed records, and copies values that no node reads', async () => {
    const { automate, asked, write, read, files } = await firstDay();
    expect((await automate(run)).code).toBe(0);
    expect(asked()).toEqual(['/1', '/2', '/2', '/3']);
    await write('rows.csv', 'id,more,note\n4,x,n\n2,x,B\n2,x,d\n2,x,again\n1,"a, b",a\n');
    const { code, stderr } = await automate([...run, '--summary', 's.json', '--report', 'r.html', '--events', 'e.ndjson']);
    expect([code, stderr]).toEqual([0, unchanged(3)]);
    expect(asked()).toEqual(['/2', '/4']);
    expect(await read('out.csv')).toBe(
      'id,more,note,name\n4,x,n,new /4\n2,x,B,new /2\n2,x,d,new /2\n2,x,again,new /2\n1,"a, b",a,new /1\n',
    );
    expect(JSON.parse(await read('s.json'))).toMatchObject({ read: 5, written: 5, failed: 0, unchanged: 3 });
    expect((await read('e.ndjson')).match(/"type":"record-unchanged"/g)).toHaveLength(3);
    expect(await read('r.html')).toContain('of them unchanged');
    expect((await files()).filter((name) => name.includes('automate'))).toEqual(['out.csv.automate']);
  });

  test.each(['csv', 'tsv', 'json', 'ndjson', 'csv.gz', 'json.gz', 'ndjson.gz'])('writes the same %s file as a full run', async (format) => {
    const { automate, asked, write, place } = await firstDay(', x: "items[].x"');
    const to = (out: string, ...more: string[]) => ['run', 'flow.yaml', '--in', 'rows.json', '--out', `${out}.${format}`, ...more];
    await write('rows.json', '[{"id":1,"note":"a"},{"id":"1","note":"b"},{"id":3,"note":"c"}]');
    await automate(to('out', '--update'));
    asked();
    await write('rows.json', '[{"id":3,"note":"new"},{"id":4,"note":"\\""},{"id":1,"note":"a"}]');
    expect((await automate(to('out', '--update'))).stderr).toEqual(unchanged(2));
    expect(asked()).toEqual(['/4']);
    await automate(to('full'));
    const bytes = async (name: string) =>
      (await automate(['run', 'copy.yaml', '--in', `${name}.${format}`, '--out-format', 'ndjson'])).stdout;
    await write('copy.yaml', 'nodes: [{ type: set, fields: { copied: "1" } }]');
    expect(await bytes('out')).toBe(await bytes('full'));
    expect(await bytes('out')).toContain('"note":"new"');
    if (!format.endsWith('gz')) expect(await place.read(`out.${format}`)).toBe(await place.read(`full.${format}`));
  });

  test('writes the fields of a row in the same order as a full run', async () => {
    const { automate, write, read, flow } = await firstDay();
    await write('flow.yaml', flow.replace('nodes: [', 'nodes: [{ type: set, rename: { note: memo } }, '));
    const to = (out: string, ...more: string[]) => ['run', 'flow.yaml', '--in', 'rows.csv', '--out', out, ...more];
    await automate(to('out.ndjson', '--update'));
    await write('rows.csv', 'id,note,extra\n1,a,x\n3,c,y\n5,e,z\n');
    expect((await automate(to('out.ndjson', '--update'))).stderr).toEqual(unchanged(2));
    await automate(to('full.ndjson'));
    expect(await read('out.ndjson')).toBe(await read('full.ndjson'));
    expect(await read('out.ndjson')).toMatch(/^\{"id":"1","memo":"a","extra":"x","name":"new \/1"\}\n/);
  });
  test('runs failed records once more, and keeps rows that a retry has corrected', async () => {
    const { automate, asked, failing, read } = await firstDay();
    failing.add('/1').add('/3');
    expect((await automate(run)).code).toBe(4);
    asked();
    expect((await automate(run)).code).toBe(4);
    expect(asked()).toEqual(['/1', '/3']);
    failing.clear();
    expect((await automate(['retry', 'out.csv'])).code).toBe(0);
    asked();
    const { stderr } = await automate(run);
    expect([stderr, asked()]).toEqual([unchanged(4), []]);
    expect(await read('out.csv')).toBe('id,note,name\n1,a,new /1\n2,b,new /2\n3,c,new /3\n2,d,new /2\n');
  });

  test.each(['json', 'ndjson.gz'])('finds all rows in a %s file after a retry', async (format) => {
    const { automate, asked, failing, write } = await firstDay(', x: "items[].x"');
    const to = (name: string) => ['run', 'flow.yaml', '--in', 'rows.csv', '--out', `${name}.${format}`];
    failing.add('/1').add('/3');
    await automate([...to('out'), '--update']);
    failing.clear();
    expect((await automate(['retry', `out.${format}`])).code).toBe(0);
    await write('rows.csv', 'id,note\n2,d\n3,c\n1,new\n2,b\n');
    asked();
    expect((await automate([...to('out'), '--update'])).stderr).toEqual(unchanged(4));
    expect(asked()).toEqual([]);
    await automate(to('full'));
    await write('copy.yaml', 'nodes: [{ type: set, fields: { copied: "1" } }]');
    const rows = async (name: string) =>
      (await automate(['run', 'copy.yaml', '--in', `${name}.${format}`, '--out-format', 'ndjson'])).stdout;
    expect(await rows('out')).toBe(await rows('full'));
    expect((await rows('out')).trim().split('\n')).toHaveLength(8);
  });

  test('runs a record once more if it failed and on_error: keep passed it on', async () => {
    const { automate, asked, failing } = await firstDay('', ', on_error: keep');
    failing.add('/3');
    await automate(run);
    asked();
    expect((await automate(run)).stderr).toEqual(unchanged(3));
    expect(asked()).toEqual(['/3']);
  });

  test('runs a record once more if its rows are older than --max-age', async () => {
    const { automate, asked } = await firstDay();
    await automate(run);
    await automate(run);
    asked();
    expect((await automate([...run, '--max-age', '30d'])).stderr).toEqual(unchanged(4));
    expect((await automate([...run, '--max-age', '0'])).stderr).toEqual(unchanged(0));
    expect(asked()).toHaveLength(4);
  });

  test('runs all records with --replace', async () => {
    const { automate, asked, files } = await firstDay();
    await automate(run);
    asked();
    expect((await automate([...run, '--replace'])).code).toBe(0);
    expect(asked()).toHaveLength(4);
    for (const option of ['--replace', '--force']) {
      await automate([...run.slice(0, -1), option]);
      expect(await files()).not.toContain('out.csv.automate');
      const { code, stderr } = await automate(run);
      expect([code, stderr]).toEqual([73, expect.stringContaining('out.csv.automate is missing\n')]);
      expect(stderr).toContain('--replace --update');
      await automate([...run, '--replace']);
    }
  });

  test('counts only new and changed records in --dry-run', async () => {
    const { automate, asked, write } = await firstDay();
    await automate(run);
    asked();
    await write('rows.csv', 'id,note\n1,a\n9,b\n');
    const { stdout } = await automate([...run, '--dry-run']);
    expect(stdout).toMatch(/^unchanged: 1, taken over without a request\nrecords: {3}1 to run\nactions: {3}1\n/);
    expect(asked()).toEqual([]);
  });

  test('prints the plan of a complete run in --dry-run if the old rows cannot be reused', async () => {
    const { automate, asked } = await firstDay();
    await automate(run);
    asked();
    const { code, stdout, stderr } = await automate([...run, '--set', 'id=1', '--dry-run']);
    expect([code, stderr]).toEqual([73, expect.stringContaining('--replace --update')]);
    expect(stdout).toMatch(/^unchanged: 0, .*\nrecords: {3}4 to run\nactions: {3}4\n/);
    expect(asked()).toEqual([]);
  });

  test('counts the unchanged records of the whole run after a resume', async () => {
    const { automate, write, read } = await firstDay();
    await automate(run);
    await write('rows.csv', 'id,note\n1,a\n3,b\n8,c\n9,d\n1,e\n');
    const stopped = await automate([...run, '--max-credits', '1']);
    expect([stopped.code, stopped.stderr]).toEqual([5, unchanged(2)]);
    const { code, stderr } = await automate([...run, '--resume', '--summary', 's.json', '--report', 'r.html']);
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/\n {2}2 unchanged: taken over from out\.csv of .*, without a request \(this part: 0\)\n/),
    ]);
    expect(JSON.parse(await read('s.json'))).toMatchObject({ unchanged: 0, whole: { read: 5, written: 5, unchanged: 2 } });
  });

  test('can be combined with --workers, because the main process copies unchanged rows', async () => {
    const { automate, asked, write } = await firstDay();
    await automate([...run, '--workers', '2']);
    asked();
    await write('rows.csv', 'id,note\n3,a\n9,b\n');
    expect((await automate([...run, '--workers', '2'])).stderr).toEqual(unchanged(1));
    expect(asked()).toEqual(['/9']);
  });

  test('writes an empty output if the input has no records', async () => {
    const { automate, write, read } = await firstDay();
    await automate(run);
    await write('rows.csv', 'id,note\n');
    expect((await automate(run)).code).toBe(0);
    expect(await read('out.csv')).toBe('id,note,name\n');
  });

  test.each([
    ['another path in a map', (flow: string) => flow.replace('name: name', 'name: other'), 'the node http-1 has changed'],
    ['a further node', (flow: string) => flow.replace('}]', '}, { type: set, fields: { a: "1" } }]'), 'the node set-2 is new'],
  ])('is refused if the flow has changed: %s', async (_, change, message) => {
    const { automate, asked, write, flow, read } = await firstDay();
    await automate(run);
    asked();
    const before = await read('out.csv');
    await write('flow.yaml', change(flow));
    const { code, stderr } = await automate(run);
    expect([code, stderr, asked()]).toEqual([73, expect.stringContaining(`\n  ${message}\n`), []]);
    expect(stderr).toContain('--replace --update');
    expect(await read('out.csv')).toBe(before);
  });

  test('is refused if a variable has changed, and names nothing but the variable', async () => {
    const { automate, asked, write, flow } = await firstDay();
    const text = `vars: { place: here, kind: a }\n${flow.replace('/{{id}}"', '/{{id}}?at={{vars.place}}", headers: { X-Kind: "{{vars.kind}}" }')}`;
    await write('flow.yaml', text);
    await automate(run);
    asked();
    expect((await automate(run)).stderr).toEqual(unchanged(4));
    const changedBy = async (...names: string[]) => {
      const { code, stderr } = await automate([...run, ...names.flatMap((name) => ['--var', `${name}=new`])]);
      return [code, stderr.split('\n').filter((line) => line.endsWith(' has changed'))];
    };
    expect(await changedBy('place')).toEqual([73, ['  the variable place has changed']]);
    expect(await changedBy('place', 'kind')).toEqual([73, ['  the variable place has changed', '  the variable kind has changed']]);
    expect(asked()).toEqual([]);
    await write('flow.yaml', text.replace('at=', 'from=').replace('here', 'there'));
    expect((await automate(run)).stderr).toContain(':\n  the node http-1 has changed\n  the variable place has changed\n');
    await write('flow.yaml', text.replace('?at={{vars.place}}"', '?at=here"').replace('place: here, ', ''));
    expect((await automate(run)).stderr).toContain('the variable place is gone\n');
  });

  test('is accepted if a change to the flow affects only how requests are sent', async () => {
    const { automate, write, flow } = await firstDay();
    await automate(run);
    await write('flow.yaml', flow.replace('{ type: http', '{ concurrency: 2, retry: { max: 1 }, timeout: 9s, credits: 2, type: http'));
    expect((await automate(run)).stderr).toEqual(unchanged(4));
  });

  test('is refused after a change to --set or the output, or if the state file is damaged', async () => {
    const { automate, path, write, read } = await firstDay();
    await automate(run);
    const set = await automate([...run, '--set', 'a=b']);
    expect([set.code, set.stderr]).toEqual([73, expect.stringContaining('the list of set fields has changed')]);
    const whole = await read('out.csv');
    await appendFile(path('out.csv'), 'x');
    expect((await automate(run)).code).toBe(73);
    await write('out.csv', whole);
    const memory = path('out.csv.automate');
    const bytes = await readFile(memory);
    const damages = [
      bytes.subarray(0, 100),
      Buffer.from(bytes.toString('latin1').replace('"at":"2', '"at":"x'), 'latin1'),
      Buffer.from(bytes.toString('latin1').replace('"firstRow":', '"firstRow":1'), 'latin1'),
    ];
    for (const damage of damages) {
      await write('out.csv.automate', damage);
      const damaged = await automate(run);
      expect([damaged.code, damaged.stderr]).toEqual([73, expect.stringContaining('out.csv.automate is damaged')]);
    }
  });

  test.each([
    [['--unordered'], '--unordered'],
    [['--limit', '1'], '--limit'],
    [['--skip', '1'], '--skip'],
    [['--force'], '--force'],
    [['--out', '-'], 'an output file'],
    [['--out', 'out.xlsx'], 'workbook'],
  ])('cannot be combined with %j', async (more, message) => {
    const { automate, asked } = await firstDay();
    const { code, stderr } = await automate([...run, ...more]);
    expect([code, stderr, asked()]).toEqual([2, expect.stringContaining(message), []]);
  });

  describe('with --no-input', () => {
    const once = ['run', 'flow.yaml', '--no-input', '--set', 'id=1', '--out', 'out.csv', '--update'];

    test.each([[[]], [['--resume']], [['--replace']], [['--dry-run']]])('is refused without --max-age (and %j)', async (more) => {
      const { automate, asked, files } = await firstDay();
      const { code, stderr } = await automate([...once, ...more]);
      expect(code).toBe(2);
      expect(stderr).toContain('would never send anything again');
      expect(stderr).toContain('--max-age 1d');
      expect([asked(), await files()]).toEqual([[], ['flow.yaml', 'rows.csv']]);
    });

    test('reuses the rows of the only record until they are older than --max-age', async () => {
      const { automate, asked } = await firstDay();
      expect((await automate([...once, '--max-age', '1d'])).code).toBe(0);
      expect(asked()).toEqual(['/1']);
      expect((await automate([...once, '--max-age', '1d'])).stderr).toEqual(unchanged(1));
      expect(asked()).toEqual([]);
    });
  });

  test('is required by --max-age', async () => {
    const { automate } = await firstDay();
    expect((await automate([...run.slice(0, -1), '--max-age', '3d'])).code).toBe(2);
  });
});
