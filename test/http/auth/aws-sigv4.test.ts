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
async function authorization(request: Partial<SignedRequest>, secret = pair): Promise<string> {
  const tools = { wallNow: () => nowMs, secret: () => {} };
  const signer = awsSigner(authOf() as never, { credential: 'aws', text: secret, origin: 'https://example.amazonaws.com' }, tools);
  let sent: Record<string, string> = {};
  await signer.send({ method: 'GET', origin: 'https://example.amazonaws.com', path: '/', headers: {}, ...request }, async ({ headers }) => {
    sent = headers;
    return { status: 200, header: () => undefined };
  });
  expect(sent['X-Amz-Date']).toBe('20150830T123600Z');
  return sent.Authorization as string;
}

describe("AWS's published test vectors", () => {
  test.each<[string, Partial<SignedRequest>, string, string]>([
    ['get-vanilla', {}, 'host;x-amz-date', '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
    ['get-vanilla-query', { path: '/' }, 'host;x-amz-date', '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
    [
      'get-vanilla-query-order-key-case',
      { path: '/?Param2=value2&Param1=value1' },
      'host;x-amz-date',
      'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
    ],
    [
      'get-vanilla-empty-query-key',
      { path: '/?Param1=value1' },
      'host;x-amz-date',
      'a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb',
    ],
    [
      'normalize-path: get-relative',
      { path: '/example/..' },
      'host;x-amz-date',
      '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
    ],
    ['post-vanilla', { method: 'POST' }, 'host;x-amz-date', '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b'],
    [
      'post-header-key-sort',
      { method: 'POST', headers: { 'My-Header1': 'value1' } },
      'host;my-header1;x-amz-date',
      'c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c',
    ],
    [
      'post-x-www-form-urlencoded',
      { method: 'POST', headers: { 'Content-Type': 'application/x-www-form-urlencoded' }, body: 'Param1=value1' },
      'content-type;host;x-amz-date',
      'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
    ],
  ])('%s', async (_name, request, headers, signature) => {
    expect(await authorization(request)).toBe(
      `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=${headers}, Signature=${signature}`,
    );
  });
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
    [
      'does not say the service and region for auth of type aws_sigv4: add service and region to auth',
      pair,
      { service: undefined, region: undefined },
    ],
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
