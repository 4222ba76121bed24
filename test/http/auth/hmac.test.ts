import { createHash, createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Auth } from '../../../src/core/auth/auth.ts';
import { hmac } from '../../../src/core/auth/hmac.ts';
import { workplace } from '../../helpers/cli.ts';
import { flowProblems } from '../../helpers/flow-problems.ts';
import { httpServer, json } from '../../helpers/http-server.ts';
import { createSender, textOf } from '../sending.ts';

const secret = 's3cr3t-of-the-partner';
const nowMs = Date.UTC(2026, 10, 25, 10, 30, 0, 123);

const authOf = (options: object): Auth => hmac.options.parse({ type: 'hmac', credential: 'c', ...options });
const macOf = (text: string | Buffer, algorithm = 'sha256') => createHmac(algorithm, secret).update(text).digest();

/** Sends one request and returns it as the server received it. */
async function sent(options: object, more: object = {}, path = '/orders?b=2&a=%20x') {
  const server = await httpServer();
  const { get } = createSender({ secrets: { c: secret }, wallNow: () => nowMs });
  await get(server.origin + path, { auth: authOf(options), ...more });
  const [request] = server.requests;
  if (!request) throw new Error('nothing was sent');
  return { ...request, host: new URL(server.origin).host };
}

describe('a request with auth of type hmac', () => {
  const body = '{"name":"Zoë\\n"}';

  test('is signed over what the flow describes', async () => {
    const { headers } = await sent(
      {
        of: '{method}\n{path}\n{timestamp}\n{body}',
        headers: { 'X-Key': 'partner-17', 'X-Timestamp': '{timestamp}', 'X-Signature': 'v1={signature}' },
      },
      { method: 'POST', body },
    );
    expect(headers).toMatchObject({
      'x-key': 'partner-17',
      'x-timestamp': '1795602600',
      'x-signature': `v1=${macOf(`POST\n/orders\n1795602600\n${body}`).toString('hex')}`,
    });
  });

  test.each<[string, string | ((host: string) => string)]>([
    ['{url}', (host) => `http://${host}/orders?b=2&a=%20x`],
    ['{host}', (host) => host],
    ['{path_and_query}', '/orders?b=2&a=%20x'],
    ['{query}', 'b=2&a=%20x'],
    ['{body_sha256}', createHash('sha256').update(body).digest('hex')],
    ['{body_md5_base64}', createHash('md5').update(body).digest('base64')],
    ['{header:x-Request-ID}|{header:X-Missing}|{header:host}', (host) => `r-1||${host}`],
    ['{"a":"{body}"} {}', `{"a":"${body}"} {}`],
  ])('can be signed over %s', async (of, expected) => {
    const { headers, host } = await sent(
      { of, headers: { 'X-Signature': '{signature}' } },
      { method: 'POST', body, headers: { 'X-Request-Id': 'r-1' } },
    );
    expect(headers['x-signature']).toBe(macOf(typeof expected === 'string' ? expected : expected(host)).toString('hex'));
  });

  test.each([
    ['sha1', 'hex'],
    ['sha384', 'base64'],
    ['sha512', 'base64url'],
  ] as const)('can be signed with %s, written in %s', async (algorithm, encoding) => {
    const { headers } = await sent({ of: '{method}', algorithm, encoding, headers: { 'X-Signature': '{signature}' } });
    expect(headers['x-signature']).toBe(macOf('GET', algorithm).toString(encoding));
  });

  test.each([
    ['unix', '1795602600'],
    ['unix_ms', '1795602600123'],
    ['iso', '2026-11-25T10:30:00.123Z'],
  ])('can have its time in the form %s', async (timestamp, expected) => {
    const { headers } = await sent({ of: '{timestamp}', timestamp, headers: { 'X-Time': '{timestamp}', 'X-Signature': '{signature}' } });
    expect(headers).toMatchObject({ 'x-time': expected, 'x-signature': macOf(expected).toString('hex') });
  });

  test('includes the other added parameters and headers in the signature of its query', async () => {
    const { path } = await sent({
      of: '{query}|{header:X-Key}',
      headers: { 'X-Key': 'k' },
      query: { signature: '{signature}', timestamp: '{timestamp}' },
      encoding: 'base64',
    });
    const signature = macOf('b=2&a=%20x&timestamp=1795602600|k').toString('base64');
    expect(path).toBe(`/orders?b=2&a=%20x&timestamp=1795602600&signature=${encodeURIComponent(signature)}`);
  });

  test('is signed over the bytes that are sent, in the charset of the body', async () => {
    const encode = (text: string) => Buffer.from(text, 'latin1');
    const { headers } = await sent({ of: '{body}', headers: { 'X-Signature': '{signature}' } }, { method: 'POST', body: 'Zoë', encode });
    expect(headers['x-signature']).toBe(macOf(Buffer.from('Zoë', 'latin1')).toString('hex'));
  });

  test.each(['base64', 'hex'] as const)('can decode its key from %s', async (keyEncoding) => {
    const server = await httpServer();
    const key = Buffer.from([0, 255, 128, 7, 1]);
    const auth = authOf({ of: '{method}', key_encoding: keyEncoding, headers: { 'X-Signature': '{signature}' } });
    await createSender({ secrets: { c: key.toString(keyEncoding) } }).get(server.origin, { auth });
    expect(server.requests[0]?.headers['x-signature']).toBe(createHmac('sha256', key).update('GET').digest('hex'));
    await expect(createSender({ secrets: { c: 'no key!' } }).get(server.origin, { auth })).rejects.toThrow(
      `the credential "c" is not written in ${keyEncoding}, as key_encoding says`,
    );
    expect(server.requests).toHaveLength(1);
  });

  test('has another nonce and time for each attempt and after a redirect', async () => {
    const server = await httpServer(({ path }, response) => {
      if (path.startsWith('/a')) response.writeHead(307, { location: '/b' });
      response.end();
    });
    let now = nowMs;
    const { get } = createSender({ secrets: { c: secret }, wallNow: () => (now += 1000) });
    const auth = authOf({ of: '{path}{nonce}{timestamp}', headers: { N: '{nonce}', T: '{timestamp}', S: '{signature}' } });
    for (let count = 0; count < 2; count++) await get(`${server.origin}/a`, { auth });
    const seen = server.requests.map(({ path, headers: { n, t, s } }) => ({ path, n, t, s }));
    expect(seen.map(({ path }) => path)).toEqual(['/a', '/b', '/a', '/b']);
    expect(new Set(seen.map(({ n }) => n)).size).toBe(4);
    expect(new Set(seen.map(({ t }) => t)).size).toBe(4);
    for (const { path, n, t, s } of seen) expect(s).toBe(macOf(`${path}${n}${t}`).toString('hex'));
  });

  test('is not signed for another origin', async () => {
    const other = await httpServer();
    const server = await httpServer((_request, response) => response.writeHead(302, { location: `${other.origin}/` }).end());
    const auth = authOf({ of: '{path}', headers: { S: '{signature}' }, query: { k: 'x' } });
    await createSender({ secrets: { c: secret } }).get(server.origin, { auth, followAny: true });
    expect(other.requests[0]).toMatchObject({ path: '/' });
    expect(other.requests[0]?.headers).not.toHaveProperty('s');
    const bound = createSender({ secrets: { c: { text: secret, hosts: ['api.example.com'] } } });
    expect((await bound.failure(other.origin, { auth })).message).toContain('can be sent only to api.example.com');
  });

  test.each(['hex', 'base64'])('whose signature in %s comes back gets an answer with *** in its place', async (encoding) => {
    const server = await httpServer(({ headers }, response) => {
      const signature = String(headers['x-signature']);
      response.setHeader('x-echo', signature);
      json(response, { plain: signature, escaped: encodeURIComponent(signature), utf: 'Zoë' });
    });
    const auth = authOf({ of: '{nonce}{path}', encoding, headers: { 'X-Signature': '{signature}' } });
    const { get } = createSender({ secrets: { c: secret } });
    const answer = await get(server.origin, { auth });
    expect(JSON.parse(textOf(answer))).toEqual({ plain: '***', escaped: '***', utf: 'Zoë' });
    expect([answer.header('x-echo'), answer.headers['x-echo']]).toEqual(['***', '***']);
  });

  test('ends the run if the server refuses a time because the clock is wrong', async () => {
    const server = await httpServer((_request, response) => response.writeHead(401).end());
    const { get } = createSender({ secrets: { c: secret }, wallNow: () => Date.now() - 7_200_000 });
    const auth = authOf({ of: '{timestamp}', headers: { S: '{signature}' } });
    await expect(get(server.origin, { auth })).rejects.toThrow(
      /the server refuses the signature with the credential "c" \(401\), and the clock of this machine is 2\sh behind the server's: correct it/,
    );
  });
});

describe('a flow with auth of type hmac', () => {
  const flow = (auth: string) => `nodes:\n  - type: http\n    url: https://a.com/\n    auth: { type: hmac, credential: c, ${auth} }\n`;
  const problems = (auth: string) => flowProblems(flow(auth)).map(({ message }) => message);

  test('is valid with the headers of the API', () => {
    expect(
      problems(
        `of: "{method}\\n{path}\\n{timestamp}\\n{body}", headers: { X-Key: partner-17, X-Timestamp: "{timestamp}", X-Signature: "{signature}", Authorization: "HMAC k:{signature}" }`,
      ),
    ).toEqual([]);
  });

  test.each([
    ['of: "{methd}", headers: { S: "{signature}" }', 'no placeholder {methd} in of; did you mean "method"?'],
    ['of: "{signature}", headers: { S: "{signature}" }', 'no placeholder {signature} in of\nexpected {method}, {url}, {host}'],
    [
      'of: "{methd}\\n{path}{body-sha256}\\n{ nonce }{xyz}{xyz}", headers: { S: "{signature}" }',
      [
        'no placeholder {methd} in of; did you mean "method"?',
        'no placeholder {body-sha256} in of; did you mean "body_sha256"?',
        'expected {nonce}, found { nonce }',
        'no placeholder {xyz} in of',
        'expected {method}, {url}, {host}, {path}, {path_and_query}, {query}, {body}, {body_sha256}, {body_md5_base64}, {timestamp}, {nonce}, {header:NAME}',
      ].join('\n'),
    ],
    ['of: "{path}", headers: { S: "{signature}", T: "{header:X}" }', 'no placeholder {header} in headers'],
    ['of: "{header}", headers: { S: "{signature}" }', 'expected the name of a header, as in {header:Content-Type}'],
    ['of: "{path}", query: { S: "{signature}", T: "{sig}" }', 'no placeholder {sig} in query'],
    ['of: "{path}", headers: { X-Key: k }', 'expected {signature} in headers or query'],
    ['of: "{path}"', 'expected {signature} in headers or query'],
    ['of: "{{id}}", headers: { S: "{signature}" }', 'a signature cannot refer to fields of the record'],
    ['of: "{path}", algorithm: md5, headers: { S: "{signature}" }', 'expected sha1, sha256, sha384 or sha512'],
    ['headers: { S: "{signature}" }', 'missing'],
  ])('with %s is refused', (auth, message) => {
    expect(problems(auth)).toEqual([expect.stringContaining(message)]);
  });
});

test('a run signs with hmac, and no output contains the secret or a signature', async () => {
  const seen: string[] = [];
  const server = await httpServer(({ headers, path }, response) => {
    seen.push(String(headers['x-signature']));
    if (path === '/2') json(response, { error: `bad ${headers['x-signature']}` }, 400);
    else json(response, { echo: headers['x-signature'] });
  });
  const place = await workplace({
    'flow.yaml': `connections:\n  api: { type: http, base_url: "${server.origin}", auth: { type: hmac, credential: c, of: "{path}{nonce}", headers: { X-Signature: "{signature}" } } }\nnodes: [{ type: http, connection: api, url: "/{{id}}", map: [echo] }]\n`,
    'n.csv': 'id\n1\n2\n3\n',
  });
  const env = { AUTOMATE_CREDENTIAL_C: secret };
  const run = await place.automate(['run', 'flow.yaml', '--in', 'n.csv', '--out', 'out.csv', '--events', 'e.ndjson'], { env });
  expect(await place.read('out.csv')).toBe('id,echo\n1,***\n3,***\n');
  const written = run.stdout + run.stderr + (await place.read('out.errors.csv')) + (await place.read('e.ndjson'));
  expect(written).toContain('bad ***');
  for (const text of [secret, ...seen]) expect(written).not.toContain(text);
  const curl = await place.automate(['test-request', 'flow.yaml', '--set', 'id=1', '--curl'], { env });
  expect(curl.stdout).toContain(`-H "X-Signature: $SIGNATURE"`);
  expect(curl.stderr).toContain('curl does not compute the signature: set SIGNATURE for it');
});

test('the URL of a request that is signed in its query is shown with the names of what is computed', async () => {
  const server = await httpServer((_request, response) => json(response, { ok: true }));
  const auth = 'auth: { type: hmac, credential: c, of: "{query}", query: { timestamp: "{timestamp}", signature: "{signature}" } }';
  const answer = '{ request: "GET https://x.example.com/a?b=%7B&timestamp={timestamp}&signature=test-c", body: { ok: true } }';
  const place = await workplace({
    'flow.yaml': `nodes: [{ type: http, url: "${server.origin}/a?b=%7B", ${auth}, map: [ok] }]\n`,
    'tested.yaml': `nodes: [{ type: http, url: "https://x.example.com/a?b=%7B", ${auth}, map: [ok] }]\n`,
    'a.test.yaml': `flow: tested.yaml\ntests: [{ name: a, record: { id: 1 }, answers: [${answer}], rows: [{ ok: true }] }]\n`,
  });
  const args = ['run', 'flow.yaml', '--no-input', '--out', 'out.csv', '--verbose'];
  const { stderr } = await place.automate(args, { env: { AUTOMATE_CREDENTIAL_C: secret } });
  expect(stderr).toContain(`GET ${server.origin}/a?b=%7B&timestamp={timestamp}&signature=***  200`);
  expect(await place.automate(['test', 'a.test.yaml'])).toMatchObject({ code: 0 });
});
