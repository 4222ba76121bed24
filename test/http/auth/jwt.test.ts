import { constants, generateKeyPairSync, type KeyObject, verify } from 'node:crypto';
import { createLocalJWKSet, decodeJwt, type JWTPayload, jwtVerify } from 'jose';
import { describe, expect, test } from 'vitest';
import type { Auth } from '../../../src/core/auth/auth.ts';
import { jwt } from '../../../src/core/auth/jwt.ts';
import { jwtBearer } from '../../../src/core/auth/jwt-bearer.ts';
import { textsToMask } from '../../../src/credentials/secret.ts';
import { readAllFiles, workplace } from '../../helpers/cli.ts';
import { flowProblems, onOneLine } from '../../helpers/flow-problems.ts';
import { type Handler, httpServer, json } from '../../helpers/http-server.ts';
import { vaultPlace } from '../../helpers/light-vault.ts';
import { createSender } from '../sending.ts';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pemOf = (key: KeyObject, more: object = {}) => key.export({ type: 'pkcs8', format: 'pem', ...more } as never) as unknown as string;
const pem = pemOf(rsa.privateKey);
const jwtAuth = (options: object): Auth => jwt.options.parse({ type: 'jwt', credential: 'c', ...options });
const bearerAuth = (options: object): Auth => jwtBearer.options.parse({ type: 'oauth2_jwt_bearer', credential: 'c', ...options });
const ecParameters = '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n';
const tokenIn = (header: unknown) => String(header).replace('Bearer ', '');

describe('a request with auth of type jwt', () => {
  /** Sends one request, and returns the value of its header. */
  async function sent(options: object, secrets: Record<string, string> = { c: pem }, header = 'authorization') {
    const server = await httpServer();
    const { get } = createSender({ secrets });
    await get(server.origin, { auth: jwtAuth(options) });
    return server.requests[0]?.headers[header] as string;
  }

  test('has a token with its claims, which begins 30 s ago and ends when the option says', async () => {
    const header = await sent({ issuer: '12345', subject: 'ada', audience: 'api', key_id: 'k1', claims: { role: 'admin' }, lasts: '10m' });
    const { payload, protectedHeader } = await jwtVerify(tokenIn(header), rsa.publicKey);
    expect(protectedHeader).toEqual({ alg: 'RS256', typ: 'JWT', kid: 'k1' });
    expect(payload).toMatchObject({ iss: '12345', sub: 'ada', aud: 'api', role: 'admin' });
    expect(Number(payload.exp) - Number(payload.iat)).toBe(630);
    expect(Math.abs(Number(payload.iat) + 30 - Date.now() / 1000)).toBeLessThan(60);
  });

  test.each([
    ['ES256', generateKeyPairSync('ec', { namedCurve: 'P-256' })],
    ['ES384', generateKeyPairSync('ec', { namedCurve: 'P-384' })],
    ['EdDSA', generateKeyPairSync('ed25519')],
    ['RS256', rsa],
  ])('is signed with %s if that follows from the key', async (alg, { privateKey, publicKey }) => {
    const token = tokenIn(await sent({ issuer: 'i' }, { c: pemOf(privateKey) }));
    expect((await jwtVerify(token, publicKey)).protectedHeader.alg).toBe(alg);
  });

  test.each(['RS384', 'RS512', 'PS256'])('can be signed with %s', async (algorithm) => {
    expect((await jwtVerify(tokenIn(await sent({ algorithm })), rsa.publicKey)).protectedHeader.alg).toBe(algorithm);
  });

  test.each([
    ['PKCS#1', rsa.privateKey.export({ type: 'pkcs1', format: 'pem' }) as string],
    ['Windows line breaks', pem.replaceAll('\n', '\r\n')],
    ['line breaks written as \\n', pem.trim().replaceAll('\n', '\\n')],
    ['line breaks written as spaces', pem.trim().replaceAll('\n', ' ')],
    ['JWK', JSON.stringify(rsa.privateKey.export({ format: 'jwk' }))],
    ['openssl pkcs12, with text before it', `Bag Attributes\n    friendlyName: robot\nKey Attributes: <No Attributes>\n${pem}`],
    ['a key and its certificate', `-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n${pem}`],
  ])('accepts a key in the form %s', async (_form, text) => {
    await expect(jwtVerify(tokenIn(await sent({ issuer: 'i' }, { c: text })), rsa.publicKey)).resolves.toBeDefined();
  });

  test.each([
    ['EC key as openssl ecparam writes it', 'ES256', generateKeyPairSync('ec', { namedCurve: 'P-256' }), ecParameters],
    ['RSA key that may sign only with RSA-PSS', 'PS256', generateKeyPairSync('rsa-pss', { modulusLength: 2048 }), ''],
  ] as const)('accepts an %s', async (_form, alg, { privateKey, publicKey }, before) => {
    const text = before + (alg === 'ES256' ? privateKey.export({ type: 'sec1', format: 'pem' }) : pemOf(privateKey));
    const [head = '', claims = '', signature = ''] = tokenIn(await sent({ issuer: 'i' }, { c: text })).split('.');
    const how = alg === 'ES256' ? { dsaEncoding: 'ieee-p1363' as const } : { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 };
    const isSigned = verify('sha256', Buffer.from(`${head}.${claims}`), { key: publicKey, ...how }, Buffer.from(signature, 'base64url'));
    expect([JSON.parse(Buffer.from(head, 'base64url').toString()).alg, isSigned]).toEqual([alg, true]);
  });

  test('is signed with the algorithm that a JWK says, unless the flow says another one', async () => {
    const c = JSON.stringify({ ...rsa.privateKey.export({ format: 'jwk' }), alg: 'PS256', kid: 'k9' });
    const headOf = async (options: object) => (await jwtVerify(tokenIn(await sent(options, { c })), rsa.publicKey)).protectedHeader;
    expect(await headOf({})).toMatchObject({ alg: 'PS256', kid: 'k9' });
    expect(await headOf({ algorithm: 'RS384' })).toMatchObject({ alg: 'RS384' });
  });

  test('accepts an encrypted key with its passphrase', async () => {
    const text = pemOf(rsa.privateKey, { cipher: 'aes-256-cbc', passphrase: 'open sesame' });
    const options = { issuer: 'i', passphrase: { credential: 'p' } };
    await expect(jwtVerify(tokenIn(await sent(options, { c: text, p: 'open sesame' })), rsa.publicKey)).resolves.toBeDefined();
    await expect(sent(options, { c: text, p: 'wrong' })).rejects.toThrow(
      'the credential "c" cannot be decrypted with the passphrase in "p"',
    );
    await expect(sent({ issuer: 'i' }, { c: text })).rejects.toThrow('is an encrypted key: store its passphrase');
  });

  test.each(['pkcs1', 'pkcs8'])('accepts an encrypted key in one line, with line breaks written as \\n (%s)', async (type) => {
    const text = pemOf(rsa.privateKey, { type, cipher: 'aes-256-cbc', passphrase: 'open sesame' });
    const secrets = { c: text.trim().replaceAll('\n', '\\n'), p: 'open sesame' };
    const header = await sent({ issuer: 'i', passphrase: { credential: 'p' } }, secrets);
    await expect(jwtVerify(tokenIn(header), rsa.publicKey)).resolves.toBeDefined();
  });

  test('signs with HS256 if the secret is no key, in another header and without a prefix if the flow says so', async () => {
    const header = await sent({ issuer: 'i', header: 'X-Token', prefix: '' }, { c: 'shared-secret-of-the-api-0123456789' }, 'x-token');
    const { protectedHeader } = await jwtVerify(header, Buffer.from('shared-secret-of-the-api-0123456789'));
    expect(protectedHeader.alg).toBe('HS256');
  });

  test('keeps its token until a tenth of its time is left, for all requests', async () => {
    const server = await httpServer();
    let passed = 0;
    const { get, secrets } = createSender({
      secrets: { c: pem },
      now: () => performance.now() + passed,
      wallNow: () => Date.now() + passed,
    });
    const auth = jwtAuth({ issuer: 'i', lasts: '10m' });
    await Promise.all(Array.from({ length: 64 }, () => get(server.origin, { auth })));
    passed = 530_000;
    await get(server.origin, { auth });
    expect(new Set(server.requests.map(({ headers }) => headers.authorization)).size).toBe(1);
    passed = 550_000;
    await get(server.origin, { auth });
    const tokens = new Set(server.requests.map(({ headers }) => tokenIn(headers.authorization)));
    expect(tokens.size).toBe(2);
    for (const token of tokens) expect(secrets).toContain(token);
  });

  test('can be sent next to an access token', async () => {
    const tokens = await httpServer((_request, response) => json(response, { access_token: 'T1' }));
    const server = await httpServer();
    const other: Auth = { type: 'oauth2_client_credentials', tokenUrl: tokens.origin, clientId: 'me', credential: 'k', scopes: [] };
    await createSender({ secrets: { c: pem, k: 'key' } }).get(server.origin, { auth: [jwtAuth({ header: 'X-App' }), other] });
    expect(server.requests[0]?.headers.authorization).toBe('Bearer T1');
    expect(decodeJwt(tokenIn(server.requests[0]?.headers['x-app']))).toHaveProperty('exp');
  });

  test.each<[string, string, object]>([
    ['is not a complete private key', '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----', {}],
    ['is a public key: expected the private key', rsa.publicKey.export({ type: 'spki', format: 'pem' }) as string, {}],
    ['which cannot sign with ES256: expected algorithm RS256, RS384, RS512, PS256', pem, { algorithm: 'ES256' }],
    ['which cannot sign with HS256', pem, { algorithm: 'HS256' }],
    ['is not a private key (PEM), which the algorithm RS256 needs', 'hello', { algorithm: 'RS256' }],
    ['is an RSA key of 1024 bits', pemOf(generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey), {}],
    ['is a JSON document without private_key', '{"a":1}', {}],
  ])('sends nothing if the credential %s', async (message, text, options) => {
    const server = await httpServer();
    await expect(createSender({ secrets: { c: text } }).get(server.origin, { auth: jwtAuth(options) })).rejects.toThrow(message);
    expect(server.requests).toEqual([]);
  });
});

const issuer = 'robot@p.iam.gserviceaccount.com';
const knownKeys = createLocalJWKSet({ keys: [{ ...rsa.publicKey.export({ format: 'jwk' }), kid: 'kid-7', use: 'sig' }] });

/** Throws an error if RFC 7523, section 3, forbids a server to accept the assertion. */
async function accepted(
  assertion: string,
  audience: string,
  earlier: ReadonlySet<unknown>,
): Promise<{ payload: JWTPayload; kid?: string }> {
  const requiredClaims = ['iss', 'sub', 'aud', 'exp', 'iat', 'jti'];
  const algorithms = ['RS256', 'PS256'];
  const { payload, protectedHeader } = await jwtVerify(assertion, knownKeys, {
    audience,
    issuer,
    requiredClaims,
    algorithms,
    maxTokenAge: '1h',
  });
  if (Number(payload.exp) - Number(payload.iat) > 3600) throw new Error('the assertion is valid for more than an hour');
  if (earlier.has(payload.jti)) throw new Error('the assertion was used before');
  return { payload, kid: protectedHeader.kid };
}

/**
 * A token server that checks assertions as RFC 7523 demands. It answers with `token-1`, and so on. It is no oidc-provider: that has no such
 * grant, so the check would be ours there as well, and it installs 40 packages.
 */
async function tokenServer(answer?: Handler) {
  const assertions: { payload: JWTPayload; kid?: string }[] = [];
  const server = await httpServer(async (request, response) => {
    if (answer) return answer(request, response);
    const assertion = new URLSearchParams(request.body).get('assertion') ?? '';
    try {
      const earlier = new Set(assertions.map(({ payload }) => payload.jti));
      assertions.push(await accepted(assertion, `${server.origin}/token`, earlier));
    } catch (error) {
      return json(response, { error: 'invalid_grant', error_description: (error as Error).message }, 400);
    }
    return json(response, { access_token: `token-${assertions.length}`, expires_in: 3600, token_type: 'Bearer' });
  });
  return {
    server,
    assertions,
    keyFile: (more: object = {}) =>
      JSON.stringify(
        {
          type: 'service_account',
          private_key: pem,
          private_key_id: 'kid-7',
          client_email: issuer,
          token_uri: `${server.origin}/token`,
          ...more,
        },
        null,
        2,
      ),
  };
}

describe('a request with auth of type oauth2_jwt_bearer', () => {
  test('gets its token for an assertion, with everything from a JSON key file', async () => {
    const { server, assertions, keyFile } = await tokenServer();
    const api = await httpServer();
    const { get, secrets } = createSender({ secrets: { c: keyFile() } });
    const auth = bearerAuth({ scopes: ['a', 'b'], subject: 'ada@example.com' });
    await Promise.all(Array.from({ length: 64 }, () => get(api.origin, { auth })));
    expect(new Set(api.requests.map(({ headers }) => headers.authorization))).toEqual(new Set(['Bearer token-1']));
    expect(server.requests).toHaveLength(1);
    const form = new URLSearchParams(server.requests[0]?.body);
    expect([...form.keys()].sort()).toEqual(['assertion', 'grant_type']);
    expect(form.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
    expect(assertions).toMatchObject([
      { kid: 'kid-7', payload: { iss: issuer, sub: 'ada@example.com', scope: 'a b', jti: expect.any(String) } },
    ]);
    const claims = assertions[0]?.payload;
    expect(Number(claims?.exp) - Number(claims?.iat)).toBe(330);
    expect(secrets).toEqual(expect.arrayContaining(['token-1', form.get('assertion')]));
  });

  test('sends scopes, parameters and the client as the flow says', async () => {
    const { server, assertions } = await tokenServer();
    const api = await httpServer();
    const auth = bearerAuth({
      ...{
        token_url: `${server.origin}/token`,
        issuer,
        subject: 'ada',
        audience: `${server.origin}/token`,
        scopes: ['a'],
        scopes_in: 'request',
      },
      ...{ params: { tenant: 't' }, client_id: 'me', client_credential: 's', client_auth: 'body' },
    });
    await createSender({ secrets: { c: pem, s: 'client-secret' } }).get(api.origin, { auth });
    expect(Object.fromEntries(new URLSearchParams(server.requests[0]?.body))).toMatchObject({
      ...{ scope: 'a', tenant: 't', client_id: 'me', client_secret: 'client-secret' },
    });
    expect(assertions[0]?.payload).not.toHaveProperty('scope');
  });

  test('gets another token for another assertion once the server refuses the token', async () => {
    const { assertions, keyFile } = await tokenServer();
    const api = await httpServer(({ headers }, response) =>
      response.writeHead(headers.authorization === 'Bearer token-1' ? 401 : 200).end(),
    );
    const { get } = createSender({ secrets: { c: keyFile() } });
    expect((await get(api.origin, { auth: bearerAuth({ subject: 'ada', algorithm: 'PS256' }) })).status).toBe(200);
    expect(new Set(assertions.map(({ payload }) => payload.jti)).size).toBe(2);
  });

  const foreign = generateKeyPairSync('rsa', { modulusLength: 2048 });

  test.each<[string, { key?: object; options?: object; aheadMs?: number }, string]>([
    ['another audience', { options: { audience: 'https://login.example.com' } }, 'unexpected ..?aud..? claim value'],
    ['another issuer', { options: { issuer: 'somebody' } }, 'unexpected ..?iss..? claim value'],
    ['no subject', { options: { subject: undefined } }, 'missing required ..?sub..? claim'],
    ['a key id that the server does not know', { options: { key_id: 'kid-8' } }, 'no applicable key found'],
    ['another key', { key: { private_key: pemOf(foreign.privateKey) } }, 'signature verification failed'],
    ['an algorithm that the server does not accept', { options: { algorithm: 'RS512' } }, 'not allowed'],
    ['a validity of two hours', { options: { lasts: '2h' } }, 'valid for more than an hour'],
    ['a clock that is an hour behind', { aheadMs: -3_600_000 }, '..?exp..? claim timestamp check failed'],
    ['a clock that is an hour ahead', { aheadMs: 3_600_000 }, '..?iat..? claim timestamp check failed'],
  ])('ends the run if the server refuses an assertion with %s', async (_what, { key, options, aheadMs = 0 }, message) => {
    const { server, assertions, keyFile } = await tokenServer();
    const api = await httpServer();
    const { get } = createSender({ secrets: { c: keyFile(key) }, wallNow: () => Date.now() + aheadMs });
    const sending = get(api.origin, { auth: bearerAuth({ subject: 'ada@example.com', ...options }) });
    await expect(sending).rejects.toMatchObject({
      ending: 'refused-credential',
      message: expect.stringMatching(
        new RegExp(`${message}[^]*check the credential "c", and issuer, subject, audience and scopes in auth`),
      ),
    });
    expect([api.requests, assertions, server.requests.length]).toEqual([[], [], 1]);
  });

  test.each<[string, Handler, string]>([
    [
      'a refusal',
      (_request, response) => json(response, { error: 'invalid_grant', error_description: 'Invalid JWT' }, 400),
      'invalid_grant',
    ],
    ['a redirect', (_request, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(), '302'],
    ['an answer without a token', (_request, response) => json(response, { ok: true }), 'expected JSON with access_token, found ok'],
    ['an answer of more than 1 MB', (_request, response) => response.end('x'.repeat(1_000_001)), 'expected an answer of at most 1 MB'],
  ])('ends the run after %s', async (_what, answer, message) => {
    const { server } = await tokenServer(answer);
    const api = await httpServer();
    const auth = bearerAuth({ token_url: `${server.origin}/token`, issuer: 'i' });
    const sending = createSender({ secrets: { c: pem } }).get(api.origin, { auth });
    await expect(sending).rejects.toMatchObject({
      name: 'LimitReached',
      ending: 'refused-credential',
      message: expect.stringContaining(message),
    });
    expect(api.requests).toEqual([]);
  });

  test('says that the clock is wrong if that explains a refusal', async () => {
    const { server } = await tokenServer((_request, response) => json(response, { error: 'invalid_grant' }, 400));
    const auth = bearerAuth({ token_url: server.origin, issuer: 'i' });
    const { get } = createSender({ secrets: { c: pem }, wallNow: () => Date.now() + 3_600_000 });
    await expect(get(server.origin, { auth })).rejects.toThrow(/the clock of this machine is 1\sh ahead of the server's: correct it/);
  });

  test.each<[string, object, object]>([
    ['does not say the token server', { token_uri: undefined }, {}],
    ['does not say the issuer', { client_email: undefined }, {}],
    ['has a token_uri that is not an https URL', { token_uri: 'http://tokens.example.com/' }, {}],
  ])('sends nothing if the key file %s', async (message, more, options) => {
    const { server, keyFile } = await tokenServer();
    const sending = createSender({ secrets: { c: keyFile(more) } }).get(server.origin, { auth: bearerAuth(options) });
    await expect(sending).rejects.toThrow(message);
    expect(server.requests).toEqual([]);
  });

  test('keeps a key to the hosts that it is stored for', async () => {
    const { server, keyFile } = await tokenServer();
    const sender = createSender({ secrets: { c: { text: keyFile(), hosts: ['oauth2.googleapis.com'] } } });
    const failure = await sender.failure(server.origin, { auth: bearerAuth({}) });
    expect(failure.message).toContain('the credential "c" can be sent only to oauth2.googleapis.com');
    expect(server.requests).toEqual([]);
  });
});

describe('a flow with a signed token', () => {
  const problems = (auth: string) => flowProblems(`nodes:\n  - { type: http, url: "https://a.com/", auth: { ${auth} } }\n`).map(onOneLine);

  test.each([
    ['type: jwt, credential: c, algorithm: none', 'expected RS256, RS384'],
    ['type: oauth2_jwt_bearer, credential: c, algorithm: HS256', 'expected RS256, RS384'],
    ['type: jwt, credential: c, claims: { exp: 1 }', '"exp" cannot be one of claims: write lasts'],
    ['type: jwt, credential: c, lasts: 0s', 'expected a duration of at least 1s'],
    ['type: oauth2_jwt_bearer, credential: c, token_url: "http://a.com"', 'expected an absolute https URL as the token_url'],
    ['type: oauth2_jwt_bearer, credential: c, params: { assertion: x }', '"assertion" cannot be one of params'],
    ['type: oauth2_jwt_bearer, credential: c, client_credential: d', 'expected client_id together with client_credential'],
  ])('and %s is refused', (auth, message) => {
    expect(problems(auth)).toEqual([expect.stringContaining(message)]);
  });

  test('is valid', () => {
    expect(
      problems('type: jwt, credential: c, issuer: "12345", claims: { admin: true, roles: [a] }, passphrase: { credential: p }'),
    ).toEqual([]);
    expect(problems('type: oauth2_jwt_bearer, credential: google-robot, scopes: [a]')).toEqual([]);
  });
});

describe('a run with a JSON key file', () => {
  async function scene(refuses: (count: number) => boolean, records = 4) {
    let count = 0;
    const { server, keyFile } = await tokenServer((request, response) =>
      refuses(++count)
        ? json(response, { error: 'invalid_grant', error_description: new URLSearchParams(request.body).get('assertion') }, 400)
        : json(response, { access_token: `token-number-${count}` }),
    );
    const api = await httpServer(({ headers, path }, response) =>
      path === '/3' && headers.authorization === 'Bearer token-number-1'
        ? response.writeHead(401).end()
        : json(response, { echo: headers.authorization }),
    );
    const place = await workplace({
      'flow.yaml': `nodes: [{ type: http, url: "${api.origin}/{{id}}", auth: { type: oauth2_jwt_bearer, credential: c, scopes: [a] }, map: [echo], concurrency: 1 }]\n`,
      'n.csv': `id\n${Array.from({ length: records }, (_, index) => index + 1).join('\n')}\n`,
    });
    const run = (...more: string[]) =>
      place.automate(['run', 'flow.yaml', '--in', 'n.csv', '--out', 'out.csv', ...more], { env: { AUTOMATE_CREDENTIAL_C: keyFile() } });
    return { place, api, server, run };
  }

  test('from a variable with several lines writes no part of it anywhere', async () => {
    const { place, run, server } = await scene(() => false);
    const { code, stdout, stderr } = await run('--events', 'e.ndjson');
    expect([code, await place.read('out.csv')]).toEqual([0, 'id,echo\n1,Bearer ***\n2,Bearer ***\n3,Bearer ***\n4,Bearer ***\n']);
    const written = [stdout, stderr, await readAllFiles(place)].join('\n');
    const assertion = new URLSearchParams(server.requests[0]?.body).get('assertion') as string;
    for (const text of [assertion, 'token-number-1', ...pem.split('\n').filter((line) => line.length > 20)])
      expect(written).not.toContain(text);
  });

  test('ends with exit code 7 before the first record if the key is refused, and names what to mend', async () => {
    const { place, api, server, run } = await scene(() => true);
    const { code, stderr } = await run();
    expect([code, api.requests, server.requests.length]).toEqual([7, [], 1]);
    expect(stderr).toContain('invalid_grant');
    expect(stderr).toContain('check the credential "c"');
    const assertion = new URLSearchParams(server.requests[0]?.body).get('assertion') as string;
    expect(stderr + (await readAllFiles(place))).not.toContain(assertion);
  });

  test('stops later with exit code 7, and can be resumed', async () => {
    let isRefused = true;
    const { place, run } = await scene((count) => count > 1 && isRefused);
    expect((await run()).code).toBe(7);
    expect(await place.read('out.csv')).toBe('id,echo\n1,Bearer ***\n2,Bearer ***\n');
    isRefused = false;
    expect((await run('--resume')).code).toBe(0);
    expect((await place.read('out.csv')).split('\n')).toHaveLength(6);
  });
});

test('credentials set stores a key file with several lines from stdin, and refuses other text with several lines', async () => {
  const place = await vaultPlace();
  const { env } = place;
  const set = (stdin: string) => place.automate(['credentials', 'set', 'robot', '--backend', 'vault'], { stdin, env });
  expect(await set(pem)).toMatchObject({ code: 0 });
  expect(await set(`Bag Attributes\n    friendlyName: robot\n${pem}`)).toMatchObject({ code: 0 });
  expect(await set(JSON.stringify({ private_key: pem }, null, 2))).toMatchObject({ code: 0 });
  const refused = await set('one\ntwo\n');
  expect([refused.code, refused.stderr]).toEqual([7, expect.stringContaining('only a PEM or JSON document can have several lines')]);
});

test('a key is masked as its text without line breaks, also if something else stands before it', () => {
  const text = pem.split('\n').slice(1, -2).join('');
  for (const before of ['', ecParameters, 'Bag Attributes\n    friendlyName: robot\n']) expect(textsToMask(before + pem)).toContain(text);
});
