import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { answeringServer } from '../helpers/answering-server.ts';
import { askingFlow } from '../helpers/asking.ts';
import { workplace } from '../helpers/cli.ts';

// CSV files in the forms in which spreadsheets, databases and people write them.

const noting = 'nodes: [{ type: set, fields: { note: x } }]\n';
const copying = 'nodes: [{ type: set, fields: { note: "{{id}};{{name}}" } }]\n';

describe('--out-delimiter and --out-bom', () => {
  const styled = ['--out-delimiter', ';', '--out-bom'];

  test('shape the output and the errors file, and retry reads and completes both', async () => {
    const failing = new Set(['/2']);
    const server = await answeringServer(({ path }) => (failing.has(path) ? { status: 404 } : { body: { name: `n;${path.slice(1)}` } }));
    const place = await workplace({ 'flow.yaml': askingFlow(server.origin), 'rows.csv': 'id,"a,b"\n1,x\n2,y\n3,z\n' });
    const run = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', ...styled]);
    expect([run.code, await place.read('out.csv')]).toEqual([4, '\ufeffid;a,b;name\n1;x;"n;1"\n3;z;"n;3"\n']);
    expect(await place.read('out.errors.csv')).toMatch(/^\ufeffid;a,b;_error_node;.*\n2;y;ask;http;404;.*;2\n$/);
    failing.clear();
    expect((await place.automate(['retry', 'out.csv'])).code).toBe(0);
    expect(await place.read('out.csv')).toBe('\ufeffid;a,b;name\n1;x;"n;1"\n2;y;"n;2"\n3;z;"n;3"\n');
  });

  test('hold for rows of worker processes, for stdout and for a tab', async () => {
    const place = await workplace({ 'flow.yaml': copying, 'rows.csv': 'id,name\n1,Ada\n' });
    const run = ['run', 'flow.yaml', '--in', 'rows.csv'];
    expect((await place.automate([...run, '--out', 'out.csv', '--workers', '1', ...styled])).code).toBe(0);
    expect(await place.read('out.csv')).toBe('\ufeffid;name;note\n1;Ada;"1;Ada"\n');
    expect((await place.automate([...run, '--out-delimiter', 'tab'])).stdout).toBe('id\tname\tnote\n1\tAda\t1;Ada\n');
  });

  test('are kept by --update, which reuses the rows, and refused if they differ', async () => {
    const server = await answeringServer(({ path }) => ({ body: { name: `name ${path.slice(1)}` } }));
    const place = await workplace({ 'flow.yaml': askingFlow(server.origin), 'rows.csv': 'id,x\n1,a\n2,b\n' });
    const update = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--update'];
    await place.automate([...update, ...styled]);
    await place.write('rows.csv', 'id,x\n1,changed\n2,b\n3,c\n');
    const again = await place.automate([...update, ...styled]);
    expect([again.code, await place.read('out.csv'), server.requests.length]).toEqual([
      0,
      '\ufeffid;x;name\n1;changed;name 1\n2;b;name 2\n3;c;name 3\n',
      3,
    ]);
    const other = await place.automate([...update, '--out-delimiter', ';']);
    expect([other.code, other.stderr]).toEqual([73, expect.stringContaining('the format of the output has changed')]);
  });

  test('are kept by --resume, which is refused with another delimiter', async () => {
    const server = await answeringServer(({ path }) => ({ body: { name: path } }));
    const place = await workplace({ 'flow.yaml': askingFlow(server.origin, ', credits: 1'), 'rows.csv': 'id,x\n1,a\n2,b\n' });
    const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'];
    expect((await place.automate([...run, ...styled, '--max-credits', '1'])).code).toBe(5);
    const resumed = [...run, ...styled, '--resume'];
    const other = await place.automate([...run, '--resume']);
    expect([other.code, other.stderr]).toEqual([73, expect.stringContaining('"delimiter":";"')]);
    expect([(await place.automate(resumed)).code, await place.read('out.csv')]).toEqual([0, '\ufeffid;x;name\n1;a;/1\n2;b;/2\n']);
  });

  test.each([
    [
      ['--out', 'out.json', '--in', 'rows.ndjson', '--out-delimiter', ';'],
      '--out-delimiter: expected CSV or TSV as the output, found json',
    ],
    [['--out', 'out.json', '--in', 'rows.ndjson', '--out-bom'], '--out-bom: expected CSV or TSV as the output, found json'],
    [['--out', 'out.csv', '--in', 'rows.csv', '--out-delimiter', ';;'], '--out-delimiter: expected one character or "tab", found ";;"'],
  ])('are refused where they cannot be used: %j', async (args, message) => {
    const place = await workplace({ 'flow.yaml': copying, 'rows.csv': 'id,name\n1,Ada\n', 'rows.ndjson': '{"id":1,"name":"Ada"}\n' });
    const { code, stderr } = await place.automate(['run', 'flow.yaml', ...args]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    await expect(readFile(place.path(args[1] as string))).rejects.toThrow('ENOENT');
  });
});

describe('the delimiter of an input', () => {
  const said = (name: string, separator: string) =>
    `reading ${name} as CSV with ${separator} between cells (to read it in a different way, use --delimiter)`;
  const run = ['run', 'flow.yaml', '--in', 'rows.csv'];

  test.each([
    ['semicolons', 'id;name\n1;Ada, Countess\n', '";"'],
    ['tabs', 'id\tname\r\n1\tAda, Countess\r\n', 'tabs'],
    ['pipes', '\ufeffid|name\n1|Ada, Countess\n', '"|"'],
    ['commas in quoted names', '"id";"name";"a,b"\n1;"Ada, Countess";"x;\ny"\n', '";"'],
    ['a header alone', 'id;name', '";"'],
  ])('is recognized: %s', async (_, rows, separator) => {
    const place = await workplace({ 'flow.yaml': copying, 'rows.csv': rows });
    const { code, stdout, stderr } = await place.automate(run);
    expect([code, stderr]).toEqual([0, expect.stringContaining(said('rows.csv', separator))]);
    expect(stdout).toMatch(
      rows.includes('\n')
        ? /^id,name,.*note\n1,"Ada, Countess",[\s\S]*"1;Ada, Countess|^id,name,note\n1,"Ada, Countess","1;Ada, Countess"/
        : /^id,name,note\n$/,
    );
    expect((await place.automate([...run, '--quiet'])).stderr).toBe('');
  });

  test.each([
    ['a header with commas', 'id,name;x\n1,b;c\n'],
    ['one name twice', 'id;id\n1;2\n'],
    ['a next line with a different number of cells', 'id;name\n1\n'],
    ['one column', 'id\n1;2\n'],
  ])('stays the comma: %s', async (_, rows) => {
    const place = await workplace({ 'flow.yaml': noting, 'rows.csv': rows });
    const { stdout, stderr } = await place.automate(run);
    expect(stderr).not.toContain('between cells');
    expect(stdout).toMatch(new RegExp(`^${rows.split('\n')[0]},note\n`));
  });

  test.each([
    ['lacks cells', 'id;name;city\n1;Ada\n2;Bob;Rome\n', '";"', 'id,name,city,note\n2,Bob,Rome,x\n'],
    ['has too many', 'id|name\n1|Ada|x\n2|Bob\n', '"|"', 'id,name,note\n2,Bob,x\n'],
    ['is a single cell', '\ufeffid\tname\r\n1\r\n2\tAda, Countess\r\n', 'tabs', 'id,name,note\n2,"Ada, Countess",x\n'],
    ['has the delimiter only in quotes', 'id;name\n"1;2"\n2;"3,5"\n', '";"', 'id,name,note\n2,"3,5",x\n'],
    ['lacks cells, and ends like the header', 'id;name;;\n1;\n2;2,5\n;;\n', '";"', 'id,name,note\n1,,x\n2,"2,5",x\n,,x\n'],
    ['fits semicolons and not commas', 'id;price, net;city\n1;2;Rome\n', '";"', 'id,"price, net",city,note\n1,2,Rome,x\n'],
  ])('is recognized by the header if the next row %s', async (_, rows, separator, out) => {
    const place = await workplace({ 'flow.yaml': noting, 'rows.csv': rows });
    const { stdout, stderr } = await place.automate(run);
    expect([stdout, stderr]).toEqual([out, expect.stringContaining(said('rows.csv', separator))]);
  });

  test.each([
    ['gives more columns', 'id\tname; first\tcity\n1\tA; B\tRome\n', 'tabs'],
    ['gives more columns, although a later row is too short', 'id\tname; first\tcity\n1\tA; B\tRome\n2\tC; D\n3\tE; F\tBonn\n', 'tabs'],
    ['fits more rows', 'id\tname; first\n1\tA; B\n2\tEve\n3\tBob\n', 'tabs'],
    ['gives more columns', 'id;name|first;city\n1;A|B;Rome\n', '";"'],
    ['is the first of two that give the same', 'id;name\tfirst\n1;A\tB\n', '";"'],
  ])('is recognized among two that fit the header and the next row if it %s: %j', async (_, rows, separator) => {
    const place = await workplace({ 'flow.yaml': noting, 'rows.csv': rows });
    expect((await place.automate(run)).stderr).toContain(said('rows.csv', separator));
  });

  test('is recognized without a header if cells are equal', async () => {
    const place = await workplace({ 'flow.yaml': noting, 'rows.csv': '5;5\n6;7\n' });
    expect((await place.automate([...run, '--no-header'])).stdout).toBe('column_1,column_2,note\n5,5,x\n6,7,x\n');
  });

  test.each([
    ['no row contains it', 'remark; free text\nHello\nYes\n', ';', "';'"],
    ['it gives one name', 'mail\t\na@b.c\t\n', 'a tab', 'tab'],
    ['one name is there twice', 'id;id\n1;2\n', ';', "';'"],
    ['rows fit it and commas', 'id;price, net;city\n1;2,5;Rome\n2;3,5;Bonn\n', ';', "';'"],
  ])('is doubted, not recognized: %s', async (_, rows, found, option) => {
    const place = await workplace({ 'flow.yaml': noting, 'rows.csv': rows });
    const { code, stderr } = await place.automate(run);
    const sign = found === ';' ? '";"' : found;
    const warning = `warning: rows.csv:1: commas separate the cells, although the header contains ${sign}\n`;
    expect([code, stderr]).toEqual([0, expect.stringContaining(warning)]);
    expect(stderr).toContain(`separate${found === ';' ? 's' : ''} the cells: --delimiter ${option}`);
    expect((await place.automate([...run, '--delimiter', ','])).stderr).not.toContain('warning');
  });

  test.each([
    ['quoted', '"id;x",name\n1,b;c\n'],
    ['in only one of the rows', 'id,tags (a|b)\n1,x|y\n2,x\n'],
    ['in each row, but gives fewer columns', 'id,range (min|max),unit\n1,3|9,mm\n2,4|8,mm\n'],
  ])('is not doubted if the character in a header with commas is %s', async (_, rows) => {
    const place = await workplace({ 'flow.yaml': noting, 'rows.csv': rows });
    const { code, stderr } = await place.automate(run);
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('separate')]);
  });

  test.each([',', ';', '|'])('is doubted in a .tsv file whose cells are separated by "%s"', async (delimiter) => {
    const row = (...cells: string[]) => `${cells.join(delimiter)}\n`;
    const place = await workplace({ 'flow.yaml': noting, 'rows.tsv': row('id', 'name') + row('1', 'Ada') });
    const read = ['run', 'flow.yaml', '--in', 'rows.tsv'];
    const warning = `warning: rows.tsv:1: tabs separate the cells, although the header contains "${delimiter}"\n`;
    const advice = `  if "${delimiter}" separates the cells: --delimiter '${delimiter}'\n`;
    expect((await place.automate(read)).stderr).toContain(warning + advice);
    const right = await place.automate([...read, '--delimiter', delimiter, '--out-delimiter', ',']);
    expect([right.stdout, right.stderr]).toEqual(['id,name,note\n1,Ada,x\n', expect.not.stringContaining('warning')]);
    await place.write('rows.tsv', `name${delimiter} first\tid\nx\t1\n`);
    expect((await place.automate(read)).stderr).not.toContain('warning');
  });

  test('is recognized in gzipped stdin, in several files, and in other commands', async () => {
    const place = await workplace({ 'flow.yaml': copying, 'rows.csv': 'id;name\n1;Ada\n', 'more.csv': 'name|id\nEve|2\n' });
    const piped = await place.automate(['run', 'flow.yaml'], { stdin: gzipSync('id;name\n1;Ada\n') });
    expect([piped.stdout, piped.stderr]).toEqual(['id,name,note\n1,Ada,1;Ada\n', expect.stringContaining(said('<stdin>', '";"'))]);
    const both = await place.automate([...run, '--in', 'more.csv']);
    expect([both.stdout, both.stderr]).toEqual([
      'id,name,note\n1,Ada,1;Ada\n2,Eve,2;Eve\n',
      expect.stringContaining(said('more.csv', '"|"')),
    ]);
    for (const command of [
      ['validate', 'flow.yaml', '--in', 'rows.csv'],
      [...run, '--dry-run'],
      ['init', 'new', '--in', 'rows.csv'],
    ]) {
      const { code, stderr } = await place.automate(command);
      expect([code, stderr]).toEqual([0, expect.stringContaining(said('rows.csv', '";"'))]);
    }
  });

  test('is no part of the identity of a run, whose output keeps the comma', async () => {
    const server = await answeringServer(({ path }) => ({ body: { name: path } }));
    const place = await workplace({
      'flow.yaml': askingFlow(server.origin, ', credits: 1'),
      'rows.csv': 'sep=;\r\nid;x\r\n1;a\r\n2;b\r\n',
    });
    const out = [...run, '--out', 'out.csv'];
    expect((await place.automate([...out, '--max-credits', '1'])).code).toBe(5);
    expect((await place.automate([...out, '--resume'])).code).toBe(0);
    expect(await place.read('out.csv')).toBe('id,x,name\n1,a,/1\n2,b,/2\n');
  });

  test.each([
    ['sep=;\nid;name\n1\n2;Ada\n', ';'],
    ['\ufeffSEP=|\r\nid|name\r\n1\r\n2|Ada\r\n', '|'],
    ['"sep=\t"\nid\tname\n1\n2\tAda\n', '\t'],
    ['sep=,\nid,name\n1\n2,Ada\n', ','],
  ])('is taken from the first line %j, which is no header, and lines are counted from it', async (rows) => {
    const place = await workplace({ 'flow.yaml': copying, 'rows.csv': rows });
    const { code, stdout, stderr } = await place.automate(run);
    expect([code, stdout]).toEqual([4, 'id,name,note\n2,Ada,2;Ada\n']);
    expect(stderr).toContain('line 3: expected 2 cells, found 1');
    expect(stderr).not.toContain('between cells');
  });

  test('of --delimiter wins, and its file can still begin with sep=', async () => {
    const place = await workplace({ 'flow.yaml': copying, 'rows.csv': 'sep=;\nid,name\n1,Ada\n' });
    expect((await place.automate([...run, '--delimiter', ','])).stdout).toBe('id,name,note\n1,Ada,1;Ada\n');
  });

  test('can be resumed after the line sep= in a file that is read from its beginning', async () => {
    const server = await answeringServer(({ path }) => ({ body: { name: path } }));
    const latin1 = Buffer.from('sep=;\nid;x\n1;é\n2;ü\n', 'latin1');
    const place = await workplace({ 'flow.yaml': askingFlow(server.origin, ', credits: 1'), 'rows.csv': latin1 });
    const out = [...run, '--encoding', 'latin1', '--out', 'out.csv'];
    expect((await place.automate([...out, '--max-credits', '1'])).code).toBe(5);
    expect((await place.automate([...out, '--resume'])).code).toBe(0);
    expect(await place.read('out.csv')).toBe('id,x,name\n1,é,/1\n2,ü,/2\n');
  });
});

describe('a byte order mark at the start of a line', () => {
  const one = '\ufeffid,name\n1,Ada\n';
  const two = '\ufeffid,name\r\n2,Eve\r\n';
  const run = ['run', 'flow.yaml', '--in', 'rows.csv'];

  test('is skipped with the header after it, and the run and its summary say so', async () => {
    const place = await workplace({ 'flow.yaml': copying, 'rows.csv': one + two + one });
    const { code, stdout, stderr } = await place.automate([...run, '--summary', 'summary.json']);
    expect([code, stdout]).toEqual([0, 'id,name,note\n1,Ada,1;Ada\n2,Eve,2;Eve\n1,Ada,1;Ada\n']);
    const note = 'rows.csv:3: in the middle of the file is a byte order mark and the header once more: both are skipped';
    expect(stderr.split(note)).toHaveLength(3);
    expect(JSON.parse(await place.read('summary.json')).input_notes).toEqual([note]);
  });

  test('is dropped before another row, but not inside quotes or a cell', async () => {
    const rows = 'id,name\n\ufeff1,Ada\n"2","x\n\ufeffy"\n"\ufeff3",\ufeffz\nid,name\n';
    const place = await workplace({ 'flow.yaml': 'nodes: [{ type: set, fields: { note: x } }]\n', 'rows.csv': rows });
    const { stdout, stderr } = await place.automate(run);
    expect(stdout).toBe('id,name,note\n1,Ada,x\n2,"x\n\ufeffy",x\n"\ufeff3","\ufeffz",x\nid,name,x\n');
    expect(stderr).toContain('rows.csv:2: in the middle of the file is a byte order mark: it is skipped');
  });

  test('does not shift the place at which a run continues', async () => {
    const server = await answeringServer(({ path }) => ({ body: { name: path } }));
    const place = await workplace({
      'flow.yaml': askingFlow(server.origin, ', credits: 1'),
      'rows.csv': 'id,x\n1,a\n\ufeffid,x\n2,b\n\ufeff3,c\n4,d\n',
    });
    for (const credits of ['1', '2', '3', '4'])
      await place.automate([...run, '--out', 'out.csv', '--max-credits', credits, ...(credits === '1' ? [] : ['--resume'])]);
    expect(await place.read('out.csv')).toBe('id,x,name\n1,a,/1\n2,b,/2\n3,c,/3\n4,d,/4\n');
  });
});

describe('automate retry', () => {
  test.each([
    ['semicolons, windows-1252 and decimals', ';', '2.0', ['--encoding', 'windows-1252']],
    ['a delimiter that is not recognized, and a decimal comma', '~', '2,0', ['--encoding', 'latin1', '--delimiter', '~']],
  ])('reads an errors file that was saved with %s', async (_, delimiter, number, args) => {
    let status = 404;
    const server = await answeringServer(({ path }) => (path === '/2' && status === 404 ? { status } : { body: { name: path } }));
    const place = await workplace({ 'flow.yaml': askingFlow(server.origin), 'rows.csv': 'id,city\n1,Köln\n2,Zürich\n' });
    expect((await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'])).code).toBe(4);
    const [header = ''] = (await place.read('out.errors.csv')).split('\n');
    const row = ['2', 'Zürich', 'ask', 'http', '404', '', '1', number];
    await place.write('out.errors.csv', Buffer.from(`${header.replaceAll(',', delimiter)}\r\n${row.join(delimiter)}\r\n`, 'latin1'));
    status = 200;
    const retried = await place.automate(['retry', 'out.csv', ...args]);
    expect([retried.code, await place.read('out.csv')]).toEqual([0, 'id,city,name\n1,Köln,/1\n2,Zürich,/2\n']);
  });
});

describe('CSV with other quotes', () => {
  const rows = 'id, name\n1, "say \\"hi\\", you"\n';

  test('is named by a run and in its summary, also if it comes from stdin', async () => {
    const place = await workplace({ 'flow.yaml': copying.replace('{{name}}', '{{id}}'), 'rows.csv': 'id,name\n1, "Ann"\n' });
    const warning = 'rows.csv:2: cell 2 has blanks before its opening quote, so its quotes and blanks are part of the text';
    const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--summary', 'sum.json'];
    const { code, stderr } = await place.automate(run);
    expect([code, stderr.split(`warning: ${warning}\n`).length]).toEqual([0, 3]);
    expect(stderr).toMatch(
      /^warning: .*\n {2}to leave out blanks around cells: --trim\n[\s\S]*\n {2}warning: .*\n {4}to leave out blanks around cells: --trim$/m,
    );
    expect(JSON.parse(await place.read('sum.json')).input_notes).toEqual([`${warning}\nto leave out blanks around cells: --trim`]);
    expect((await place.automate([...run, '--quiet'])).stderr).toBe('');
  });

  test('is read with --trim and --escape, which are part of the identity of a run', async () => {
    const place = await workplace({ 'flow.yaml': copying });
    const options = ['--trim', '--escape', '\\'];
    const { stdout, stderr } = await place.automate(['run', 'flow.yaml', ...options], { stdin: rows });
    expect(stdout).toBe('id,name,note\n1,"say ""hi"", you","1;say ""hi"", you"\n');
    expect(stderr).not.toContain('warning');
    await place.write('rows.csv', rows);
    const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--resume'];
    expect((await place.automate([...run, ...options])).code).toBe(0);
    expect((await place.automate([...run, '--trim'])).code).not.toBe(0);
  });
});

describe('Ctrl-Z, with which programs for DOS end a text', () => {
  test.each([
    ['rows.csv', 'id\r\n1\r\n\x1a', 'id,note\n1,x\n'],
    ['rows.csv', `id\r\n1${'\x1a'.repeat(20_000)}`, 'id,note\n1,x\n'],
    ['rows.tsv', 'id\r\n1\r\n\x1a', 'id\tnote\n1\tx\n'],
    ['rows.json', '[{"id":1}]\r\n\x1a', '[\n{"id":1,"note":"x"}\n]\n'],
    ['rows.ndjson', '{"id":1}\r\n\x1a', '{"id":1,"note":"x"}\n'],
  ])('is ignored at the end of a file: %s', async (name, text, out) => {
    const place = await workplace({ 'flow.yaml': noting, [name]: text });
    const { code, stdout, stderr } = await place.automate(['run', 'flow.yaml', '--in', name]);
    expect([code, stdout, stderr]).toEqual([0, out, expect.not.stringContaining('Ctrl-Z')]);
  });

  test.each([[[]], [['--trim']]])('stays in a cell before other text, and the run says so once, with %j', async (more) => {
    const place = await workplace({ 'flow.yaml': noting, 'rows.csv': 'id,name\n1,a\n\x1a2,b\n3,\x1a\n\x1a' });
    const { code, stdout, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--quiet', ...more]);
    expect([code, stdout]).toEqual([0, 'id,name,note\n1,a,x\n\x1a2,b,x\n3,\x1a,x\n']);
    const said = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', ...more]);
    expect(said.stderr.match(/rows\.csv:\d+: cell 1 has a Ctrl-Z \(0x1A\), .*/g)).toEqual(
      Array(2).fill(expect.stringMatching(/^rows.csv:3: .* it stays part of the cell$/)),
    );
    expect(stderr).toBe('');
  });
});
