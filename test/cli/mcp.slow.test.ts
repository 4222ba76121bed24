import { chmod, mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { nodeText } from '../../src/connections/tool-server.ts';
import { makeCertificates } from '../helpers/certificates.ts';
import { type Workplace, workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { passphrase, vaultPlace } from '../helpers/light-vault.ts';
import { loginServer } from '../helpers/mcp/login-server.ts';
import { commandConnection, listeningServer, oddServer, stdioServers } from '../helpers/mcp/servers.ts';
import { isAlive } from '../helpers/processes.ts';

const everything = stdioServers.everything.join(' ');
const vault = { AUTOMATE_VAULT_PASSPHRASE: passphrase };

const certificates = makeCertificates();

describe('automate connections add mcp', () => {
  test('adds a server that is started with a command', async () => {
    const place = await workplace();
    const added = await place.automate([
      'connections',
      'add',
      'mcp',
      'every',
      '--command',
      everything,
      '--pass-env',
      'LANG',
      '--rate',
      '100/s',
    ]);
    expect(added).toMatchObject({ code: 0, stdout: expect.stringContaining('connections:\n  every:\n    type: mcp\n    command: ') });
    expect(added.stderr).toMatch(
      /^mcp-servers\/everything \S+, protocol 2025-11-25 over stdio, \d+ tools\n {2}echo: Echoes back the input string\n/,
    );
    expect(added.stderr).toContain('"every" is saved; its tools: automate connections tools every');
    expect((await place.automate(['connections', 'list'])).stdout).toMatch(/^name +type +URL or command.*\nevery +mcp +\S+node/);
    expect((await place.automate(['connections', 'show', 'every'])).stdout).toContain('pass_env:\n      - LANG');
    expect(await place.automate(['connections', 'test', 'every'])).toMatchObject({ code: 0, stdout: 'every: works\n' });
    expect(await place.automate(['connections', 'add', 'mcp', 'every', '--command', everything])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('replace it with --force'),
    });
    expect(await place.automate(['connections', 'remove', 'every'])).toMatchObject({ code: 0 });
  });

  test.each(['streamableHttp', 'sse'] as const)('adds a server at a URL that uses the %s transport', async (transport) => {
    const { url } = await listeningServer(transport);
    const place = await workplace();
    const { code, stderr } = await place.automate(['connections', 'add', 'mcp', 'every', '--url', url]);
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining(`protocol 2025-11-25 over ${transport === 'sse' ? 'SSE' : 'streamable HTTP'}`),
    ]);
  });

  test.each([
    ['an unknown host', ['--url', 'https://no-such-host.invalid/mcp'], 'address', 'check the host in the URL: no-such-host.invalid'],
    ['a port without a server', ['--url', 'http://127.0.0.1:9/mcp'], 'address', 'check whether a server listens at 127.0.0.1:9'],
    ['a missing program', ['--command', 'no-such-program'], 'command', 'check no-such-program: is it installed, on the PATH'],
    [
      'a program that is not a server',
      ['--command', 'node -e process.exit(3)'],
      'protocol',
      'check that this starts an MCP server over stdio',
    ],
  ])('explains why the connection fails, and saves nothing: %s', async (_, args, trouble, check) => {
    const place = await workplace();
    const { code, stderr } = await place.automate(['connections', 'add', 'mcp', 'bad', ...args]);
    expect(code).toBe(7);
    expect(stderr).toContain(`the problem is in the ${trouble}`);
    expect(stderr).toContain(check);
    expect(stderr).toContain('nothing is saved; --no-test saves it untested');
    expect((await place.automate(['connections', 'list', '--json'])).stdout).toBe('[]\n');
  });

  test.each([
    ['{"hello":1}', 'expected an answer to the call, found {"hello":1}\n'],
    [
      '{"jsonrpc":"2.0","id":ID,"result":{"capabilities":{}}}',
      'the answer does not follow the protocol: Invalid result for initialize: protocolVersion: expected string, received undefined',
    ],
  ])('reports an invalid response on one line: %s', async (answer, message) => {
    const server = await httpServer(({ body }, response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(answer.replace('ID', /"id":([^,}]+)/.exec(String(body))?.[1] ?? '0')),
    );
    const place = await workplace();
    const { code, stderr } = await place.automate(['connections', 'add', 'mcp', 'bad', '--url', `${server.origin}/mcp`]);
    expect(code).toBe(7);
    expect(stderr).toContain(`connection "bad": ${message}`);
    expect(stderr).not.toContain('"code"');
  });

  test.each([
    [
      401,
      { 'www-authenticate': 'Bearer error="invalid_token", error_description="The access token expired"' },
      'expiry',
      'automate credentials set search-token',
    ],
    [401, {}, 'credential', "check the credential's validity and expiry"],
    [403, {}, 'credential', 'its rights or scopes'],
    [404, {}, 'address', 'the path in the URL: /mcp'],
    [429, { 'retry-after': '7' }, 'server', 'the server asks you to wait for 7 s'],
    [500, {}, 'server', 'the server itself'],
    [200, { 'content-type': 'text/html' }, 'protocol', 'the server there does not speak the protocol'],
  ])('reports a response with status %i and the headers %j as a problem with the %s', async (status, headers, trouble, check) => {
    const server = await httpServer((_, response) => response.writeHead(status, headers as never).end('<html>'));
    const place = await workplace();
    const env = { AUTOMATE_CREDENTIAL_SEARCH_TOKEN: 'canary-7f3a' };
    const args = ['connections', 'add', 'mcp', 'bad', '--url', `${server.origin}/mcp`, '--auth', 'bearer', '--credential', 'search-token'];
    const { code, stdout, stderr } = await place.automate(args, { env });
    expect([code, stderr]).toEqual([7, expect.stringContaining(`the problem is in the ${trouble}`)]);
    expect(stderr).toContain(check);
    expect(server.requests.length).toBeGreaterThan(0);
    expect(server.requests.every((request) => request.headers.authorization === 'Bearer canary-7f3a')).toBe(true);
    expect(stdout + stderr).not.toContain('canary');
  });

  test.each([
    [undefined, 'address', 'check the token_url: whether it leads to a token server at http://127.0.0.1:9;'],
    [404, 'address', 'check the token_url: whether it leads to a token server at http://127.0.0.1:'],
    [400, 'credential', "check the credential's validity and expiry"],
    [401, 'credential', "check the credential's validity and expiry"],
    [503, 'server', 'the server itself'],
  ])("reports the token server's response %s as a problem with the %s", async (status, trouble, check) => {
    const tokens = await httpServer((_, response) => response.writeHead(status ?? 200).end('{"error":"invalid_client"}'));
    const place = await workplace();
    const env = { AUTOMATE_CREDENTIAL_SEARCH_SECRET: 'canary-7f3a' };
    const tokenUrl = status === undefined ? 'http://127.0.0.1:9/token' : `${tokens.origin}/token`;
    const auth = ['--auth', 'oauth2_client_credentials', '--token-url', tokenUrl, '--client-id', 'me', '--credential', 'search-secret'];
    const { code, stderr } = await place.automate(['connections', 'add', 'mcp', 'bad', '--url', `${tokens.origin}/mcp`, ...auth], { env });
    expect([code, stderr]).toEqual([7, expect.stringContaining(`the problem is in the ${trouble}\n`)]);
    expect(stderr).toContain(check);
  });

  test('reports a certificate that is not trusted as a TLS problem', async () => {
    const { selfSigned } = certificates;
    const server = await httpServer((_, response) => json(response, {}), selfSigned);
    const { code, stderr } = await (await workplace()).automate(['connections', 'add', 'mcp', 'bad', '--url', `${server.origin}/mcp`]);
    expect([code, stderr]).toEqual([7, expect.stringContaining('the problem is in the TLS')]);
  });

  test('saves nothing if the credential does not exist, except with --no-test', async () => {
    const place = await workplace();
    const args = [
      'connections',
      'add',
      'mcp',
      'search',
      '--url',
      'http://127.0.0.1:9/mcp',
      '--auth',
      'bearer',
      '--credential',
      'search-token',
    ];
    const refused = await place.automate(args);
    expect(refused).toMatchObject({ code: 7, stderr: expect.stringContaining('automate credentials set search-token') });
    expect((await place.automate(['connections', 'list', '--json'])).stdout).toBe('[]\n');
    const saved = await place.automate([...args, '--no-test']);
    expect(saved).toMatchObject({ code: 0, stderr: expect.stringContaining('not tested; try it: automate connections test search') });
  });

  test('reports that a credential has expired', async () => {
    const place = await vaultPlace();
    await place.automate(['credentials', 'set', 'old', '--expires', '2020-01-01'], { stdin: 'canary-7f3a\n', env: vault });
    const { code, stderr } = await place.automate(
      ['connections', 'add', 'mcp', 'x', '--url', 'http://127.0.0.1:9/mcp', '--auth', 'bearer', '--credential', 'old'],
      { env: vault },
    );
    expect(code).not.toBe(0);
    expect(stderr).toContain('old');
  });

  test.each([
    [['--url', 'http://mcp.example.com/'], 'expected an https URL'],
    [['--url', 'https://a.example.com/mcp', '--command', 'x'], 'expected --url or --command, found both'],
    [[], 'expected --url or --command, as in: automate connections add mcp search --url'],
    [['--command', 'x', '--auth', 'bearer', '--credential', 'c'], '--pass-credential API_KEY=CREDENTIAL'],
    [['--command', 'x', '--env', 'PATH'], '--pass-env PATH'],
    [['--url', 'https://a.example.com/mcp', '--pass-env', 'HOME'], 'pass_env is for a server with a command'],
    [['--command', 'x', '--pass-credential', 'canary-7f3a'], 'expected VARIABLE=CREDENTIAL'],
    [['--url', 'https://a.example.com/mcp', '--auth', 'telepathy'], 'no type "telepathy"'],
  ])('refuses the arguments %j', async (args, message) => {
    const { code, stdout, stderr } = await (await workplace()).automate(['connections', 'add', 'mcp', 'x', ...args]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(stdout + stderr).not.toContain('canary');
  });

  test('passes a secret to a local server in an environment variable, and masks it in the log', async () => {
    const place = await workplace({ 'rows.csv': 'id\n1\n' });
    const env = { AUTOMATE_CREDENTIAL_SEARCH_KEY: 'canary-7f3a' };
    const words = oddServer('tells').join(' ');
    await place.automate(['connections', 'add', 'mcp', 'odd', '--command', words, '--pass-credential', 'SECRET=search-key'], { env });
    await place.write('flow.yaml', 'nodes: [{ type: mcp, connection: odd, tool: work, arguments: { id: "{{id}}" }, map: [text] }]\n');
    const { code } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--events', 'events.ndjson'], {
      env,
    });
    expect(code).toBe(0);
    const events = (await place.read('events.ndjson'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'server-log', connection: 'odd', level: 'warning', logger: 'db', message: 'slow ***' }),
    );
    expect(events).toContainEqual(expect.objectContaining({ type: 'tool-progress', record: 1, progress: 1, total: 2, message: 'half' }));
  });
});

test('a secret that an MCP server echoes is masked in every file and printed list', async () => {
  const place = await workplace();
  const env = { AUTOMATE_CREDENTIAL_SEARCH_KEY: 'canary-7f3a' };
  const words = oddServer('repeats').join(' ');
  const results = [
    await place.automate(['connections', 'add', 'mcp', 'odd', '--command', words, '--pass-credential', 'SECRET=search-key'], { env }),
    await place.automate(['connections', 'test', 'odd'], { env }),
    await place.automate(['connections', 'tools', 'odd'], { env }),
    await place.automate(['nodes', '--refresh'], { env }),
    await place.automate(['nodes']),
  ];
  expect(results.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0]);
  for (const { stdout, stderr } of results) expect(stdout + stderr).not.toContain('canary');
  expect(results[4]?.stdout).toContain('Uses ***.');
});

test('the printed example of an MCP node contains no control characters, and quotes ambiguous names', () => {
  const evil = 'a\u009b2J\u202eb';
  const inputSchema = { properties: { [evil]: { type: 'string', default: evil }, n: { type: 'number' } }, required: [evil, 'n'] };
  const text = nodeText('123', { name: evil, inputSchema });
  expect(text).not.toMatch(/[\x80-\x9f\u202a-\u202e]/);
  expect(text).toContain('connection: "123"\n  tool: "a\\u009b2J\\u202eb"\n');
  expect(nodeText('null', { name: 'x', inputSchema: {} })).toContain('connection: "null"');
});

test('an MCP tool with an unusual schema can be shown and used in a flow', async () => {
  const words = oddServer('untidy');
  const flow = `connections: { odd: ${commandConnection(words)} }\nnodes: [{ type: mcp, connection: odd, tool: work, arguments: { id: x, b: y } }]\n`;
  const place = await workplace({ 'flow.yaml': flow });
  await place.automate(['connections', 'add', 'mcp', 'odd', '--command', words.join(' '), '--no-test']);
  expect(await place.automate(['connections', 'tools', 'odd'])).toMatchObject({ code: 0 });
  expect(await place.automate(['connections', 'tools', 'odd', 'work'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('  b   any | text'),
  });
  expect(await place.automate(['validate', 'flow.yaml'])).toMatchObject({ code: 0, stderr: expect.not.stringContaining('warning') });
});

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)('`connections add` ends the MCP server that it is testing when it receives %s', async (signal, exitCode) => {
  const place = await workplace();
  const words = oddServer('never-ready', place.path('note'));
  const { child, finished } = place.start(['connections', 'add', 'mcp', 'odd', '--command', words.join(' ')]);
  await expect.poll(() => place.read('note').catch(() => '')).toContain('started');
  const pid = Number(/started (\d+)/.exec(await place.read('note'))?.[1]);
  onTestFinished(() => {
    if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  });
  child.kill(signal);
  expect((await finished).code).toBe(exitCode);
  await expect.poll(() => isAlive(pid)).toBe(false);
});

describe('the tools of an MCP server', () => {
  test('are listed, or shown individually with a node that can be run unchanged', async () => {
    const place = await workplace({ 'rows.csv': 'a,b\n1,2\n3,4\n' });
    await place.automate(['connections', 'add', 'mcp', 'every', '--command', everything]);
    const list = await place.automate(['connections', 'tools', 'every']);
    expect(list.stdout).toMatch(/^get-sum +a\*, b\* +Returns the sum of two numbers$/m);
    const { stdout } = await place.automate(['connections', 'tools', 'every', 'get-sum']);
    expect(stdout).toContain('arguments:\n  a  number  required  First number\n');
    await place.write('flow.yaml', `nodes:\n${stdout.split('a node that calls it:\n')[1]}`);
    expect(await place.automate(['validate', 'flow.yaml', '--in', 'rows.csv'])).toMatchObject({ code: 0 });
    const run = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv']);
    expect(run).toMatchObject({
      code: 0,
      stdout: 'a,b,answer\n1,2,"{""text"":""The sum of 1 and 2 is 3.""}"\n3,4,"{""text"":""The sum of 3 and 4 is 7.""}"\n',
    });
    expect(JSON.parse((await place.automate(['connections', 'tools', 'every', 'echo', '--json'])).stdout)).toMatchObject({
      name: 'echo',
      inputSchema: { required: ['message'] },
      node: expect.stringContaining('type: mcp'),
    });
    expect(await place.automate(['connections', 'tools', 'every', 'get-sun'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('did you mean "get-sum"?'),
    });
  });

  test.each([
    ['truncated', '{"version": 1, "serv'],
    ['of another version', '{"version": 2, "servers": {}}'],
    ['with other content', '{"version": 1, "servers": {"odd": {"at": "2026-11-01", "written": "", "server": {}}}}'],
  ])('are requested from the server if their cache file is damaged: %s', async (_, text) => {
    const place = await workplace();
    await place.automate(['connections', 'add', 'mcp', 'odd', '--command', oddServer('').join(' '), '--no-test']);
    await place.write('.automate/mcp-tools.json', text);
    expect(await place.automate(['nodes'])).toMatchObject({ code: 0, stdout: expect.stringContaining('its tools are not cached yet') });
    expect(await place.automate(['connections', 'test', 'odd'])).toMatchObject({ code: 0, stdout: 'odd: works\n' });
    expect((await place.automate(['nodes'])).stdout).toContain('\nmcp connection odd: 2 tools, fetched less than a minute ago\n');
  });

  test('are used, with a warning, even if they cannot be cached', async () => {
    const place = await workplace();
    await mkdir(place.path('.automate'));
    await symlink(place.path('nowhere.json'), place.path('.automate/mcp-tools.json'));
    const added = await place.automate(['connections', 'add', 'mcp', 'odd', '--command', oddServer('').join(' ')]);
    expect(added).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('"odd" is saved; its tools: automate connections tools odd\n'),
    });
    expect(added.stderr).toContain(
      `warning: the list of tools of "odd" could not be cached: ${place.path('.automate/mcp-tools.json')} is a symbolic link, which is not allowed here\n`,
    );
    for (const args of [
      ['tools', 'odd', 'work'],
      ['test', 'odd'],
    ]) {
      expect(await place.automate(['connections', ...args])).toMatchObject({
        code: 0,
        stderr: expect.stringContaining('warning: the list of tools of "odd" could not be cached'),
      });
    }
  });

  test('are listed by automate nodes with their age, and updated with --refresh', async () => {
    const place = await workplace();
    await place.automate(['connections', 'add', 'mcp', 'every', '--command', everything, '--no-test']);
    expect((await place.automate(['nodes'])).stdout).toContain(
      '\nmcp connection every: its tools are not cached yet; to fetch them: automate connections tools every\n',
    );
    const refreshed = await place.automate(['nodes', '--refresh']);
    expect(refreshed.stdout).toMatch(
      /\nmcp connection every: \d+ tools, fetched less than a minute ago\n {2}echo +Echoes back the input string\n/,
    );
    expect((await place.automate(['nodes'])).stdout).toBe(refreshed.stdout);
    // A connection with a different command counts as a different server, so the cached tools are not used for it.
    await place.automate(['connections', 'add', 'mcp', 'every', '--command', 'other', '--no-test', '--force']);
    expect((await place.automate(['nodes'])).stdout).toContain('its tools are not cached yet');
    expect(await place.automate(['nodes', '--refresh'])).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('there is no program "other"'),
    });
  });
});

describe('a flow with an MCP node', () => {
  const flow = `connections:
  every: { type: mcp, command: ${JSON.stringify(stdioServers.everything)}, credits: 2 }
nodes:
  - { id: sum, type: mcp, connection: every, tool: get-sum, arguments: '{ "a": {{a}}, "b": {{b}} }', map: { said: text } }
`;

  test("is validated against the server's tools, unless --offline is given", async () => {
    const place = await workplace({ 'flow.yaml': flow.replace('get-sum', 'get-sun').replace('"b":', '"c":') });
    const { code, stderr } = await place.automate(['validate', 'flow.yaml']);
    expect([code, stderr]).toEqual([
      3,
      expect.stringMatching(/^flow\.yaml:4:\d+: the server of "every" has no tool "get-sun"; did you mean "get-sum"\?/),
    ]);
    expect(await place.automate(['validate', 'flow.yaml', '--offline'])).toMatchObject({ code: 0 });
  });

  test('is reported as valid, with a warning, if the server cannot be reached', async () => {
    const place = await workplace({ 'flow.yaml': flow.replace(/command: \[.*?\]/, 'url: "http://127.0.0.1:9/mcp"') });
    expect(await place.automate(['validate', 'flow.yaml'])).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('the tools of "every" were not checked: http://127.0.0.1:9: the connection was refused'),
    });
  });

  test('can be tried with test-request', async () => {
    const place = await workplace({ 'flow.yaml': flow });
    const args = ['test-request', 'flow.yaml', '--set', 'a=1', '--set', 'b=2'];
    const shown = await place.automate(args);
    expect(shown).toMatchObject({ code: 0, stderr: '2 credits spent\n' });
    expect(shown.stdout).toMatch(
      /^get-sum of every \(.*\)\n\n\{"a":1,"b":2\}\n\nanswered in [\d.]+ m?s\n\npath +type +sample\ntext +string +"The sum of 1 and 2 is 3\."\n\nmap yields\n +said +The sum of 1 and 2 is 3\.\n$/,
    );
    expect(JSON.parse((await place.automate([...args, '--json'])).stdout)).toMatchObject({
      request: { connection: 'every', tool: 'get-sum', arguments: { a: 1, b: 2 } },
      response: { is_error: false, body: { text: 'The sum of 1 and 2 is 3.' } },
      map: [{ said: 'The sum of 1 and 2 is 3.' }],
    });
    expect(await place.automate([...args, '--no-send'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/\{"a":1,"b":2\}\n$/) });
    expect(await place.automate([...args, '--curl'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('calls an MCP tool, which curl cannot do'),
    });
  });

  test('shows its first call in a dry run, which does not start the server', async () => {
    const place = await workplace({
      'flow.yaml': flow.replace(/command: \[.*?\]/, 'command: no-such-program'),
      'rows.csv': 'a,b\n1,2\n3,4\n',
    });
    const { code, stdout } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--dry-run']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^records: +2\nactions: +2\ncredits: +4\n/);
    expect(stdout).toContain('get-sum of every (no-such-program)\n  \n  {"a":1,"b":2}');
  });

  test('spends credits, which the ledger counts for the connection of the node', async () => {
    const place = await workplace({ 'flow.yaml': flow, 'rows.csv': 'a,b\n1,2\nx,4\n3,4\n' });
    const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv']);
    expect([code, stderr]).toEqual([4, expect.stringContaining('3 read, 2 written, 1 failed, 4 credits')]);
    const { stdout } = await place.automate(['credits', '--json']);
    expect(stdout).toMatch(/"every"/);
  });

  test('fails a record with wrong arguments without spending credits', async () => {
    const place = await workplace({ 'flow.yaml': flow.replace(/'\{.*\}'/, '{ a: "{{a}}", b: "{{b}}" }'), 'rows.csv': 'a,b\n1,2\n' });
    const { stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv']);
    expect(stderr).toContain('1 read, 0 written, 1 failed, 0 credits');
    expect(await place.read('out.errors.csv')).toMatch(
      /sum,request,,"the tool ""get-sum"" does not take these arguments: a must be number/,
    );
  });
});

test('the modules for MCP are loaded only by commands that need them', async () => {
  const place = await workplace({ 'flow.yaml': 'nodes: [{ type: set, fields: { b: "{{a}}" } }]\n', 'rows.csv': 'a\n1\n' });
  await place.automate(['connections', 'add', 'mcp', 'x', '--command', 'y', '--no-test']);
  const ofMcp = /^mcp\.cjs|^@modelcontextprotocol/;
  for (const args of [
    ['--version'],
    ['run', 'flow.yaml', '--in', 'rows.csv'],
    ['connections', 'list'],
    ['validate', 'flow.yaml'],
    ['test', '--help'],
  ]) {
    const files = await filesLoaded(place, args);
    expect(files).toContain('main.cjs');
    expect(files.filter((name) => ofMcp.test(name))).toEqual([]);
  }
  await place.write(
    'tool.yaml',
    `connections: { every: { type: mcp, command: ${JSON.stringify(stdioServers.everything)} } }\nnodes: [{ type: mcp, connection: every, tool: echo, arguments: { message: "{{a}}" } }]\n`,
  );
  const files = await filesLoaded(place, ['run', 'tool.yaml', '--in', 'rows.csv']);
  expect(files.filter((name) => ofMcp.test(name))).toEqual(expect.arrayContaining(['mcp.cjs', '@modelcontextprotocol-client.cjs']));
});

/** Returns the names of the files of the program that a command loads. */
async function filesLoaded(place: Workplace, args: readonly string[]): Promise<string[]> {
  const folder = place.path(`coverage-${args[0]}-${args[1]}`);
  const { code } = await place.automate(args, { env: { NODE_V8_COVERAGE: folder } });
  expect(code).toBe(0);
  const reports = await Promise.all((await readdir(folder)).map((file) => readFile(join(folder, file), 'utf8')));
  const urls = reports.flatMap((text) => (JSON.parse(text) as Coverage).result.map(({ url }) => url));
  return urls.filter((url) => url.includes('/dist/')).map((url) => url.slice(url.lastIndexOf('/') + 1));
}

/** The content of a file that NODE_V8_COVERAGE writes. */
interface Coverage {
  readonly result: readonly { readonly url: string }[];
}

const addingWithLogin = ({ origin }: { origin: string }) => [
  'connections',
  'add',
  'mcp',
  'docs',
  '--url',
  `${origin}/mcp`,
  '--auth',
  'oauth2_authorization_code',
  '--credential',
  'docs-login',
];

describe('a login to an MCP server with a browser', () => {
  test('stores tokens that runs send only to this server, and refresh without another login', async () => {
    const server = await loginServer();
    const browser = '#!/bin/sh\nenv > "$HOME/browser.env"\ncurl -sSL "$1" >/dev/null\n';
    const place = await vaultPlace({ browser, 'rows.csv': 'id\n1\n' });
    await chmod(place.path('browser'), 0o755);
    const env = { ...vault, BROWSER: place.path('browser') };
    const added = await place.automate(addingWithLogin(server), { env });
    expect([added.code, added.stderr]).toEqual([0, expect.stringContaining('log in with your browser')]);
    expect(await place.read('browser.env')).not.toContain('AUTOMATE_');
    const listed = await place.automate(['credentials', 'list'], { env: vault });
    expect(listed.stdout).toMatch(/docs-login.*vault.*127\.0\.0\.1:\d+/);
    await place.write('flow.yaml', 'nodes: [{ type: mcp, connection: docs, tool: work, arguments: {}, map: [text] }]\n');
    const run = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--events', 'events.ndjson'], { env: vault });
    expect(run).toMatchObject({ code: 0, stdout: 'id,text\n1,ok ***\n' });
    for (const text of [added.stdout, added.stderr, run.stderr, await place.read('events.ndjson')])
      expect(text).not.toMatch(/access-\d|refresh-\d/);
    // The access token expires, and is renewed without another login.
    server.expire();
    expect(await place.automate(['run', 'flow.yaml', '--in', 'rows.csv'], { env: vault })).toMatchObject({ code: 0 });
    expect(server.logins()).toBe(1);
  });

  test('exits with 7 and prints the login command if there is no terminal', async () => {
    const server = await loginServer();
    const place = await workplace();
    const { code, stderr } = await place.automate(addingWithLogin(server), { env: vault });
    expect([code, stderr]).toEqual([7, expect.stringContaining('log in: automate connections login docs')]);
    const flow = `connections: { docs: { type: mcp, url: "${server.origin}/mcp", auth: { type: oauth2_authorization_code, credential: docs-login } } }
nodes: [{ type: mcp, connection: docs, tool: work }]
`;
    await place.write('flow.yaml', flow);
    await place.write('rows.csv', 'id\n1\n');
    const run = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv'], { env: vault });
    expect([run.code, run.stderr]).toEqual([
      7,
      expect.stringMatching(/there is no credential "docs-login"[\s\S]*\n +log in: automate connections login docs/),
    ]);
  });
});
