import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { SecureContext } from 'node:tls';
import { invalidOption } from '../../core/failure.ts';

/** The certificate of a client, its key and the passphrase of the key; undefined for a key that is not encrypted. */
export interface LoadedCertificate {
  readonly cert: string;
  readonly key: string;
  readonly passphrase: string | undefined;
}

/**
 * Trusts the default certificate authorities and the authorities in a PEM file, and shows servers the client's certificate.
 * Undefined without a file and a certificate. Made once: reading some 150 certificates costs more than a connection. Throws an AutomateError.
 */
export function authorities(
  cacert: string | undefined,
  environment: NodeJS.ProcessEnv,
  certificate?: LoadedCertificate,
): SecureContext | undefined {
  if (cacert === undefined && !certificate) return undefined;
  // Loaded only here, as it takes long to load.
  const tls = process.getBuiltinModule('node:tls');
  if (cacert === undefined) return tls.createSecureContext(certificate);
  try {
    return tls.createSecureContext({ ca: withDefaultAuthorities(readFileSync(cacert, 'utf8'), environment), ...certificate });
  } catch (error) {
    throw invalidOption('cacert', `${cacert} cannot be used: ${(error as Error).message}`);
  }
}

/** The default certificate authorities and those of a PEM text. Throws an Error for a text with a certificate that cannot be read, or with none. */
export function withDefaultAuthorities(text: string, environment: NodeJS.ProcessEnv): string[] {
  return [...defaultAuthorities(process.getBuiltinModule('node:tls'), environment), ...readCertificates(text)];
}

/** Parses every certificate here: OpenSSL skips a certificate that it cannot read, and each connection would fail without a reason. */
function readCertificates(text: string): readonly string[] {
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
  if (!found) throw new Error('it holds no PEM certificate');
  for (const certificate of found) new X509Certificate(certificate);
  return found;
}

/** Lists the default authorities, as a list of our own replaces Node's. Newer versions of Node include the system's authorities. */
function defaultAuthorities(tls: typeof import('node:tls'), environment: NodeJS.ProcessEnv): readonly string[] {
  const { getCACertificates } = tls as { getCACertificates?: (type: 'default') => string[] };
  const extra = environment.NODE_EXTRA_CA_CERTS;
  return [...(getCACertificates?.('default') ?? tls.rootCertificates), ...(extra ? [readFileSync(extra, 'utf8')] : [])];
}
