import * as z from 'zod';
import { headerName, isClientHeader } from '../options/names.ts';
import { credentialFor, defineAuthType, inHeader } from './auth-type.ts';
import { jwtSettings, keyAlgorithms, keyOptions, keyPart, keyParts, lasts } from './key-options.ts';

/** A token that is signed here (RFC 7519), as for GitHub Apps. */
export const jwt = defineAuthType({
  type: 'jwt',
  label: 'a token that you sign yourself (JWT)',
  options: z
    .strictObject({
      type: z.literal('jwt'),
      ...keyOptions,
      credential: keyOptions.credential.describe('the name of the credential that holds the private key (PEM), or a secret for HS256'),
      audience: z.string().optional().describe('the recipient of the token (claim aud)'),
      algorithm: z
        .enum([...keyAlgorithms, 'HS256', 'HS384', 'HS512'])
        .optional()
        .describe('the algorithm (default: it follows from the key; HS256 for a secret that is not a key)'),
      lasts: lasts.default(600_000).describe('how long a token is valid (default: 10m)'),
      header: headerName
        .refine((header) => !isClientHeader(header), {
          error: ({ input }) => `the header "${input}" is set by automate; use a different header`,
        })
        .default('Authorization')
        .describe('the header that carries the token'),
      prefix: z.string().default('Bearer ').describe('the text before the token'),
    })
    .transform(({ type, header, prefix, ...options }) => ({ type, header, prefix, ...jwtSettings(options) })),
  parts: {
    issuer: { question: 'Issuer, such as the id of the app', example: '12345' },
    credential: keyPart,
    ...keyParts,
    header: {},
    prefix: {},
  },
  from: 'token',
  credentials: ({ credential, passphrase }, origin) => [
    credentialFor(credential, origin),
    ...(passphrase === undefined ? [] : [credentialFor(passphrase, undefined)]),
  ],
  sign: ({ header, prefix }, token) => inHeader(header, prefix + token),
  curl: ({ header, prefix }) => ({
    in: 'header',
    text: [`${header}: ${prefix}`, { variable: 'TOKEN' }],
    note: 'curl does not sign a token: set TOKEN to one',
  }),
});
