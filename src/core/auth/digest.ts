import * as z from 'zod';
import { credentialName } from '../options/names.ts';
import { credentialFor, defineAuthType, inHeader } from './auth-type.ts';

/** A user name and a password, which are not sent themselves (RFC 7616). */
export const digest = defineAuthType({
  type: 'digest',
  label: 'user name and password, as Digest',
  options: z.strictObject({
    type: z.literal('digest'),
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
  from: 'request',
  credentials: ({ credential, username }, origin) => [credentialFor(credential, origin, username === undefined)],
  sign: (_auth, shown) => inHeader('Authorization', `Digest ${shown}`),
  curl: ({ username }, variable) => ({
    in: 'user',
    options: ['digest'],
    text: [username === undefined ? '' : `${username}:`, { variable }],
  }),
});
