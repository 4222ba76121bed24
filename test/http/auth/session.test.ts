import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { type Auth, boundAuth } from '../../../src/core/auth/auth.ts';
import { authTypes } from '../../../src/core/auth/auth-types.ts';
import { workplace } from '../../helpers/cli.ts';
import { type HttpServer, httpServer, json, type SeenRequest } from '../../helpers/http-server.ts';
import { createSender } from '../sending.ts';

const password = 'canary-password-1';
const env = { AUTOMATE_CREDENTIAL_WIKI: password };

interface Wiki extends HttpServer {
  /** Everything that the server has handed out. */
  readonly secrets: string[];
  logins(): number;
  /** Ends the session, as a server does after a while. */
  end(): void;
}

interface WikiOptions {
  /** Called before each edit, which are counted from 1. */
  readonly before?: (edit: number, wiki: { end(): void }) => void;
  /** How the server says that a session has ended: MediaWiki with status 200. */
  readonly badToken?: number;
}

/** Logs in and edits like MediaWiki: a login token, a session cookie, and a token against forged requests. */
async function wikiServer({ before, badToken = 200 }: WikiOptions = {}): Promise<Wiki> {
  const secrets: string[] = [];
  let session = '';
  let logins = 0;
  let edits = 0;
  const secret = (text: string) => {
    secrets.push(text);
    return text;
  };
  const end = () => {
    session = 'ended';
  };
  const server = await httpServer(({ path, body, headers: { cookie = '' } }, response) => {
    const query = new URLSearchParams(path.split('?')[1]);
    const form = new URLSearchParams(body);
    const isOwn = session !== '' && cookie.includes(`wiki_session=${session}`);
    switch (query.get('action')) {
      case 'logintoken':
        response.setHeader('set-cookie', `wiki_session=${secret(`canary-before-${logins}`)}; HttpOnly; Path=/`);
        return json(response, { query: { tokens: { logintoken: secret(`canary-login-${logins}+\\`) } } });
      case 'clientlogin': {
        const isRight = form.get('password') === password && form.get('logintoken') === `canary-login-${logins}+\\`;
        if (!isRight || !cookie.includes(`canary-before-${logins}`))
          return json(response, { clientlogin: { status: 'FAIL', message: `wrong password ${form.get('password')}` } });
        logins++;
        session = secret(`canary-session-${logins}`);
        response.setHeader('set-cookie', [`wiki_session=${session}; HttpOnly; Path=/`, 'lang=en; Path=/']);
        return json(response, { clientlogin: { status: 'PASS' } });
      }
      case 'csrf':
        return json(response, { query: { tokens: { csrftoken: isOwn ? secret(`canary-csrf-${logins}+\\`) : '+\\' } } });
      default: {
        edits++;
        before?.(edits, { end });
        const isValid = cookie.includes(`wiki_session=${session}`) && form.get('token') === `canary-csrf-${logins}+\\`;
        if (!isValid) return json(response, { error: { code: 'badtoken' } }, badToken);
        return json(response, { edit: { title: form.get('title'), echo: form.get('token'), cookie } });
      }
    }
  });
  return { ...server, secrets, logins: () => logins, end };
}

const wikiLogin = `
        - { url: "/api?action=logintoken", take: { login_token: body.query.tokens.logintoken } }
        - { method: POST, url: "/api?action=clientlogin", form: { username: robot, password: { credential: wiki }, logintoken: { session: login_token } }, expect: body.clientlogin.status == "PASS" }
        - { url: "/api?action=csrf", take: { csrf: query.tokens.csrftoken } }`;

function wikiFlow(origin: string, more = 'renew_when: body.error.code == "badtoken"', node = ''): string {
  return `connections:
  wiki:
    type: http
    base_url: "${origin}"
    auth:
      type: session
      login:${wikiLogin}
      send: { headers: { X-CSRF: { session: csrf, prefix: "Token " } } }
      ${more}
nodes:
  - { type: http, connection: wiki, method: POST, url: "/api?action=edit", form: { title: "{{id}}", token: { session: csrf } }, fail_when: has(body.error), map: { title: edit.title, echo: edit.echo, cookie: edit.cookie }${node} }
`;
}

const records = (count: number) => `id\n${Array.from({ length: count }, (_, index) => `${index + 1}\n`).join('')}`;

async function run(flow: string, count: number, more: readonly string[] = [], own: Record<string, string> = env) {
  const place = await workplace({ 'flow.yaml': flow, 'in.csv': records(count) });
  const args = ['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--events', 'e.ndjson', '--verbose', ...more];
  const result = await place.automate(args, { env: own });
  const read = (name: string) => place.read(name).catch(() => '');
  const files = await Promise.all((await place.files()).filter((name) => !/^(?:flow|in)\./.test(name)).map(read));
  return {
    ...result,
    place,
    out: await read('out.csv'),
    errors: await read('out.errors.csv'),
    written: [result.stdout, result.stderr, ...files].join('\n'),
  };
}

const editsOf = (requests: readonly SeenRequest[]) => requests.filter(({ path }) => path.endsWith('edit'));

describe('an API where you log in first (auth of type session)', () => {
  test('gets its token, its cookie and the value in the form, for 64 records from one login', async () => {
    const wiki = await wikiServer();
    const { code, out, written } = await run(wikiFlow(wiki.origin, 'lasts: 20m', ', concurrency: 64'), 64);
    expect(code).toBe(0);
    expect(wiki.logins()).toBe(1);
    expect(out.split('\n').slice(0, 2)).toEqual(['id,title,echo,cookie', '1,1,***,wiki_session=***; lang=en']);
    expect(editsOf(wiki.requests)[0]?.headers['x-csrf']).toBe('Token canary-csrf-1+\\');
    for (const secret of [password, ...wiki.secrets]) expect(written).not.toContain(secret);
  });

  test.each([
    ['renew_when is true for an answer with status 200', 'renew_when: body.error.code == "badtoken"', 200],
    ['the status is one of renew_on', 'renew_on: [403]', 403],
    ['the status is 401', 'cookies: true', 401],
  ])('is logged in to again if %s, once for all who wait', async (_name, more, badToken) => {
    const wiki = await wikiServer({ badToken, before: (edit, { end }) => edit === 3 && end() });
    const { code, out, errors, written } = await run(wikiFlow(wiki.origin, more, ', concurrency: 8'), 20);
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
    expect(out.split('\n')).toHaveLength(22);
    expect(wiki.logins()).toBe(2);
    expect(written).not.toContain('retr');
    for (const secret of wiki.secrets) expect(written).not.toContain(secret);
  });

  test('ends the run with exit 7 after three renewals in a row, and it can be resumed', async () => {
    let isBroken = true;
    const wiki = await wikiServer({ before: (edit, { end }) => edit > 2 && isBroken && end() });
    const flow = wikiFlow(wiki.origin, undefined, ', concurrency: 1, on_error: skip');
    const { code, stderr, place } = await run(flow.replace(', on_error: skip', ''), 20);
    expect(code).toBe(7);
    expect(stderr).toContain(`the session at ${wiki.origin} ends at once: after 3 logins in a row, the server still refuses it (200)`);
    expect(wiki.logins()).toBe(4);
    isBroken = false;
    const resumed = await place.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--resume'], { env });
    expect(resumed.code).not.toBe(7);
    expect(wiki.logins()).toBe(5);
  });

  test.each([
    [
      'expect is false',
      wikiLogin,
      { AUTOMATE_CREDENTIAL_WIKI: 'canary-wrong' },
      ['request 2 of 3', '(200|answered 200)', 'wrong password \\*\\*\\*'],
    ],
    [
      'take finds nothing',
      '\n        - { url: "/api?action=csrf", take: { csrf: body.query.tokens.csrf_token } }',
      env,
      ['answered 200', 'has no "body.query.tokens.csrf_token" \\(take.csrf\\)'],
    ],
    [
      'take finds no text',
      '\n        - { url: "/api?action=csrf", take: { csrf: body.query.tokens } }',
      env,
      ['answered 200', '"body.query.tokens" is an object, not a text \\(take.csrf\\)'],
    ],
    ['the status is no success', '\n        - { url: "/api?action=edit", take: { csrf: body.x } }', env, ['answered 403', 'badtoken']],
  ])('ends the run with exit 7 before the first record if %s', async (_name, login, own, messages) => {
    const wiki = await wikiServer({ badToken: 403 });
    const flow = wikiFlow(wiki.origin, '').replace(wikiLogin, login);
    const { code, stderr, out, written } = await run(flow, 3, [], own);
    expect(code).toBe(7);
    for (const message of messages) expect(stderr).toMatch(new RegExp(message));
    expect(/^ {2}reason: .*\n {2}set a new one: automate credentials set wiki\n/m.test(stderr)).toBe(login.includes('credential'));
    expect(out).not.toContain('1,');
    expect(editsOf(wiki.requests).filter(({ method }) => method === 'POST')).toEqual([]);
    expect(written).not.toMatch(/canary-(?:wrong|login|before|password)/);
  });

  test('waits for a login server that is not there yet, as a request does, and pays no credit for it', async () => {
    let asked = 0;
    const server = await httpServer(({ path }, response) => {
      if (path !== '/login') return json(response, { ok: true });
      if (++asked < 3) return json(response, { error: 'busy' }, 503);
      return json(response, { token: 'canary-token-1', expires_in: 3600 });
    });
    const flow = `nodes: [{ type: http, url: "${server.origin}/x", credits: 1, retry: { max: 3, backoff: 1ms }, map: [ok], auth: { type: session, login: { url: /login, take: { t: token } }, send: { headers: { Authorization: { session: t, prefix: "Bearer " } } }, lasts: body.expires_in } }]\n`;
    const { code, stderr } = await run(flow, 2, ['--max-credits', '2']);
    expect([code, stderr]).toEqual([0, expect.any(String)]);
    expect(server.requests.filter(({ path }) => path === '/x').map(({ headers }) => headers.authorization)).toEqual(
      Array(2).fill('Bearer canary-token-1'),
    );
    expect(asked).toBe(3);
  });
});

/** A site like Django: a cookie against forged requests that changes at the login, a form, and a session cookie. */
async function djangoServer(): Promise<HttpServer> {
  let csrf = 'canary-csrf-first';
  return httpServer(({ method, path, body, headers: { cookie = '', 'x-csrftoken': header } }, response) => {
    const set = (...cookies: string[]) => response.setHeader('set-cookie', cookies);
    if (path === '/login/' && method === 'GET') {
      set(`csrftoken=${csrf}; Path=/; SameSite=Lax`);
      return response.end('<form></form>');
    }
    const isChecked = cookie.includes(`csrftoken=${csrf}`);
    if (path === '/login/') {
      const form = new URLSearchParams(body);
      if (!isChecked || form.get('csrfmiddlewaretoken') !== csrf) return response.writeHead(403).end('CSRF verification failed');
      if (form.get('password') !== password) return response.end('<p class="error">Please enter a correct username</p>');
      csrf = 'canary-csrf-second';
      set(
        `csrftoken=${csrf}; Path=/; SameSite=Lax`,
        'sessionid=canary-sessionid; HttpOnly; Path=/; Secure',
        'elsewhere=canary-elsewhere; Path=/admin',
      );
      return response.writeHead(302, { location: '/accounts/profile/' }).end();
    }
    if (!cookie.includes('sessionid=canary-sessionid')) return response.writeHead(404).end();
    if (path === '/accounts/profile/') return response.writeHead(404).end();
    if (path === '/moved') return response.writeHead(307, { location: '/items' }).end();
    const isAllowed = isChecked && header === csrf;
    csrf = `canary-csrf-${path.length}-${Math.random()}`;
    set(`csrftoken=${csrf}; Path=/`);
    return json(response, { ok: isAllowed, cookie }, isAllowed ? 200 : 403);
  });
}

describe('a site with a form and cookies', () => {
  const flowFor = (origin: string, expected = '', url = '/items') => `connections:
  shop:
    type: http
    base_url: ${origin}
    concurrency: 1
    auth:
      type: session
      login:
        - { url: /login/, take: { csrf: $cookies.csrftoken } }
        - { url: /login/, form: { username: ada, password: { credential: wiki }, csrfmiddlewaretoken: { session: csrf } }${expected} }
      send: { headers: { X-CSRFToken: { session: csrf } } }
nodes: [{ type: http, connection: shop, method: POST, url: ${url}, body: { id: "{{id}}" }, map: [ok, cookie] }]
`;

  test.each(['', ', expect: status == 302', ', expect: headers.location.startsWith("/accounts")'])(
    'is logged in to, also if the page after it is missing, and its cookies are always the last ones%s',
    async (expected) => {
      const { origin } = await djangoServer();
      const { code, out, stderr } = await run(flowFor(origin, expected), 3);
      expect([code, stderr]).toEqual([0, expect.any(String)]);
      expect(out.match(/,true,/g)).toHaveLength(3);
      expect(out).not.toContain('canary');
    },
  );

  test('refuses a wrong password as a login that is refused', async () => {
    const { origin } = await djangoServer();
    const { code, stderr, written } = await run(flowFor(origin, ', expect: status == 302'), 3, [], {
      AUTOMATE_CREDENTIAL_WIKI: 'canary-wrong',
    });
    expect(code).toBe(7);
    expect(stderr).toContain('expect is false: status == 302');
    expect(stderr).toContain('Please enter a correct username');
    expect(written).not.toContain('canary');
  });

  test('gets no cookie of another path, and another origin gets none at all', async () => {
    const other = await httpServer((_request, response) => json(response, { ok: true }));
    const { origin, requests } = await djangoServer();
    await run(flowFor(origin), 1);
    expect(requests.filter(({ path }) => path === '/items').map(({ headers }) => headers.cookie)).toEqual([
      'csrftoken=canary-csrf-second; sessionid=canary-sessionid',
    ]);
    const leaving = await httpServer(({ path }, response) => {
      if (path === '/login') response.setHeader('set-cookie', 'sid=canary-sid-1; Path=/');
      if (path === '/login') return json(response, {});
      return response.writeHead(302, { location: `${other.origin}/x` }).end();
    });
    const flow = `nodes: [{ type: http, url: "${leaving.origin}/x", follow: any, map: [ok], auth: { type: session, login: { url: /login } } }]\n`;
    expect((await run(flow, 1)).code).toBe(0);
    expect(leaving.requests[1]?.headers.cookie).toBe('sid=canary-sid-1');
    expect(other.requests.map(({ headers }) => [headers.cookie, headers['x-csrftoken']])).toEqual([[undefined, undefined]]);
  });
});

describe('a session in a flow', () => {
  const problemsOf = async (auth: string, more = '') => {
    const place = await workplace({
      'flow.yaml': `nodes:\n  - type: http\n    method: POST\n    url: https://api.example.com/x\n    auth: ${auth}\n${more}`,
    });
    const { stdout, stderr } = await place.automate(['validate', 'flow.yaml']);
    return stdout + stderr;
  };

  test.each([
    ['{ type: session, login: [] }', 'expected one to 5 login requests'],
    ['{ type: session, login: { url: /l, take: { a: "x[]" } } }', 'expected the path of one value'],
    ['{ type: session, login: { url: /l, expect: "body.ok =" } }', 'flow.yaml:5:'],
    ['{ type: session, login: { url: /l, expect: record.id == 1 } }', 'record'],
    ['{ type: session, login: { url: "/l?{{id}}" } }', 'a login cannot have {{id}}: all records share the session'],
    ['{ type: session, login: { url: "http://other.example.com/l" } }', 'https'],
    [
      '{ type: session, login: { url: /l, take: { token: t } }, send: { headers: { A: { session: tokn } } } }',
      'the session has no value "tokn"; did you mean "token"?',
    ],
    [
      '{ type: session, login: { url: /l, form: { a: { session: t } }, take: { t: t } } }',
      '"t" is taken from the answer to this request or a later one',
    ],
    [
      '{ type: session, login: { url: /l }, send: { headers: { A: { session: token } } } }',
      'the session has no value "token"\n  take it from the answer to a login, for example take: { token: body.token }\n',
    ],
    ['{ type: session, login: { url: /l, body: {}, form: {} } }', 'expected only one of body, form and text'],
    ['{ type: session, login: { url: /l }, lasts: 20x }', 'expected a duration such as 20m, or a path such as body.expires_in'],
    ['{ type: session, login: { url: /l }, renew_on: [42] }', 'expected at least 100'],
    ['[{ type: session, login: { url: /l } }, { type: session, login: { url: /m } }]', 'expected only one session'],
    ['{ type: session, login: { url: /l, auth: { type: session, login: { url: /m } } } }', 'type'],
  ])('is refused if it is %s', async (auth, message) => {
    expect(await problemsOf(auth)).toContain(message);
  });

  test('is needed for { session: NAME } in a form, and not for data of that shape in a body', async () => {
    expect(await problemsOf('none', '    form: { a: { session: x } }\n')).toContain('{ session: NAME } needs auth of type session');
    expect(await problemsOf('none', '    body: { a: { session: x } }\n')).toContain('is valid');
    const session = '{ type: session, login: { url: /l, take: { token: t } } }';
    expect(await problemsOf(session, '    body: { a: [{ session: tokn }] }\n')).toContain(
      'the session has no value "tokn"; did you mean "token"?',
    );
    expect(await problemsOf(session, '    body: { a: [{ session: token }] }\n')).toContain('is valid');
  });

  test('is shown with placeholders, and needs no login in a test', async () => {
    const flow = wikiFlow('https://wiki.example.com');
    const place = await workplace({
      'flow.yaml': flow,
      'flow.test.yaml':
        'flow: flow.yaml\ntests:\n  - name: edits\n    record: { id: 1 }\n    answers:\n      - { request: "POST https://wiki.example.com/api?action=edit", sent: { headers: { x-csrf: "Token test-csrf" }, body: { title: "1", token: test-csrf } }, body: { edit: { title: a, echo: b, cookie: c } } }\n    rows: [{ id: 1, title: a, echo: b, cookie: c }]\n',
    });
    const curl = await place.automate(['test-request', 'flow.yaml', '--set', 'id=1', '--curl']);
    expect(curl.stdout).toContain('-H "X-CSRF: Token $SESSION_CSRF" -H "Cookie: $SESSION_COOKIES"');
    expect(curl.stdout).toContain(`token='"$SESSION_CSRF"`);
    expect(curl.stderr).toContain('curl does not log in: set SESSION_CSRF, SESSION_COOKIES to what the login gives');
    const tested = await place.automate(['test', 'flow.test.yaml']);
    expect([tested.code, tested.stdout + tested.stderr]).toEqual([0, expect.any(String)]);
  });
});

describe('automate connections add http NAME --auth session', () => {
  const login = JSON.stringify({ url: '/login', form: { user: 'me', password: { credential: 'shop-password' } }, take: { t: 'token' } });
  const add = ['connections', 'add', 'http', 'shop', '--base-url', 'https://shop.example.com', '--auth', 'session'];

  test('takes the options as JSON, and says which secrets to store', async () => {
    const place = await workplace({});
    const send = JSON.stringify({ headers: { Authorization: { session: 't', prefix: 'Bearer ' } } });
    const more = [
      '--auth-set',
      `login=${login}`,
      '--auth-set',
      `send=${send}`,
      '--auth-set',
      'renew_on=[401,403]',
      '--auth-set',
      'lasts=20m',
    ];
    const { code, stdout, stderr } = await place.automate([...add, ...more]);
    expect([code, stderr]).toEqual([0, expect.stringContaining('store it: automate credentials set shop-password')]);
    expect(stdout).toContain('lasts: 20m');
  });

  test.each([
    [[], 'expected --auth-set login=VALUE for --auth session'],
    [['--auth-set', 'login.url=/canary'], `expected login=JSON, found "login.url"\n  for example: --auth-set 'login={"url":"/login",`],
    [['--auth-set', 'login={canary'], '--auth-set login: expected JSON, such as {"url":"/login"}, found text that is not JSON'],
    [['--auth-set', `login=${login.replace('"/login"', '"http://shop.example.com/login"')}`], 'https'],
  ])('refuses %j', async (more, message) => {
    const place = await workplace({});
    const { code, stderr } = await place.automate([...add, ...more]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(stderr).not.toContain('canary');
    expect((await place.automate(['connections', 'list'])).stdout).not.toContain('shop');
  });

  test('is completed by the shell', async () => {
    const { stdout } = await (await workplace({})).automate(['completion', 'bash']);
    for (const word of ['issuer=', 'claims.', 'login=', 'renew_when=']) expect(stdout).toContain(word);
  });
});

test.each([
  ['a literal password in a login', 'form: { user: me, password: hunter2-canary-77 }', '"password" in the body contains a literal secret'],
  [
    'a literal token in a header of a login',
    'headers: { Authorization: "Bearer canary-abcdef-123456" }',
    'the header "Authorization" contains a literal secret',
  ],
])('%s is found, and not shown', async (_name, option, message) => {
  const place = await workplace({
    'flow.yaml': `connections:\n  c: { type: http, base_url: "https://x.example.com", auth: { type: session, login: { url: /login, ${option} } } }\nnodes: [{ type: http, connection: c, url: /x }]\n`,
  });
  const { code, stdout, stderr } = await place.automate(['validate', 'flow.yaml']);
  expect([code, stdout + stderr]).toEqual([3, expect.stringContaining(message)]);
});

test('a login can have variables of the flow, but not in the names of secrets', async () => {
  const server = await httpServer(({ path }, response) => json(response, path === '/v2/login' ? { t: 'canary-token-2' } : { ok: true }));
  const flow = (credential: string) =>
    `vars: { user: ada, version: v2 }\nnodes: [{ type: http, url: "${server.origin}/x", map: [ok], auth: { type: session, login: { url: "/{{vars.version}}/login", body: { user: "{{vars.user}}", p: { credential: ${credential} } }, take: { t: t } }, send: { query: { t: { session: t } } } } }]\n`;
  const { code } = await run(flow('wiki'), 1);
  expect(code).toBe(0);
  expect(server.requests.map(({ path, body }) => [path, body])).toEqual([
    ['/v2/login', JSON.stringify({ user: 'ada', p: password })],
    ['/x?t=canary-token-2', ''],
  ]);
  const place = await workplace({ 'flow.yaml': flow('"{{vars.user}}"') });
  expect((await place.automate(['validate', 'flow.yaml'])).stderr).toContain('a variable is not allowed here');
});

describe('the time that a session lasts', () => {
  const sessionOf = (options: object) => {
    const [type] = authTypes.filter((one) => one.type === 'session');
    return boundAuth((type as (typeof authTypes)[number]).options.parse({ type: 'session', ...options }) as Auth, 'http://127.0.0.1:1');
  };

  async function times(lasts: string, answer: unknown) {
    let logins = 0;
    const server = await httpServer(({ path }, response) => {
      if (path !== '/login') return void response.end();
      logins++;
      return void response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(typeof answer === 'string' ? answer : JSON.stringify(answer));
    });
    let ms = 0;
    const { get } = createSender({ now: () => ms });
    const auth = sessionOf({ login: { url: `${server.origin}/login` }, lasts });
    return async (atMs: number) => {
      ms = atMs;
      await get(`${server.origin}/x`, { auth, timeoutMs: 60_000 });
      return logins;
    };
  }

  test.each<[string, unknown, readonly (readonly [ms: number, logins: number])[]]>([
    [
      '20m',
      {},
      [
        [0, 1],
        [1_199_999, 1],
        [1_200_000, 2],
        [2_399_999, 2],
        [2_400_000, 3],
      ],
    ],
    [
      'body.expires_in',
      { expires_in: 3600 },
      [
        [0, 1],
        [3_569_999, 1],
        [3_570_000, 2],
      ],
    ],
    [
      'session.seconds',
      { session: { seconds: '100' } },
      [
        [0, 1],
        [89_999, 1],
        [90_000, 2],
      ],
    ],
  ])('is that of lasts: %s', async (lasts, answer, steps) => {
    const loginsAt = await times(lasts, answer);
    for (const [ms, logins] of steps) expect([ms, await loginsAt(ms)]).toEqual([ms, logins]);
  });

  test.each([
    [{}, 'no fields'],
    [{ expires_in: 'soon' }, 'the fields expires_in'],
    [{ expires_in: -1, user: { name: 'ada' } }, 'the fields expires_in, user.name'],
    ['not JSON', 'no fields'],
  ])('cannot be found in %j, which refuses the login', async (answer, fields) => {
    const loginsAt = await times('body.expires_in', answer);
    await expect(loginsAt(0)).rejects.toMatchObject({
      name: 'LimitReached',
      message: `no answer to the login has a number of seconds at "body.expires_in" (lasts)\ncorrect lasts: the answer has ${fields}`,
    });
  });
});

test('a login can answer in XML', async () => {
  const server = await httpServer(({ path }, response) => {
    if (path !== '/login') return json(response, { ok: true });
    return response.writeHead(200, { 'content-type': 'text/xml' }).end('<login><sessionId>canary-xml-1</sessionId></login>');
  });
  const flow = `nodes: [{ type: http, url: "${server.origin}/x", map: [ok], auth: { type: session, login: { url: /login, text: "<l/>", take: { id: body.login.sessionId } }, send: { headers: { X-Session: { session: id } } } } }]\n`;
  expect((await run(flow, 1)).code).toBe(0);
  expect(server.requests.map(({ headers }) => headers['x-session'])).toEqual([undefined, 'canary-xml-1']);
});

test.each([
  ['too long', (response: ServerResponse) => response.end('x'.repeat(1_000_001)), 'canary|1 MB|1,000,000|too large|larger'],
  [
    'a redirect to another origin',
    (response: ServerResponse) => response.writeHead(302, { location: 'http://127.0.0.2:1/canary' }).end(),
    'a redirect that is not followed',
  ],
])('the answer to a login that is %s is refused', async (_name, answer, message) => {
  const server = await httpServer((_request, response) => answer(response));
  const flow = `nodes: [{ type: http, url: "${server.origin}/x", retry: { max: 0 }, auth: { type: session, login: { url: /login } } }]\n`;
  const { code, written } = await run(flow, 3);
  expect(code).toBe(7);
  expect(written).toMatch(new RegExp(message));
  expect(server.requests.map(({ path }) => path)).toEqual(['/login']);
});

test('what a server says about a refused login is shown with its numbers, but without what can be a token', async () => {
  const server = await httpServer((_request, response) => json(response, { error: { code: -32602 }, id: 'canary-token-1234' }));
  const login = '{ url: /login, take: { t: token } }';
  const { stderr } = await run(`nodes: [{ type: http, url: "${server.origin}/x", auth: { type: session, login: ${login} } }]\n`, 1);
  expect(stderr).toContain(
    '{"error":{"code":-32602}}\n  if the login was good, correct take.t: the answer has the fields error.code, id\n',
  );
});

test.each([
  [
    'body.token',
    { accessToken: 'abc', user: [{ id: 7, name: 'ada' }] },
    'the answer has no "body.token" (take.t)',
    'fields accessToken, user[0].id, user[0].name',
  ],
  ['user', { user: { name: 'ada' } }, '"user" is an object, not a text (take.t)', 'fields user.name'],
  ['$headers.x-token', {}, 'the answer has no "$headers.x-token" (take.t)', 'headers set-cookie, content-type,'],
  ['$cookies.sid', {}, 'set no cookie "sid" (take.t)', 'cookies SESSIONID'],
])(
  'a login whose answer has nothing at %s names what the answer has, without values, and advises no new credential',
  async (path, body, message, names) => {
    const server = await httpServer((_request, response) => {
      response.setHeader('set-cookie', 'SESSIONID=abc; Path=/');
      return json(response, body);
    });
    const login = `{ url: /login, form: { password: { credential: wiki } }, take: { t: ${path} } }`;
    const { code, stderr } = await run(`nodes: [{ type: http, url: "${server.origin}/x", auth: { type: session, login: ${login} } }]\n`, 1);
    expect([code, stderr]).toEqual([
      7,
      expect.stringContaining(
        `: the login POST ${server.origin}/login: the server answered 200, and ${message}\n  correct take.t: the answer has the ${names}`,
      ),
    ]);
    expect(stderr).not.toMatch(/abc|ada|credentials set/);
  },
);

test.each([{ message: 'wrong password', token: 'short' }, { success: false, msg: 'wrong password' }, 'wrong password'])(
  'a login whose answer says %j advises a new credential',
  async (body) => {
    const server = await httpServer((_request, response) => (typeof body === 'string' ? response.end(body) : json(response, body)));
    const login = '{ url: /login, form: { password: { credential: wiki } }, take: { t: body.id } }';
    const { code, stderr } = await run(`nodes: [{ type: http, url: "${server.origin}/x", auth: { type: session, login: ${login} } }]\n`, 1);
    expect(code).toBe(7);
    expect(stderr).toMatch(
      /\(take\.t\): .*\bwrong password\b.*\n {2}if the login was good, correct take\.t: .*\n {2}set a new one: automate credentials set wiki\n/,
    );
    expect(stderr).not.toContain('short');
  },
);

test('a cookie that the login takes is masked, also a short one, and however often it changes', async () => {
  let count = 0;
  const server = await httpServer(({ headers: { cookie = '' } }, response) => {
    response.setHeader('set-cookie', [`xsrf=qx7kmp${count++}; Path=/`, 'lang=en; Path=/']);
    return json(response, { cookie });
  });
  const auth = 'auth: { type: session, login: { url: /login, take: { x: $cookies.xsrf } }, send: { headers: { X-XSRF: { session: x } } } }';
  const { out, written } = await run(`nodes: [{ type: http, url: "${server.origin}/x", concurrency: 1, map: [cookie], ${auth} }]\n`, 3);
  expect(server.requests.map(({ headers }) => headers['x-xsrf'])).toEqual([undefined, 'qx7kmp0', 'qx7kmp1', 'qx7kmp2']);
  expect(out.split('\n')[3]).toBe('3,xsrf=***; lang=en');
  expect(written).not.toContain('qx7kmp');
});

describe('a session in a test of a flow', () => {
  const ofStatus = (status: number) => `{ request: "GET https://x.example.com/a", status: ${status}, body: { ok: true } }`;
  const flow =
    'nodes: [{ type: http, url: "https://x.example.com/a", retry: { max: 0 }, map: [ok], auth: { type: session, login: { url: /l }, renew_when: status == 440 } }]\n';

  test.each([
    ['ends with a status of renew_on', [401, 200], 'rows: [{ ok: true }]'],
    ['ends as renew_when says', [440, 200], 'rows: [{ ok: true }]'],
    ['ends twice', [401, 401], 'fails: { status: 401 }'],
    ['goes on', [403], 'fails: { status: 403 }'],
  ])('that %s sends the request as often as a run does', async (_name, statuses, expected) => {
    const answers = statuses.map(ofStatus).join(', ');
    const tests = `flow: flow.yaml\ntests: [{ name: a, record: { id: 1 }, answers: [${answers}], ${expected} }]\n`;
    const place = await workplace({ 'flow.yaml': flow, 'flow.test.yaml': tests });
    const { code, stdout } = await place.automate(['test', 'flow.test.yaml']);
    expect([stdout, code]).toEqual([expect.stringContaining('1 passed'), 0]);
  });
});
