import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type Workplace, workplace } from '../helpers/cli.ts';
import { collections, requestNames } from './recorded/collections.ts';
import { recordings } from './recorded/recordings.ts';

/** Returns the secrets that stand in one of the texts, also in other encodings. */
function secretsIn(secrets: readonly string[], texts: readonly string[]): string[] {
  const forms = (secret: string) => [secret, encodeURIComponent(secret), decodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)];
  return secrets.filter((secret) => forms(secret).some((form) => texts.some((text) => text.includes(form))));
}

async function writtenTexts({ folder }: Workplace, name: string): Promise<string[]> {
  const files = await readdir(join(folder, name)).catch(() => []);
  return Promise.all(files.map((file) => readFile(join(folder, name, file), 'utf8')));
}

async function expectCleanFlow(place: Workplace, secrets: readonly string[], options: readonly string[]): Promise<void> {
  await rm(place.path('new'), { recursive: true, force: true });
  const made = await place.automate(['init', 'new', ...options]);
  expect([made.code, made.stderr]).toEqual([0, expect.any(String)]);
  const texts = await writtenTexts(place, 'new');
  expect(secretsIn(secrets, [made.stdout, made.stderr, ...texts])).toEqual([]);
  expect(await place.automate(['validate', 'new/flow.yaml', '--offline'])).toMatchObject({ code: 0 });
}

describe.each(recordings)('a recording of $tool', ({ document, secrets, calls }) => {
  test('is listed with its calls of an API, and without secrets', async () => {
    const place = await workplace({ 'a.har': JSON.stringify(document) });
    const { code, stdout, stderr } = await place.automate(['init', '--from-har', 'a.har']);
    expect([code, secretsIn(secrets, [stdout, stderr])]).toEqual([0, []]);
    expect([...stdout.matchAll(/^(\d+) /gm)].map(([, number]) => Number(number)).slice(0, calls.length)).toEqual(calls);
  });

  test.each(calls)('becomes a valid flow without secrets: entry %i', async (number) => {
    const place = await workplace({ 'a.har': JSON.stringify(document), 'rows.csv': 'code\nx\n' });
    for (const input of [[], ['--in', 'rows.csv']])
      await expectCleanFlow(place, secrets, ['--from-har', 'a.har', '--entry', String(number), ...input]);
  });
});

describe.each(collections)('a collection $version', ({ document, secrets }) => {
  test('is listed without secrets', async () => {
    const place = await workplace({ 'c.json': JSON.stringify(document) });
    const { code, stdout, stderr } = await place.automate(['init', '--from-postman', 'c.json']);
    expect([code, secretsIn(secrets, [stdout, stderr])]).toEqual([0, []]);
    expect(requestNames.filter((name) => !stdout.includes(name))).toEqual([]);
  });

  test.each(requestNames)('becomes a valid flow without secrets: %s', async (name) => {
    const place = await workplace({ 'c.json': JSON.stringify(document), 'rows.csv': 'code\nx\n' });
    for (const input of [[], ['--in', 'rows.csv']])
      await expectCleanFlow(place, secrets, ['--from-postman', 'c.json', '--request', name, ...input]);
  });
});

describe('the flow of a request of a collection', () => {
  const first = collections[0]?.document;

  test.each([
    [
      'Bodies/raw json',
      {
        vars: { baseUrl: 'https://api.example.com/v3', limit: 50 },
        nodes: [
          {
            url: '{{vars.baseUrl}}/things',
            auth: { type: 'bearer', credential: 'access-token' },
            body: { name: '{{name}}', limit: '{{vars.limit}}', password: { credential: 'p1' }, pin: { passcode: { credential: 'p2' } } },
          },
        ],
      },
    ],
    ['Bodies/formdata', { nodes: [{ form: { title: 'Invoice', document: { file: '/home/ada/a.pdf' } } }] }],
    ['Auths/inherited', { nodes: [{ auth: { type: 'basic', credential: 'example-login' } }] }],
    ['Auths/bearer', { nodes: [{ auth: { type: 'bearer', credential: 'p1' } }] }],
    ['Auths/basic', { nodes: [{ auth: { type: 'basic', username: '{{vars.who}}', credential: 'p2' } }] }],
    ['Auths/apikey in the query', { nodes: [{ auth: { type: 'api_key', query: 'k' } }] }],
    ['Auths/oauth2', { nodes: [{ auth: { type: 'oauth2_client_credentials', client_id: 'client-17', scopes: ['read', 'write'] } }] }],
    ['Auths/awsv4', { nodes: [{ auth: { type: 'aws_sigv4', service: 'execute-api', region: 'eu-central-1' } }] }],
    ['Auths/jwt', { nodes: [{ auth: { type: 'jwt', algorithm: 'HS256', issuer: 'app-1', claims: { team: 'a' } } }] }],
    ['Auths/digest', { nodes: [{ auth: { type: 'digest' } }] }],
    ['Places/vague query', { nodes: [{ url: '{{vars.baseUrl}}/me?page={{page}}', auth: [{}, { query: 'api_key', credential: 'k2' }] }] }],
    ['Places/with answer', { nodes: [{ map: { id: 'id', total: 'total' } }] }],
  ])('%s', async (name, flow) => {
    const place = await workplace({ 'c.json': JSON.stringify(first) });
    await place.automate(['init', 'new', '--from-postman', 'c.json', '--request', name]);
    const written = parse(await place.read('new/flow.yaml'));
    expect(written).toMatchObject(flow);
    expect(Object.values(written.nodes[0].map ?? {}).filter((path) => String(path).includes('[]'))).toEqual([]);
  });

  test('signs its own token if Postman does so with ASAP', async () => {
    const values = {
      alg: 'RS256',
      iss: 'me',
      sub: 'me',
      aud: 'https://a.example.com',
      kid: 'k/1',
      privateKey: 'canary-key',
      claims: '{"a":true}',
    };
    const asap = Object.entries(values).map(([key, value]) => ({ key, value }));
    const item = [{ name: 'a', request: { url: 'https://a.example.com/x', auth: { type: 'asap', asap } } }];
    const place = await workplace({ 'c.json': JSON.stringify({ info: {}, item }) });
    const { stderr } = await place.automate(['init', 'new', '--from-postman', 'c.json', '--request', 'a']);
    expect(stderr).toContain('auth "asap": store the private key (PEM) as the credential example-key');
    const text = await place.read('new/flow.yaml');
    expect(text).not.toContain('canary');
    expect(parse(text).nodes[0].auth).toEqual({
      ...{ type: 'jwt', algorithm: 'RS256', issuer: 'me', subject: 'me', audience: 'https://a.example.com', key_id: 'k/1' },
      ...{ claims: { a: true }, credential: 'example-key' },
    });
  });

  test('has no auth, but a note, if the type of auth is unknown', async () => {
    const place = await workplace({ 'c.json': JSON.stringify(first) });
    const { stderr } = await place.automate(['init', 'new', '--from-postman', 'c.json', '--request', 'Auths/hawk']);
    expect(stderr).toContain('auth of the type "hawk" was left out: a flow does not have it');
    expect(parse(await place.read('new/flow.yaml')).nodes[0]).not.toHaveProperty('auth');
  });
});

describe('init from a collection', () => {
  test.each(['my-token', 'my-token-2', 'example-token', 'secret-1234', 'credential', '{{apiKey}}'])(
    'ends if a secret looks like the name of a credential: %s',
    async (secret) => {
      const body = {
        mode: 'raw',
        raw: JSON.stringify({ apiKey: secret, again: [{ credential: secret }, { credential: { credential: secret } }] }),
      };
      const item = [
        { name: 'a', request: { method: 'POST', header: [{ key: 'X-Api-Key', value: secret }], body, url: 'https://api.example.com/a' } },
      ];
      const place = await workplace({ 'c.json': JSON.stringify({ info: {}, item }) });
      const { code } = await place.automate(['init', 'new', '--from-postman', 'c.json', '--request', 'a']);
      const texts = await writtenTexts(place, 'new');
      expect([[0, 2].includes(code as number), texts.join().includes(`: ${secret}\n`)]).toEqual([true, false]);
    },
  );
});

describe('a recorded form of several parts', () => {
  const file = { file: 'photo.png' };
  const head = 'Content-Disposition: form-data; name="photo"; filename="photo.png"';
  test.each([
    ['one part in the list of its parameters', { params: [{ name: 'photo', fileName: 'photo.png' }] }, { photo: file }],
    ['one part in its text', { text: `--x\r\n${head}\r\n\r\nPNG\r\n--x--\r\n` }, { photo: file }],
    [
      'parts of the same name',
      { params: ['a.png', 'b.png'].map((fileName) => ({ name: 'photo', fileName })) },
      { photo: [{ file: 'a.png' }, { file: 'b.png' }] },
    ],
    ['no part', {}, undefined],
  ])('becomes a form, or a note if it is lost: %s', async (_, postData, form) => {
    const request = { method: 'POST', url: 'https://api.example.com/photos', headers: [] };
    const response = { status: 200, content: { mimeType: 'application/json', text: '{"ok":true}' } };
    const body = { mimeType: 'multipart/form-data; boundary=x', ...postData };
    const place = await workplace({
      'a.har': JSON.stringify({ log: { entries: [{ request: { ...request, postData: body }, response }] } }),
    });
    const { code, stdout, stderr } = await place.automate(['init', 'new', '--from-har', 'a.har', '--entry', '1']);
    const written = await place.read('new/flow.yaml');
    expect([code, parse(written).nodes[0].form]).toEqual([0, form]);
    expect(stdout + stderr + written).toContain(
      form ? 'the form sends the content of "' : 'the recording does not contain the form of the request: write form into the flow',
    );
  });
});

describe('a literal secret inside of a value', () => {
  const har = (postData: object, url = 'https://api.example.com/graphql') => {
    const headers = [{ name: 'accept', value: 'application/json' }];
    const response = { status: 200, content: { mimeType: 'application/json', text: '{"ok":true}' } };
    return JSON.stringify({ log: { entries: [{ request: { method: 'POST', url, headers, postData }, response }] } });
  };
  const json = (body: unknown) => har({ mimeType: 'application/json', text: JSON.stringify(body) });

  async function nodeOf(text: string) {
    const place = await workplace({ 'a.har': text });
    const made = await place.automate(['init', 'new', '--from-har', 'a.har', '--entry', '1']);
    const written = await place.read('new/flow.yaml');
    expect([made.code, secretsIn(['open sesame', '482913', 'hunter two'], [written, made.stdout, made.stderr])]).toEqual([0, []]);
    return parse(written).nodes[0];
  }

  test.each([
    [
      'mutation { login(input: { email: "a@b.de", password: "open sesame" }) { id } }',
      'mutation($password: String!) { login(input: { email: "a@b.de", password: $password }) { id } }',
      { password: {} },
    ],
    ['{ me(token: "open sesame") { id } }', 'query($token: String!) { me(token: $token) { id } }', { token: {} }],
    [
      'query Me($id: ID!) @live { me(id: $id, otp: 482913, note: "a \\"password: b\\"") { id } }',
      'query Me($otp: Int!, $id: ID!) @live { me(id: $id, otp: $otp, note: "a \\"password: b\\"") { id } }',
      { otp: {} },
    ],
    [
      '# a comment\nmutation Two { a(password: """open sesame""") { ...F } b(password: "hunter two") { id } } fragment F on X { id }',
      '# a comment\nmutation Two($password: String!, $password_2: String!) { a(password: $password) { ...F } b(password: $password_2) { id } } fragment F on X { id }',
      { password: {}, password_2: {} },
    ],
  ])('becomes a variable of a GraphQL query: %s', async (query, expected, variables) => {
    const credential = { credential: expect.any(String) };
    const values = Object.fromEntries(Object.keys(variables).map((name) => [name, credential]));
    expect((await nodeOf(json({ query }))).body).toEqual({ query: expected, variables: values });
    expect((await nodeOf(json([{ query, variables: { big: 1 } }]))).body).toEqual([{ query: expected, variables: { big: 1, ...values } }]);
  });

  test.each([
    [
      'a GraphQL document of several operations',
      json({ query: 'query A { a(token: "open sesame") { id } } query B { b }' }),
      'body',
      'query',
    ],
    [
      'a form',
      har({ mimeType: 'application/x-www-form-urlencoded', text: `data=${encodeURIComponent('{"password":"open sesame"}')}` }),
      'form',
      'data',
    ],
    ['a body with JSON text', json({ data: '{"user":{"password":"open sesame"}}' }), 'body', 'data'],
    ['a body with XML text', json({ data: '<a><Password>open sesame</Password></a>' }), 'body', 'data'],
  ])('makes the whole value a credential: %s', async (_name, text, part, name) => {
    expect((await nodeOf(text))[part]).toEqual({ [name]: { credential: expect.any(String) } });
  });

  test('is neither shown nor written in a parameter of a URL', async () => {
    const url = `https://api.example.com/graphql?query=${encodeURIComponent('{ me(token: "open sesame") { id } }')}&x=1`;
    const place = await workplace({ 'a.har': har({}, url) });
    expect((await place.automate(['init', '--from-har', 'a.har'])).stdout).toContain('/graphql?query=***&x=1');
    expect(await nodeOf(har({}, url))).toMatchObject({ url: 'https://api.example.com/graphql?x=1', auth: { query: 'query' } });
  });

  test('is recognized by its name, although it is a plain word', async () => {
    const names = ['pin', 'card_pin', 'cvv', 'mfa_code', 'verificationCode', 'credentials', 'creds', 'appKey', 'security_answer'];
    const { body } = await nodeOf(
      json({ ...Object.fromEntries(names.map((name, index) => [name, `${'ab'[index % 2]}open sesame`])), spin: 'x' }),
    );
    expect(body).toEqual({ ...Object.fromEntries(names.map((name) => [name, { credential: expect.any(String) }])), spin: 'x' });
  });

  test('that is the session in a path is left out', async () => {
    const place = await workplace({ 'a.har': har({}, 'https://api.example.com/app;jsessionid=0A1B2C3D4E5F67890A1B/items?x=1') });
    const made = await place.automate(['init', 'new', '--from-har', 'a.har', '--entry', '1']);
    expect([made.code, made.stderr]).toEqual([0, expect.stringContaining('the session in the path of the URL was left out')]);
    expect(parse(await place.read('new/flow.yaml')).nodes[0].url).toBe('https://api.example.com/app/items?x=1');
    expect((await place.automate(['init', '--from-har', 'a.har'])).stdout).toContain('/app;jsessionid=***/items?x=1');
  });

  test('is found in a command for curl, too', async () => {
    const place = await workplace({});
    const body = JSON.stringify({ query: 'mutation { login(password: "open sesame") { id } }' }).replaceAll("'", "'\\''");
    await place.automate(['init', 'new', '--from-curl', `curl https://api.example.com/graphql --json '${body}'`]);
    expect(parse(await place.read('new/flow.yaml')).nodes[0].body.query).toBe(
      'mutation($password: String!) { login(password: $password) { id } }',
    );
  });
});
