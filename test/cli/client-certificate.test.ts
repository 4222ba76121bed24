import { createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { makeCertificates } from '../helpers/certificates.ts';
import { type Workplace, workplace } from '../helpers/cli.ts';
import { type Handler, httpServer } from '../helpers/http-server.ts';
import { proxyServer } from '../helpers/proxy-server.ts';

const certificates = makeCertificates();
const { authority, good } = certificates;

/** Returns the private key of the valid certificate, encrypted with a passphrase. */
function encryptedKey(): string {
  return createPrivateKey(good.key).export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'open sesame' }).toString();
}

/** Starts a server that refuses clients whose certificate is not signed by the test's authority. */
function strictServer(handler?: Handler) {
  return httpServer(handler, { ...good, ca: readFileSync(authority, 'utf8'), requestCert: true, rejectUnauthorized: true });
}

const names = '{ cert: client.pem, key: client.key }';

const flowTo = (origin: string, clientCert: string, more = '') => `connections:
  bank:
    type: http
    base_url: ${origin}
    ${clientCert === '' ? '' : `client_cert: ${clientCert}`}
nodes:
  - { type: http, connection: bank, url: "/accounts/{{id}}", retry: { max: 0 }${more} }
`;

/** Creates a workplace with the certificate, and with the flow in the subfolder `flows`. */
async function placeWith(flow: string, files: Record<string, string> = {}): Promise<Workplace> {
  const pair = { 'flows/client.pem': good.cert, 'flows/client.key': good.key };
  const place = await workplace({ 'rows.csv': 'id\n1\n' });
  await mkdir(place.path('flows'));
  for (const [name, text] of Object.entries({ 'flows/bank.yaml': flow, ...pair, ...files })) await place.write(name, text);
  await chmod(place.path('flows/client.key'), 0o600);
  return place;
}

const runs = ['run', 'flows/bank.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--cacert', authority];

describe('a client certificate', () => {
  test('is presented to the server of its connection', async () => {
    const server = await strictServer();
    const place = await placeWith(flowTo(server.origin, names));
    const { code, stderr } = await place.automate(runs);
    expect([code, server.requests.length]).toEqual([0, 1]);
    expect(stderr).not.toContain('other users can read');
  });

  test('is accepted by a server that requires client certificates', async () => {
    const server = await strictServer();
    const { code } = await (await placeWith(flowTo(server.origin, ''))).automate(runs);
    expect([code, server.requests.length]).not.toEqual([0, 1]);
    expect(server.requests).toEqual([]);
  });

  test('can have a private key with a passphrase', async () => {
    const server = await strictServer();
    const flow = flowTo(server.origin, '{ cert: client.pem, key: client.key, passphrase: { credential: bank-key } }');
    const place = await placeWith(flow, { 'flows/client.key': encryptedKey() });
    const { code } = await place.automate(runs, { env: { AUTOMATE_CREDENTIAL_BANK_KEY: 'open sesame' } });
    expect([code, server.requests.length]).toEqual([0, 1]);
    const wrong = await place.automate([...runs, '--force'], { env: { AUTOMATE_CREDENTIAL_BANK_KEY: 'open barley' } });
    expect(wrong).toMatchObject({
      code: 7,
      stderr: expect.stringContaining('the passphrase in the credential "bank-key" does not open the key'),
    });
    const missing = await place.automate([...runs, '--force'], { env: {} });
    expect(missing).toMatchObject({ code: 7, stderr: expect.stringContaining('bank-key') });
    expect(server.requests).toHaveLength(1);
  });

  test.each([
    [
      'a missing file',
      names.replace('client.pem', 'other.pem'),
      {},
      /certificate cannot be read: .*flows\/other\.pem: ENOENT: no such file/,
    ],
    [
      'the key of another certificate',
      names,
      { 'flows/client.key': certificates.selfSigned.key },
      /client\.key does not belong to .*client\.pem/,
    ],
    [
      'an expired certificate',
      names,
      { 'flows/client.pem': certificates.expired.cert, 'flows/client.key': certificates.expired.key },
      /client\.pem expired on \d/,
    ],
    ['a file without a certificate', names, { 'flows/client.pem': 'x' }, /client\.pem contains no client certificate in PEM/],
    ['a file without a key', names, { 'flows/client.key': 'x' }, /client\.key contains no private key in PEM/],
    [
      'an encrypted key without a passphrase',
      names,
      { 'flows/client.key': encryptedKey() },
      /client\.key is encrypted, but its connection gives no passphrase/,
    ],
  ])('with this problem is refused before anything is sent: %s', async (_what, written, files, message) => {
    const server = await strictServer();
    const { code, stderr } = await (await placeWith(flowTo(server.origin, written), files)).automate(runs);
    expect(stderr).toMatch(message);
    expect([code, server.requests.length]).toEqual([7, 0]);
  });

  test('causes a warning if other users can read its private key', async () => {
    const server = await strictServer();
    const place = await placeWith(flowTo(server.origin, names));
    await chmod(place.path('flows/client.key'), 0o644);
    expect((await place.automate(runs)).stderr).toMatch(
      /other users can read .*client\.key, the key of a client certificate \(mode 0644\)/,
    );
  });

  test('is not presented to a different origin, either after a redirect or for an absolute URL', async () => {
    const seen: unknown[] = [];
    const asking = { ...good, ca: readFileSync(authority, 'utf8'), requestCert: true, rejectUnauthorized: false };
    const other = await httpServer((_request, response) => {
      seen.push((response.socket as import('node:tls').TLSSocket).getPeerCertificate().subject?.CN);
      response.end();
    }, asking);
    const own = await strictServer((_request, response) => response.writeHead(302, { location: `${other.origin}/x` }).end());
    const place = await placeWith(flowTo(own.origin, names, ', follow: any').replace('nodes:', 'allow_hosts: [127.0.0.1]\nnodes:'));
    expect((await place.automate(runs)).code).toBe(0);
    expect(own.requests).toHaveLength(1);
    await place.write('flows/bank.yaml', flowTo(own.origin, names).replace('"/accounts/', `"${other.origin}/`));
    expect((await place.automate([...runs, '--force'])).code).toBe(0);
    expect(seen).toEqual([undefined, undefined]);
  });

  test('is presented to a server behind a proxy', async () => {
    const server = await strictServer();
    const proxy = await proxyServer(server.port);
    const place = await placeWith(flowTo('https://bank.example.com', names));
    const { code } = await place.automate(runs, { env: { HTTPS_PROXY: proxy.url } });
    expect([code, server.requests.length, proxy.seen]).toEqual([0, 1, ['CONNECT bank.example.com:443']]);
  });

  test('is part of the curl command that test-request prints', async () => {
    const written = '{ cert: client.pem, key: client.key, passphrase: { credential: bank-key } }';
    const place = await placeWith(flowTo('https://bank.example.com', written));
    const { stdout } = await place.automate(['test-request', 'flows/bank.yaml', '--set', 'id=1', '--curl']);
    expect(stdout).toMatch(/--cert \S*flows\/client\.pem --key \S*flows\/client\.key --pass "\$AUTOMATE_CREDENTIAL_BANK_KEY"/);
  });

  test('requires https, a certificate file and a key file', async () => {
    const place = await placeWith(flowTo('http://127.0.0.1:1', names));
    expect(await place.automate(['validate', 'flows/bank.yaml'])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('a client certificate needs a base_url with https://'),
    });
    await place.write('flows/bank.yaml', flowTo('https://a.example.com', '{ cert: client.pem }'));
    expect((await place.automate(['validate', 'flows/bank.yaml'])).code).toBe(3);
  });
});

describe('a saved connection with a client certificate', () => {
  test('stores absolute paths, and works in a flow', async () => {
    const server = await strictServer();
    const place = await placeWith(`nodes:\n  - { type: http, connection: bank, url: "/accounts/{{id}}" }\n`);
    const added = ['connections', 'add', 'http', 'bank', '--base-url', server.origin, '--auth', 'none'];
    const half = await place.automate([...added, '--client-cert', 'flows/client.pem']);
    expect(half).toMatchObject({ code: 2, stderr: expect.stringContaining('a client certificate needs both') });
    const files = ['--client-cert', 'flows/client.pem', '--client-key', 'flows/client.key'];
    const { stdout } = await place.automate([...added, ...files]);
    expect(stdout).toMatch(/client_cert:\n\s+cert: \/.*flows\/client\.pem\n\s+key: \/.*flows\/client\.key/);
    expect((await place.automate(['connections', 'test', 'bank', '--cacert', authority])).code).toBe(0);
    expect((await place.automate(runs)).code).toBe(0);
    expect(server.requests).toHaveLength(2);
  });
});
