import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { messageWithAdvice } from '../../src/cli/advice.ts';
import { AutomateError } from '../../src/core/failure.ts';
import { makeCertificates } from '../helpers/certificates.ts';
import { httpServer } from '../helpers/http-server.ts';
import { rawServer } from '../helpers/raw-server.ts';
import { createSender, textOf } from './sending.ts';

const certificates = makeCertificates();
const { authority } = certificates;

describe('the TLS certificate of a server', () => {
  test('is accepted if its authority is in --cacert, and the connection is reused', async () => {
    const server = await httpServer((_request, response) => response.end('secure'), certificates.good);
    const { get } = createSender({ cacert: authority });
    for (let i = 0; i < 3; i++) expect(textOf(await get(server.origin))).toBe('secure');
    await get(server.origin.replace('127.0.0.1', 'localhost'));
    expect(server.connections()).toBe(2);
  });

  test('is accepted for a host from a record if its authority is in --cacert', async () => {
    const server = await httpServer(undefined, certificates.good);
    const { get } = createSender({ cacert: authority });
    await get(server.origin.replace('127.0.0.1', 'localhost'), { hostFromData: { allowHosts: ['localhost'] } });
    expect(server.requests).toHaveLength(1);
  });

  test.each([
    ['good', undefined, /unable to verify the first certificate \(UNABLE_TO_VERIFY_LEAF_SIGNATURE\)\n.*--cacert FILE$/],
    ['selfSigned', undefined, /self-signed certificate \(DEPTH_ZERO_SELF_SIGNED_CERT\)\n.*--cacert FILE$/],
    ['selfSigned', authority, /self-signed certificate \(DEPTH_ZERO_SELF_SIGNED_CERT\)\n.*--cacert FILE$/],
    ['expired', authority, /certificate has expired \(CERT_HAS_EXPIRED\)$/],
    ['wrongHost', authority, /does not match certificate's altnames.*127\.0\.0\.1.*\(ERR_TLS_CERT_ALTNAME_INVALID\)$/s],
  ] as const)('is refused with the cause in the message (certificate: %s, --cacert: %s)', async (name, cacert, message) => {
    const server = await httpServer(undefined, certificates[name]);
    const failure = await createSender(cacert === undefined ? {} : { cacert }).failure(server.origin);
    expect(failure).toMatchObject({ kind: 'network', retryable: false, sent: false });
    expect(messageWithAdvice(failure)).toMatch(message);
    expect(failure.message).toMatch(`the TLS connection to ${server.origin} failed: `);
    expect(server.requests).toEqual([]);
  });

  test('makes every request that waits for the connection fail if the certificate is refused', async () => {
    const server = await httpServer(undefined, certificates.wrongHost);
    const { failure } = createSender({ cacert: authority });
    const failures = await Promise.all(Array.from({ length: 20 }, () => failure(server.origin)));
    expect(new Set(failures.map(({ message }) => message)).size).toBe(1);
  });

  test('is checked against --cacert in addition to the default authorities and NODE_EXTRA_CA_CERTS', async () => {
    const server = await httpServer(undefined, certificates.good);
    const other = join(certificates.folder, 'selfSigned.pem');
    await createSender({ cacert: other, environment: { NODE_EXTRA_CA_CERTS: authority } }).get(server.origin);
    expect(server.requests).toHaveLength(1);
  });
});

describe('a server that does not support TLS at an https URL', () => {
  test('makes the request fail, and the message suggests http', async () => {
    const server = await httpServer();
    expect(await createSender().failure(server.origin.replace('http:', 'https:'))).toMatchObject({
      kind: 'network',
      retryable: false,
      sent: false,
      message: expect.stringMatching(
        /^the TLS connection to \S+ failed: the server does not speak TLS on this port; does the server use http:\/\/\? \((?:ERR_SSL_\w+|EPROTO)\)$/,
      ),
    });
  });

  test('causes a retry if it closes the connection during the handshake', async () => {
    const server = await rawServer((socket) => socket.destroy());
    expect(await createSender().failure(server.origin.replace('http:', 'https:'))).toMatchObject({
      kind: 'network',
      retryable: true,
      sent: false,
    });
  });
});

describe('the file in --cacert', () => {
  const file = (name: string, content: string) => {
    writeFileSync(join(certificates.folder, name), content);
    return join(certificates.folder, name);
  };

  test.each([
    ['is missing', join(certificates.folder, 'none.pem'), /ENOENT/],
    ['is a folder', certificates.folder, /EISDIR/],
    ['contains no certificate', file('junk.pem', 'junk'), /it contains no PEM certificate/],
    ['is empty', file('empty.pem', ''), /it contains no PEM certificate/],
    [
      'contains a broken certificate',
      file('broken.pem', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'),
      /PEM|asn1|bad/i,
    ],
    ['contains a private key', file('key.pem', certificates.good.key), /it contains no PEM certificate/],
  ])('is refused at the start if it %s', (_name, path, reason) => {
    expect(() => createSender({ cacert: path })).toThrow(AutomateError);
    expect(() => createSender({ cacert: path })).toThrow(`${path} cannot be used: `);
    expect(() => createSender({ cacert: path })).toThrow(reason);
  });

  test('can contain several certificates', async () => {
    const server = await httpServer(undefined, certificates.good);
    const { readFileSync } = await import('node:fs');
    const both = file('both.pem', `# mine\n${certificates.selfSigned.cert}\n${readFileSync(authority, 'utf8')}`);
    await createSender({ cacert: both }).get(server.origin);
    expect(server.requests).toHaveLength(1);
  });
});
