import { chmod, stat } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { answeringServer } from '../helpers/answering-server.ts';
import { workplace } from '../helpers/cli.ts';

const base = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--update'];
const run = [...base, '--gone', 'gone.csv', '--gone-key', 'id'];

const table = (ids: readonly (number | string)[], note = 'x') => `id,note\n${ids.map((id) => `${id},${note}${id}\n`).join('')}`;
const upTo = (count: number, first = 1) => Array.from({ length: count }, (_, index) => first + index);

/** Creates a flow over the records 1 to 10. `asked` returns the paths requested since its last call. */
async function firstDay({ map = '', more = '', columns = '', ids = upTo(10) as readonly (number | string)[] } = {}) {
  const paths: string[] = [];
  const failing = new Set<string>();
  const server = await answeringServer(({ path }) => {
    paths.push(path);
    return failing.has(path) ? { status: 404 } : { body: { name: `new ${path}`, items: [{ x: 1 }, { x: 2 }] } };
  });
  const flow = `${columns}nodes: [{ type: http, url: "${server.origin}/{{id}}", map: { name: name${map} } ${more} }]`;
  const place = await workplace({ 'flow.yaml': flow, 'rows.csv': table(ids) });
  return { ...place, place, failing, asked: () => paths.splice(0) };
}

describe('automate run --update --gone', () => {
  test('writes the old rows of records that are no longer in the input, and not of those that have changed', async () => {
    const { automate, write, read, files, asked } = await firstDay();
    const first = await automate(run);
    expect([first.code, await read('gone.csv')]).toEqual([0, 'id,note,name\n']);
    expect(first.stderr).toContain('\n  no record is gone from the input: gone.csv has no rows\n');
    await write('rows.csv', table([11, 10, 9, 8, 7, 6, 5, 3, 1], 'changed'));
    asked();
    const { code, stderr } = await automate([...run, '--summary', 's.json', '--report', 'r.html']);
    expect([code, asked()]).toEqual([0, ['/11']]);
    expect(await read('gone.csv')).toBe('id,note,name\n2,x2,new /2\n4,x4,new /4\n');
    expect(stderr).toContain('\n  2 of 10 records are gone from the input: see gone.csv\n');
    expect(JSON.parse(await read('s.json')).gone).toEqual({ records: 2, of: 10, file: 'gone.csv', repeated_keys: 0, unreadable: 0 });
    expect(await read('r.html')).toContain('gone from the input');
    expect((await automate(run)).code).toBe(0);
    expect(await read('gone.csv')).toBe('id,note,name\n');
    expect((await files()).filter((name) => name.includes('automate'))).toEqual(['out.csv.automate']);
  });

  test.each([
    ['csv', 'csv'],
    ['csv', 'ndjson'],
    ['csv', 'json'],
    ['tsv', 'csv.gz'],
    ['json', 'csv'],
    ['ndjson', 'json'],
    ['json.gz', 'ndjson.gz'],
    ['ndjson.gz', 'tsv'],
    ['csv.gz', 'xlsx'],
  ])('writes the rows of a %s file as %s', async (format, goneFormat) => {
    const { automate, write } = await firstDay({ map: ', x: "items[].x"' });
    const records = (ids: readonly unknown[]) => JSON.stringify(ids.map((id) => ({ id, note: `"${id}",\n`, more: { a: id } })));
    const args = [...['run', 'flow.yaml', '--in', 'rows.json', '--out', `out.${format}`, '--update'], '--gone', `gone.${goneFormat}`];
    await write('rows.json', records([1, 2, '3', 4, 5, 6]));
    expect((await automate([...args, '--gone-key', 'id'])).code).toBe(0);
    await write('copy.yaml', 'nodes: [{ type: set, fields: { copied: "1" } }]');
    const rows = async () =>
      (await automate(['run', 'copy.yaml', '--in', `gone.${goneFormat}`, '--out-format', 'csv'])).stdout.replaceAll('\r', '');
    if (!/json/.test(goneFormat)) expect(await rows()).toMatch(/^id,note,more,name,x,copied\n?$/);
    await write('rows.json', records(['1', 2, 3, '5', 6]));
    const { code, stderr } = await automate([...args, '--gone-key', 'id']);
    // An expanded record has two rows, but is one record.
    expect([code, stderr]).toEqual([0, expect.stringContaining(`1 of 6 records is gone from the input: see gone.${goneFormat}`)]);
    const row = (x: number) => `4,"""4"",\n","{""a"":4}",new /4,${x},1\n`;
    expect(await rows()).toBe(`id,note,more,name,x,copied\n${row(1)}${row(2)}`);
  });

  test('recognizes a record by several columns, and never takes one without a whole key for gone', async () => {
    const { automate, write, read } = await firstDay();
    const args = [...base, '--gone', 'gone.csv', '--gone-key', 'country, id', '--max-gone', '100%'];
    await write('rows.csv', 'country,id,note\nde,1,a\nat,1,b\nde,11,c\nd,e1,d\n,2,e\nde,,f\n');
    expect((await automate(args)).code).toBe(0);
    await write('rows.csv', 'note,id,country\nx,1,de\nx,11,de\nx,1,ch\n');
    expect((await automate(args)).stderr).toContain('2 of 6 records are gone from the input');
    expect(await read('gone.csv')).toBe('country,id,note,name\nat,1,b,new /1\nd,e1,d,new /e1\n');
  });

  test.each([
    ['the name in the flow', 'id'],
    ['the name in the file', 'Customer No'],
  ])('finds the column of the key by %s', async (_, key) => {
    const { automate, write, read } = await firstDay({ columns: 'columns: { id: Customer No }\n' });
    const args = [...base, '--gone', 'gone.csv', '--gone-key', key];
    await write('rows.csv', table(upTo(5)).replace('id', 'Customer No'));
    expect((await automate(args)).code).toBe(0);
    await write('rows.csv', table(upTo(4)).replace('id', 'Customer No'));
    expect((await automate(args)).stderr).toContain('1 of 5 records is gone from the input');
    expect(await read('gone.csv')).toBe('Customer No,note,name\n5,x5,new /5\n');
  });

  test('counts keys that occur more than once, and takes each of their old records for gone', async () => {
    const { automate, write, read } = await firstDay({ ids: [1, 2, 2, 3, 4, 5, 6, 7, 8, 9] });
    await automate(run);
    await write('rows.csv', table([3, 3, 3, 1, 1, 4, 5, 6, 7, 8, 9, 12]));
    expect((await automate(run)).stderr).toContain(
      '\n  2 of 10 records are gone from the input: see gone.csv; 2 keys occur more than once in the input\n',
    );
    expect(await read('gone.csv')).toBe('id,note,name\n2,x2,new /2\n2,x2,new /2\n');
  });

  test('compares texts that --csv-safe has changed, and rows with _error', async () => {
    const { automate, failing, write, read } = await firstDay({ more: ', on_error: keep', ids: ['=1', '-2', "'3", 4, 5] });
    failing.add('/4').add('/5');
    const args = [...run, '--csv-safe', '--max-gone', '2'];
    expect((await automate(args)).code).toBe(0);
    await write('rows.csv', table(['=1', "'3", 4]));
    expect((await automate(args)).stderr).toContain('2 of 5 records are gone');
    expect(await read('gone.csv')).toBe("id,note,name\n'-2,x-2,new /-2\n5,x5,\n");
  });

  test('also finds them if every record runs', async () => {
    const { automate, write, read, asked } = await firstDay();
    await automate(run);
    await write('rows.csv', table(upTo(9)));
    asked();
    const { code, stderr } = await automate([...run, '--replace']);
    expect([code, asked().length]).toEqual([0, 9]);
    expect(stderr).toContain('1 of 10 records is gone');
    expect(await read('gone.csv')).toBe('id,note,name\n10,x10,new /10\n');
  });

  test('keeps the permissions of the file', async () => {
    const { automate, write, path } = await firstDay();
    await write('gone.csv', 'of yesterday\n');
    await chmod(path('gone.csv'), 0o640);
    await automate(run);
    expect((await stat(path('gone.csv'))).mode & 0o777).toBe(0o640);
  });
});

describe('an input that lacks more records than expected', () => {
  test.each([
    ['more than 20 %', upTo(7), [], '3 of 10 records of out.csv are gone from rows.csv, more than 20%', '30%'],
    ['more than the percentage', upTo(9), ['--max-gone', '5%'], '1 of 10 records of out.csv is gone from rows.csv, more than 5%', '10%'],
    ['more than the number', upTo(8), ['--max-gone', '1'], '2 of 10 records of out.csv are gone from rows.csv, more than 1', '2'],
    ['no records', [], ['--max-gone', '100%'], 'rows.csv has no records, so all 10 records of out.csv would be gone', undefined],
  ])('replaces and sends nothing (%s)', async (_, ids, more, message, allowed) => {
    const { automate, write, read, files, asked } = await firstDay();
    await automate(run);
    await write('gone.csv', 'of yesterday\n');
    const before = [await read('out.csv'), await read('out.csv.automate').catch(() => ''), (await files()).sort()];
    await write('rows.csv', table([...ids, ...(ids.length > 0 ? [12, 13] : [])]));
    asked();
    const { code, stderr, stdout } = await automate([...run, ...more]);
    const advice = allowed === undefined ? '' : `\n  if they are gone indeed, allow it: --max-gone ${allowed}`;
    expect([code, stdout, stderr]).toEqual([5, '', `automate: ${message}: nothing is replaced${advice}\n`]);
    expect(asked()).toEqual([]);
    expect([await read('out.csv'), await read('out.csv.automate').catch(() => ''), (await files()).sort()]).toEqual(before);
    expect(await read('gone.csv')).toBe('of yesterday\n');
    if (allowed !== undefined) expect((await automate([...run, '--max-gone', allowed])).code).toBe(0);
  });

  test('is compared at the end if it is stdin, and can then be resumed without a request', async () => {
    const { automate, write, read, asked } = await firstDay();
    await automate(run);
    asked();
    const piped = run.map((word) => (word === 'rows.csv' ? '-' : word));
    const before = await read('out.csv');
    const stdin = table([1, 2, 3, 14]);
    const { code, stderr } = await automate(piped, { stdin });
    expect([code, stderr]).toEqual([5, expect.stringContaining('7 of 10 records of out.csv are gone from stdin, more than 20%')]);
    expect([asked(), await read('out.csv')]).toEqual([['/14'], before]);
    expect((await automate([...piped, '--resume', '--max-gone', '7'], { stdin })).code).toBe(0);
    expect([asked(), await read('out.csv')]).toEqual([
      [],
      table([1, 2, 3, 14])
        .replaceAll(/(\d+)\n/g, '$1,new /$1\n')
        .replace('note', 'note,name'),
    ]);
    expect((await read('gone.csv')).trim().split('\n')).toHaveLength(8);
    await write('rows.csv', table([1, 2, 3, 14]));
    expect((await automate(run)).code).toBe(0);
  });

  test('--dry-run shows how many are gone, and fails as the run would', async () => {
    const { automate, write, read, files } = await firstDay();
    await automate(run);
    await write('rows.csv', table([1, ...upTo(8)]));
    const { code, stdout } = await automate([...run, '--dry-run']);
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining('\ngone:      2 of 10 records of the old output; 1 key occurs more than once'),
    ]);
    expect(await read('gone.csv')).toBe('id,note,name\n');
    await automate([...run, '--dry-run', '--summary', 's.json']);
    expect(JSON.parse(await read('s.json')).gone).toEqual({ records: 2, of: 10, repeated_keys: 1, unreadable: 0 });
    await write('rows.csv', table(upTo(5)));
    const refused = await automate([...run, '--dry-run']);
    expect([refused.code, refused.stdout]).toEqual([5, expect.stringContaining('gone:      5 of 10 records')]);
    expect(refused.stderr).toContain('more than 20%: nothing is replaced');
    expect((await files()).filter((name) => name.includes('automate'))).toEqual(['out.csv.automate']);
  });
});

describe('wrong use of --gone', () => {
  test.each([
    [['--gone', 'gone.csv', '--gone-key', 'id'], '--gone works only with --update: add --update, or leave --gone out'],
    [['--update', '--gone', 'gone.csv'], '--gone needs the column by which a record is recognized\n  give it with --gone-key'],
    [['--update', '--gone-key', 'id'], '--gone-key works only with --gone: add --gone FILE, or leave --gone-key out'],
    [['--update', '--max-gone', '5%'], '--max-gone works only with --gone: add --gone FILE, or leave --max-gone out'],
    [['--update', '--gone', 'gone.doc', '--gone-key', 'id'], '--gone: gone.doc: expected a file name that ends in .csv'],
    [['--update', '--gone', '-', '--gone-key', 'id'], '--gone'],
    [['--update', '--gone', 'out.csv', '--gone-key', 'id'], 'the file for gone records out.csv is the output'],
    [['--update', '--gone', 'rows.csv', '--gone-key', 'id'], 'the file for gone records rows.csv is the input'],
    [['--update', '--gone', 'gone.csv', '--gone-key', 'id,'], 'expected the names of columns, with commas'],
    [['--update', '--gone', 'gone.csv', '--gone-key', 'ids'], '--gone-key: the input has no column "ids"; did you mean "id"?'],
    [['--update', '--gone', 'gone.csv', '--gone-key', 'id', '--max-gone', 'few'], 'expected a number or a percentage such as 5%'],
  ])('%j: exit 2, and nothing is sent or written', async (more, message) => {
    const { automate, files, asked } = await firstDay();
    const before = await files();
    const { code, stderr } = await automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', ...more]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    expect([await files(), asked()]).toEqual([before, []]);
  });

  test('an output without the column, or a folder that does not exist', async () => {
    const { automate, write, files, asked } = await firstDay();
    await automate(base);
    await write('rows.csv', 'id,note,code\n1,x1,a\n');
    const before = await files();
    asked();
    const { code, stderr } = await automate([...base, '--gone', 'gone.csv', '--gone-key', 'code']);
    expect([code, stderr]).toEqual([
      73,
      'automate: out.csv has no column "code", so it is not known which of its records are gone\n  run once without --gone, with a flow that keeps the columns of --gone-key\n',
    ]);
    const noFolder = await automate([...base, '--gone', 'none/gone.csv', '--gone-key', 'id']);
    expect([noFolder.code, noFolder.stderr]).toEqual([74, expect.stringContaining('none/gone.csv cannot be written')]);
    expect([await files(), asked()]).toEqual([before, []]);
    await write('rows.json', '[{"id":1,"note":"x"}]');
    const json = ['run', 'flow.yaml', '--in', 'rows.json', '--out', 'out.json', '--update'];
    await automate(json);
    const refused = await automate([...json, '--gone', 'gone.csv', '--gone-key', 'nota']);
    expect([refused.code, refused.stderr]).toEqual([73, expect.stringContaining('out.json has no column "nota"')]);
    expect(refused.stderr).toContain('did you mean "note"?');
  });
});

test('an old output that cannot be read is not taken for one without records', async () => {
  const { automate, write, files, asked } = await firstDay();
  await write('out.csv', 'id,note\n1,"a\n');
  const before = await files();
  const { code, stderr } = await automate([...run, '--replace']);
  expect([code, stderr]).toEqual([
    73,
    expect.stringMatching(/^automate: it is not known which records are gone: out.csv:2: [\s\S]*\n {2}run once without --gone/),
  ]);
  expect([await files(), asked()]).toEqual([before, []]);
});

test('several inputs, and an empty input after an empty one', async () => {
  const { automate, write, read } = await firstDay();
  const args = [...run, '--in', 'more.csv'];
  await write('more.csv', table([11, 12]));
  expect((await automate(args)).code).toBe(0);
  await write('more.csv', table([12]));
  expect((await automate(args)).stderr).toContain('1 of 12 records is gone from the input');
  expect(await read('gone.csv')).toBe('id,note,name\n11,x11,new /11\n');
  await write('rows.csv', table([]));
  const empty = run.map((word) => (word === 'out.csv' ? 'empty.csv' : word));
  expect((await automate(empty)).code).toBe(0);
  const again = await automate(empty);
  expect([again.code, again.stderr]).toEqual([5, 'automate: rows.csv has no records, and empty.csv has none: nothing is replaced\n']);
});

test('says how many records could not be read, because they may be among those that seem gone', async () => {
  const { automate, write, read } = await firstDay();
  const args = [...run.map((word) => (word === 'rows.csv' ? 'rows.ndjson' : word)), '--keep-going'];
  const lines = upTo(10).map((id) => `{"id":${id},"note":"x"}\n`);
  await write('rows.ndjson', lines.join(''));
  expect((await automate(args)).code).toBe(0);
  await write('rows.ndjson', lines.join('').replace('{"id":4,', '{"id":4'));
  const { code, stderr } = await automate(args);
  expect([code, await read('gone.csv')]).toEqual([4, 'id,note,name\n4,x,new /4\n']);
  expect(stderr).toContain(
    '1 of 10 records is gone from the input: see gone.csv; 1 record of the input could not be read, and might be among those that seem gone\n',
  );
});
