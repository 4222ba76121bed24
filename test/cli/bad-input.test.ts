import { link, mkdir } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { answeringServer } from '../helpers/answering-server.ts';
import { type RunOptions, workplace } from '../helpers/cli.ts';
import { httpServer } from '../helpers/http-server.ts';

const good = 'nodes:\n  - type: http\n    url: http://127.0.0.1:9/{{id}}\n    retry: { max: 0 }\n';

/** Runs the tool, and expects this message, this exit code, no stack trace and no new file. */
async function refused(
  files: Record<string, string | Buffer>,
  args: readonly string[],
  code: number,
  message: RegExp | string,
  options?: RunOptions,
) {
  const place = await workplace(files);
  const before = await place.files();
  const finished = await place.automate(args, options);
  expect(finished.stderr).toMatch(message);
  expect(finished.code).toBe(code);
  expect(finished.stderr).not.toMatch(/\n\s+at .*:\d+:\d+/);
  expect(finished.stdout).toBe('');
  expect(await place.files()).toEqual(before);
}

const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'];

describe('automate run refuses an input', () => {
  test('that does not exist', () => refused({ 'flow.yaml': good }, run, 6, /rows\.csv.*none with this name/));
  test.each(['gone/rows.csv', 'flow.yaml/rows.csv'])('whose folder does not exist: %s', (input) =>
    refused(
      { 'flow.yaml': good },
      ['run', 'flow.yaml', '--in', input],
      6,
      `automate: ${input}: expected a file, found none with this name\n`,
    ),
  );
  test('that is a folder', async () => {
    const place = await workplace({ 'flow.yaml': good });
    await mkdir(place.path('rows.csv'));
    const { code, stderr } = await place.automate(run);
    expect(code).toBe(6);
    expect(stderr).toMatch(/rows\.csv.*(folder|directory)/);
  });
  test('that does not exist and has an unknown format', () =>
    refused({ 'flow.yaml': good }, ['run', 'flow.yaml', '--in', 'rows.dbf'], 6, 'rows.dbf: expected a file, found none with this name'));

  test('that is an address, which has to be downloaded', () =>
    refused(
      { 'flow.yaml': good },
      ['run', 'flow.yaml', '--in', 'https://a.example/rows.csv'],
      6,
      /this name\n {2}download it first, or pipe it in: curl -s /,
    ));
  test('that is a folder without an extension', async () => {
    const place = await workplace({ 'flow.yaml': good });
    await mkdir(place.path('dir'));
    const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'dir']);
    expect([code, stderr]).toEqual([6, 'automate: dir: expected a file, found a directory\n']);
  });
  test('that has an unknown format', () =>
    refused({ 'flow.yaml': good, 'rows.dbf': 'x' }, ['run', 'flow.yaml', '--in', 'rows.dbf'], 2, /--in-format/));
  test('that is empty', () => refused({ 'flow.yaml': good, 'rows.csv': '' }, run, 6, /expected a header row/));
  test('that has the same column name twice', () =>
    refused({ 'flow.yaml': good, 'rows.csv': 'id,a,id\n1,2,3\n' }, run, 6, /rows\.csv:1: .*"id"/));
  test('that has no name of a column', () =>
    refused({ 'flow.yaml': good, 'rows.csv': ',,\n1,2,3\n' }, run, 6, /rows\.csv:1: .*found only empty cells\n.*--header-line/));
  test('that is not UTF-8', async () => {
    const place = await workplace({ 'flow.yaml': good, 'rows.csv': Buffer.from('id\nM\xfcller\n', 'latin1') });
    const { code, stderr } = await place.automate(run);
    expect(code).toBe(6);
    expect(stderr).toMatch(/byte (offset )?4\b/);
    expect(stderr).toContain('--encoding latin1');
  });
  test('that has an unclosed quote', async () => {
    const place = await workplace({ 'flow.yaml': good, 'rows.csv': 'id\n1\n"2\n3\n' });
    const { code, stderr } = await place.automate(run);
    expect(code).toBe(6);
    expect(stderr).toMatch(/rows\.csv:3: .*quote/);
    expect(stderr).toContain(
      'the 1 record before that failed and went to out.errors.csv; once the input is corrected, run the rest with --skip 1',
    );
  });
  test.each([
    [
      '1\n3',
      [],
      'of the 2 records before that, 1 went to stdout, and 1 failed and went to flow.errors.csv;',
      '--skip 2, and another --errors',
    ],
    ['1\n2', ['--out', 'out.csv'], 'the 2 records before that went to out.csv;', '--skip 2, and another --out\n'],
    [
      '1\n3',
      ['--out', 'out.csv', '--errors', 'e.csv'],
      'of the 2 records before that, 1 went to out.csv, and 1 failed and went to e.csv;',
      '--skip 2, and another --out and --errors\n',
    ],
    ['1\n3', ['--errors', 'none'], 'of the 2 records before that, 1 went to stdout, and 1 failed;', '--skip 2\n'],
    ['1\n2', [], 'the 2 records before that went to stdout;', '--skip 2\n'],
    ['3\n1', ['--skip', '1'], 'the 1 record before that went to stdout;', '--skip 2\n'],
  ])('that is broken after the ids %j, with a message about the records before that (options %j)', async (ids, args, where, rest) => {
    const server = await answeringServer(({ path }) => ({ status: path === '/3' ? 404 : 200 }));
    const flow = `nodes: [{ type: http, url: "${server.origin}/{{id}}" }]`;
    const place = await workplace({ 'flow.yaml': flow, 'rows.csv': `id\n${ids}\n"4\n` });
    const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', ...args]);
    expect(code).toBe(6);
    expect(stderr).toContain(`\n  ${where} once the input is corrected, run the rest with ${rest}`);
  });
  test('that is not a JSON array', () =>
    refused(
      { 'flow.yaml': good, 'rows.json': '{"id":1}' },
      ['run', 'flow.yaml', '--in', 'rows.json', '--out', 'o.json'],
      6,
      /rows\.json:1.*no list of records/,
    ));
  test('that is broken JSON', () =>
    refused(
      { 'flow.yaml': good, 'rows.json': '[{"id":1,}]' },
      ['run', 'flow.yaml', '--in', 'rows.json', '--out', 'o.json'],
      6,
      /rows\.json:1:/,
    ));
});

describe('automate run refuses a flow', () => {
  test('that would send the name of a column in braces, and sends nothing', async () => {
    const server = await answeringServer(() => ({}));
    const flow = `nodes: [{ type: http, url: "${server.origin}/{{First Name}}" }]`;
    const message = /^flow\.yaml:1:\d+: \{\{First Name\}\} would be sent as it is, although the input has a column "First Name": /;
    await refused({ 'flow.yaml': flow, 'rows.csv': 'id,First Name\n1,Ada\n' }, run, 3, message);
    const stdin = { stdin: 'id,First Name\n1,Ada\n' };
    await refused({ 'flow.yaml': flow }, ['run', 'flow.yaml', '--in-format', 'csv', '--out', 'out.csv'], 3, message, stdin);
    expect(server.requests).toEqual([]);
  });

  test('in which YAML would change a number, and sends nothing', async () => {
    const server = await answeringServer(() => ({}));
    const flow = `nodes:\n  - { type: http, method: POST, url: "${server.origin}", form: { zip: 01067 } }\n`;
    await refused(
      { 'flow.yaml': flow, 'rows.csv': 'id\n1\n' },
      run,
      3,
      /^flow\.yaml:2:\d+: YAML reads 01067 as the number 1067: write "01067"\n/,
    );
    expect(server.requests).toEqual([]);
  });

  test('that does not exist', () => refused({ 'rows.csv': 'id\n1\n' }, run, 3, /flow\.yaml: .*no such file/));
  test('that is a folder', () => refused({}, ['validate', '.'], 3, /^\.: the flow file cannot be read: it is a folder\n/));
  test('that is malformed YAML', () =>
    refused({ 'flow.yaml': 'nodes: [\n', 'rows.csv': 'id\n1\n' }, run, 3, /flow\.yaml:\d+:\d+: not valid YAML/));
  test.each([
    ['latin1', Buffer.from(`${good}    headers: { X: München }\n`, 'latin1'), '5:20: expected UTF-8, found the byte 0xFC'],
    ['cut within a character', Buffer.from('name: é').subarray(0, -1), '1:7: expected UTF-8, found the byte 0xC3'],
    ['UTF-16', Buffer.from(`\ufeff${good}`, 'utf16le'), '1:1: expected UTF-8, found UTF-16'],
    ['UTF-16 without a byte order mark', Buffer.from(good, 'utf16le'), '1:1: expected UTF-8, found UTF-16'],
  ])('that is not encoded as UTF-8: %s', async (_name, flow, message) => {
    const files = { 'flow.yaml': flow, 'rows.csv': 'id\n1\n' };
    const expected = `flow.yaml:${message}\n  save the flow file as UTF-8\n1 problem in flow.yaml\n`;
    await refused(files, run, 3, expected);
    await refused(files, ['validate', 'flow.yaml'], 3, expected);
  });
  test('that has several problems, which are all listed', async () => {
    const place = await workplace({
      'flow.yaml': 'nodes:\n  - type: http\n    ulr: https://a.example\n    url: https://a.example\n  - type: htp\n',
      'rows.csv': 'id\n1\n',
    });
    const { code, stderr } = await place.automate(run);
    expect(code).toBe(3);
    expect(stderr).toBe(
      [
        'flow.yaml:3:5: unknown key "ulr"; did you mean "url"?',
        '  3 |     ulr: https://a.example',
        '    |     ^^^',
        'flow.yaml:5:11: no node type "htp"; did you mean "http"?',
        '  5 |   - type: htp',
        '    |           ^^^',
        '2 problems in flow.yaml',
        '',
      ].join('\n'),
    );
  });
  test('that uses a field that no record has', () =>
    refused(
      { 'flow.yaml': 'nodes:\n  - type: http\n    url: https://a.example/{{user_id}}\n', 'rows.csv': 'userid,b\n1,2\n' },
      run,
      3,
      /flow\.yaml:3:28: .*"user_id".*did you mean "userid"/,
    ));
  test('that has an http:// URL', () =>
    refused(
      { 'flow.yaml': 'nodes: [{ type: http, url: "http://a.example/" }]', 'rows.csv': 'id\n1\n' },
      run,
      3,
      /flow\.yaml:1:\d+: .*https.*\n[\s\S]*--allow-http/,
    ));
  test('that sends a body with GET', () =>
    refused(
      { 'flow.yaml': 'nodes: [{ type: http, url: "https://a.example/", body: {} }]', 'rows.csv': 'id\n1\n' },
      run,
      3,
      /a GET request has no body/,
    ));
  test('that has a body that can never be valid JSON', () =>
    refused(
      { 'flow.yaml': `nodes: [{ type: http, method: POST, url: "https://a.example/", body: '{"a": {{id}}' }]`, 'rows.csv': 'id\n1\n' },
      run,
      3,
      /the body is not JSON/,
    ));
  test('that uses an unknown credential', () =>
    refused(
      { 'flow.yaml': `${good}    auth: { type: bearer, credential: crm-token }\n`, 'rows.csv': 'id\n1\n' },
      run,
      7,
      /flow\.yaml:5:\d+: there is no credential "crm-token"[\s\S]*AUTOMATE_CREDENTIAL_CRM_TOKEN/,
    ));
  test('that contains a literal secret, without printing the secret', async () => {
    const place = await workplace({
      'flow.yaml': `${good}    headers: { Authorization: "Bearer sk_live_canary123" }\n    auth: { type: bearer, token: canary456 }\n`,
      'rows.csv': 'id\n1\n',
    });
    const { code, stderr } = await place.automate(run);
    expect(code).toBe(3);
    expect(stderr).toContain('store it: automate credentials set ');
    expect(stderr).toMatch(/and write next to headers: auth: \{ type: bearer, credential: [\w-]+ \}/);
    expect(stderr).not.toContain('canary');
  });
});

describe('a record', () => {
  test('fails if its body is not valid JSON', async () => {
    const place = await workplace({
      'flow.yaml': `nodes: [{ type: http, method: POST, url: "http://127.0.0.1:9/", body: '{"n": {{n}}}' }]`,
      'rows.csv': 'n\nabc\n',
    });
    const { code } = await place.automate(run);
    expect(code).toBe(4);
    expect(await place.read('out.errors.csv')).toMatch(/^abc,http-1,request,,.*expected a number, true, false or null, found ""abc""/m);
  });
});

describe('automate run refuses an output', () => {
  test('that exists already', () =>
    refused({ 'flow.yaml': good, 'rows.csv': 'id\n1\n', 'out.csv': 'precious' }, run, 73, /out\.csv exists already\n.*--force/));
  test('that is also the input', () =>
    refused(
      { 'flow.yaml': good, 'rows.csv': 'id\n1\n' },
      ['run', 'flow.yaml', '--in', 'rows.csv', '--out', './rows.csv', '--force'],
      2,
      /is the input/,
    ));
  test('whose errors file exists already', () =>
    refused({ 'flow.yaml': good, 'rows.csv': 'id\n1\n', 'out.errors.csv': 'precious' }, run, 73, /out\.errors\.csv exists already/));
  test('whose folder does not exist', () =>
    refused(
      { 'flow.yaml': good, 'rows.csv': 'id\n1\n' },
      ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'no/out.csv'],
      74,
      'no/out.csv cannot be written: the folder no does not exist',
    ));
  test.each([
    ['whose folder is a file', '--out', 'rows.csv/out.csv', /rows\.csv\/out\.csv cannot be written: rows\.csv is not a folder\n$/],
    ['whose name is too long', '--out', `${'x'.repeat(300)}.csv`, /x\.csv cannot be written: ENAMETOOLONG: name too long\n$/],
    [
      'whose errors file is in a folder that is a file',
      '--errors',
      'rows.csv/e.csv',
      /rows\.csv\/e\.csv cannot be written: rows\.csv is not a folder\n$/,
    ],
  ])('%s', (_what, option, path, message) =>
    refused({ 'flow.yaml': good, 'rows.csv': 'id\n1\n' }, ['run', 'flow.yaml', '--in', 'rows.csv', option, path], 74, message),
  );
  test('that is a folder', async () => {
    const place = await workplace({ 'flow.yaml': good, 'rows.csv': 'id\n1\n' });
    await mkdir(place.path('out.csv'));
    const { code, stderr } = await place.automate(run);
    expect([code, stderr]).toEqual([74, 'automate: out.csv cannot be written: it is a folder\n']);
  });
  test.each([
    ['no/s.json', 'the folder no does not exist'],
    ['flow.yaml/s.json', 'flow.yaml is not a folder'],
    ['.', 'it is a folder'],
  ])('if the summary cannot be written to %s', async (summary, reason) => {
    const server = await answeringServer(() => ({}));
    const flow = `nodes: [{ type: http, url: "${server.origin}/{{id}}" }]`;
    await refused(
      { 'flow.yaml': flow, 'rows.csv': 'id\n1\n' },
      [...run, '--summary', summary],
      74,
      `${summary} cannot be written: ${reason}`,
    );
    expect(server.requests).toEqual([]);
  });
});

describe('the summary file', () => {
  const broken = ['run', 'flow.yaml', '--in', 'broken.csv', '--out', 'other.csv', '--summary', 's.json'];

  test('lists the finished records and the spent credits even if the input is broken', async () => {
    const server = await httpServer((_request, response) => response.writeHead(404).end());
    const flow = `nodes:\n  - { id: ask, type: http, url: "${server.origin}/{{id}}" }\n`;
    const place = await workplace({ 'flow.yaml': flow, 'broken.csv': 'id\n1\n2\n"3\n' });
    const { code } = await place.automate(broken);
    expect(code).toBe(6);
    expect(JSON.parse(await place.read('s.json'))).toMatchObject({
      ending: 'failed',
      exit_code: 6,
      reason: expect.stringContaining('broken.csv:4'),
      read: 2,
      written: 0,
      failed: 2,
      credits: 2,
      ms: expect.toSatisfy((ms: number) => ms > 0),
      failures: [{ node: 'ask', class: 'http', status: 404, count: 2 }],
    });
  });
});

describe('a file that is used for two purposes', () => {
  test.each([
    [['--out', 'flow.yaml', '--out-format', 'csv', '--force'], 'the output flow.yaml is the flow\n  choose another file with --out'],
    [['--errors', './rows.csv', '--force'], 'the errors file ./rows.csv is the input\n  choose another file with --errors'],
    [['--errors', 'out.csv'], 'the errors file out.csv is the output\n  choose another file with --errors'],
    [['--events', 'rows.csv'], 'the events file rows.csv is the input\n  choose another file with --events'],
    [['--summary', 'flow.yaml'], 'the summary flow.yaml is the flow\n  choose another file with --summary'],
    [['--summary', 'out.csv'], 'the summary out.csv is the output\n  choose another file with --summary'],
    [['--report', 'rows.csv'], 'the report rows.csv is the input\n  choose another file with --report'],
    [['--summary', 'run.html', '--report', 'run.html'], 'the report run.html is the summary\n  choose another file with --report'],
  ])('is refused: %s', (args, message) => refused({ 'flow.yaml': good, 'rows.csv': 'id\n1\n' }, [...run, ...args], 2, message));

  test('is refused even if its two names are hard links', async () => {
    const place = await workplace({ 'flow.yaml': good, 'rows.csv': 'id\n1\n' });
    await link(place.path('rows.csv'), place.path('other.csv'));
    const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'other.csv', '--force']);
    expect([code, stderr]).toEqual([2, 'automate: the output other.csv is the input\n  choose another file with --out\n']);
    expect(await place.read('rows.csv')).toBe('id\n1\n');
  });

  test('is avoided with --out /dev/null, because the errors file is named after the flow', async () => {
    const place = await workplace({ 'flow.yaml': good, 'rows.csv': 'id\n1\n' });
    expect((await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', '/dev/null'])).code).toBe(4);
    expect(await place.files()).toEqual(['flow.errors.csv', 'flow.yaml', 'rows.csv']);
  });

  test('is allowed if it is a device such as /dev/null', async () => {
    const place = await workplace({ 'flow.yaml': good, 'rows.csv': 'id\n1\n' });
    const nowhere = ['--out', '/dev/null', '--errors', '/dev/null', '--events', '/dev/null', '--summary', '/dev/null'];
    expect((await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', ...nowhere])).code).toBe(4);
  });
});

test('messages about an input never contain control characters from that input', async () => {
  const place = await workplace({ 'flow.yaml': good, 'rows.csv': '\u001b[2Ja\u009b,\u001b[2Ja\u009b\n1,2\n' });
  const { code, stderr } = await place.automate(run);
  expect(code).toBe(6);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the test looks for control characters
  expect(stderr).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/);
});

test.each([
  [[], 6, '{"a":1}\n{"a":2}\n', 'rows.json:1:18: expected an object, found "g"\n  the 2 records before that went to stdout;'],
  [['--skip', '1'], 6, '{"a":2}\n', 'the 1 record before that went to stdout; once the input is corrected, run the rest with --skip 2\n'],
  [['--limit', '2'], 0, '{"a":1}\n{"a":2}\n', '2 read'],
])('automate run writes the records before a broken element of a JSON array (options %j)', async (args, code, stdout, message) => {
  const place = await workplace({ 'flow.yaml': 'nodes: [{ type: set }]', 'rows.json': '[{"a":1},{"a":2},garbage' });
  const finished = await place.automate(['run', 'flow.yaml', '--in', 'rows.json', '--out-format', 'ndjson', ...args]);
  expect(finished).toEqual({ code, stdout, stderr: expect.stringContaining(message) });
});

describe('automate refuses a command line', () => {
  test('that has an unknown option', () => refused({}, ['run', 'flow.yaml', '--in', 'a.csv', '--forse'], 2, /--forse.*\n.*--force/));
  test('that has an unknown command', () => refused({}, ['rum'], 2, /unknown command 'rum'.*\n.*run/));
  test('that has an unknown option and no --in', () =>
    refused({ 'flow.yaml': good }, ['run', 'flow.yaml', '--foo'], 2, /unknown option '--foo'/));
  test('that has neither a flow nor --in', () => refused({}, ['run'], 2, "automate: missing required argument 'flow'\n"));
  test('that has no flow', () => refused({}, ['run', '--in', 'a.csv'], 2, "automate: missing required argument 'flow'\n"));
  test.each([
    ['--concurrency', '0', /of at least 1, or auto, found "0"/],
    ['--in', '-', /expected - \(stdin\) or files, found both/],
    ['--rate', 'fast', /10\/s/],
    ['--max-errors', 'x%', /percentage/],
    ['--in-format', 'xml', /csv, tsv, json/],
    ['--cacert', 'nope.pem', /--cacert: nope\.pem cannot be used: ENOENT: no such file or directory\n/],
    ['--encoding', 'klingon', /encoding/],
  ])('that sets %s to %s', (option, value, message) =>
    refused({ 'flow.yaml': good, 'rows.csv': 'id\n1\n' }, [...run, option, value], 2, message),
  );
});

test('a CSV errors file stores a field with an invalid character as JSON', async () => {
  const place = await workplace({
    'flow.yaml': 'nodes: [{ type: set, fields: { n: { cel: "int(a)" } } }]\n',
    'rows.ndjson': '{"a":"x\\ud800"}\n{"a":"2"}\n',
  });
  const { code } = await place.automate(['run', 'flow.yaml', '--in', 'rows.ndjson', '--out', 'out.ndjson', '--errors', 'bad.csv']);
  expect([code, await place.read('out.ndjson')]).toEqual([4, '{"a":"2","n":2}\n']);
  expect(await place.read('bad.csv')).toMatch(/\n,set-1,.*,1,"{""a"":""x\\ud800""}"\n/);
  const again = await place.automate(['run', 'flow.yaml', '--in', 'bad.csv', '--out', 'again.csv']);
  expect([again.code, await place.read('again.csv')]).toEqual([4, 'a,n\n']);
});

test('a CSV errors file stores fields that have no column as JSON', async () => {
  const place = await workplace({
    'flow.yaml': 'nodes: [{ type: set, fields: { n: { cel: "int(a)" } } }]\n',
    'rows.ndjson': '{"a":"1"}\n{"a":"x","b":[1.50],"\\ud800":2}\n{"a":"3"}\n{"a":"y"}\n',
  });
  const { code } = await place.automate(['run', 'flow.yaml', '--in', 'rows.ndjson', '--out', 'out.ndjson', '--errors', 'bad.csv']);
  expect([code, await place.read('out.ndjson')]).toEqual([4, '{"a":"1","n":1}\n{"a":"3","n":3}\n']);
  const errors = await place.read('bad.csv');
  expect(errors.split('\n')).toEqual([
    expect.stringMatching(/^a,_error_node,.*,_error_record,_error_fields$/),
    expect.stringMatching(/^x,set-1,.*,2,"{""b"":\[1\.50\],""\\ud800"":2}"$/),
    expect.stringMatching(/^y,set-1,.*,4,$/),
    '',
  ]);

  await place.write('bad.csv', errors.replace('\nx,', '\n7,').replace('\ny,', '\n8,'));
  const again = await place.automate(['run', 'flow.yaml', '--in', 'bad.csv', '--out', 'again.csv']);
  expect([again.code, await place.read('again.csv')]).toEqual([4, 'a,n\n8,8\n']);
  expect(await place.read('again.errors.csv')).toMatch(
    /^7,,input,,"had fields without a column .*: {""b"":\[1\.50\],""\\ud800"":2}",0,1$/m,
  );
});
