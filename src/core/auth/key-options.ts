import * as z from 'zod';
import { duration } from '../options/amounts.ts';
import { credentialName } from '../options/names.ts';
import { dictionary } from '../value/dictionary.ts';
import type { AuthPart } from './auth-type.ts';
import { credentialPart } from './auth-type.ts';

/** The claims that have an option of their own, or that are the time (RFC 7519, 4.1). */
const ownClaims: Readonly<Record<string, string>> = {
  iss: 'write issuer',
  sub: 'write subject',
  aud: 'write audience',
  iat: 'auth itself sets it',
  exp: 'write lasts',
};

export const keyAlgorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'ES256', 'ES384', 'EdDSA'] as const;

/** The options of a token or assertion that is signed with a key (RFC 7519). */
export const keyOptions = {
  credential: credentialName.describe(
    'the name of the credential that holds the private key (PEM), or the JSON key file that Google gives you',
  ),
  issuer: z.string().optional().describe('the issuer (claim iss); a JSON key file contains it'),
  subject: z.string().optional().describe('the account for which the program acts (claim sub)'),
  key_id: z.string().optional().describe('the id of the key (header kid); a JSON key file contains it'),
  claims: dictionary(z.string().min(1, 'expected the name of a claim'), z.unknown())
    .superRefine((written, { addIssue }) => {
      for (const name of Object.keys(written)) {
        const message = `"${name}" cannot be one of claims: ${ownClaims[name]}`;
        if (Object.hasOwn(ownClaims, name)) addIssue({ code: 'custom', message, path: [name], params: { isName: true } });
      }
    })
    .optional()
    .describe('more claims'),
  passphrase: z
    .strictObject({ credential: credentialName }, { error: 'expected { credential: NAME }' })
    .optional()
    .describe('only for an encrypted key: its passphrase, as { credential: NAME }'),
};

export const lasts = duration.refine((ms) => ms >= 1000, { error: 'expected a duration of at least 1s' });

export interface JwtSettings {
  readonly credential: string;
  readonly issuer?: string;
  readonly subject?: string;
  readonly audience?: string;
  readonly keyId?: string;
  readonly algorithm?: string;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly lastsMs: number;
  /** The credential with the passphrase of the key. */
  readonly passphrase?: string;
}

interface WrittenKey extends Omit<JwtSettings, 'keyId' | 'claims' | 'lastsMs' | 'passphrase'> {
  readonly key_id?: string;
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly lasts: number;
  readonly passphrase?: { readonly credential: string };
}

export function jwtSettings({ key_id: keyId, claims = {}, lasts: lastsMs, passphrase, ...options }: WrittenKey): JwtSettings {
  const { credential, issuer, subject, audience, algorithm } = options;
  return { credential, issuer, subject, audience, algorithm, keyId, claims, lastsMs, passphrase: passphrase?.credential };
}

/** The parts of the options above, except `issuer` and `credential`. */
export const keyParts = {
  subject: {},
  audience: {},
  key_id: {},
  algorithm: {},
  claims: { isMapping: true },
  lasts: {},
  passphrase: { isMapping: true, isCredential: true },
} satisfies Readonly<Record<string, AuthPart>>;

export const keyPart = credentialPart('the key', 'crm-key', 'key');
