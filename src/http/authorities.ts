import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { SecureContext } from 'node:tls';
import { invalidOption } from '../core/failure.ts';
import { systemReason } from '../files/naming-errors.ts';

/** In addition to the default ones: the path of a PEM file, or its text. A worker gets the text, because the file is on another machine. */
export type ExtraAuthorities = string | { readonly pem: string };

/** In PEM format. The passphrase is undefined if the key is not encrypted. */
export interface LoadedCertificate {
  readonly cert: string;
  readonly key: string;
  readonly passphrase: string | undefined;
}

/**
 * Also trusts `cacert`, and presents `certificate` to servers; undefined if neither is specified. Use one result for many connections,
 * because reading about 150 certificates takes longer than connecting. Throws an AutomateError if `cacert` cannot be used.
 */
export function authorities(
  cacert: ExtraAuthorities | undefined,
  environment: NodeJS.ProcessEnv,
  certificate?: LoadedCertificate,
): SecureContext | undefined {
  if (cacert === undefined && !certificate) return undefined;
  // Loaded only when needed, because loading `node:tls` takes time.
  const tls = process.getBuiltinModule('node:tls');
  if (cacert === undefined) return tls.createSecureContext(certificate);
  const isFile = typeof cacert === 'string';
  try {
    const text = isFile ? readFileSync(cacert, 'utf8') : cacert.pem;
    return tls.createSecureContext({ ca: withDefaultAuthorities(text, environment), ...certificate });
  } catch (error) {
    throw invalidOption('cacert', `${isFile ? cacert : 'its text'} cannot be used: ${systemReason(error as Error)}`);
  }
}

/** The default authorities, then those in the PEM string `text`. Throws if `text` contains no certificate or an invalid one. */
export function withDefaultAuthorities(text: string, environment: NodeJS.ProcessEnv): string[] {
  return [...defaultAuthorities(process.getBuiltinModule('node:tls'), environment), ...readCertificates(text)];
}

/** Parses each certificate, because OpenSSL would skip invalid ones, and connections would fail without a clear reason. */
function readCertificates(text: string): readonly string[] {
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
  if (!found) throw new Error('it contains no PEM certificate');
  for (const certificate of found) new X509Certificate(certificate);
  return found;
}

/** Node uses its default list only if a program passes none. In newer versions of Node, it includes the operating system's authorities. */
function defaultAuthorities(tls: typeof import('node:tls'), environment: NodeJS.ProcessEnv): readonly string[] {
  const { getCACertificates } = tls as { getCACertificates?: (type: 'default') => string[] };
  const extra = environment.NODE_EXTRA_CA_CERTS;
  return [...(getCACertificates?.('default') ?? tls.rootCertificates), ...(extra ? [readFileSync(extra, 'utf8')] : [])];
}
