import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** A private key and its certificate in PEM. */
interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/** The certificates that tests use. */
export interface Certificates {
  readonly folder: string;
  /** The path of the certificate of the authority that signed `good`, `expired` and `wrongHost`. */
  readonly authority: string;
  /** Valid for 127.0.0.1, localhost, api.example.test and every host in example.com. */
  readonly good: Certificate;
  readonly expired: Certificate;
  readonly wrongHost: Certificate;
  /** Valid for the same hosts as `good`, but not signed by an authority. */
  readonly selfSigned: Certificate;
}

const hosts = ['127.0.0.1', 'localhost', 'api.example.test', '*.example.com'];

/** Creates certificates, in a folder that is deleted after the tests of the file. */
export function makeCertificates(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'automate-tls-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const authority = issue({ name: 'authority', isAuthority: true, lastDay: 30 });
  const made = {
    authority,
    good: issue({ name: 'good', hosts, lastDay: 2, issuer: authority }),
    expired: issue({ name: 'expired', hosts, lastDay: -1, issuer: authority }),
    wrongHost: issue({ name: 'wrongHost', hosts: ['other.example.test'], lastDay: 2, issuer: authority }),
    selfSigned: issue({ name: 'selfSigned', hosts, isAuthority: true, lastDay: 30 }),
  };
  for (const [name, { key, cert }] of Object.entries(made)) {
    writeFileSync(join(folder, `${name}.key`), key, { mode: 0o600 });
    writeFileSync(join(folder, `${name}.pem`), cert);
  }
  return { ...made, folder, authority: join(folder, 'authority.pem') };
}

interface Order {
  readonly name: string;
  readonly hosts?: readonly string[];
  readonly isAuthority?: boolean;
  /** Number of days until the certificate expires. */
  readonly lastDay: number;
  /** The authority that signs the certificate. Without it, the certificate signs itself. */
  readonly issuer?: Certificate & { readonly name: string };
}

/** Issues a certificate of X.509 (RFC 5280), because Node.js cannot, and openssl may be missing. */
function issue({ name, hosts = [], isAuthority = false, lastDay, issuer }: Order) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const names = hosts.map((host) => (isIP(host) ? der(0x87, Buffer.from(host.split('.').map(Number))) : der(0x82, Buffer.from(host))));
  const extensions = [
    ...(names.length > 0 ? [sequence(oid('551d11'), octets(sequence(...names)))] : []),
    ...(isAuthority ? [sequence(oid('551d13'), octets(sequence(der(0x01, Buffer.of(0xff)))))] : []),
  ];
  const content = sequence(
    der(0xa0, integer(Buffer.of(2))),
    integer(Buffer.of(1, ...randomBytes(8))),
    ecdsaWithSha256,
    nameOf(issuer?.name ?? name),
    sequence(timeIn(-2), timeIn(lastDay)),
    nameOf(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  );
  const signature = sign('sha256', content, issuer?.key ?? key);
  const text = sequence(content, ecdsaWithSha256, der(0x03, Buffer.of(0), signature)).toString('base64');
  return { name, key, cert: `-----BEGIN CERTIFICATE-----\n${text.replace(/.{1,64}/g, '$&\n')}-----END CERTIFICATE-----\n` };
}

/** Returns a value in DER (ITU-T X.690): its tag, the length of its content, and its content. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}

const sequence = (...parts: readonly Buffer[]) => der(0x30, ...parts);
const integer = (bytes: Buffer) => der(0x02, bytes);
const octets = (content: Buffer) => der(0x04, content);
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));
const nameOf = (text: string) => sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(text)))));

/** Returns the time in a number of days, as YYMMDDHHMMSSZ. */
function timeIn(days: number): Buffer {
  const time = new Date(Date.now() + days * 86_400_000).toISOString();
  return der(0x17, Buffer.from(`${time.replace(/[-:T]|\..*/g, '').slice(2)}Z`));
}
