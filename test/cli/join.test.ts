import { mkdir, writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { answeringServer } from '../helpers/answering-server.ts';
import { workplace } from '../helpers/cli.ts';

const owners = 'website,owner_name,team\nacme.com,Ann,red\nbolt.io,Bob,"blue, dark"\n,Nobody,none\n';

const leads = 'id,domain\n1,acme.com\n2,none.com\n3,\n4,bolt.io\n';

const join = (options: string, more = '') => `nodes:\n${more}  - type: join\n    ${options.trim().replaceAll('\n', '\n    ')}\n`;

const usual = 'file: owners.csv\non: { domain: website }\nmap: { owner: owner_name, team: team }';

const run = ['run', 'flow.yaml', '--in', 'leads.csv', '--out', 'out.csv'];

/** Runs a flow over leads.csv, which other files can replace. */
async function joinedRun(flow: string, files: Record<string, string> = {}, args = run) {
  const place = await workplace({ 'flow.yaml': flow, 'leads.csv': leads, 'owners.csv': owners, ...files });
  const { code, stderr } = await place.automate(args);
  return { place, code, stderr, out: code === 0 || code === 4 ? await place.read(args[args.indexOf('--out') + 1] as string) : '' };
}

describe('a join', () => {
  test('adds columns of a second file, and leaves them empty without a match', async () => {
    const { code, out, stderr } = await joinedRun(join(usual));
    expect([code, out]).toEqual([0, 'id,domain,owner,team\n1,acme.com,Ann,red\n2,none.com,,\n3,,,\n4,bolt.io,Bob,"blue, dark"\n']);
    expect(stderr).toContain('\n  join-1: 2 of 4 found in owners.csv\n');
  });

  test('is relative to the flow, and in --summary', async () => {
    const place = await workplace({ 'leads.csv': leads });
    await mkdir(place.path('flows/data'), { recursive: true });
    await place.write('flows/flow.yaml', join(usual.replace('owners', 'data/owners')));
    await place.write('flows/data/owners.csv', owners);
    const args = ['run', 'flows/flow.yaml', '--in', 'leads.csv', '--out', 'out.csv', '--summary', 'summary.json'];
    expect((await place.automate(args)).code).toBe(0);
    expect(JSON.parse(await place.read('summary.json')).joins).toEqual([{ node: 'join-1', file: 'data/owners.csv', found: 2, of: 4 }]);
  });

  test('is in the report', async () => {
    const { place } = await joinedRun(join(usual), {}, [...run, '--report', 'report.html']);
    const text = (await place.read('report.html')).replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
    expect(text).toContain('Joined files how often a record was found Node File Found join-1 owners.csv 2 of 4');
  });

  test.each([
    ['delimiter: ";"', 'owners.csv', 'website;owner_name;team\nacme.com;Ann;red\n'],
    ['header_line: 3', 'owners.csv', 'Export of today\n\nwebsite,owner_name,team\nacme.com,Ann,red\n'],
    ['', 'owners.tsv', 'website\towner_name\tteam\nacme.com\tAnn\tred\n'],
    ['', 'owners.ndjson', '{"website":"other"}\n{"website":"acme.com","owner_name":"Ann","team":"red"}\n'],
    ['records: data.rows', 'owners.json', '{"data":{"rows":[{"website":"acme.com","owner_name":"Ann","team":"red"}]}}'],
  ])('reads a file with the options %j', async (more, name, text) => {
    const flow = join(`${usual.replace('owners.csv', name)}\n${more}`);
    const { out } = await joinedRun(flow, { [name]: text });
    expect(out.split('\n').slice(0, 3)).toEqual(['id,domain,owner,team', '1,acme.com,Ann,red', '2,none.com,,']);
  });

  test('reads a compressed file in another encoding', async () => {
    const place = await workplace({ 'flow.yaml': join(`${usual.replace('.csv', '.csv.gz')}\nencoding: latin1`), 'leads.csv': leads });
    await writeFile(place.path('owners.csv.gz'), gzipSync(Buffer.from('website,owner_name,team\nacme.com,Ren\xe9,red\n', 'latin1')));
    expect((await place.automate(run)).code).toBe(0);
    expect(await place.read('out.csv')).toContain('1,acme.com,René,red\n');
  });

  test.each([
    ['at its beginning', '', 3],
    ['far behind', 'a.com,A,b\n'.repeat(20_000), 6],
  ])('says which option of the node is missing if a byte %s is not UTF-8', async (_, before, exit) => {
    const place = await workplace({ 'flow.yaml': join(usual), 'leads.csv': leads });
    await writeFile(place.path('owners.csv'), Buffer.from(`website,owner_name,team\n${before}acme.com,Ren\xe9,red\n`, 'latin1'));
    const { code, stderr } = await place.automate(run);
    expect(code).toBe(exit);
    expect(stderr).toContain('owners.csv: expected UTF-8, found the byte 0xE9');
    expect(stderr).toContain('if it has a different encoding, add to the node: encoding: latin1');
    expect(stderr).not.toContain('--encoding');
  });

  test('says where the list of records is in JSON', async () => {
    const file = { 'o.json': '{"data":[{"k":1,"v":2}]}' };
    const { code, stderr } = await joinedRun(join('file: o.json\non: { domain: k }\nmap: [v]'), file);
    expect([code, stderr]).toEqual([3, expect.stringContaining('add to the node: records: data')]);
  });

  test('compares keys as text, and keeps the types of JSON', async () => {
    const files = {
      'in.ndjson': '{"n":1}\n{"n":"1"}\n{"n":"01"}\n{"n":null}\n{}\n',
      'o.ndjson': '{"k":1,"v":{"a":[1.10]}}\n{"k":null,"v":2}\n',
    };
    const args = ['run', 'flow.yaml', '--in', 'in.ndjson', '--out', 'out.ndjson'];
    const { out } = await joinedRun(join('file: o.ndjson\non: { n: k }\nmap: [v]'), files, args);
    const found = '"v":{"a":[1.10]}';
    expect(out).toBe(`{"n":1,${found}}\n{"n":"1",${found}}\n{"n":"01","v":null}\n{"n":null,"v":null}\n{"v":null}\n`);
  });

  test('ignores case and accents only if asked to', async () => {
    const files = { 'owners.csv': 'website,owner_name,team\nÉCOLE STRASSE,Ann,red\n', 'leads.csv': 'domain\nécole straße\necole straße\n' };
    const outWith = async (ignore: string) => (await joinedRun(join(`${usual}\nignore: [${ignore}]`), files)).out;
    expect(await outWith('')).toBe('domain,owner,team\nécole straße,,\necole straße,,\n');
    expect(await outWith('case')).toBe('domain,owner,team\nécole straße,Ann,red\necole straße,,\n');
    expect(await outWith('case, accents')).toBe('domain,owner,team\nécole straße,Ann,red\necole straße,Ann,red\n');
  });

  test('compares several pairs, which must all be equal and not empty', async () => {
    const files = { 'owners.csv': 'c,r,boss\nDE,1,Ann\nDE,2,Bob\nDE,,Nobody\n', 'leads.csv': 'country,region\nDE,2\nDE,\nFR,1\n' };
    const { out } = await joinedRun(join('file: owners.csv\non: { country: c, region: r }\nmap: [boss]'), files);
    expect(out).toBe('country,region,boss\nDE,2,Bob\nDE,,\nFR,1,\n');
  });

  const twice = { 'owners.csv': 'website,owner_name,team\nacme.com,Ann,red\nacme.com,Amy,pink\nbolt.io,Bob,blue\n' };

  test('fails a record that several rows match, with its key', async () => {
    const { code, out, place, stderr } = await joinedRun(join(usual), twice);
    expect([code, out]).toEqual([4, 'id,domain,owner,team\n2,none.com,,\n3,,,\n4,bolt.io,Bob,blue\n']);
    expect(await place.read('out.errors.csv')).toContain(
      'join-1,mapping,,"owners.csv has several rows with website ""acme.com"" (many: error)"',
    );
    expect(stderr).toContain('join-1: 2 of 4 found in owners.csv');
  });

  test.each([
    ['first', 0, '1,acme.com,Ann,red\n2,none.com,,\n'],
    ['all', 0, '1,acme.com,Ann,red\n1,acme.com,Amy,pink\n2,none.com,,\n'],
  ])('takes %s of several rows', async (many, expected, rows) => {
    const { code, out } = await joinedRun(join(`${usual}\nmany: ${many}`), twice);
    expect([code, out]).toEqual([expected, `id,domain,owner,team\n${rows}3,,,\n4,bolt.io,Bob,blue\n`]);
  });

  test('drops records without a match, or fails them with the key', async () => {
    const dropped = await joinedRun(join(`${usual}\nmissing: drop`));
    expect(dropped.out).toBe('id,domain,owner,team\n1,acme.com,Ann,red\n4,bolt.io,Bob,"blue, dark"\n');
    expect(dropped.stderr).toContain('2 filtered');
    const failed = await joinedRun(join(`${usual}\nmissing: error`));
    expect(failed.code).toBe(4);
    const errors = await failed.place.read('out.errors.csv');
    expect(errors).toContain('join-1,mapping,,"owners.csv has no row with website ""none.com"""');
    expect(errors).toContain('join-1,mapping,,"""domain"" is empty, so no row of owners.csv can match"');
  });

  test('warns if it replaces a column of the input, unless it is meant to', async () => {
    const flow = (id: string) => join(`file: owners.csv\non: { domain: website }\nmap: { id: ${id} }`);
    const { stderr } = await joinedRun(flow('team'));
    expect(stderr).toContain('"id" is a column of the input, and owners.csv replaces it, even with an empty value');
    expect(stderr).toContain('to replace it, write: id: { column: team, replace: true }');
    const meant = await joinedRun(flow('{ column: team, replace: true }'));
    expect(meant.stderr).not.toContain('replaces');
    expect(meant.out).toBe('id,domain\nred,acme.com\n,none.com\n,\n"blue, dark",bolt.io\n');
  });

  test.each([
    [usual.replace('owners.csv', 'owner.csv'), '3:11: owner.csv: expected a file, found none with this name; did you mean "owners.csv"?'],
    [usual.replace('team: team', 'team: teem'), '5:37: owners.csv has no column "teem"; did you mean "team"?'],
    [
      usual.replace('{ owner: owner_name, team: team }', '[team, xyz]'),
      '5:17: owners.csv has no column "xyz"; it has website, owner_name, team',
    ],
    [usual.replace(': website', ': websit'), '4:19: owners.csv has no column "websit"; did you mean "website"?'],
    [usual.replace('domain:', 'domian:'), '4:11: no record has a field "domian" here; did you mean "domain"?'],
    [`${usual}\nmany: any`, '6:11: '],
    [`${usual}\nsheet: Owners`, '6:12: expected an Excel workbook (.xlsx), found csv'],
    [`${usual}\ndelimiter: ";;"`, '6:16: expected one character or "tab", found ";;"'],
    [usual.replace('{ domain: website }', '{}'), '4:9: expected at least one field and its column'],
    [usual.replace('{ domain: website }', 'domain'), '4:9: expected a mapping of fields to columns, such as id: customer, found "domain"'],
    [usual.replace('owners.csv', 'owners.pdf'), '3:11: owners.pdf: expected a file'],
  ])('is a problem of the flow with the options %j', async (options, message) => {
    const { code, stderr, place } = await joinedRun(join(options));
    expect(stderr).toContain(`flow.yaml:${message}`);
    expect(code).toBe(3);
    expect(await place.files()).not.toContain('out.csv');
  });

  test('stops before the first request if a row of the file cannot be read', async () => {
    const server = await answeringServer(() => ({ body: {} }));
    const request = `  - { type: http, url: "${server.origin}/{{id}}" }\n`;
    const { code, stderr } = await joinedRun(join(usual, request), { 'owners.csv': `${owners}"x\n` });
    expect(code).toBe(6);
    expect(stderr).toContain('owners.csv:5');
    expect(server.requests).toHaveLength(0);
  });

  test('is refused with a queue', async () => {
    const { code, stderr } = await joinedRun(join(usual), {}, [...run, '--queue', 'redis://127.0.0.1:1']);
    expect(code).toBe(2);
    expect(stderr).toContain('expected a flow that does not read files on this machine, found owners.csv');
  });

  test('does not overwrite its file', async () => {
    const args = ['run', 'flow.yaml', '--in', 'leads.csv', '--out', 'owners.csv', '--replace'];
    const { code, stderr, place } = await joinedRun(join(usual), {}, args);
    expect([code, stderr]).toEqual([2, expect.stringContaining('the output owners.csv is a file that the flow joins')]);
    expect(await place.read('owners.csv')).toBe(owners);
  });

  test('is planned by --dry-run with what it finds', async () => {
    const request = '  - { type: http, url: "https://api.example.com/{{owner}}" }\n';
    const place = await workplace({
      'flow.yaml': `${join(`${usual}\nmissing: drop`)}${request}`,
      'leads.csv': leads,
      'owners.csv': owners,
    });
    const { stdout } = await place.automate([...run, '--dry-run']);
    expect(stdout).toContain('GET https://api.example.com/Ann');
    expect(stdout).toContain('actions:   2');
  });
});

describe('a joined file that changes', () => {
  const changed = owners.replace('Ann', 'Anna');

  /** Answers with the path of each request. */
  const api = async () => answeringServer((request) => ({ body: { path: request.path } }));

  test.each([
    ['the input has the key', '', '{ domain: website }', ['/1']],
    ['a set node makes the key', '  - { type: set, fields: { d: { cel: "domain.lowerAscii()" } } }\n', '{ d: website }', ['/1']],
    ['an answer has the key', 'answer', '{ d: website }', ['/1', '/2', '/3', '/4']],
  ])('runs with --update only what it must if %s', async (_, before, on, expected) => {
    const server = await api();
    const get = (path: string) => `  - { type: http, url: "${server.origin}/{{id}}", map: { ${path} } }\n`;
    const first = before === 'answer' ? get('d: path') : before;
    const flow = `${join(usual.replace('{ domain: website }', on), first)}${before === 'answer' ? '' : get('p: path')}`;
    const { place, code } = await joinedRun(flow, {}, [...run, '--update']);
    expect(code).toBe(0);
    let seen = 0;
    const sent = () => {
      const requests = server.requests.slice(seen);
      seen = server.requests.length;
      return requests.map(({ path }) => path);
    };
    expect(sent()).toHaveLength(4);
    expect((await place.automate([...run, '--update'])).code).toBe(0);
    expect(sent()).toEqual([]);
    await place.write('owners.csv', `${changed}new.com,Nora,red\n`);
    expect((await place.automate([...run, '--update'])).code).toBe(0);
    expect(sent().sort()).toEqual(expected);
  });

  test('is used by retry, which says so', async () => {
    const { place, code } = await joinedRun(join(`${usual}\nmissing: error`));
    expect(code).toBe(4);
    await place.write('owners.csv', `${changed}none.com,Nora,red\n`);
    const retried = await place.automate(['retry', 'out.csv']);
    expect(retried.stderr).toContain('owners.csv has changed since out.csv was written: the retry uses it as it is now');
    expect(await place.read('out.csv')).toContain('2,none.com,Nora,red\n');
  });

  test('refuses to resume a run', async () => {
    const { place, code } = await joinedRun(join(`${usual}\nmissing: error\non_error: stop`));
    expect(code).toBe(5);
    await place.write('owners.csv', changed);
    const { code: refused, stderr } = await place.automate([...run, '--resume']);
    expect([refused, stderr]).toEqual([73, expect.stringContaining('the joined file owners.csv has changed')]);
    await place.write('owners.csv', owners);
    expect((await place.automate([...run, '--resume'])).code).not.toBe(73);
  });
});

describe('a join in a first', () => {
  const inFirst = (more: string) =>
    `nodes:\n  - type: first\n    until: has(owner) && owner != ""\n    nodes:\n      - { type: join, file: owners.csv, on: { domain: website }, map: { owner: owner_name }${more} }\n`;

  test('is a source like others', async () => {
    const { out, stderr } = await joinedRun(inFirst(''));
    expect(out).toBe('id,domain,owner\n1,acme.com,Ann\n2,none.com,\n3,,\n4,bolt.io,Bob\n');
    expect(stderr).toContain('first-1.join-1 found 2 of 4; 2 not found');
  });

  test.each([
    ['missing: drop', 'flow.yaml:5:103: `missing: drop` can drop the record, but a step of `first` gives exactly one row'],
    ['many: all', 'flow.yaml:5:100: `many: all` can make several rows, but a step of `first` gives exactly one row'],
  ])('is a problem of the flow with %s', async (more, message) => {
    const { code, stderr } = await joinedRun(inFirst(`, ${more}`));
    expect([code, stderr]).toEqual([3, expect.stringContaining(message)]);
  });
});
