import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { answeringServer } from '../helpers/answering-server.ts';
import { idRows } from '../helpers/asking.ts';
import { savedConnections, type Workplace, workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { unusedPort } from '../helpers/raw-server.ts';

const home = '.automate';
const file = `${home}/connections.json`;
const base = 'https://api.example.com/v2';

const addHttp = (name: string, ...more: string[]) => ['connections', 'add', 'http', name, '--base-url', base, ...more];

/** Creates a workplace with these saved connections. */
async function placeWith(saved: object | string, files: Record<string, string> = {}): Promise<Workplace> {
  const place = await workplace(files);
  await mkdir(place.path(home), { mode: 0o700 });
  await place.write(file, typeof saved === 'string' ? saved : JSON.stringify(saved));
  return place;
}

const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);

describe('automate connections add', () => {
  const oauth = ['--token-url', 'https://auth.example.com/token', '--client-id', 'me'];
  const oauthSaved = { type: 'oauth2_client_credentials', token_url: 'https://auth.example.com/token', client_id: 'me', credential: 'c' };
  const added: [name: string, args: string[], saved: object][] = [
    ['plain', ['--auth', 'none'], {}],
    ['bearer', ['--auth', 'bearer', '--credential', 'c'], { auth: { type: 'bearer', credential: 'c' } }],
    [
      'key-in-header',
      ['--auth', 'api_key', '--header', 'X-Key', '--credential', 'c'],
      { auth: { type: 'api_key', header: 'X-Key', credential: 'c' } },
    ],
    ['key-by-itself', ['--query', 'key', '--credential', 'c'], { auth: { type: 'api_key', query: 'key', credential: 'c' } }],
    ['pair', ['--auth', 'basic', '--credential', 'c'], { auth: { type: 'basic', credential: 'c' } }],
    ['user', ['--auth', 'basic', '--username', 'u', '--credential', 'c'], { auth: { type: 'basic', username: 'u', credential: 'c' } }],
    ['oauth', ['--auth', 'oauth2', ...oauth, '--credential', 'c'], { auth: oauthSaved }],
    [
      'scoped',
      ['--auth', 'oauth2_client_credentials', ...oauth, '--credential', 'c', '--scopes', 'read,write:all'],
      { auth: { ...oauthSaved, scopes: ['read', 'write:all'] } },
    ],
    [
      'busy',
      ['--set-header', 'Accept: text/plain', '--set-header', 'X-Id:{{id}}', '--rate', '600/min', '--concurrency', '3', '--allow-http'],
      { headers: { Accept: 'text/plain', 'X-Id': '{{id}}' }, rate: '600/min', concurrency: 3, allow_http: true },
    ],
    ['finding', ['--concurrency', 'auto'], { concurrency: 'auto' }],
    ['constructor', [], {}],
    ['a.b', [], {}],
  ];

  test('saves every kind of connection, and prints it in a form that is valid in a flow', async () => {
    const place = await workplace();
    const printed: string[] = [];
    for (const [name, args] of added) {
      const { code, stdout, stderr } = await place.automate(addHttp(name, ...args));
      expect({ name, code }).toEqual({ name, code: 0 });
      expect(stderr).toContain(`"${name}" is saved; try it: automate connections test ${name}\n`);
      expect(stderr.includes('there is no credential "c" yet; store it: automate credentials set c')).toBe(args.includes('c'));
      printed.push(stdout);
    }
    const saved = added.map(([name, , more]) => ({ name, type: 'http', base_url: base, ...more }));
    expect(await savedConnections(place)).toEqual(saved.sort((a, b) => (a.name < b.name ? -1 : 1)));
    expect(await readdir(place.path(home))).toEqual(['connections.json']);
    for (const name of ['bearer', 'constructor']) {
      const at = added.findIndex(([other]) => other === name);
      expect((await place.automate(['connections', 'show', name])).stdout).toBe(printed[at]);
      const json = JSON.parse((await place.automate(['connections', 'show', name, '--json'])).stdout);
      expect(json).toEqual(saved.find((connection) => connection.name === name));
    }
    const nodes = added.map(([name]) => `  - { type: http, connection: ${name}, url: /x }\n`).join('');
    await place.write('shown.yaml', `connections:\n${printed.join('').replaceAll('connections:\n', '')}nodes:\n${nodes}`);
    await place.write(
      'json.yaml',
      `connections: ${JSON.stringify(Object.fromEntries(saved.map(({ name, ...rest }) => [name, rest])))}\nnodes:\n${nodes}`,
    );
    for (const flow of ['shown.yaml', 'json.yaml']) {
      expect(await place.automate(['validate', flow], { env: { AUTOMATE_CREDENTIAL_C: 'user:sesame' } })).toMatchObject({ code: 0 });
    }
  });

  test.each<[what: string, args: string[], message: string]>([
    ['no name', ['connections', 'add', 'http'], 'expected a name'],
    ['no --base-url', ['connections', 'add', 'http', 'crm'], 'expected --base-url'],
    [
      'an unknown type',
      ['connections', 'add', 'htp', 'crm', '--base-url', base],
      'expected a connection of type http or mcp, found "htp"; did you mean "http"?',
    ],
    [
      '--base-url for MCP',
      ['connections', 'add', 'mcp', 'tools', '--base-url', base],
      '--base-url is for connections of type http; an MCP server has a --url',
    ],
    [
      'a name in place of a type',
      ['connections', 'add', 'crm'],
      'expected a connection of type http or mcp, found "crm"\nas in: automate connections add http crm',
    ],
    ['a name with a space', addHttp('a b'), 'expected a name of letters'],
    ['__proto__', addHttp('__proto__'), 'expected a name of letters'],
    ['an unknown auth type', addHttp('crm', '--auth', 'baerer'), '--auth: no type "baerer"; did you mean "bearer"?'],
    ['bearer without credential', addHttp('crm', '--auth', 'bearer'), 'expected --credential for --auth bearer'],
    ['an API key without header or query', addHttp('crm', '--auth', 'api_key', '--credential', 'c'), 'expected --header or --query'],
    [
      'an API key in both header and query',
      addHttp('crm', '--credential', 'c', '--header', 'X', '--query', 'x'),
      'expected --header or --query, found both',
    ],
    ['an API key in a header without a name', addHttp('crm', '--credential', 'c', '--header', ''), 'expected a header name'],
    [
      'an API key in a parameter without a name',
      addHttp('crm', '--credential', 'c', '--query', ''),
      'expected the name of a query parameter',
    ],
    ['OAuth but no token URL', addHttp('crm', '--auth', 'oauth2', '--credential', 'c'), 'expected --token-url'],
    ['OAuth but no client id', addHttp('crm', '--credential', 'c', '--token-url', 'https://a.example.com'), 'expected --client-id'],
    [
      'a token URL without TLS',
      addHttp('crm', '--credential', 'c', '--client-id', 'me', '--token-url', 'http://a.example.com/t'),
      'expected an absolute https URL as the token_url',
    ],
    [
      'a credential but no auth type that uses it',
      addHttp('crm', '--auth', 'none', '--credential', 'c'),
      '--credential is for --auth bearer, api_key',
    ],
    [
      'a user name for a bearer token',
      addHttp('crm', '--auth', 'bearer', '--credential', 'c', '--username', 'u'),
      '--username is for --auth basic, digest, not for bearer',
    ],
    [
      'a header for basic auth',
      addHttp('crm', '--auth', 'basic', '--credential', 'c', '--header', 'X'),
      '--header is for --auth api_key, jwt, not for basic',
    ],
    [
      'scopes but no OAuth',
      addHttp('crm', '--scopes', 'read'),
      '--scopes is for --auth oauth2_client_credentials, oauth2_jwt_bearer, oauth2_authorization_code, not for none',
    ],
    ['an invalid rate', addHttp('crm', '--rate', '10'), 'expected a rate such as 10/s'],
    ['an empty rate', addHttp('crm', '--rate', ''), 'expected a rate such as 10/s'],
    ['an invalid concurrency', addHttp('crm', '--concurrency', '0'), 'expected a whole number of at least 1'],
    ['a base URL that is not a URL', ['connections', 'add', 'http', 'crm', '--base-url', 'nonsense'], 'expected an absolute URL'],
    ['a plain HTTP base URL', ['connections', 'add', 'http', 'crm', '--base-url', 'http://api.example.com'], 'pass --allow-http'],
    [
      'a reference in the base URL',
      ['connections', 'add', 'http', 'crm', '--base-url', `${base}/{{id}}`],
      'a base_url cannot have references',
    ],
    ['a query in the base URL', ['connections', 'add', 'http', 'crm', '--base-url', `${base}?a=1`], 'a base_url ends with its path'],
    ['a header that the HTTP client sets itself', addHttp('crm', '--set-header', 'Content-Length: 5'), 'is set by automate'],
    ['a header without a value', addHttp('crm', '--set-header', 'Accept'), 'expected a header such as'],
    ['a repeated header', addHttp('crm', '--set-header', 'A: 1', '--set-header', 'A: 2'), 'the header "A" is given twice'],
    ['a repeated header in another case', addHttp('crm', '--set-header', 'A: 1', '--set-header', 'a: 2'), 'the header "a" is given twice'],
  ])('refuses a command line with %s', async (_, args, message) => {
    const place = await workplace();
    const { code, stdout, stderr } = await place.automate(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr.replaceAll('\n  ', '\n')).toContain(message);
    expect(await place.files()).toEqual([]);
  });

  const token = `ghp_${'16C7e42F292c6912E7710c838347Ae178B4a'}`;
  test.each<[what: string, args: string[], message: string]>([
    ['a secret in a header', addHttp('crm', '--set-header', `Authorization: Bearer ${token}`), 'contains a literal secret'],
    ['a secret in any header', addHttp('crm', '--set-header', `X-Other: ${token}`), 'contains a literal secret'],
    ['a secret that was to be a header', addHttp('crm', '--set-header', `Authorization Bearer ${token}`), 'expected a header such as'],
    ['a secret as the credential', addHttp('crm', '--credential', token), 'expected the name of a credential'],
    ['a secret in the URL', ['connections', 'add', 'http', 'crm', '--base-url', `https://u:${token}@api.example.com`], 'literal secret'],
  ])('refuses %s, without printing the secret', async (_, args, message) => {
    const place = await workplace();
    const { code, stdout, stderr } = await place.automate(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
    expect(stderr).not.toContain(token);
    expect(await place.files()).toEqual([]);
  });

  test('suggests a command for storing the secret that includes the environment', async () => {
    const place = await workplace();
    const { stderr } = await place.automate(addHttp('crm', '--credential', 'c'), { env: { AUTOMATE_ENV: 'staging' } });
    expect(stderr).toContain('store it: automate credentials set c --env staging\n');
  });

  test('replaces a connection only with --force', async () => {
    const place = await placeWith({ crm: { type: 'http', base_url: 'https://old.example.com', rate: '1/s' } });
    expect(await place.automate(addHttp('crm'))).toMatchObject({ code: 2, stderr: expect.stringMatching(/"crm" already\n.*--force/) });
    expect(await savedConnections(place)).toMatchObject([{ base_url: 'https://old.example.com' }]);
    expect(await place.automate(addHttp('crm', '--force'))).toMatchObject({ code: 0 });
    expect(await savedConnections(place)).toEqual([{ name: 'crm', type: 'http', base_url: base }]);
  });

  test('saves all connections that several processes add at once, but only one for each name', async () => {
    const place = await workplace();
    const names = ['a', 'b', 'one', 'one'];
    const codes = (await Promise.all(names.map((name) => place.automate(addHttp(name))))).map(({ code }) => code);
    expect(codes.slice(0, 2)).toEqual([0, 0]);
    expect(codes.slice(2).sort()).toEqual([0, 2]);
    expect((await savedConnections(place)).map(({ name }: { name: string }) => name)).toEqual([...new Set(names)]);
    expect(await readdir(place.path(home))).toEqual(['connections.json']);
  });
});

describe('saved connections', () => {
  const saved = {
    shop: { type: 'http', base_url: 'https://shop.example.com' },
    crm: { type: 'http', base_url: base, auth: { type: 'basic', credential: 'crm-pw' }, rate: '5/s' },
  };

  test('are listed in alphabetical order, or a message says that there are none', async () => {
    const { stdout } = await (await placeWith(saved)).automate(['connections', 'list']);
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.trimEnd().split(/ {2,}/)),
    ).toEqual([
      ['name', 'type', 'base URL', 'auth', 'credential', 'rate'],
      ['crm', 'http', base, 'basic', 'crm-pw', '5/s'],
      ['shop', 'http', 'https://shop.example.com', 'none', '-', '-'],
    ]);
    const empty = await workplace();
    expect(await empty.automate(['connections', 'list'])).toEqual({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('no connections are saved'),
    });
    expect((await empty.automate(['connections', 'list', '--json'])).stdout).toBe('[]\n');
    expect(await empty.files()).toEqual([]);
  });

  test('are listed with every credential that they need', async () => {
    const login = { url: '/login', form: { user: 'robot', password: { credential: 'wiki-pw' } }, take: { t: 'body.t' } };
    const list = [
      { type: 'bearer', credential: 'token' },
      { type: 'api_key', header: 'X-Key', credential: 'key' },
    ];
    const others = {
      wiki: { type: 'http', base_url: base, auth: { type: 'session', login, send: { headers: { X: { session: 't' } } } } },
      both: { type: 'http', base_url: base, auth: list },
      signed: { type: 'http', base_url: base, auth: { type: 'jwt', credential: 'pem', passphrase: { credential: 'words' } } },
      tool: { type: 'mcp', command: 'node server.js', credentials: { API_KEY: 'tool-key' } },
      newer: { type: 'http', base_url: base, auth: { type: 'telepathy', mind: 'open' } },
    };
    const { stdout } = await (await placeWith(others)).automate(['connections', 'list']);
    const cells = stdout
      .trimEnd()
      .split('\n')
      .slice(1)
      .map((line) => line.split(/ {2,}/));
    expect(cells.map(([name, , , auth, credential]) => [name, auth, credential])).toEqual([
      ['both', 'bearer, api_key', 'token, key'],
      ['newer', 'telepathy', '-'],
      ['signed', 'jwt', 'pem, words'],
      ['tool', 'none', 'tool-key'],
      ['wiki', 'session', 'wiki-pw'],
    ]);
  });

  test('are removed by `connections remove`, one at a time', async () => {
    const place = await placeWith(saved);
    expect(await place.automate(['connections', 'remove', 'crm'])).toMatchObject({ code: 0, stderr: '"crm" is removed\n' });
    expect(await savedConnections(place)).toEqual([{ name: 'shop', ...saved.shop }]);
    expect(await place.automate(['connections', 'remove', 'crm'])).toMatchObject({ code: 7 });
  });

  test.each([
    ['show', 'crn', '; did you mean "crm"?'],
    ['remove', 'toString', '; available: shop, crm'],
    ['test', '__proto__', '; available: shop, crm'],
  ])('are suggested by `connections %s` if it does not find the name %s', async (command, name, hint) => {
    const place = await placeWith(saved);
    expect(await place.automate(['connections', command, name])).toEqual({
      code: 7,
      stdout: '',
      stderr: `automate: no connection "${name}"${hint}\n`,
    });
    expect(await savedConnections(place)).toHaveLength(2);
  });

  test('are not suggested if none is saved', async () => {
    const { code, stderr } = await (await workplace()).automate(['connections', 'show', 'crm']);
    expect([code, stderr]).toEqual([7, 'automate: no connection "crm"; none is saved\n']);
  });
});

describe('automate connections test', () => {
  const env = { AUTOMATE_CREDENTIAL_C: 'user:sesame 1' };

  /** Starts a server that echoes requests and answers `/s404` with 404, and saves a connection to it. */
  async function connected(more: object = {}) {
    const server = await answeringServer(({ path, headers, body }) => {
      if (path.startsWith('/token')) return { body: { access_token: 'token-1' } };
      return { status: Number(/s(\d+)/.exec(path)?.[1] ?? 200), body: `${path} ${headers.authorization} ${body}` };
    });
    const place = await placeWith({ crm: { type: 'http', base_url: `${server.origin}/v2/`, ...more } });
    return { server, place, check: (...args: string[]) => place.automate(['connections', 'test', 'crm', ...args], { env }) };
  }
  const bearer = { auth: { type: 'bearer', credential: 'c' } };

  test.each([200, 429])('succeeds if the server responds with status %i', async (status) => {
    const { server, check } = await connected(bearer);
    const { code, stdout, stderr } = await check('--path', `/s${status}?a=1`);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'crm: works\n' });
    expect(stderr).toMatch(new RegExp(`^GET ${server.origin}/v2/s${status}\\?a=1: ${status} in [\\d.]+ m?s\\n$`));
    expect(server.requests).toMatchObject([{ method: 'GET', path: `/v2/s${status}?a=1` }]);
  });

  test('suggests trying a different path if the server responds with status 404', async () => {
    const { check } = await connected(bearer);
    const { code, stdout, stderr } = await check('--path', '/s404');
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'crm: reached, but it answers 404\n' });
    expect(stderr).toContain('the server was reached, but has nothing at /v2/s404; choose another path with --path\n');
  });

  test.each([401, 403, 500])('says what to check if the server responds with status %i', async (status) => {
    const { server, check } = await connected(bearer);
    const { code, stdout, stderr } = await check('--path', `s${status}`);
    expect({ code, stdout }).toEqual({ code: 7, stdout: '' });
    expect(stderr).toContain(`connection "crm": the server answered ${status}: /v2/s${status} Bearer ***`);
    expect(stderr).toMatch(
      /check the URL, outbound firewall rules, and the credential's validity and expiry \(automate credentials check c\)\n$/,
    );
    expect(stderr).not.toContain('sesame');
    expect(server.requests).toHaveLength(1);
  });

  test.each([
    [200, '0.5 credits spent'],
    [404, '2 credits spent'],
  ])("charges the cost in a successful response, or else the connection's price (status %i)", async (status, spent) => {
    const server = await httpServer((_request, response) => json(response, { billing: { used: 0.5 } }, status));
    const place = await placeWith({ crm: { type: 'http', base_url: server.origin, credits: 2, cost: 'billing.used' } });
    const { code, stderr } = await place.automate(['connections', 'test', 'crm']);
    expect([code, stderr]).toEqual([0, expect.stringContaining(spent)]);
  });

  test('costs nothing if the server cannot be reached', async () => {
    const place = await placeWith({ crm: { type: 'http', base_url: `http://127.0.0.1:${await unusedPort()}` } });
    const { code, stdout, stderr } = await place.automate(['connections', 'test', 'crm']);
    expect({ code, stdout }).toEqual({ code: 7, stdout: '' });
    expect(stderr).toMatch(/network in [\d.]+ m?s\nautomate: connection "crm": .*refused.*\n {2}check the URL, outbound firewall rules\n$/);
  });

  test('sends no request if the credential is missing', async () => {
    const { server, place } = await connected(bearer);
    const { code, stderr } = await place.automate(['connections', 'test', 'crm']);
    expect(code).toBe(7);
    expect(stderr).toContain('there is no credential "c"\n  store it: automate credentials set c\n');
    expect(server.requests).toEqual([]);
  });

  test.each<[what: string, auth: object, path: string, headers: object]>([
    ['a key in a header', { type: 'api_key', header: 'X-Key' }, '/v2/', { 'x-key': 'user:sesame 1' }],
    ['a key in the query', { type: 'api_key', query: 'key' }, '/v2/?key=user%3Asesame%201', {}],
    ['a pair user:password as the secret', { type: 'basic' }, '/v2/', { authorization: `Basic ${btoa('user:sesame 1')}` }],
    [
      'a user name and a password as the secret',
      { type: 'basic', username: 'u' },
      '/v2/',
      { authorization: `Basic ${btoa('u:user:sesame 1')}` },
    ],
  ])('authenticates with %s', async (_, auth, path, headers) => {
    const { server, check } = await connected({ auth: { ...auth, credential: 'c' } });
    const { code, stderr } = await check();
    expect(code).toBe(0);
    expect(stderr).not.toContain('sesame');
    expect(server.requests).toMatchObject([{ path, headers }]);
  });

  test('authenticates with an access token', async () => {
    const tokens = await answeringServer(() => ({ body: { access_token: 'token-1' } }));
    const auth = { type: 'oauth2_client_credentials', token_url: `${tokens.origin}/token`, client_id: 'me', credential: 'c' };
    const { server, check } = await connected({ auth });
    expect(await check()).toMatchObject({ code: 0 });
    expect(tokens.requests).toMatchObject([{ method: 'POST', headers: { authorization: `Basic ${btoa('me:user%3Asesame%201')}` } }]);
    expect(server.requests).toMatchObject([{ headers: { authorization: 'Bearer token-1' } }]);
  });

  test("leaves out headers that refer to a record's field", async () => {
    const { server, check } = await connected({ headers: { 'X-Fixed': 'f', 'X-Id': 'id {{id}}' } });
    expect(await check()).toMatchObject({ code: 0 });
    expect(server.requests[0]?.headers).toMatchObject({ 'x-fixed': 'f' });
    expect(server.requests[0]?.headers).not.toHaveProperty('x-id');
  });

  test('refuses a path that leads to a different server', async () => {
    const { server, check } = await connected(bearer);
    for (const path of ['//127.0.0.1:1/x', 'http://127.0.0.1:1/x']) expect(await check('--path', path)).toMatchObject({ code: 0 });
    expect(server.requests).toHaveLength(2);
  });

  test('reports a problem in a connection that was edited by hand', async () => {
    const place = await placeWith({ crm: { type: 'http', base_url: base, rat: '5/s' } });
    const { code, stderr } = await place.automate(['connections', 'test', 'crm']);
    expect(code).toBe(7);
    expect(stderr).toContain('the saved connection "crm" is not valid: unknown key "rat"; did you mean "rate"?');
  });
});

describe('a flow that uses a saved connection', () => {
  const flow = 'nodes:\n  - { type: http, connection: crm, url: "/users/{{id}}" }\n';
  const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'];

  test('uses its base URL, authentication and headers', async () => {
    const server = await answeringServer(() => ({}));
    const auth = { type: 'bearer', credential: 'c' };
    const place = await placeWith(
      { crm: { type: 'http', base_url: `${server.origin}/v2`, auth, headers: { 'X-From': 'saved {{id}}' } } },
      { 'flow.yaml': flow, 'rows.csv': idRows(1) },
    );
    const env = { AUTOMATE_CREDENTIAL_C: 'sesame' };
    expect(await place.automate(['validate', 'flow.yaml', '--in', 'rows.csv'], { env })).toMatchObject({ code: 0 });
    expect(await place.automate(run, { env })).toMatchObject({ code: 0 });
    expect(server.requests).toMatchObject([{ path: '/v2/users/1', headers: { authorization: 'Bearer sesame', 'x-from': 'saved 1' } }]);
    expect(await place.automate(['test-request', 'flow.yaml', '--in', 'rows.csv'], { env })).toMatchObject({ code: 0 });
    expect(server.requests).toHaveLength(2);
    expect(await place.automate(['validate', 'flow.yaml'])).toMatchObject({
      code: 7,
      stderr: expect.stringContaining('no credential "c"'),
    });
  });

  test('uses its concurrency limit', async () => {
    const server = await answeringServer(async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return {};
    });
    const crm = { type: 'http', base_url: server.origin, concurrency: 2 };
    const place = await placeWith({ crm }, { 'flow.yaml': flow, 'rows.csv': idRows(8) });
    expect(await place.automate(run)).toMatchObject({ code: 0 });
    expect(server.mostAtOnce()).toBe(2);
  });

  test('uses its rate limit', async () => {
    const times: number[] = [];
    const server = await answeringServer(() => {
      times.push(performance.now());
      return {};
    });
    const place = await placeWith(
      { crm: { type: 'http', base_url: server.origin, rate: '2/s' } },
      { 'flow.yaml': flow, 'rows.csv': idRows(4) },
    );
    expect(await place.automate(run)).toMatchObject({ code: 0 });
    expect(times).toHaveLength(4);
    // Four requests have three intervals of 500 ms, which differences in latency can shorten.
    expect((times[3] as number) - (times[0] as number)).toBeGreaterThan(500);
  });

  test('prefers a connection in the flow to a saved one of the same name', async () => {
    const server = await answeringServer(() => ({}));
    const own = `connections: { crm: { type: http, base_url: "${server.origin}/own" } }\n`;
    for (const saved of [{ crm: { type: 'http', base_url: `${server.origin}/saved` } }, '{']) {
      const place = await placeWith(saved, { 'flow.yaml': own + flow, 'rows.csv': idRows(1) });
      expect(await place.automate(run)).toMatchObject({ code: 0 });
    }
    expect(server.requests.map(({ path }) => path)).toEqual(['/own/users/1', '/own/users/1']);
  });

  test.each([
    ['a similar name is saved', { crn: { type: 'http', base_url: base } }, '; did you mean "crn"?'],
    ['others are saved', { shop: { type: 'http', base_url: base } }, '; available: shop'],
    ['none is saved', {}, '; the flow has none, and none is saved'],
  ])('exits with 7 and shows where the flow uses a connection that does not exist: %s', async (_, saved, hint) => {
    const place = await placeWith(saved, { 'flow.yaml': flow, 'rows.csv': idRows(1) });
    const { code, stderr } = await place.automate(run);
    expect(code).toBe(7);
    expect(stderr).toContain(`flow.yaml:2:31: no connection "crm"${hint}`);
    expect(stderr).toContain('save it: automate connections add http crm --base-url URL');
  });

  test.each(['constructor'])('treats the JavaScript property name %s as an ordinary connection name', async (name) => {
    const files = { 'flow.yaml': flow.replace('crm', name), 'rows.csv': idRows(1) };
    expect(await (await placeWith({}, files)).automate(run)).toMatchObject({ code: 7 });
    const place = await placeWith({ [name]: { type: 'http', base_url: base } }, files);
    expect(await place.automate(['validate', 'flow.yaml'])).toMatchObject({ code: 0 });
  });

  test("exits with 3 and lists a missing connection along with the flow's other problems", async () => {
    const place = await placeWith({}, { 'flow.yaml': `${flow}  - { type: htp }\n`, 'rows.csv': idRows(1) });
    const { code, stderr } = await place.automate(run);
    expect(code).toBe(3);
    expect(stderr).toMatch(/2:31: no connection "crm"[\s\S]*3:\d+: no node type "htp"[\s\S]*2 problems in flow\.yaml/);
  });

  test('reports an invalid saved connection at the position in the flow where it is used', async () => {
    const place = await placeWith(
      { crm: { type: 'http', base_url: 'http://api.example.com' } },
      { 'flow.yaml': flow, 'rows.csv': idRows(1) },
    );
    const { code, stderr } = await place.automate(run);
    expect(code).toBe(3);
    expect(stderr).toContain('flow.yaml:2:31: the saved connection "crm" is not valid: expected an https URL');
  });

  describe('with --resume', () => {
    /** Creates a run that stopped at its first failure. From now on, the server answers 200. */
    async function stopped() {
      let status = 404;
      const server = await answeringServer(() => ({ status }));
      const crm = { type: 'http', base_url: server.origin, auth: { type: 'bearer', credential: 'c' } };
      const place = await placeWith({ crm }, { 'flow.yaml': flow, 'rows.csv': idRows(30) });
      const env = { AUTOMATE_CREDENTIAL_C: 'sesame' };
      expect(await place.automate([...run, '--max-errors', '0'], { env })).toMatchObject({ code: 5 });
      status = 200;
      const resume = async (...more: string[]) => {
        const before = server.requests.length;
        const { code, stderr } = await place.automate([...run, '--resume', ...more], { env });
        return { code, stderr, requests: server.requests.length - before };
      };
      const save = (connection: object) => writeFile(place.path(file), JSON.stringify({ crm: connection }));
      return { crm, save, resume };
    }

    test('is refused if the saved connection has changed', async () => {
      const { crm, save, resume } = await stopped();
      for (const change of [
        { base_url: 'http://127.0.0.1:1' },
        { auth: { type: 'basic', username: 'u', credential: 'c' } },
        { headers: { A: '1' } },
      ]) {
        await save({ ...crm, ...change });
        const refused = await resume();
        expect(refused).toMatchObject({ code: 73, requests: 0 });
        expect(refused.stderr).toContain('not the run that began it:\n  the saved connection has changed\n  undo these changes');
      }
      await save(crm);
      const { code, requests } = await resume();
      expect({ code, isSent: requests > 0 }).toEqual({ code: 4, isSent: true });
    });

    test('is refused if the credentials come from a different environment', async () => {
      const { resume } = await stopped();
      const refused = await resume('--env', 'staging');
      expect(refused).toMatchObject({ code: 73, requests: 0 });
      expect(refused.stderr).toContain('the environment of its credentials was default, is staging\n');
      expect(await resume('--env', 'default')).toMatchObject({ code: 4 });
    });
  });
});

describe('the file of saved connections', () => {
  test.each([
    ['truncated', '{"crm": {"type": "ht'],
    ['empty', ''],
    ['a list', '[]'],
    ['null', 'null'],
    ['an object of other things', '{"crm": "https://api.example.com"}'],
    ['an object of lists', '{"crm": []}'],
  ])('is refused and left unchanged if its content is invalid: %s', async (_, text) => {
    const flow = 'nodes: [{ type: http, connection: crm, url: /x }]\n';
    const place = await placeWith(text, { 'flow.yaml': flow, 'rows.csv': 'id\n1\n' });
    const others = [addHttp('shop'), ['connections', 'list'], ['connections', 'remove', 'crm'], ['validate', 'flow.yaml']];
    for (const args of [addHttp('crm', '--force'), ...(text === '' ? others : [])]) {
      const { code, stdout, stderr } = await place.automate(args);
      expect({ args, code, stdout }).toEqual({ args, code: 7, stdout: '' });
      expect(stderr).toBe(
        `automate: ${place.path(file)} cannot be read: its content was not written by automate\n  put back a good copy, or delete it: automate creates a new one\n`,
      );
    }
    expect(await place.read(file)).toBe(text);
    expect(await readdir(place.path(home))).toEqual(['connections.json']);
  });

  test.each([0, 0o777])('is readable only by its owner, even with umask %i', async (umask) => {
    const place = await workplace();
    const before = process.umask(umask);
    onTestFinished(() => void process.umask(before));
    const modes = async () => [await modeOf(place.path(home)), await modeOf(place.path(file))];
    for (const name of ['crm', 'shop']) {
      expect(await place.automate(addHttp(name))).toMatchObject({ code: 0 });
      expect(await modes()).toEqual(['700', '600']);
      await chmod(place.path(file), 0o644);
    }
  });

  test('is refused if it or its folder is a symbolic link', async () => {
    const saved = '{"crm":{"type":"http","base_url":"https://elsewhere.example.com"}}';
    const place = await placeWith(saved);
    await mkdir(place.path('links'));
    await symlink(place.path(file), place.path('links/connections.json'));
    await symlink(place.path(home), place.path('linked-home'));
    await mkdir(place.path('dangling'));
    await symlink(place.path('nowhere.json'), place.path('dangling/connections.json'));
    for (const [folder, link] of [
      ['links', 'links/connections.json'],
      ['linked-home', 'linked-home'],
      ['dangling', 'dangling/connections.json'],
    ] as const) {
      for (const args of [['connections', 'list'], addHttp('shop')]) {
        const { code, stderr } = await place.automate(args, { env: { AUTOMATE_HOME: place.path(folder) } });
        expect({ folder, args, code }).toEqual({ folder, args, code: 7 });
        expect(stderr).toContain(`${place.path(link)} is a symbolic link, which is not allowed here\n`);
      }
    }
    expect(await readFile(place.path(file), 'utf8')).toBe(saved);
    expect(await place.files()).toEqual(['dangling', 'linked-home', 'links']);
  });
});
