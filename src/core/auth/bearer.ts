import * as z from 'zod';
import { credentialName } from '../options/names.ts';
import { credentialFor, defineAuthType, inHeader } from './auth-type.ts';

/** A bearer token (RFC 6750). */
export const bearer = defineAuthType({
  type: 'bearer',
  label: 'bearer token',
  options: z.strictObject({ type: z.literal('bearer'), credential: credentialName }),
  parts: {
    credential: {
      question: 'Name of the credential that holds the token',
      isCredential: true,
      example: 'crm-token',
      suggested: (connection) => `${connection}-token`,
    },
  },
  credentials: ({ credential }, origin) => [credentialFor(credential, origin)],
  sign: (_auth, secret) => inHeader('Authorization', `Bearer ${secret}`),
  curl: (_auth, variable) => ({ in: 'header', text: ['Authorization: Bearer ', { variable }] }),
});
