import * as z from 'zod';
import { credentialName } from '../options/names.ts';
import { toBase64 } from '../text/base64.ts';
import { credentialFor, defineAuthType, inHeader } from './auth-type.ts';

/** A user name and a password (RFC 7617). */
export const basic = defineAuthType({
  type: 'basic',
  label: 'user name and password',
  options: z.strictObject({
    type: z.literal('basic'),
    credential: credentialName,
    username: z.string().optional().describe('the user name; leave it out if the secret is username:password'),
  }),
  parts: {
    username: { question: 'User name (empty when the secret is username:password)', isOptional: true, example: 'me' },
    credential: {
      question: 'Name of the credential that holds the password',
      isCredential: true,
      example: 'crm-login',
      suggested: (connection) => `${connection}-login`,
    },
  },
  credentials: ({ credential, username }, origin) => [credentialFor(credential, origin, username === undefined)],
  sign: ({ username }, secret) => inHeader('Authorization', `Basic ${toBase64(username === undefined ? secret : `${username}:${secret}`)}`),
  preview: () => inHeader('Authorization', 'Basic ***'),
  curl: ({ username }, variable) => ({ in: 'user', text: [username === undefined ? '' : `${username}:`, { variable }] }),
});
