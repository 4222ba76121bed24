import { createHash, createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Auth } from '../../../src/core/auth/auth.ts';
import { awsSigv4 } from '../../../src/core/auth/aws-sigv4.ts';
import { awsSigner } from '../../../src/http/auth/aws-signer.ts';
import type { SignedRequest } from '../../../src/http/auth/request-signers.ts';
import { workplace } from '../../helpers/cli.ts';
import { httpServer, json } from '../../helpers/http-server.ts';
import { createSender, textOf } from '../sending.ts';

const key = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';
const pair = `AKIDEXAMPLE:${key}`;
const nowMs = Date.UTC(2015, 7, 30, 12, 36, 0);
const authOf = (options: object = {}): Auth =>
  awsSigv4.options.parse({ type: 'aws_sigv4', credential: 'aws', service: 'service', region: 'us-east-1', ...options });

/** Signs a request as the published test suite (aws-sig-v4-test-suite) does, and returns the header Authorization. */
async function authorization(request: Partial<SignedRequest>, secret = pair, options: object = {}): Promise<string> {
  const tools = { wallNow: () => nowMs, secret: () => {} };
  const signer = awsSigner(authOf(options) as never, { credential: 'aws', text: secret, origin: 'https://example.amazonaws.com' }, tools);
  let sent: Record<string, string> = {};
  await signer.send({ method: 'GET', origin: 'https://example.amazonaws.com', path: '/', headers: {}, ...request }, async ({ headers }) => {
    sent = headers;
    return { status: 200, header: () => undefined };
  });
  expect(sent['X-Amz-Date']).toBe('20150830T123600Z');
  return sent.Authorization as string;
}

const unreserved = '-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const vanilla = '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31';
const post = '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b';
const form = { method: 'POST', body: 'Param1=value1' };

/** From aws-sig-v4-test-suite. Its requests with spaces or letters outside ASCII in the path are left out: no client sends such a path. */
const vectors: readonly (readonly [name: string, request: Partial<SignedRequest>, signature: string])[] = [
  ['get-vanilla', {}, vanilla],
  ['get-vanilla-query', { path: '/?' }, vanilla],
  [
    'get-vanilla-query-order-key',
    { path: '/?Param1=value2&Param1=Value1' },
    'eedbc4e291e521cf13422ffca22be7d2eb8146eecf653089df300a15b2382bd1',
  ],
  [
    'get-vanilla-query-order-key-case',
    { path: '/?Param2=value2&Param1=value1' },
    'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  ],
  [
    'get-vanilla-query-order-value',
    { path: '/?Param1=value2&Param1=value1' },
    '5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694',
  ],
  ['get-vanilla-empty-query-key', { path: '/?Param1=value1' }, 'a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb'],
  [
    'get-vanilla-query-unreserved',
    { path: `/?${unreserved}=${unreserved}` },
    '9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197',
  ],
  ['get-vanilla-utf8-query', { path: '/?ሴ=bar' }, '2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04'],
  ['get-unreserved', { path: `/${unreserved}` }, '07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f'],
  ['get-slash', { path: '//' }, vanilla],
  ['get-slashes', { path: '//example//' }, '9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84'],
  ['get-slash-dot-slash', { path: '/./' }, vanilla],
  ['get-slash-pointless-dot', { path: '/./example' }, 'ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5'],
  ['get-relative', { path: '/example/..' }, vanilla],
  ['get-relative-relative', { path: '/example1/example2/../..' }, vanilla],
  [
    'get-header-key-duplicate',
    { headers: { 'My-Header1': 'value2,value2,value1' } },
    'c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea',
  ],
  [
    'get-header-value-order',
    { headers: { 'My-Header1': 'value4,value1,value3,value2' } },
    '08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01',
  ],
  [
    'get-header-value-trim',
    { headers: { 'My-Header1': ' value1', 'My-Header2': ' "a   b   c"' } },
    'acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736',
  ],
  ['post-vanilla', { method: 'POST' }, post],
  ['post-vanilla-query', { method: 'POST', path: '/?Param1=value1' }, '28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11'],
  [
    'post-header-key-sort',
    { method: 'POST', headers: { 'My-Header1': 'value1' } },
    'c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c',
  ],
  [
    'post-header-value-case',
    { method: 'POST', headers: { 'My-Header1': 'VALUE1' } },
    'cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d',
  ],
  [
    'post-x-www-form-urlencoded',
    { ...form, headers: { 'Content-Type': 'application/x-www-form-urlencoded' } },
    'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
  ],
  [
    'post-x-www-form-urlencoded-parameters',
    { ...form, headers: { 'Content-Type': 'application/x-www-form-urlencoded; charset=utf8' } },
    '1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe',
  ],
];

describe("AWS's published test vectors", () => {
  test.each(vectors)('%s', async (_name, request, signature) => {
    const names = ['host', 'x-amz-date', ...Object.keys(request.headers ?? {}).map((name) => name.toLowerCase())].sort();
    expect(await authorization(request)).toBe(
      `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=${names.join(';')}, Signature=${signature}`,
    );
  });
});

/** The signature as AWS describes it, of a GET request without a query. */
function expectedSignature(canonicalPath: string, service: string, headers: Record<string, string>): string {
  const hash = (text: string) => createHash('sha256').update(text).digest('hex');
  const hmac = (secret: string | Buffer, text: string) => createHmac('sha256', secret).update(text).digest();
  const names = Object.keys(headers).sort();
  const lines = ['GET', canonicalPath, '', ...names.map((name) => `${name}:${headers[name]}`), '', names.join(';'), hash('')];
  const scope = `20150830/us-east-1/${service}/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', '20150830T123600Z', scope, hash(lines.join('\n'))].join('\n');
  const signing = scope.split('/').reduce<string | Buffer>((secret, part) => hmac(secret, part), `AWS4${key}`);
  return hmac(signing, text).toString('hex');
}

test.each([
  ['service', '/%E1%88%B4', '/%25E1%2588%25B4'],
  ['service', '/a%20b/%C3%A9+c', '/a%2520b/%25C3%25A9%2Bc'],
  ['s3', '/a%20b/%C3%A9+c', '/a%20b/%C3%A9%2Bc'],
  ['s3', '/a//b/../c', '/a//b/../c'],
])('the path of a request to %s is %s, and %s in the signature', async (service, path, canonicalPath) => {
  const found = await authorization({ path }, pair, { service });
  const added: Record<string, string> = service === 's3' ? { 'x-amz-content-sha256': createHash('sha256').update('').digest('hex') } : {};
  const headers = { host: 'example.amazonaws.com', 'x-amz-date': '20150830T123600Z', ...added };
  expect(found).toContain(`Signature=${expectedSignature(canonicalPath, service, headers)}`);
});

describe('a request with auth of type aws_sigv4', () => {
  const exported = (expiration: string) =>
    JSON.stringify(
      { Version: 1, AccessKeyId: 'AKIDEXAMPLE', SecretAccessKey: key, SessionToken: 'session-token-1', Expiration: expiration },
      null,
      2,
    );

  test.each([
    ['with a session token', `${pair}:session-token-1`],
    ['as exported JSON', exported('2099-01-01T00:00:00+00:00')],
    ['as aws sts assume-role prints them', `{"Credentials":${exported('2099-01-01T00:00:00Z')},"AssumedRoleUser":{"Arn":"a"}}`],
  ])('accepts credentials %s, and masks each part', async (_form, text) => {
    const server = await httpServer();
    const { get, secrets } = createSender({ secrets: { aws: text } });
    await get(server.origin, { auth: authOf() });
    const { headers } = server.requests[0] ?? {};
    expect(headers?.['x-amz-security-token']).toBe('session-token-1');
    expect(headers?.authorization).toContain('SignedHeaders=host;x-amz-date;x-amz-security-token,');
    expect(secrets).toEqual([key, 'session-token-1']);
  });

  test('is signed over the host with its port and the body, and not again with the same time', async () => {
    const server = await httpServer(({ headers }, response) => json(response, { echo: headers.authorization }));
    let now = nowMs;
    const { get } = createSender({ secrets: { aws: pair }, wallNow: () => (now += 60_000) });
    const send = (body: string) => get(server.origin, { auth: authOf(), method: 'POST', body });
    const answers = [await send('a'), await send('a')];
    const dates = server.requests.map(({ headers }) => headers['x-amz-date']);
    expect(new Set(dates).size).toBe(2);
    for (const answer of answers) expect(JSON.parse(textOf(answer)).echo).toMatch(/Signature=\*\*\*$/);
  });

  test.each<[string, string, object]>([
    ['expired at 2020-01-01T00:00:00Z', exported('2020-01-01T00:00:00+00:00'), {}],
    ['let a command print them: aws configure export-credentials', exported('2020-01-01T00:00:00Z'), {}],
    ['expected ACCESS_KEY_ID:SECRET_ACCESS_KEY', 'AKIDEXAMPLE', {}],
    ['is a JSON document without AccessKeyId', '{"a":1}', {}],
    ['expected service and region, because the host 127.0.0.1 does not contain them', pair, { service: undefined, region: undefined }],
  ])('is not sent if %s', async (message, text, options) => {
    const server = await httpServer();
    const sending = createSender({ secrets: { aws: text } }).get(server.origin, { auth: authOf(options) });
    await expect(sending).rejects.toMatchObject({ name: 'LimitReached', message: expect.stringContaining(message) });
    expect(server.requests).toEqual([]);
  });

  test.each([
    ['https://dynamodb.eu-central-1.amazonaws.com', 'eu-central-1/dynamodb'],
    ['https://bucket.s3.eu-west-1.amazonaws.com', 'eu-west-1/s3'],
    ['https://abc.execute-api.us-west-2.amazonaws.com', 'us-west-2/execute-api'],
    ['https://iam.amazonaws.com', 'us-east-1/iam'],
    ['https://sqs.cn-north-1.amazonaws.com.cn', 'cn-north-1/sqs'],
    ['https://s3-us-west-2.amazonaws.com', 'us-west-2/s3'],
    ['https://bucket.s3.amazonaws.com', 'us-east-1/s3'],
    ['https://my-bucket-1.s3.amazonaws.com', 'us-east-1/s3'],
    ['https://my-bucket-1.s3-fips.us-gov-west-1.amazonaws.com', 'us-gov-west-1/s3'],
    ['https://s3-external-1.amazonaws.com', 'us-east-1/s3'],
    ['https://bucket.s3.dualstack.eu-west-1.amazonaws.com', 'eu-west-1/s3'],
    ['https://search-logs-1a2b.us-east-1.es.amazonaws.com', 'us-east-1/es'],
    ['https://email.us-gov-west-1.amazonaws.com', 'us-gov-west-1/ses'],
    ['https://bedrock-runtime.eu-central-1.amazonaws.com', 'eu-central-1/bedrock'],
    ['https://dynamodb-fips.us-east-2.amazonaws.com', 'us-east-2/dynamodb'],
    ['https://vpce-1a2b.sqs.eu-west-1.vpce.amazonaws.com', 'eu-west-1/sqs'],
    ['https://lambda.eu-west-3.api.aws', 'eu-west-3/lambda'],
    ['https://x1y2.lambda-url.ap-southeast-2.on.aws', 'ap-southeast-2/lambda'],
    ['https://sts.eusc-de-east-1.amazonaws.eu', 'eusc-de-east-1/sts'],
  ])('takes service and region from the host %s', async (origin, scope) => {
    const auth = authOf({ service: undefined, region: undefined });
    const signer = awsSigner(auth as never, { credential: 'aws', text: pair, origin }, { wallNow: () => nowMs, secret: () => {} });
    let sent: Record<string, string> = {};
    await signer.send({ method: 'GET', origin, path: '/a+b', headers: {} }, async ({ headers }) => {
      sent = headers;
      return { status: 200, header: () => undefined };
    });
    expect(sent.Authorization).toContain(`/20150830/${scope}/aws4_request`);
    expect(sent['X-Amz-Content-Sha256'] === undefined).toBe(!scope.endsWith('/s3'));
  });
});

describe('a flow without the service or region that the host does not contain', () => {
  const node = (url: string, options: string) => `nodes: [{ type: http, url: "${url}", auth: ${options}, map: [a] }]\n`;
  const own = '{ type: aws_sigv4, credential: aws, service: dynamodb }';
  const connection = (origin: string, auth: string) =>
    `connections: { db: { type: http, base_url: "${origin}", auth: ${auth} } }\nnodes: [{ type: http, connection: db, url: /x, map: [a] }]\n`;

  test.each<[string, (origin: string) => string, string]>([
    ['a node', (origin) => node(`${origin}/{{id}}`, own), 'flow.yaml:1:'],
    ['an entry of a list', (origin) => node(origin, `[${own}]`), 'flow.yaml:1:'],
    ['a connection', (origin) => connection(`${origin}/v1`, own), 'flow.yaml:1:'],
    [
      'a login',
      (origin) =>
        connection(
          origin,
          `{ type: session, login: { url: /in, auth: ${own}, take: { t: body.t } }, send: { headers: { X: { session: t } } } }`,
        ),
      'flow.yaml:1:',
    ],
  ])('is refused before anything is sent, if it is %s', async (_, flow, position) => {
    const server = await httpServer();
    const place = await workplace({ 'flow.yaml': flow(server.origin), 'n.csv': 'id\n1\n' });
    const env = { AUTOMATE_CREDENTIAL_AWS: pair };
    const message =
      'expected region, because the host 127.0.0.1 does not contain it\n  add it to auth, for example: region: eu-central-1\n';
    for (const command of [
      ['validate', 'flow.yaml'],
      ['run', 'flow.yaml', '--in', 'n.csv', '--out', 'out.csv'],
    ]) {
      const { code, stderr, stdout } = await place.automate(command, { env });
      expect([code, stdout + stderr]).toEqual([3, expect.stringContaining(message)]);
      expect(stdout + stderr).toContain(position);
    }
    expect(server.requests).toEqual([]);
    await expect(place.read('out.csv')).rejects.toThrow('ENOENT');
  });

  test.each([
    [
      'expected region, because the host s3.example.com does not contain it\n  add it, for example: --auth-set region=eu-central-1\n',
      ['--auth-set', 'service=s3'],
    ],
    [
      'expected service and region, because the host s3.example.com does not contain them\n  add them, for example: --auth-set service=dynamodb --auth-set region=eu-central-1\n',
      [],
    ],
  ])('is refused as a saved connection, which is then not saved, with the option to type: %s', async (message, more) => {
    const place = await workplace({});
    for (const server of [
      ['http', 'store', '--base-url', 'https://s3.example.com'],
      ['mcp', 'store', '--no-test', '--url', 'https://s3.example.com'],
    ]) {
      const { code, stderr } = await place.automate([
        'connections',
        'add',
        ...server,
        '--auth',
        'aws_sigv4',
        '--credential',
        'aws',
        ...more,
      ]);
      expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
      expect((await place.automate(['connections', 'list'])).stdout).not.toContain('store');
    }
  });

  test.each([
    ['https://bucket.s3-accelerate.amazonaws.com', '{ type: aws_sigv4, credential: aws }', 'expected region,'],
    ['https://my-bucket-1.s3-accelerate.amazonaws.com', '{ type: aws_sigv4, credential: aws }', 'expected region,'],
    ['https://api.example.com', '{ type: aws_sigv4, credential: aws, region: eu-west-1 }', 'expected service,'],
    ['https://amazonaws.com.example.com', '{ type: aws_sigv4, credential: aws }', 'expected service and region,'],
  ])('is refused for %s with %s', async (origin, auth, message) => {
    const place = await workplace({ 'flow.yaml': node(origin, auth) });
    const { code, stdout, stderr } = await place.automate(['validate', 'flow.yaml'], { env: { AUTOMATE_CREDENTIAL_AWS: pair } });
    expect([code, stdout + stderr]).toEqual([3, expect.stringContaining(message)]);
  });
});

test('a run signs for AWS with the credentials of a command, runs it again once they have expired, and writes no part of them', async () => {
  const server = await httpServer(({ headers }, response) =>
    json(response, { echo: `${headers.authorization} ${headers['x-amz-security-token']}` }),
  );
  const place = await workplace({
    'flow.yaml': `nodes: [{ type: http, url: "${server.origin}/{{id}}", auth: { type: aws_sigv4, service: dynamodb, region: eu-central-1, credential: aws }, map: [echo] }]\n`,
    'n.csv': 'id\n1\n2\n',
    'print.mjs': `console.log(JSON.stringify({ Version: 1, AccessKeyId: 'AKIDEXAMPLE', SecretAccessKey: ${JSON.stringify(key)}, SessionToken: 'session-token-1', Expiration: new Date(Date.now() + 3600000) }, null, 2));`,
  });
  const set = await place.automate(['credentials', 'set', 'aws', '--command', 'node print.mjs']);
  expect(set.code).toBe(0);
  const { code, stdout, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'n.csv', '--out', 'out.csv']);
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  expect(await place.read('out.csv')).toMatch(/^id,echo\n1,"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/.*Signature=\*\*\* \*\*\*"\n/);
  const written = [stdout, stderr, await place.read('out.csv')].join('\n');
  for (const text of [key, 'session-token-1']) expect(written).not.toContain(text);
  const curl = await place.automate(['test-request', 'flow.yaml', '--set', 'id=1', '--curl']);
  expect(curl.stdout).toContain('--aws-sigv4 aws:amz:eu-central-1:dynamodb -u "$AUTOMATE_CREDENTIAL_AWS"');
});
