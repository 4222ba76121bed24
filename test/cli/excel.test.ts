import { readFile } from 'node:fs/promises';
import { readXlsx } from 'hucre/xlsx';
import { describe, expect, test } from 'vitest';
import { answeringServer } from '../helpers/answering-server.ts';
import { askedServer, askingFlow, idsTo } from '../helpers/asking.ts';
import { type Workplace, workplace } from '../helpers/cli.ts';
import { shell } from '../helpers/shell.ts';
import { textBook, workbook } from '../helpers/workbook.ts';

const setFlow = 'nodes: [{ type: set, fields: { full: "{{name}} ({{id}})" } }]\n';

/** Reads the rows of a workbook's sheet, with a different library than the program. */
async function rowsIn(place: Workplace, name: string, sheet = 0): Promise<unknown[][]> {
  return (await readXlsx(await readFile(place.path(name)))).sheets[sheet]?.rows ?? [];
}

async function people(more: Record<string, string | Buffer> = {}): Promise<Workplace> {
  const book = await textBook([['id', 'name'], ['007', 'Ada'], ['8', 'Eve & <Co>'], [], ['9', '=1+1']]);
  return workplace({ 'flow.yaml': setFlow, 'rows.xlsx': book, ...more });
}

describe('a workbook as input', () => {
  test('can be converted to CSV, to a different workbook, or to CSV on stdout', async () => {
    const place = await people();
    const csv = 'id,name,full\n007,Ada,Ada (007)\n8,Eve & <Co>,Eve & <Co> (8)\n9,=1+1,=1+1 (9)\n';
    expect((await place.automate(['run', 'flow.yaml', '--in', 'rows.xlsx'])).stdout).toBe(csv);
    expect((await place.automate(['run', 'flow.yaml', '--in', 'rows.xlsx', '--out', 'out.csv'])).code).toBe(0);
    expect(await place.read('out.csv')).toBe(csv);
    expect((await place.automate(['run', 'flow.yaml', '--in', 'rows.xlsx', '--out', 'out.xlsx'])).code).toBe(0);
    expect(await rowsIn(place, 'out.xlsx')).toEqual([
      ['id', 'name', 'full'],
      ['007', 'Ada', 'Ada (007)'],
      ['8', 'Eve & <Co>', 'Eve & <Co> (8)'],
      ['9', '=1+1', '=1+1 (9)'],
    ]);
    const again = await place.automate(['run', 'flow.yaml', '--in', 'out.xlsx', '--set', 'name=x']);
    expect(again.stdout).toContain('007,x,x (007)\n');
  });

  test('can come from stdin, and the summary calls it a workbook', async () => {
    const place = await people();
    const stdin = await readFile(place.path('rows.xlsx'));
    const { stdout, stderr } = await place.start(['run', 'flow.yaml', '--limit', '1'], { stdin }).finished;
    expect([stdout, stderr]).toEqual(['id,name,full\n007,Ada,Ada (007)\n', expect.stringContaining('reading stdin as xlsx')]);
  });

  test('can be read by validate, test-request and --dry-run', async () => {
    const place = await people({ 'wrong.yaml': 'nodes: [{ type: set, fields: { a: "{{nmae}}" } }]\n' });
    const wrong = await place.automate(['validate', 'wrong.yaml', '--in', 'rows.xlsx']);
    expect([wrong.code, wrong.stderr]).toEqual([3, expect.stringContaining('did you mean "name"?')]);
    expect((await place.automate(['run', 'flow.yaml', '--in', 'rows.xlsx', '--dry-run'])).code).toBe(0);
    const missing = await place.automate(['run', 'flow.yaml', '--in', 'rows.xlsx', '--sheet', 'Other', '--out', 'out.csv']);
    expect([missing.code, missing.stderr]).toEqual([2, 'automate: --sheet: expected a sheet of rows.xlsx, found "Other"; it has "Rows"\n']);
    expect(await place.files()).toEqual(['flow.yaml', 'rows.xlsx', 'wrong.yaml']);
  });

  test('has a CSV errors file, and retry inserts the failed records at their original positions', async () => {
    const failing = new Set(['/7', '/14']);
    const server = await answeringServer(({ path }) => (failing.has(path) ? { status: 404 } : { body: { name: `name ${path.slice(1)}` } }));
    const place = await workplace({
      'flow.yaml': askingFlow(server.origin),
      'rows.xlsx': await textBook([['id'], ...idsTo(15).map((id) => [String(id)])]),
    });
    const run = await place.automate(['run', 'flow.yaml', '--in', 'rows.xlsx', '--out', 'out.csv']);
    expect([run.code, run.stderr]).toEqual([4, expect.stringContaining('automate retry out.csv\n')]);
    expect(await place.read('out.errors.csv')).toMatch(/^id,_error_node.*\n7,ask,http,404,.*,7\n14,ask,http,404,.*,14\n$/);
    failing.clear();
    expect((await place.automate(['retry', 'out.csv'])).code).toBe(0);
    expect(await place.read('out.csv')).toBe(
      `id,name\n${idsTo(15)
        .map((id) => `${id},name ${id}\n`)
        .join('')}`,
    );
  });

  test('does not allow a workbook as the errors file', async () => {
    const place = await people();
    const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.xlsx', '--out', 'o.csv', '--errors', 'e.xlsx']);
    expect([code, stderr]).toEqual([2, 'automate: --errors: expected a file to which rows can be added, such as .csv, found e.xlsx\n']);
  });
});

describe('a workbook as output', () => {
  test('keeps the types of values in each column, and can contain any text', async () => {
    const texts = [
      'plain',
      ' spaces  ',
      'two\nlines',
      'a\r\nb',
      '_x0041_',
      'tab\tand \u0001 control',
      'ä😀 & <b>"\'',
      '12345678901234567890',
    ];
    const typed = [1, 0.1, -2.5, true, false, null, { a: [1] }, '42', 1234567890123456];
    const records = [...texts, ...typed].map((v, id) => JSON.stringify({ id, v, yes: id % 2 === 0 }));
    const place = await workplace({
      'flow.yaml': 'nodes: [{ type: set, fields: { same: "{{v}}" } }]\n',
      'in.ndjson': `${records.join('\n')}\n`,
    });
    expect((await place.automate(['run', 'flow.yaml', '--in', 'in.ndjson', '--out', 'out.xlsx'])).code).toBe(0);
    const rows = await rowsIn(place, 'out.xlsx');
    const values = rows.slice(1).map(([, value]) => value ?? null);
    const asText = ['1', '0.1', '-2.5', 'true', 'false', '{"a":[1]}', '42', '1234567890123456'];
    expect(values).toEqual([...texts, ...asText.slice(0, 5), null, ...asText.slice(5)]);
    expect(rows.slice(1, 3).map(([id, , yes]) => [id, yes])).toEqual([
      [0, true],
      [1, false],
    ]);
    const back = await place.automate(['run', 'flow.yaml', '--in', 'out.xlsx', '--out', '-', '--out-format', 'ndjson']);
    const read = back.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).v);
    expect(read).toEqual([...texts, ...asText.slice(0, 5), '', ...asText.slice(5)]);
  });

  const odd = ['01067', '007', '+49', '1e5', '123456789012', '1.', '.5', '-0', '2026-11-25', 'true', '0.30000000000000004', '-', ' 1', 'x'];

  test.each([
    ['one process', []],
    ['two processes', ['--workers', '2']],
    ['an output in any order', ['--unordered']],
  ])('has columns of numbers or of text, never of both (%s)', async (_, args) => {
    const plain = ['1', '-2.5', '0', '', '10115', '1.50', '52.520006599999', '12345678901'];
    const lines = plain.map((number) => [number, ...odd.map(() => number)].join(','));
    const input = [['n', ...odd.map((_, at) => `c${at}`)].join(','), ...lines, ['7', ...odd].join(',')].join('\n');
    const place = await workplace({ 'flow.yaml': 'nodes: [{ type: set, fields: { two: { cel: 1 + 1 } } }]\n', 'in.csv': `${input}\n` });
    const { code } = await place.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.xlsx', ...args]);
    const [, ...rows] = await rowsIn(place, 'out.xlsx');
    const text = (value: string) => (value === '' ? null : value);
    const expected = [...plain.map((number) => [number === '' ? null : Number(number), ...odd.map(() => text(number)), 2]), [7, ...odd, 2]];
    const byText = (one: unknown[], other: unknown[]) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1);
    expect([code, rows.toSorted(byText)]).toEqual([0, expected.toSorted(byText)]);
  });

  test('contains only text with --out-types text, and the command for the failed records keeps the option', async () => {
    const { place, run } = await asked();
    const { code, stderr } = await run('--force', '--out-types', 'text');
    expect(code).toBe(4);
    expect((await rowsIn(place, 'out.xlsx')).slice(1, 3)).toEqual([
      ['1', 'name 1'],
      ['2', 'name 2'],
    ]);
    const again = 'run flow.yaml --out-types text --in out.errors.csv --out out.retry.xlsx --errors out.errors.retry.csv';
    expect(stderr).toContain(`automate ${again}\n`);
    expect((await place.automate(again.split(' '))).code).toBe(4);
    const limited = await run('--force', '--out-types', 'text', '--max-credits', '10');
    expect(limited.stderr).toMatch(/automate run flow.yaml .*--out-types text .*--skip 10 --out out\.rest\.xlsx/);
  });

  test('is needed for --out-types, and the only value of that option is text', async () => {
    const { place, run } = await asked();
    const csv = await place.automate(['run', 'flow.yaml', '--in', 'rows.xlsx', '--out', 'new.csv', '--out-types', 'text']);
    expect([csv.code, csv.stderr]).toEqual([2, 'automate: --out-types: expected an Excel workbook (.xlsx) as the output, found csv\n']);
    const other = await run('--force', '--out-types', 'numbers');
    expect([other.code, other.stderr]).toEqual([2, expect.stringContaining(`expected text, found "numbers"`)]);
    expect(await place.files()).toEqual(['flow.yaml', 'out.errors.csv', 'out.xlsx', 'rows.xlsx']);
    expect(await place.read('out.xlsx')).toBe('old output');
  });

  test('contains only the header if there are no records', async () => {
    const place = await people();
    expect((await place.automate(['run', 'flow.yaml', '--in', 'rows.xlsx', '--limit', '0', '--out', 'out.xlsx'])).code).toBe(0);
    expect(await rowsIn(place, 'out.xlsx')).toEqual([['id', 'name', 'full']]);
    expect((await shell(place, 'automate run flow.yaml --in rows.xlsx --out-format xlsx > piped.xlsx')).code).toBe(0);
    expect(await rowsIn(place, 'piped.xlsx')).toHaveLength(4);
  });

  test('fails a record whose text is too long for a cell', async () => {
    const place = await workplace({ 'flow.yaml': setFlow, 'in.csv': `id,name\n1,${'x'.repeat(32_700)}\n2,${'x'.repeat(40_000)}\n` });
    const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.xlsx']);
    expect([code, stderr]).toEqual([4, expect.stringContaining('has 40,000 characters, but an Excel cell can contain at most 32,767')]);
    expect(await rowsIn(place, 'out.xlsx')).toHaveLength(2);
    expect(await place.read('out.errors.csv')).toContain('2,xxx');
  });

  test('cannot be resumed or retried, and the message says what to do instead', async () => {
    const place = await people();
    const resume = await place.automate(['run', 'flow.yaml', '--in', 'rows.xlsx', '--out', 'out.xlsx', '--resume']);
    expect([resume.code, resume.stderr]).toEqual([
      2,
      'automate: --resume needs an output to which rows can be added: the workbook out.xlsx is written all at once, at the end of a run\n  for a long run write CSV: --out FILE.csv\n',
    ]);
    await place.write('out.errors.csv', 'id\n');
    const retry = await place.automate(['retry', 'out.xlsx']);
    expect([retry.code, retry.stderr]).toEqual([
      2,
      'automate: rows cannot be inserted into the workbook out.xlsx\n  run the failed records into another file: automate run flow.yaml --in out.errors.csv --out other.csv\n',
    ]);
  });
});

/** Creates a flow in which every seventh record fails, and an output that was written the day before. */
async function asked(more = '') {
  const server = await askedServer(0);
  const rows = [['id'], ...idsTo(15).map((id) => [String(id)])];
  const place = await workplace({
    'flow.yaml': askingFlow(server.origin, more),
    'rows.xlsx': await textBook(rows),
    'out.xlsx': 'old output',
    'out.errors.csv': 'old errors\n',
  });
  return {
    place,
    server,
    run: (...args: string[]) => place.automate(['run', 'flow.yaml', '--in', 'rows.xlsx', '--out', 'out.xlsx', ...args]),
  };
}

describe('an existing workbook', () => {
  test('is overwritten only with --force', async () => {
    const { place, run } = await asked();
    const { code, stderr } = await run();
    expect([code, stderr]).toEqual([73, expect.stringContaining('out.xlsx exists already')]);
    const forced = await run('--force');
    expect(forced.code).toBe(4);
    expect(forced.stderr).toContain('automate run flow.yaml --in out.errors.csv --out out.retry.xlsx --errors out.errors.retry.csv');
    expect(await rowsIn(place, 'out.xlsx')).toHaveLength(14);
    expect(await place.files()).toEqual(['flow.yaml', 'out.errors.csv', 'out.xlsx', 'rows.xlsx']);
  });

  test('is replaced together with its errors file by --replace once the run is complete', async () => {
    const { place, run } = await asked();
    expect((await run('--replace')).code).toBe(4);
    expect(await rowsIn(place, 'out.xlsx')).toHaveLength(14);
    expect(await place.read('out.errors.csv')).toMatch(/^id,_error_node.*\n7,/);
    expect((await run('--replace', '--skip', '7', '--limit', '5')).code).toBe(0);
    expect(await rowsIn(place, 'out.xlsx')).toHaveLength(6);
    expect(await place.files()).toEqual(['flow.yaml', 'out.xlsx', 'rows.xlsx']);
  });

  test('is kept after an incomplete run, whose rows go to a separate file', async () => {
    const { place, run } = await asked();
    const { code, stderr } = await run('--replace', '--max-credits', '10');
    expect(code).toBe(5);
    expect(stderr).toContain('output: out.xlsx is unchanged: the run is not complete; its results so far are in out.unfinished.xlsx\n');
    expect([await place.read('out.xlsx'), await place.read('out.errors.csv')]).toEqual(['old output', 'old errors\n']);
    expect(await rowsIn(place, 'out.unfinished.xlsx')).toHaveLength(10);
    expect(await place.read('out.errors.unfinished.csv')).toMatch(/\n7,ask,http,404/);
    expect((await place.files()).filter((name) => name.includes('automate'))).toEqual([]);
  });

  test('is kept if every record fails', async () => {
    const { place, run } = await asked();
    const { code, stderr } = await run('--replace', '--skip', '6', '--limit', '1');
    expect([code, stderr]).toEqual([4, expect.stringContaining('out.xlsx is unchanged: no record was written')]);
    expect(await place.files()).toEqual(['flow.yaml', 'out.errors.csv', 'out.xlsx', 'rows.xlsx']);
  });
});

test('a run that stops early while it writes a workbook saves the finished records', async () => {
  const { place, run } = await asked();
  const { code, stderr } = await run('--force', '--max-credits', '10');
  expect(code).toBe(5);
  const rest = 'run flow.yaml --in rows.xlsx --max-credits 10 --skip 10 --out out.rest.xlsx --errors out.errors.rest.csv';
  expect(stderr).toContain(`automate ${rest}\n`);
  const { code: second } = await place.automate(rest.split(' '));
  expect([second, await rowsIn(place, 'out.rest.xlsx')]).toEqual([4, expect.arrayContaining([[15, 'name 15']])]);
  expect(await rowsIn(place, 'out.xlsx')).toHaveLength(10);
});

test('a run that spends credits warns that its workbook is lost if the process is killed', async () => {
  const { place, run } = await asked(', credits: 2');
  const warning =
    'warning: out.xlsx is written all at once, when the run ends: if the process is killed, its rows are lost; for a long run write CSV\n';
  for (const args of [['--force'], ['--force', '--dry-run']]) expect((await run(...args)).stderr).toContain(warning);
  expect((await run('--force', '--quiet')).stderr).not.toContain(warning);
  const free = await asked();
  expect((await free.run('--force')).stderr).not.toContain('warning');
  expect(await place.files()).toContain('out.xlsx');
});

test('a run writes the records that come before the damage in a damaged workbook', async () => {
  const { place, run } = await asked();
  const rows = '<row r="1"><c t="str"><v>id</v></c></row><row r="2"><c><v>1</v></c></row><row r="3"><c></row>';
  await place.write('rows.xlsx', await workbook({ sheets: { Rows: rows } }));
  const { code, stderr } = await run('--force');
  expect([code, stderr]).toEqual([6, expect.stringContaining('rows.xlsx: sheet "Rows", row 3, column A: expected an Excel workbook')]);
  expect(stderr).toContain(
    'the 1 record before that went to out.xlsx; once the input is corrected, run the rest with --skip 1, and another --out',
  );
  expect(await rowsIn(place, 'out.xlsx')).toEqual([
    ['id', 'name'],
    [1, 'name 1'],
  ]);
});
