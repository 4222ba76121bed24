import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createPublicKey, verify } from 'node:crypto';
import { once } from 'node:events';
import { OAuth2Server } from 'oauth2-mock-server';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { idRows } from '../helpers/asking.ts';
import { readAllFiles, workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';

const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out'];

describe('access tokens from oauth2-mock-server', () => {
  const secret = 's3cr3t +/:é&%';
  const pair = btoa(`me:${encodeURIComponent(secret)}`);
  const retry = 'retry: { max: 0 }';

  /** Starts a token server with one client and an API that accepts its tokens, and writes a flow that uses them. */
  async function scene(records: number, isAccepted: (id: string) => boolean = () => true, refusal = 401) {
    const server = new OAuth2Server();
    const key = await server.issuer.keys.generate('RS256');
    await server.start(0, '127.0.0.1');
    onTestFinished(() => server.stop());
    const issued: string[] = [];
    const refused: unknown[] = [];
    server.service.on('beforeTokenSigning', (token) => {
      token.payload.jti = `token ${issued.length + refused.length}`;
    });
    server.service.on('beforeResponse', (response, request) => {
      if (request.headers.authorization === `Basic ${pair}`) issued.push((response.body as { access_token: string }).access_token);
      else {
        refused.push(request.headers.authorization);
        Object.assign(response, { statusCode: refusal, body: { error: 'invalid_client' } });
      }
    });
    const publicKey = createPublicKey({ key: server.issuer.keys.toJSON().find(({ kid }) => kid === key.kid) as never, format: 'jwk' });
    const api = await httpServer(({ headers: { authorization = '' } }, response) => {
      const [, text = '', payload = '', signature = ''] = /^Bearer (\S+\.(\S+))\.(\S+)$/.exec(authorization) ?? [];
      const isSigned = verify('RSA-SHA256', Buffer.from(text), publicKey, Buffer.from(signature, 'base64url'));
      const claims = isSigned ? JSON.parse(Buffer.from(payload, 'base64url').toString()) : {};
      if (isSigned && isAccepted(claims.jti)) json(response, { scope: claims.scope, echo: authorization });
      else json(response, { error: 'invalid_token' }, 401);
    });
    const token = `token_url: "http://127.0.0.1:${server.address().port}/token", client_id: me, credential: c, scopes: [read, "write:all"]`;
    const flow = `connections:
  api: { type: http, base_url: "${api.origin}", auth: { type: oauth2_client_credentials, ${token} } }
nodes: [{ type: http, connection: api, url: "/{{id}}", map: [scope, echo], ${retry}, concurrency: 4, cache: 1h }]\n`;
    const place = await workplace({ 'flow.yaml': flow, 'rows.csv': idRows(records) });
    const more = ['--events', 'events.ndjson', '--summary', 'summary.json'];
    const start = (text = secret) => place.automate([...run, 'out.csv', ...more], { env: { AUTOMATE_CREDENTIAL_C: text } });
    return { place, api, issued, refused, start };
  }

  test('are requested only once for many records, and never written anywhere', async () => {
    const { place, api, issued, start } = await scene(60);
    const { code, stdout, stderr } = await start();
    expect({ code, issued: issued.length }).toEqual({ code: 0, issued: 1 });
    expect(new Set(api.requests.map(({ headers }) => headers.authorization))).toEqual(new Set([`Bearer ${issued[0]}`]));
    const output = idRows(60).replaceAll(/\d+/g, '$&,read write:all,Bearer ***').replace('id', 'id,scope,echo');
    expect(await place.read('out.csv')).toBe(output);
    const written = [stdout, stderr, await readAllFiles(place)].join('\n');
    expect(written).toContain('Bearer ***');
    for (const form of [secret, encodeURIComponent(secret), pair, btoa(secret), issued[0] as string]) expect(written).not.toContain(form);
  });

  test('are replaced once the API refuses them, so that no record fails', async () => {
    let calls = 0;
    const { api, issued, start } = await scene(30, (id) => id !== 'token 0' || ++calls <= 10);
    expect(await start()).toMatchObject({ code: 0 });
    expect(issued).toHaveLength(2);
    const sent = api.requests.map(({ headers }) => issued.findIndex((token) => headers.authorization === `Bearer ${token}`));
    expect(sent.filter((index) => index === 1)).toHaveLength(20);
    expect(sent.filter((index) => index === 0).length).toBeLessThanOrEqual(10 + 4);
  });

  test.each([400, 401])('are requested only once if the token server refuses the client with %i', async (status) => {
    const { place, api, issued, refused, start } = await scene(20, undefined, status);
    const { code, stderr } = await start('wr0ng-s3cr3t');
    expect({ code, refused, issued, requests: api.requests }).toEqual({
      code: 5,
      refused: [`Basic ${btoa('me:wr0ng-s3cr3t')}`],
      issued: [],
      requests: [],
    });
    const errors = (await place.read('out.errors.csv')).trimEnd().split('\n').slice(1);
    expect(errors).toHaveLength(20);
    for (const line of errors)
      expect(line).toMatch(/no access token from http:\/\/127\.0\.0\.1:\d+: the server answered \d+: .*invalid_client/);
    const why = status === 400 ? 'token server issued no token; see which credential' : 'server refused the credential; see which one';
    expect(stderr).toContain(`the ${why} is used:\n    automate credentials show c\n`);
    expect(stderr).toContain('automate credentials set c');
    expect(stderr + (await readAllFiles(place))).not.toMatch(/wr0ng|bWU6d3Iwbmct/);
  });

  test('are not requested from another address if the token server redirects', async () => {
    const { api, start } = await scene(20, undefined, 302);
    const { code, stderr } = await start('wr0ng-s3cr3t');
    expect([code, api.requests]).toEqual([5, []]);
    expect(stderr).toMatch(/check auth and url of \S+; try one request with:\n/);
  });
});

// True if gunicorn and httpbin are both installed.
const hasHttpbin = spawnSync('gunicorn', ['--check-config', 'httpbin:app'], { timeout: 20_000 }).status === 0;

describe.skipIf(!hasHttpbin)(`requests to httpbin${hasHttpbin ? '' : ' (skipped: no gunicorn or no python3-httpbin here)'}`, () => {
  let gunicorn: ChildProcess;
  let origin: string;

  beforeAll(async () => {
    gunicorn = spawn('gunicorn', ['--bind', '127.0.0.1:0', 'httpbin:app'], { stdio: ['ignore', 'ignore', 'pipe'] });
    origin = await new Promise<string>((resolve, reject) => {
      let said = '';
      gunicorn.stderr?.setEncoding('utf8').on('data', (text: string) => {
        said += text;
        const [, url] = /Listening at: (http:\/\/\S+:\d+)\b/.exec(said) ?? [];
        if (url !== undefined) resolve(url);
      });
      gunicorn.on('close', () => reject(new Error(said)));
    });
  });

  afterAll(async () => {
    gunicorn.kill();
    await once(gunicorn, 'close');
  });

  const env = { AUTOMATE_CREDENTIAL_TOKEN: 'sesame-token', AUTOMATE_CREDENTIAL_PAIR: 'user:passwd' };

  /** Runs a flow with these connections and nodes over one record. */
  async function runOne(connections: string, nodes: string, more: Record<string, string> = {}) {
    const flow = `connections:\n${connections}nodes:\n${nodes}`.replaceAll('ORIGIN', origin);
    const place = await workplace({ 'flow.yaml': flow, 'rows.csv': idRows(1) });
    const { code, stderr } = await place.automate([...run, 'out.json'], { env: { ...env, ...more } });
    const [record] = code === 0 ? JSON.parse(await place.read('out.json')) : [];
    return { code, stderr, record, errors: (await place.files()).includes('out.errors.csv') ? await place.read('out.errors.csv') : '' };
  }

  const bearer = '  b: { type: http, base_url: "ORIGIN", auth: { type: bearer, credential: token }, headers: { X-Custom: "c{{id}}" } }\n';
  const basic = '  p: { type: http, base_url: "ORIGIN", auth: { type: basic, credential: pair } }\n';
  const key = '  k: { type: http, base_url: "ORIGIN", auth: { type: api_key, header: X-Key, credential: token } }\n';

  test('are signed as httpbin expects, and echoed credentials are masked', async () => {
    const { code, record } = await runOne(
      bearer + basic + key,
      `  - { type: http, connection: b, url: /bearer, map: { bearer: authenticated, token: token } }
  - { type: http, connection: p, url: /basic-auth/user/passwd, map: { basic: authenticated, user: user } }
  - { type: http, connection: b, url: /headers, map: { sent: headers.Authorization, custom: 'headers["X-Custom"]' } }
  - { type: http, connection: k, url: "/get?id={{id}}", map: { key: 'headers["X-Key"]', args: args } }\n`,
    );
    expect({ code, record }).toEqual({
      code: 0,
      record: {
        id: '1',
        bearer: true,
        token: '***',
        basic: true,
        user: 'user',
        sent: 'Bearer ***',
        custom: 'c1',
        key: '***',
        args: { id: '1' },
      },
    });
  });

  test('fail with 401 if the password is wrong', async () => {
    const { code, errors } = await runOne(basic, '  - { type: http, connection: p, url: /basic-auth/user/passwd }\n', {
      AUTOMATE_CREDENTIAL_PAIR: 'user:wrong-one',
    });
    expect(code).toBe(4);
    expect(errors).toMatch(/^1,http-1,http,401,/m);
    expect(errors).not.toContain('wrong-one');
  });

  describe('a redirected request with a credential', () => {
    const redirected = (host: string, more = '') =>
      `  - { type: http, connection: b, url: "/redirect-to?url=${host}/headers", map: { sent: headers }${more} }\n`;
    const elsewhere = () => origin.replace('127.0.0.1', 'localhost');

    test('sends the credential to the same origin', async () => {
      const { record } = await runOne(bearer, redirected(''));
      expect(record?.sent).toMatchObject({ Authorization: 'Bearer ***', 'X-Custom': 'c1' });
    });

    test('fails if the redirect leads to a different origin', async () => {
      const { code, errors } = await runOne(bearer, redirected(elsewhere()));
      expect(code).toBe(4);
      expect(errors).toContain(`the server redirects to ${elsewhere()}/headers, a different origin`);
    });

    test('reaches a different origin without the credential if follow is "any"', async () => {
      const { code, record } = await runOne(bearer, redirected(elsewhere(), ', follow: any'));
      expect(code).toBe(0);
      expect(record.sent).toMatchObject({ Host: elsewhere().replace('http://', '') });
      expect(Object.keys(record.sent)).not.toEqual(expect.arrayContaining([expect.stringMatching(/authorization|custom/i)]));
    });
  });
});
