import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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

const hosts = 'IP:127.0.0.1,DNS:localhost,DNS:api.example.test,DNS:*.example.com';

/** Creates certificates with openssl, in a folder that is deleted after the tests of the file. */
export function makeCertificates(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'automate-tls-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const pairOf = (name: string) => ({
    key: readFileSync(join(folder, `${name}.key`), 'utf8'),
    cert: readFileSync(join(folder, `${name}.pem`), 'utf8'),
  });
  const selfSign = (name: string, ...more: string[]) =>
    openssl('req', '-x509', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.pem`, '-subj', `/CN=${name}`, ...more);
  const issue = (name: string, names: string, days: number) => {
    openssl('req', '-new', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`);
    writeFileSync(join(folder, `${name}.ext`), `subjectAltName=${names}\n`);
    const signer = ['-CA', 'authority.pem', '-CAkey', 'authority.key', '-CAcreateserial'];
    openssl('x509', '-req', '-in', `${name}.csr`, ...signer, '-days', String(days), '-extfile', `${name}.ext`, '-out', `${name}.pem`);
    return pairOf(name);
  };
  selfSign('authority');
  selfSign('selfSigned', '-addext', `subjectAltName=${hosts}`);
  return {
    folder,
    authority: join(folder, 'authority.pem'),
    good: issue('good', hosts, 2),
    expired: issue('expired', hosts, -1),
    wrongHost: issue('wrongHost', 'DNS:other.example.test', 2),
    selfSigned: pairOf('selfSigned'),
  };
}
