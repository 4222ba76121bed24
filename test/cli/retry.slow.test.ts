import { appendFile, copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { answeringServer } from '../helpers/answering-server.ts';
import { idsTo } from '../helpers/asking.ts';
import { failingServer, twoPlaces } from '../helpers/retrying.ts';
import { shell } from '../helpers/shell.ts';

const csv = `id,note\n${idsTo(9)
  .map((id) => `${id},"note, ${id}"\n`)
  .join('')}`;
const objects = idsTo(9).map((id) => `{"id":${id},"big":12345678901234567890,"more":{"a":[${id}]}}`);
const inputs: Record<string, string> = {
  csv,
  tsv: csv.replaceAll(/^([^,]*),"?([^"\n]*)"?$/gm, '$1\t$2'),
  ndjson: `${objects.join('\n')}\n`,
  json: `[${objects.join(',')}]`,
};

const expanding = 'map: { name: name, v: "rows[].v" }';
const single = 'map: [name]';

/** Runs a flow with failing records, and once more in a different folder without failures, to compare the outputs. */
async function failedRun({
  failing = ['1', '2', '5', '9'],
  map = single,
  input = 'csv',
  out = 'out.csv',
  more = [] as string[],
  nodes = '',
} = {}) {
  const server = await failingServer();
  const flow = `nodes: [${nodes}{ type: http, url: "${server.origin}/{{id}}", retry: { max: 0 }, ${map} }]\n`;
  const { whole, place } = await twoPlaces({ 'flow.yaml': flow, [`rows.${input}`]: inputs[input] as string });
  const args = ['run', 'flow.yaml', '--in', `rows.${input}`, '--out', out, ...more];
  expect((await whole.automate(args)).code).toBe(0);
  for (const id of failing) server.failing.add(id);
  const run = await place.automate(args);
  expect(run.code).toBe(4);
  server.calls.length = 0;
  const retry = (...options: string[]) => place.automate(['retry', out, ...options]);
  return { server, whole, place, args, run, retry, flow };
}

describe('automate retry', () => {
  // Each format of input and output, with one row and with two for each record.
  test.each([
    ['csv', 'out.csv', single],
    ['csv', 'out.csv', expanding],
    ['csv', 'out.json', expanding],
    ['tsv', 'out.tsv', single],
    ['tsv', 'out.ndjson', expanding],
    ['json', 'out.json', single],
    ['json', 'out.csv.gz', expanding],
    ['ndjson', 'out.ndjson', single],
    ['ndjson', 'out.tsv', expanding],
    ['ndjson', 'out.json.gz', expanding],
    ['csv', 'out.json.gz', single],
    ['tsv', 'out.csv.gz', single],
  ])('inserts the failed rows of a %s input at their positions in %s: %s', async (input, out, map) => {
    const { server, whole, place, retry } = await failedRun({ input, out, map });
    server.failing.delete('1');
    server.failing.delete('5');
    expect((await retry()).code).toBe(4);
    expect(server.calls.toSorted()).toEqual(['1', '2', '5', '9']);
    server.failing.clear();
    expect(await retry()).toMatchObject({ code: 0, stdout: '' });
    expect(server.calls.slice(4).toSorted()).toEqual(['2', '9']);
    expect(await place.read(out)).toBe(await whole.read(out));
    expect(await place.files()).toEqual(await whole.files());
  });

  test('is suggested by a run with failed records, and by a retry in which some fail again', async () => {
    const { run, server, retry } = await failedRun();
    expect(run.stderr).toContain('\n  retry failed records:\n    automate retry out.csv\n');
    server.failing.delete('5');
    const { stderr } = await retry();
    expect(stderr).toContain('done: 9 read, 6 written, 3 failed (this part: 4 read, 1 written, 3 failed) in ');
    expect(stderr).toContain('\n  output: out.csv (6 records)\n  errors: out.errors.csv (3 records)\n');
    expect(stderr).toContain('\n  retry failed records:\n    automate retry out.csv\n');
    expect(stderr).toContain('records 1, 2, 9');
  });

  test('leaves records that fail again in the errors file, with their record numbers', async () => {
    const { place, retry, server } = await failedRun();
    server.failing.delete('2');
    expect((await retry('--quiet')).code).toBe(4);
    const errors = await place.read('out.errors.csv');
    expect(errors.match(/,\d+$/gm)).toEqual([',1', ',5', ',9']);
    expect(await place.read('out.csv')).toMatch(/^id,note,name\n2,"note, 2",name 2\n3,/);
  });

  test('leaves all files unchanged if every record fails again', async () => {
    const { place, retry } = await failedRun();
    const before = await place.read('out.csv');
    for (const _ of [1, 2]) expect((await retry()).code).toBe(4);
    expect(await place.read('out.csv')).toBe(before);
    expect((await place.read('out.errors.csv')).match(/,\d+$/gm)).toEqual([',1', ',2', ',5', ',9']);
  });

  test('sends records as edited, and gives up records that were removed from the errors file', async () => {
    const { place, retry, server } = await failedRun();
    const errors = await place.read('out.errors.csv');
    const mended = errors.replace('5,"note, 5"', '55,mended').replace(/^9,.*\n/m, '');
    await place.write('out.errors.csv', mended);
    server.failing.delete('1');
    expect((await retry()).code).toBe(4);
    server.failing.clear();
    expect((await retry()).code).toBe(0);
    expect((await place.read('out.csv')).match(/^\d+,[^,]*/gm)).toEqual([
      '1,"note',
      '2,"note',
      '3,"note',
      '4,"note',
      '55,mended',
      '6,"note',
      '7,"note',
      '8,"note',
    ]);
    expect((await place.files()).filter((name) => name.startsWith('out.'))).toEqual(['out.csv']);
  });

  test('deletes an errors file without records, and leaves the output unchanged', async () => {
    const { place, retry, server } = await failedRun();
    const before = await place.read('out.csv');
    await place.write('out.errors.csv', `${(await place.read('out.errors.csv')).split('\n')[0]}\n`);
    expect((await retry()).code).toBe(0);
    expect([await place.read('out.csv'), server.calls]).toEqual([before, []]);
    expect((await place.files()).filter((name) => name.startsWith('out.'))).toEqual(['out.csv']);
  });

  test('processes unreadable records once they are corrected', async () => {
    const { server, whole, place } = await failedRun();
    for (const [at, rows] of [
      [whole, csv],
      [place, csv.replace('4,"note, 4"', '4')],
    ] as const) {
      await at.write('rows.csv', rows);
      server.failing.clear();
      await at.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'read.csv']);
    }
    await place.write('read.errors.csv', (await place.read('read.errors.csv')).replace(/^4,,,input/m, '4,"note, 4",,'));
    expect((await place.automate(['retry', 'read.csv'])).code).toBe(0);
    expect(await place.read('read.csv')).toBe(await whole.read('read.csv'));
  });

  test('appends its rows to the output of a run with --unordered', async () => {
    const { server, place, retry } = await failedRun({ more: ['--unordered'] });
    const before = await place.read('out.csv');
    server.failing.delete('2');
    expect((await retry()).code).toBe(4);
    expect(await place.read('out.csv')).toBe(`${before}2,"note, 2",name 2\n`);
    server.failing.clear();
    expect((await retry()).code).toBe(0);
    expect((await place.read('out.csv')).split('\n').slice(1, -1).toSorted()).toEqual(
      idsTo(9).map((id) => `${id},"note, ${id}",name ${id}`),
    );
  });

  test("uses the original run's --set, --csv-safe and --rate", async () => {
    const { server, whole, place, retry } = await failedRun({
      more: ['--set', 'note==1+1', '--set', 'extra=x', '--csv-safe', '--rate', '100/s'],
    });
    server.failing.clear();
    expect((await retry()).code).toBe(0);
    expect(await place.read('out.csv')).toBe(await whole.read('out.csv'));
    expect(await place.read('out.csv')).toContain(`1,'=1+1,x,name 1\n`);
  });

  test.each([['--set'], ['--no-input']])('repeats the only record of a run that has no input (%s)', async (option) => {
    const { server, place } = await failedRun();
    const more = option === '--set' ? ['--in', 'rows.csv', '--set', 'id=77', '--limit', '1'] : ['--no-input', '--set', 'id=77'];
    server.failing.add('77');
    expect((await place.automate(['run', 'flow.yaml', ...more, '--out', 'one.ndjson'])).code).toBe(4);
    server.failing.clear();
    expect((await place.automate(['retry', 'one.ndjson'])).code).toBe(0);
    expect(await place.read('one.ndjson')).toContain('"name":"name 77"');
  });

  test('sends the failed records of a batch node in batches', async () => {
    const failing = new Set<string>();
    const server = await answeringServer(({ body }) => {
      const { ids } = JSON.parse(body) as { ids: string[] };
      return { body: { results: ids.filter((id) => !failing.has(id)).map((id) => ({ id, name: `name ${id}` })) } };
    });
    const batch = 'batch: { size: 4, items: "{{id}}", match: { field: id, path: "results[].id" } }, body: { ids: "{{items}}" }';
    const flow = `nodes: [{ type: http, method: POST, url: "${server.origin}", ${batch}, map: { name: "results[].name" } }]\n`;
    const { whole, place } = await twoPlaces({ 'flow.yaml': flow, 'rows.csv': csv });
    const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.json'];
    expect((await whole.automate(run)).code).toBe(0);
    for (const id of ['3', '4', '8']) failing.add(id);
    expect((await place.automate(run)).code).toBe(4);
    failing.clear();
    expect((await place.automate(['retry', 'out.json'])).code).toBe(0);
    expect(JSON.parse(server.requests.at(-1)?.body ?? '')).toEqual({ ids: ['3', '4', '8'] });
    expect(await place.read('out.json')).toBe(await whole.read('out.json'));
  });

  test('leaves a different output of the same input unchanged', async () => {
    const { server, place, retry } = await failedRun();
    expect((await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'other.csv'])).code).toBe(4);
    const other = await Promise.all(['other.csv', 'other.errors.csv', 'other.csv.automate'].map(place.read));
    server.failing.clear();
    expect((await retry()).code).toBe(0);
    expect(await Promise.all(['other.csv', 'other.errors.csv', 'other.csv.automate'].map(place.read))).toEqual(other);
  });
});

describe('automate retry with a changed flow', () => {
  test('reports the change and uses the new flow if the output columns are the same', async () => {
    const { place, retry, flow, server } = await failedRun();
    await place.write('flow.yaml', flow.replace('{{id}}', 'v2-{{id}}'));
    const { code, stderr } = await retry();
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('flow.yaml has changed since out.csv was written: the retry uses it as it is now\n'),
    ]);
    expect(server.calls.toSorted()).toEqual(['v2-1', 'v2-2', 'v2-5', 'v2-9']);
  });

  test.each([
    ['map: { title: name }', 'found them without "name" and with the new "title"'],
    ['map: { id: name }', 'found them without "name"'],
  ])('refuses a flow whose output has different columns: %s', async (map, found) => {
    const { place, retry, flow, server } = await failedRun();
    const before = await place.read('out.csv');
    await place.write('flow.yaml', flow.replace(single, map));
    const { code, stderr } = await retry();
    expect([code, stderr]).toEqual([3, expect.stringContaining(`the flow has changed: expected the columns of out.csv, ${found}`)]);
    expect(stderr).toContain('automate run flow.yaml --in out.errors.csv --out other.csv');
    expect([server.calls, await place.read('out.csv')]).toEqual([[], before]);
    expect((await place.files()).filter((name) => /part|run|lock/.test(name))).toEqual([]);
  });
});

/** Reverses the order of the rows in an errors file. */
function reversed(text: string): string {
  const [header, ...rows] = text.trimEnd().split('\n');
  return `${[header, ...rows.toReversed()].join('\n')}\n`;
}

describe('automate retry with an errors file that was saved in a spreadsheet program', () => {
  test.each([
    ['sorted by a different column', reversed],
    ['with semicolons', (text: string) => text.replaceAll(',', ';').replaceAll('note; ', 'note, ')],
    ['with tabs', (text: string) => text.replaceAll(',', '\t').replaceAll('note\t ', 'note, ')],
  ])('accepts the file if it is %s', async (_, change) => {
    const { server, whole, place, retry } = await failedRun();
    await place.write('out.errors.csv', change(await place.read('out.errors.csv')));
    server.failing.delete('1');
    server.failing.delete('9');
    expect((await retry()).code).toBe(4);
    expect((await place.read('out.errors.csv')).match(/^\d/gm)).toEqual(['2', '5']);
    server.failing.clear();
    expect(await retry()).toMatchObject({ code: 0 });
    expect(await place.read('out.csv')).toBe(await whole.read('out.csv'));
  });

  test('accepts rows in a different order, and can be resumed', async () => {
    const { server, whole, place, retry } = await failedRun();
    await place.write('out.errors.csv', reversed(await place.read('out.errors.csv')));
    server.failing.delete('1');
    server.failing.delete('2');
    expect((await retry('--max-errors', '0', '--concurrency', '1')).code).toBe(5);
    expect(server.calls).toEqual(['1', '2', '5']);
    server.failing.clear();
    expect((await retry('--resume')).code).toBe(4);
    expect(server.calls.slice(3)).toEqual(['9']);
    expect((await retry()).code).toBe(0);
    expect(await place.read('out.csv')).toBe(await whole.read('out.csv'));
  });
});

test('a retry counts records that were removed from the errors file as given up', async () => {
  const { server, place, retry } = await failedRun();
  const errors = await place.read('out.errors.csv');
  await place.write('out.errors.csv', errors.replace(/^2,.*\n/m, ''));
  server.failing.delete('1');
  const first = await retry('--summary', 'sum.json');
  expect(first.stderr).toContain('done: 9 read, 6 written, 2 failed (this part: 3 read, 1 written, 2 failed), 1 given up in ');
  expect(JSON.parse(await place.read('sum.json')).whole).toEqual({ read: 9, written: 6, failed: 2, filtered: 0, given_up: 1, credits: 3 });
  server.failing.clear();
  expect((await retry()).stderr).toContain('done: 9 read, 8 written, 0 failed (this part: 2 read, 2 written, 0 failed), 1 given up in ');
});

test("a retry keeps the original run's count of filtered records", async () => {
  const { server, retry } = await failedRun({ nodes: '{ type: filter, where: "id != \'3\'" }, ' });
  server.failing.clear();
  expect((await retry()).stderr).toMatch(/done: 9 read, 8 written, 0 failed \(this part: .*\), 1 filtered in /);
});

describe('automate retry, before it sends anything', () => {
  test.each([
    ['a changed row', (text: string) => text.replace('name 3', 'name X')],
    ['an additional row', (text: string) => `${text}10,x,y\n`],
    ['a missing row', (text: string) => text.slice(0, -5)],
  ])('refuses an output with %s', async (_, change) => {
    const { place, retry, server } = await failedRun();
    const changed = change(await place.read('out.csv'));
    await place.write('out.csv', changed);
    const { code, stderr } = await retry();
    expect([code, stderr]).toEqual([
      73,
      expect.stringMatching(/out\.csv .*it has been changed since\n {2}restore its content, or run the failed/),
    ]);
    expect([server.calls, await place.read('out.csv')]).toEqual([[], changed]);
  });

  test.each([
    [
      'an unknown record number',
      (text: string) => text.replace(/,5$/m, ',6'),
      ':4: expected the number of a failed record of out.csv in _error_record, found 6\n',
    ],
    [
      'no record number',
      (text: string) => text.replace(/,5$/m, ','),
      ':4: expected the number of a failed record of out.csv in _error_record, found none\n',
    ],
    ['a repeated record number', (text: string) => text.replace(/,5$/m, ',2'), ':4: record 2 appears a second time\n'],
    ['a repeated record number in a different row', (text: string) => text.replace(/,5$/m, ',1'), ':4: record 1 appears a second time\n'],
    ['a broken row', (text: string) => text.replace('5,"note, 5"', '5'), ':4: line 4: expected 8 cells, found 7'],
    [
      'a missing column',
      (text: string) => text.replace('note,_error', 'nite,_error'),
      ':1: expected the columns of the input, but "note" is missing',
    ],
    [
      'an additional column',
      (text: string) => text.replace(/$/gm, ',1').replace(/,1$/, ''),
      ':1: expected only the columns of the input, found "1" in addition',
    ],
    ['a name that no file has', undefined, ': expected a file, found none with this name'],
  ])('refuses an errors file with %s', async (_, change, message) => {
    const { place, retry, server } = await failedRun();
    const before = await place.read('out.csv');
    if (change) await place.write('out.errors.csv', change(await place.read('out.errors.csv')));
    else await rm(place.path('out.errors.csv'));
    const { code, stderr } = await retry();
    expect([code, stderr]).toEqual([6, expect.stringContaining(`out.errors.csv${message}`)]);
    expect([server.calls, await place.read('out.csv')]).toEqual([[], before]);
    expect((await place.files()).filter((name) => /part|run$|lock/.test(name))).toEqual([]);
  });

  test("refuses to write --summary to the run's input", async () => {
    const { retry, server, place } = await failedRun();
    const { code, stderr } = await retry('--summary', 'rows.csv');
    expect([code, stderr]).toEqual([2, expect.stringContaining('the input')]);
    expect([server.calls, await place.read('rows.csv')]).toEqual([[], csv]);
  });

  test.each([
    ['a pipe', 'mkfifo', 'not a file'],
    ['a symbolic link', 'ln -s rows.csv', 'a symbolic link'],
  ])('refuses %s in place of the list of failed records', async (_, make, found) => {
    const { retry, server, place } = await failedRun();
    await rm(place.path('out.csv.automate'));
    await shell(place, `${make} out.csv.automate`);
    const { code, stderr } = await retry();
    expect([code, stderr]).toEqual([
      73,
      expect.stringContaining(`out.csv.automate is ${found}, which is not allowed for the file about the output`),
    ]);
    expect(server.calls).toEqual([]);
  });

  test('requires a list of failed records, an output file and an errors file', async () => {
    const { place, retry, server, whole } = await failedRun();
    expect((await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'none.csv', '--errors', 'none'])).code).toBe(4);
    server.calls.length = 0;
    await rm(place.path('out.csv.automate'));
    const cases = [
      [await retry(), 'out.csv has no failed records to retry: there is no out.csv.automate', 'flow.yaml --in out.errors.csv'],
      [await whole.automate(['retry', 'out.csv']), 'out.csv has no failed records to retry', 'FLOW --in ERRORS'],
      [await place.automate(['retry', '-']), 'expected an output file, found stdout', 'FLOW --in ERRORS'],
    ] as const;
    for (const [{ code, stderr }, message, way] of cases) {
      expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
      expect(stderr).toContain(`automate run ${way} --out other.csv`);
    }
    expect(await place.automate(['retry', 'ou.csv'])).toMatchObject({
      code: 2,
      stderr: 'automate: ou.csv: there is no such file; did you mean "out.csv"?\n',
    });
    expect(server.calls).toEqual([]);
  });

  test('refuses an errors file, and prints the command for its output', async () => {
    const { place } = await failedRun();
    expect(await place.automate(['retry', 'out.errors.csv'])).toMatchObject({
      code: 2,
      stderr: 'automate: out.errors.csv is an errors file; give the output: automate retry out.csv\n',
    });
  });

  test('refuses a damaged list of failed records', async () => {
    const { place, retry } = await failedRun();
    await place.write('out.csv.automate', (await place.read('out.csv.automate')).slice(0, -4));
    expect(await retry()).toMatchObject({ code: 73, stderr: expect.stringContaining('out.csv.automate is damaged') });
  });

  test.each([
    [['--resume', '--force'], 2, '--resume continues a retry, --force starts it over: use only one of them'],
    [['--errors', 'none'], 2, '--errors: expected the file of the failed records, found none'],
    [['--concurrency', '0'], 2, 'expected a whole number of at least 1'],
  ])('refuses the options %j', async (options, code, message) => {
    const { retry, server } = await failedRun();
    expect(await retry(...options)).toMatchObject({ code, stderr: expect.stringContaining(message) });
    expect(server.calls).toEqual([]);
  });

  test('reserves the errors file for its output, even if a run for a different output uses --force', async () => {
    const { place, args } = await failedRun();
    const other = [...args.slice(0, -1), 'other.csv', '--errors', 'out.errors.csv', '--force'];
    expect(await place.automate(other)).toMatchObject({
      code: 73,
      stderr: expect.stringContaining('out.errors.csv is already the errors file of out.csv'),
    });
    await rm(place.path('out.csv'));
    expect((await place.automate(other)).code).toBe(4);
  });
});

test('a retry that was killed before it wrote a journal starts over with --resume', async () => {
  const { place, retry, server } = await failedRun();
  server.failing.clear();
  const { code, stderr } = await retry('--resume');
  expect([code, stderr]).toEqual([0, expect.stringContaining('done: 9 read, 9 written, 0 failed')]);
  expect(await place.files()).not.toContain('out.csv.automate');
  expect((await retry('--resume')).code).toBe(2);
});

describe('an interrupted retry', () => {
  /** Creates a retry that is interrupted because it has spent its credits. */
  async function unfinished() {
    const made = await failedRun();
    made.server.failing.clear();
    const { code, stderr } = await made.retry('--max-credits', '2', '--concurrency', '1');
    expect([code, stderr]).toEqual([5, expect.stringContaining('output: out.csv is unchanged: the retry is not complete')]);
    expect(stderr).toContain('automate retry out.csv --max-credits 2 --concurrency 1 --resume\n');
    return made;
  }

  test('can be resumed, and sends nothing twice', async () => {
    const { whole, place, retry, server } = await unfinished();
    const { code, stderr } = await retry('--resume');
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('done: 9 read, 9 written, 0 failed (this part: 2 read, 2 written, 0 failed) in '),
    ]);
    expect(server.calls.toSorted()).toEqual(['1', '2', '5', '9']);
    expect(await place.read('out.csv')).toBe(await whole.read('out.csv'));
    expect(await place.files()).toEqual(await whole.files());
  });

  test('goes on with the file of --errors that it began with', async () => {
    const { whole, place, retry, server } = await failedRun();
    server.failing.clear();
    await copyFile(place.path('out.errors.csv'), place.path('mended.csv'));
    expect((await retry('--errors', 'mended.csv', '--max-credits', '2', '--concurrency', '1')).code).toBe(5);
    expect((await retry('--resume')).code).toBe(0);
    expect(server.calls.toSorted()).toEqual(['1', '2', '5', '9']);
    expect(await place.read('out.csv')).toBe(await whole.read('out.csv'));
  });

  test('makes a run or a second retry fail, with a message that shows how to continue', async () => {
    const { place, retry, args, server } = await unfinished();
    for (const finished of [
      await retry(),
      await place.automate(args),
      await place.automate([...args, '--replace']),
      await place.automate([...args, '--resume']),
    ]) {
      expect(finished).toMatchObject({
        code: 73,
        stderr: expect.stringContaining('an earlier retry did not finish out.csv: 2 records are done'),
      });
      expect(finished.stderr).toContain('\n  resume it: automate retry out.csv --resume\n  start over: automate retry out.csv --force\n');
    }
    expect(server.calls).toHaveLength(2);
  });

  test('can be started over with --force', async () => {
    const { whole, place, retry, server } = await unfinished();
    expect((await retry('--force')).code).toBe(0);
    expect(server.calls).toHaveLength(6);
    expect(await place.read('out.csv')).toBe(await whole.read('out.csv'));
  });

  test('cannot be resumed once the errors file or the output has changed', async () => {
    const { place, retry } = await unfinished();
    await appendFile(place.path('out.errors.csv'), '\n');
    expect(await retry('--resume')).toMatchObject({ code: 73, stderr: expect.stringContaining('the size of the input') });
  });

  test('is discarded by `automate run --force`', async () => {
    const { whole, place, args } = await unfinished();
    expect((await place.automate([...args, '--force'])).code).toBe(0);
    expect(await place.read('out.csv')).toBe(await whole.read('out.csv'));
    expect(await place.files()).toEqual(await whole.files());
  });

  test('is not confused with an unfinished run in messages', async () => {
    const { place, args, retry } = await failedRun();
    await place.automate([...args, '--force', '--max-credits', '1']);
    expect(await retry()).toMatchObject({ code: 73, stderr: expect.stringContaining('an earlier run did not finish out.csv') });
  });
});

describe('the list of failed records', () => {
  test('is deleted by --force, and by --replace if no record failed', async () => {
    for (const option of ['--force', '--replace']) {
      const { place, args, server } = await failedRun();
      server.failing.clear();
      expect((await place.automate([...args, option])).code).toBe(0);
      expect((await place.files()).filter((name) => name.startsWith('out.'))).toEqual(['out.csv']);
    }
  });

  test('belongs to the new output after --replace', async () => {
    const { whole, place, args, server, retry } = await failedRun();
    for (const id of ['1', '2', '5', '9']) server.failing.delete(id);
    server.failing.add('4');
    expect((await place.automate([...args, '--replace'])).code).toBe(4);
    server.failing.clear();
    expect((await retry()).code).toBe(0);
    expect(await place.read('out.csv')).toBe(await whole.read('out.csv'));
  });

  test('is not written if it would contain a secret from --set', async () => {
    const { place } = await failedRun();
    const env = { AUTOMATE_CREDENTIAL_KEY: 'canary-7f3a-long' };
    await place.write('flow.yaml', (await place.read('flow.yaml')).replace('retry:', 'auth: { type: bearer, credential: key }, retry:'));
    const args = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'set.csv', '--set', 'note=canary-7f3a-long'];
    expect((await place.automate(args, { env })).code).toBe(4);
    expect(await place.files()).not.toContain('set.csv.automate');
    for (const name of (await place.files()).filter((name) => name.startsWith('set.')))
      expect(await readFile(place.path(name), 'utf8')).not.toContain('canary');
  });
});

test('a retry with --errors reads the specified file, and leaves failed records in it', async () => {
  const { place, retry, server } = await failedRun();
  await writeFile(place.path('mine.csv'), (await place.read('out.errors.csv')).replace(/^1,.*\n/m, ''));
  server.failing.delete('2');
  expect((await retry('--errors', 'mine.csv')).code).toBe(4);
  expect((await place.read('mine.csv')).match(/,\d+$/gm)).toEqual([',5', ',9']);
  server.failing.clear();
  expect((await retry()).code).toBe(0);
  expect(await place.files()).not.toContain('mine.csv');
});
