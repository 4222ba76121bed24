import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Auth } from '../../../src/core/auth/auth.ts';
import { type Challenge, digestHeader, strongestChallenge } from '../../../src/http/auth/digest-signer.ts';
import { workplace } from '../../helpers/cli.ts';
import { type HttpServer, httpServer, json } from '../../helpers/http-server.ts';
import { createSender, textOf } from '../sending.ts';

const pair = 'Mufasa:Circle of Life';
const auth: Auth = { type: 'digest', credential: 'c' };

describe("RFC 7616's example", () => {
  const nonce = '7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v';
  const challenges = ['SHA-256', 'MD5']
    .map(
      (algorithm) =>
        `Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=${algorithm}, nonce="${nonce}", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"`,
    )
    .join(', ');
  const person = { user: 'Mufasa', password: 'Circle of Life', cnonce: 'f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ', count: 1 };
  const request = { method: 'GET', path: '/dir/index.html' };

  test.each([
    [challenges, '753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1'],
    [challenges.split(', Digest ')[1]?.replace(/^/, 'Digest ') ?? '', '8ca523f5e9506fed4657c9700eebdbec'],
  ])('has the published response', (header, response) => {
    expect(digestHeader(request, strongestChallenge(header) as Challenge, person)).toContain(`response="${response}"`);
  });

  test('is not answered if no algorithm or qop is known', () => {
    expect(strongestChallenge('Digest realm="a", nonce="n", algorithm=NEW')).toBeUndefined();
    expect(strongestChallenge('Digest realm="a", nonce="n", qop="auth-int"')).toBeUndefined();
    expect(strongestChallenge('Basic realm="a, Digest"')).toBeUndefined();
  });
});

/** A server that checks Digest. Each nonce serves `uses` requests, and then it is stale. */
async function digestServer(
  algorithm = 'SHA-256',
  uses = Number.POSITIVE_INFINITY,
  password = 'Circle of Life',
): Promise<HttpServer & { counts: string[] }> {
  let nonce = 0;
  let used = 0;
  const counts: string[] = [];
  const hash = (text: string) =>
    createHash(algorithm.startsWith('MD5') ? 'md5' : 'sha256')
      .update(text)
      .digest('hex');
  const server = await httpServer(({ method, path, headers: { authorization = '' } }, response) => {
    const part = (name: string) => new RegExp(`${name}="?([^",]+)`).exec(authorization)?.[1];
    const first = hash(`Mufasa:r:${password}`);
    const key = algorithm.endsWith('-sess') ? hash(`${first}:n${nonce}:${part('cnonce')}`) : first;
    const expected = hash(`${key}:n${nonce}:${part('nc')}:${part('cnonce')}:auth:${hash(`${method}:${path}`)}`);
    if (part('response') === expected && used < uses) {
      used++;
      counts.push(part('nc') ?? '');
      return json(response, { echo: authorization });
    }
    const isStale = used >= uses;
    if (isStale) {
      nonce++;
      used = 0;
    }
    response.setHeader(
      'WWW-Authenticate',
      `Digest realm="r", nonce="n${nonce}", qop="auth", algorithm=${algorithm}${isStale ? ', stale=true' : ''}`,
    );
    return json(response, {}, 401);
  });
  return Object.assign(server, { counts });
}

describe('a request with auth of type digest', () => {
  test.each(['MD5', 'MD5-sess', 'SHA-256', 'SHA-256-sess'])('is accepted with %s, and its answer shows no response', async (algorithm) => {
    const server = await digestServer(algorithm);
    const answer = await createSender({ secrets: { c: pair } }).get(`${server.origin}/a?b=1`, { auth, method: 'POST', body: 'x' });
    expect(answer.status).toBe(200);
    expect(textOf(answer)).toContain('***');
    expect(server.requests.map(({ body }) => body)).toEqual(['x', 'x']);
  });

  test('asks for one challenge, also if 64 requests need it in the same moment, and counts up', async () => {
    const server = await digestServer();
    const { get } = createSender({ secrets: { c: 'Circle of Life' } });
    await Promise.all(Array.from({ length: 64 }, () => get(server.origin, { auth: { ...auth, username: 'Mufasa' } })));
    expect(server.requests).toHaveLength(65);
    expect(server.counts.sort()).toEqual(Array.from({ length: 64 }, (_, index) => (index + 1).toString(16).padStart(8, '0')));
  });

  test('tries again as long as the server says that the nonce is stale, and never takes that for a refused password', async () => {
    const uses = new Map<string, number>();
    const server = await httpServer(({ headers: { authorization = '' } }, response) => {
      const nonce = /nonce="(\w+)"/.exec(authorization)?.[1] ?? '';
      const left = (uses.get(nonce) ?? 0) - 1;
      uses.set(nonce, left);
      if (left >= 0) return json(response, {});
      const fresh = `n${uses.size}`;
      uses.set(fresh, neverEnds ? 0 : 2);
      response.setHeader('WWW-Authenticate', `Digest realm="r", nonce="${fresh}", qop="auth"${nonce && ', stale=true'}`);
      return json(response, {}, 401);
    });
    let neverEnds = false;
    const { get } = createSender({ secrets: { c: pair } });
    const answers = await Promise.all(Array.from({ length: 32 }, () => get(server.origin, { auth })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    neverEnds = true;
    for (let used = 0; used < 2; used++) await get(server.origin, { auth });
    expect((await get(server.origin, { auth })).status).toBe(401);
  });

  test('ends the run if the password is refused', async () => {
    const server = await digestServer('MD5', Number.POSITIVE_INFINITY, 'another');
    const sending = createSender({ secrets: { c: pair } }).get(server.origin, { auth });
    await expect(sending).rejects.toMatchObject({
      name: 'LimitReached',
      ending: 'refused-credential',
      message: expect.stringContaining('refuses the user name and password in "c" (401, Digest)'),
    });
  });

  test('fails if the server asks for another kind of authentication', async () => {
    const server = await httpServer((_request, response) => response.writeHead(401, { 'www-authenticate': 'Basic realm="a"' }).end());
    const failure = await createSender({ secrets: { c: pair } }).failure(server.origin, { auth });
    expect(failure.message).toContain('asks for no Digest authentication that automate knows');
  });
});

test('a run renews a stale nonce without a retry, a wrong password is exit code 7, and a secret without a colon is refused', async () => {
  const server = await digestServer('SHA-256', 2);
  const place = await workplace({
    'flow.yaml': `nodes: [{ type: http, url: "${server.origin}/{{id}}", auth: { type: digest, credential: c }, map: [echo], concurrency: 1, retry: { max: 0 } }]\n`,
    'n.csv': 'id\n1\n2\n3\n4\n5\n',
  });
  const run = (secret: string, out: string) =>
    place.automate(['run', 'flow.yaml', '--in', 'n.csv', '--out', out], { env: { AUTOMATE_CREDENTIAL_C: secret } });
  expect((await run(pair, 'out.csv')).code).toBe(0);
  expect((await place.read('out.csv')).split('\n')).toHaveLength(7);
  expect(server.requests).toHaveLength(5 + 3);
  const wrong = await run('Mufasa:hyenas-rule', 'wrong.csv');
  expect([wrong.code, wrong.stderr.includes('hyenas-rule')]).toEqual([7, false]);
  const before = server.requests.length;
  const none = await run('no-colon', 'none.csv');
  expect([none.code, none.stderr]).toEqual([
    7,
    expect.stringContaining('found no ":"\n  or write the user name into auth, as in username: ada\n'),
  ]);
  expect(server.requests).toHaveLength(before);
});
