import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { SecureContext } from 'node:tls';
import { AutomateError } from '../../core/failure.ts';

/**
 * Whom TLS trusts: the usual authorities and those of a PEM file; absent without a file.
 * Made once: reading some 150 certificates for every connection would cost more than the connection. Throws an AutomateError.
 */
export function authorities(cacert: string | undefined, environment: NodeJS.ProcessEnv): SecureContext | undefined {
  if (cacert === undefined) return undefined;
  // Asked for here, as it takes its time to load.
  const tls = process.getBuiltinModule('node:tls');
  try {
    return tls.createSecureContext({ ca: [...usual(tls, environment), ...certificatesOf(readFileSync(cacert, 'utf8'))] });
  } catch (error) {
    throw new AutomateError('usage', `--cacert ${cacert} cannot be used: ${(error as Error).message}`);
  }
}

/** OpenSSL passes over what it can't read: then every connection would fail for no reason that anybody sees. */
function certificatesOf(text: string): readonly string[] {
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
  if (!found) throw new Error('it holds no PEM certificate');
  for (const certificate of found) new X509Certificate(certificate);
  return found;
}

/** Naming authorities replaces Node's list, so the usual ones are named along. Newer versions of Node tell theirs, the system's included. */
function usual(tls: typeof import('node:tls'), environment: NodeJS.ProcessEnv): readonly string[] {
  const { getCACertificates } = tls as { getCACertificates?: (type: 'default') => string[] };
  const extra = environment.NODE_EXTRA_CA_CERTS;
  return [...(getCACertificates?.('default') ?? tls.rootCertificates), ...(extra ? [readFileSync(extra, 'utf8')] : [])];
}
