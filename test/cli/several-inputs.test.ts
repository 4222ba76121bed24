import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { Item } from '../../src/core/item.ts';
import { openInput } from '../../src/records/inputs.ts';
import type { RecordSource } from '../../src/records/source.ts';
import { workplace } from '../helpers/cli.ts';

const flow = 'nodes: [{ type: set, fields: { b: "{{a}}" } }]\n';
const one = 'a,n\n1,x\n2,y\n';
/** A second file with the same columns in a different order, and with a row that cannot be read. */
const two = 'n,a\nz,3\nbad\nw,4\n';
const files = { 'flow.yaml': flow, '1.csv': one, '2.csv': two };
const run = ['run', 'flow.yaml', '--in', '1.csv', '--in', '2.csv'];

const numbersOf = (items: readonly Item[]) => items.map(({ number }) => number);

async function itemsOf(source: RecordSource): Promise<Item[]> {
  const items: Item[] = [];
  for await (const some of source.read()) items.push(...some);
  await source.close();
  return items;
}

describe('several input files', () => {
  test.each([[[]], [['--workers', '2']]])('are read as one input, whose record numbers continue in the next file: %j', async (more) => {
    const place = await workplace(files);
    const { code, stderr } = await place.automate([...run, '--out', 'out.csv', ...more]);
    expect(code).toBe(4);
    expect(await place.read('out.csv')).toBe('a,n,b\n1,x,1\n2,y,2\n3,z,3\n4,w,4\n');
    expect(stderr).toContain('record 4  2.csv: line 3: expected 2 cells, found 1');
    expect(await place.read('out.errors.csv')).toContain(',bad,,input,,"2.csv: line 3: expected 2 cells, found 1",0,4\n');
  });

  test.each([
    ['can be a mixture of gzipped and plain files', ['1.csv', '2.csv.gz'], [], '1,x,1\n2,y,2\n3,z,3\n'],
    [
      'are counted together for --skip and --limit',
      ['1.csv', '2.csv.gz', '3.csv'],
      ['--skip', '1', '--limit', '3'],
      '2,y,2\n3,z,3\n5,v,5\n',
    ],
  ])('%s', async (_, inputs, more, rows) => {
    const place = await workplace({ ...files, '2.csv.gz': gzipSync('a,n\n3,z\n'), '3.csv': 'a,n\n5,v\n6,u\n' });
    const { code, stdout } = await place.automate(['run', 'flow.yaml', ...inputs.flatMap((name) => ['-i', name]), ...more]);
    expect([code, stdout]).toEqual([0, `a,n,b\n${rows}`]);
  });

  test('can be JSON files with --records, or NDJSON files with different fields', async () => {
    const place = await workplace({
      'flow.yaml': flow,
      '1.json': '{"data":[{"a":1}],"n":1}',
      '2.json': '{"data":[]}',
      '3.json': '{"n":2,"data":[{"a":2}]}',
      '1.ndjson': '{"a":1}\n',
      '2.jsonl': '{"a":2,"c":3}\nbroken\n',
    });
    const wrapped = ['--in', '1.json', '--in', '2.json', '--in', '3.json', '--records', 'data'];
    expect((await place.automate(['run', 'flow.yaml', ...wrapped])).stdout).toBe('[\n{"a":1,"b":1},\n{"a":2,"b":2}\n]\n');
    const lines = await place.automate(['run', 'flow.yaml', '--in', '1.ndjson', '--in', '2.jsonl']);
    expect([lines.code, lines.stdout]).toEqual([4, '{"a":1,"b":1}\n{"a":2,"c":3,"b":2}\n']);
    expect(lines.stderr).toContain('record 3  2.jsonl: line 2: not a JSON object');
  });

  test.each([
    ['a column is missing', ['3.csv'], 6, '3.csv:1: expected the columns of 1.csv, found no column "n"\n'],
    ['a column has a different name', ['4.csv'], 6, '4.csv:1: expected the columns of 1.csv, found no column "n", and "m" in addition\n'],
    ['a file has a different format', ['5.ndjson'], 2, 'expected inputs of one format: 1.csv is csv, and 5.ndjson is ndjson\n'],
    ['a file is missing', ['no.csv'], 6, 'no.csv: expected a file, found none with this name\n'],
    ['a file is given twice', ['1.csv'], 2, 'the input 1.csv is given twice\n'],
    ['stdin is not the only input', ['-'], 2, 'expected - (stdin) or files, found both\n'],
  ])('are refused before anything is written if %s', async (_, more, code, message) => {
    const place = await workplace({ ...files, '3.csv': 'a\n1\n', '4.csv': 'm,a\n1,2\n', '5.ndjson': '{"a":1}\n' });
    const args = ['run', 'flow.yaml', '--in', '1.csv', ...more.flatMap((name) => ['--in', name]), '--out', 'out.csv'];
    const finished = await place.automate(args);
    expect(finished).toMatchObject({ code, stderr: expect.stringContaining(message) });
    expect((await place.files()).filter((name) => name.startsWith('out'))).toEqual([]);
  });

  test('cannot be combined with stdin, and cannot include the output', async () => {
    const place = await workplace(files);
    expect(await place.automate(['run', 'flow.yaml', '--in', '-', '--in', '1.csv'])).toMatchObject({ code: 2 });
    const { code, stderr } = await place.automate([...run, '--out', '2.csv', '--force']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('the output 2.csv is the input')]);
    expect(await place.read('2.csv')).toBe(two);
  });

  test('require --in before each file, and the message says so', async () => {
    const place = await workplace(files);
    const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', '1.csv', '2.csv']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('write --in before each input file')]);
  });

  test('are all read by a dry run, validate and test-request', async () => {
    const place = await workplace({ ...files, 'ask.yaml': 'nodes: [{ type: http, url: "https://example.com/{{a}}" }]\n' });
    expect((await place.automate([...run, '--dry-run'])).stdout).toContain('records:   5 (1 would fail before anything is sent');
    const valid = await place.automate(['validate', 'flow.yaml', '--in', '1.csv', '--in', '2.csv']);
    expect([valid.code, valid.stdout]).toEqual([0, expect.stringContaining('every referenced field is in 1.csv, 2.csv')]);
    const other = await place.automate(['validate', 'flow.yaml', '--in', '1.csv', '--in', '3.csv']);
    expect(other.code).toBe(6);
    const test = (record: string) =>
      place.automate(['test-request', 'ask.yaml', '--in', '1.csv', '--in', '2.csv', '--record', record, '--no-send']);
    expect((await test('5')).stdout).toContain('https://example.com/4');
    expect(await test('4')).toMatchObject({ code: 6, stderr: expect.stringContaining('2.csv: line 3: expected 2 cells, found 1') });
    expect(await test('6')).toMatchObject({ code: 6, stderr: expect.stringContaining('1.csv, 2.csv has no record 6') });
  });

  test('are listed in the summary and in the command that resumes the run', async () => {
    const place = await workplace({ ...files, 'flow.yaml': flow.replace('"{{a}}"', '{ cel: "int(n)" }') });
    const { code, stderr } = await place.automate([...run, '--out', 'out.csv', '--summary', 's.json', '--max-errors', '0']);
    expect([code, stderr]).toEqual([5, expect.stringContaining('automate run flow.yaml --in 1.csv --in 2.csv --out out.csv')]);
    expect(JSON.parse(await place.read('s.json'))).toMatchObject({ input: '1.csv, 2.csv' });
  });

  test('can be retried, and a corrected row is inserted at its position', async () => {
    const place = await workplace(files);
    await place.automate([...run, '--out', 'out.csv']);
    const errors = await place.read('out.errors.csv');
    await place.write('out.errors.csv', errors.replace(/,bad,.*/, '9,good,,,,,,4'));
    const { code } = await place.automate(['retry', 'out.csv']);
    expect([code, await place.read('out.csv')]).toEqual([0, 'a,n,b\n1,x,1\n2,y,2\n3,z,3\n9,good,9\n4,w,4\n']);
    expect(await place.automate(['retry', 'out.csv', '--events', '2.csv'])).toMatchObject({ code: 2 });
    expect(await place.read('2.csv')).toBe(two);
  });

  test('cannot be resumed if one of the files has changed', async () => {
    const place = await workplace({ ...files, 'flow.yaml': flow.replace('"{{a}}"', '{ cel: "int(n)" }') });
    const args = [...run, '--out', 'out.csv'];
    expect((await place.automate([...args, '--max-errors', '0'])).code).toBe(5);
    await place.write('2.csv', `${two}v,5\n`);
    const changed = await place.automate([...args, '--resume']);
    expect(changed).toMatchObject({ code: 73, stderr: expect.stringContaining('the size of 2.csv was 16 bytes, is 20 bytes') });
    expect(changed.stderr).toContain('the content of 2.csv has changed');
    expect(changed.stderr).not.toContain('of 1.csv');
    const swapped = await place.automate(['run', 'flow.yaml', '--in', '2.csv', '--in', '1.csv', '--out', 'out.csv', '--resume']);
    expect(swapped.stderr).toMatch(/ input was .*1\.csv, is .*2\.csv\n[\s\S]*input 2 was .*2\.csv, is .*1\.csv/);
    const fewer = await place.automate(['run', 'flow.yaml', '--in', '1.csv', '--out', 'out.csv', '--resume']);
    expect(fewer).toMatchObject({ code: 73, stderr: expect.stringContaining('2.csv, is nothing') });
  });
});

test.each([
  ['csv', {}, one, 'a,n\n', 'n,a\nz,3\n\nw,4'],
  ['csv.gz', {}, gzipSync(one), gzipSync('a,n\n'), gzipSync('a,n\n3,z\n4,w\n')],
  ['json', { records: 'l' }, '{"l":[{"a":1},{"a":2}]}', '{"l":[]}', '{"l":[{"a":3},{"a":4}],"n":0}'],
  ['ndjson', {}, '{"a":1}\n{"a":2}\n', '', '{"a":3}\n{"a":4}'],
])('several input files of type %s can be read from any record onwards', async (ending, more, ...contents) => {
  const names = contents.map((_, index) => `${index}.${ending}`);
  const place = await workplace(Object.fromEntries(names.map((name, index) => [name, contents[index] as string])));
  const [first = '', ...others] = names.map((name) => place.path(name));
  const options = { in: first, moreIn: others, ...more };
  const all = await itemsOf(await openInput(options));
  expect(numbersOf(all)).toEqual([1, 2, 3, 4]);
  expect(all.map(({ end }) => end.file)).toEqual([0, 0, 2, 2]);
  for (const { number, end } of all) {
    const source = await openInput(options, { ...end, records: number });
    expect(source.columns).toEqual(ending.startsWith('csv') ? ['a', 'n'] : ['a']);
    expect(await itemsOf(source)).toEqual(all.slice(number));
  }
});

test('progress is measured in the bytes of all input files together', async () => {
  const place = await workplace({ '1.csv': one, '2.csv': 'a,n\n3,z\n' });
  const options = { in: place.path('1.csv'), moreIn: [place.path('2.csv')] };
  const source = await openInput(options);
  expect(source.totalBytes).toBe(20);
  await itemsOf(source);
  expect(source.readBytes()).toBe(20);
  const resumed = await openInput(options, { offset: 4, line: 1, records: 2, file: 1 });
  expect([resumed.earlierBytes?.(), numbersOf(await itemsOf(resumed))]).toEqual([12, [3]]);
});
