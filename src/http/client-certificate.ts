import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { ClientCertificate } from '../core/connection.ts';
import { AutomateError } from '../core/failure.ts';
import type { Secret } from '../credentials/secret.ts';
import { systemReason } from '../files/naming-errors.ts';
import { modeOthersCanRead } from '../files/stat.ts';
import type { LoadedCertificate } from './authorities.ts';
import { type RouteOptions, Routes } from './routes.ts';

/** A connection with a certificate is used only for requests with the same certificate. */
export interface CertifiedRoutes {
  of(certificate: ClientCertificate): Routes;
  /** Closes all connections. Requests in flight fail. */
  destroy(): void;
}

interface CertifiedOptions extends RouteOptions {
  /** The flow's secrets, keyed by the names of their credentials. They include the passphrases of the certificates' private keys. */
  readonly secrets: ReadonlyMap<string, Secret>;
}

/** Throws an AutomateError (`credential`) if a certificate cannot be used. */
export function openCertified(certificates: readonly ClientCertificate[], { secrets, ...options }: CertifiedOptions): CertifiedRoutes {
  const routes = new Map<string, Routes>();
  for (const certificate of certificates) {
    const key = certificateId(certificate);
    if (!routes.has(key)) routes.set(key, new Routes({ ...options, certificate: loadCertificate(certificate, secrets, options.warn) }));
  }
  return {
    of: (certificate) => routes.get(certificateId(certificate)) as Routes,
    destroy() {
      for (const own of routes.values()) own.destroy();
    },
  };
}

/** Absolute paths. Relative paths are resolved against the flow's folder. */
export function certificateFiles({ cert, key, flow }: ClientCertificate): { readonly cert: string; readonly key: string } {
  const folder = flow === undefined ? '' : dirname(flow);
  return { cert: resolve(folder, cert), key: resolve(folder, key) };
}

function certificateId(certificate: ClientCertificate): string {
  const { cert, key } = certificateFiles(certificate);
  return JSON.stringify([cert, key, certificate.passphrase]);
}

/** Throws an AutomateError (`credential`) that names the file if one cannot be used. */
function loadCertificate(
  certificate: ClientCertificate,
  secrets: ReadonlyMap<string, Secret>,
  warn: RouteOptions['warn'],
): LoadedCertificate {
  const files = certificateFiles(certificate);
  const cert = readPem(files.cert, 'client certificate');
  const key = readPem(files.key, 'key of the client certificate');
  const passphrase = certificate.passphrase === undefined ? undefined : secrets.get(certificate.passphrase)?.text;
  const parsed = parsedCertificate(cert, files.cert);
  if (!parsed.checkPrivateKey(parsedKey(key, passphrase, { file: files.key, credential: certificate.passphrase })))
    throw unusable(`the key ${files.key} does not belong to the client certificate ${files.cert}`);
  const [from, to] = [parsed.validFrom, parsed.validTo].map((text) => new Date(text));
  if (to && to.getTime() < Date.now()) throw unusable(`the client certificate ${files.cert} expired on ${isoDay(to)}`);
  if (from && from.getTime() > Date.now()) throw unusable(`the client certificate ${files.cert} is not valid before ${isoDay(from)}`);
  const mode = modeOthersCanRead(files.key);
  if (mode !== undefined)
    warn?.(`other users can read ${files.key}, the key of a client certificate (mode ${mode})\nchange that: chmod 600 ${files.key}`);
  return { cert, key, passphrase };
}

function readPem(file: string, what: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw unusable(`the ${what} cannot be read: ${file}: ${systemReason(error as Error)}`);
  }
}

function parsedCertificate(text: string, file: string): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch {
    throw unusable(`${file} contains no client certificate in PEM`);
  }
}

interface KeyPlace {
  readonly file: string;
  readonly credential: string | undefined;
}

function parsedKey(text: string, passphrase: string | undefined, { file, credential }: KeyPlace): KeyObject {
  const isEncrypted = /ENCRYPTED/.test(text);
  if (isEncrypted && passphrase === undefined)
    throw unusable(
      `the key ${file} is encrypted, but its connection gives no passphrase\nin the connection: client_cert: { ..., passphrase: { credential: NAME } }`,
    );
  try {
    return createPrivateKey({ key: text, ...(isEncrypted && passphrase !== undefined && { passphrase }) });
  } catch {
    throw unusable(
      isEncrypted
        ? `the passphrase in the credential "${credential}" does not open the key ${file}`
        : `${file} contains no private key in PEM`,
    );
  }
}

function isoDay(date: Date): string {
  return date.toISOString().slice(0, 10);
}

function unusable(message: string): AutomateError {
  return new AutomateError('credential', message);
}
