import { createPrivateKey, type KeyObject } from 'node:crypto';
import { SignJWT } from 'jose';
import type { JwtSettings } from '../../core/auth/key-options.ts';
import { orUndefined } from '../../core/value/value.ts';
import { unusableSecret } from './request-signers.ts';

/** A private key, or the secret for HS256, and what its JSON file says about it. */
export interface SigningKey {
  readonly key: KeyObject | Uint8Array;
  readonly algorithm: string;
  readonly tokenUrl?: string;
  readonly issuer?: string;
  readonly keyId?: string;
}

interface KeyText {
  readonly credential: string;
  readonly text: string;
  readonly passphrase: string | undefined;
}

/** Throws LimitReached if the secret cannot be used as a key. Its message contains no part of the secret. */
export function signingKey(auth: JwtSettings, given: KeyText, { allowsSecret }: { readonly allowsSecret: boolean }): SigningKey {
  const { credential, text } = given;
  const file = jsonIn(text);
  const part = (name: string) => (typeof file?.[name] === 'string' && file[name] !== '' ? (file[name] as string) : undefined);
  const facts = { tokenUrl: part('token_uri'), issuer: part('client_email'), keyId: part('private_key_id') ?? part('kid') };
  const pem = file ? part('private_key') : text;
  if (file && pem === undefined && file.kty === undefined)
    throw unusableSecret(
      credential,
      'is a JSON document without private_key: expected a private key (PEM), or the JSON key file of a service account',
    );
  const isKey = pem === undefined || pem.includes('-----BEGIN');
  if (!isKey) {
    if (file || !allowsSecret)
      throw unusableSecret(credential, 'is not a private key: expected a PEM document that begins with -----BEGIN PRIVATE KEY-----');
    const { algorithm = 'HS256' } = auth;
    if (!algorithm.startsWith('HS')) throw unusableSecret(credential, `is not a private key (PEM), which the algorithm ${algorithm} needs`);
    return { key: Buffer.from(text), algorithm };
  }
  const key = pem === undefined ? keyOfJwk(file as object, credential) : keyOfPem(pem, auth, given);
  return { key: withoutParameters(key), algorithm: algorithmOf(key, auth, credential, part('alg')), ...facts };
}

function jsonIn(text: string): Record<string, unknown> | undefined {
  const found = /^\s*\{/.test(text) ? orUndefined(() => JSON.parse(text) as unknown) : undefined;
  return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : undefined;
}

function keyOfPem(written: string, auth: JwtSettings, { credential, passphrase }: KeyText): KeyObject {
  const pem = /[\r\n]/.test(written.trim()) ? written : withLines(written);
  // Next to the key, openssl also writes the parameters of its curve, or its certificate.
  const kinds = [...pem.matchAll(/-----BEGIN ([^-]*)-----/g)].map(([, kind = '']) => kind);
  const kind = kinds.find((one) => one.includes('PRIVATE KEY')) ?? kinds[0] ?? '';
  if (!kind.includes('PRIVATE KEY'))
    throw unusableSecret(credential, `is a ${kind.toLowerCase() || 'PEM document'}: expected the private key`);
  const isEncrypted = pem.includes('ENCRYPTED');
  if (isEncrypted && passphrase === undefined)
    throw unusableSecret(
      credential,
      'is an encrypted key: store its passphrase as a credential of its own, and add passphrase: { credential: NAME } to auth',
    );
  try {
    return createPrivateKey({ key: pem, ...(isEncrypted && { passphrase }) });
  } catch {
    throw unusableSecret(
      credential,
      isEncrypted
        ? `cannot be decrypted with the passphrase in "${auth.passphrase}"`
        : 'is not a complete private key: store the whole file, with its first and last line',
    );
  }
}

/** In variables of CI systems and in forms, line breaks are often written as \n or as spaces. */
function withLines(line: string): string {
  // The headers of an encrypted key, such as `Proc-Type: 4,ENCRYPTED`, contain spaces that are not line breaks.
  if (line.includes('\\n')) return line.replaceAll('\\n', '\n');
  const lines = (text: string) => text.trim().replace(/\s+/g, '\n');
  return line.replace(/(-----BEGIN [^-]*-----)([^-]*)/g, (_, begin, text) => `${begin}\n${lines(text)}\n`);
}

function keyOfJwk(jwk: object, credential: string): KeyObject {
  const key = orUndefined(() => createPrivateKey({ key: jwk as never, format: 'jwk' }));
  if (key) return key;
  throw unusableSecret(credential, 'is not a private key (JWK)');
}

/** A key that may sign only with RSA-PSS has another kind, which jose does not accept. The key inside is the same (RFC 8017, A.1.2). */
function withoutParameters(key: KeyObject): KeyObject {
  if (key.asymmetricKeyType !== 'rsa-pss') return key;
  const der = key.export({ type: 'pkcs8', format: 'der' });
  // Before the key stand 13 bytes (lengths of two bytes, because a key of 2048 bits is so long) and the parameters.
  return createPrivateKey({ key: der.subarray(13 + (der[8] as number)), format: 'der', type: 'pkcs1' });
}

/** The algorithms that fit a key. The first of them is the default. */
function algorithmsFor(key: KeyObject): readonly string[] {
  const curve = key.asymmetricKeyDetails?.namedCurve;
  switch (key.asymmetricKeyType) {
    case 'rsa':
      return ['RS256', 'RS384', 'RS512', 'PS256'];
    case 'rsa-pss':
      return ['PS256'];
    case 'ed25519':
      return ['EdDSA'];
    case 'ec':
      return curve === 'prime256v1' ? ['ES256'] : curve === 'secp384r1' ? ['ES384'] : [];
    default:
      return [];
  }
}

/** `said` is the algorithm in a JWK. */
function algorithmOf(key: KeyObject, { algorithm }: JwtSettings, credential: string, said: string | undefined): string {
  const fitting = algorithmsFor(key);
  const [first] = fitting;
  const kind = key.asymmetricKeyDetails?.namedCurve ?? key.asymmetricKeyType;
  if (first === undefined)
    throw unusableSecret(credential, `is a key of the kind ${kind}: expected RSA, EC with the curve P-256 or P-384, or Ed25519`);
  const bits = key.asymmetricKeyDetails?.modulusLength;
  if (bits !== undefined && bits < 2048) throw unusableSecret(credential, `is an RSA key of ${bits} bits: expected at least 2048`);
  if (algorithm !== undefined && !fitting.includes(algorithm))
    throw unusableSecret(
      credential,
      `is a key of the kind ${kind}, which cannot sign with ${algorithm}: expected algorithm ${fitting.join(', ')}`,
    );
  return algorithm ?? fitting.find((one) => one === said) ?? first;
}

/** For clocks that differ. */
const earlierSeconds = 30;

export function signedJwt(
  { key, algorithm }: SigningKey,
  { subject, claims, lastsMs }: JwtSettings,
  facts: { readonly issuer?: string; readonly audience?: string; readonly keyId?: string; readonly more?: object },
  nowMs: number,
): Promise<string> {
  const now = Math.floor(nowMs / 1000);
  const { issuer: iss, audience: aud, keyId: kid, more } = facts;
  const times = { iat: now - earlierSeconds, exp: now + Math.ceil(lastsMs / 1000) };
  // Members that are undefined are left out of the JSON text.
  const payload = { iss, sub: subject, aud, ...more, ...times, ...claims };
  return new SignJWT(payload).setProtectedHeader({ alg: algorithm, typ: 'JWT', ...(kid !== undefined && { kid }) }).sign(key as never);
}
