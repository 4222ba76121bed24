import * as z from 'zod';
import { credentialName } from '../options/names.ts';
import { credentialFor, credentialPart, defineAuthType, inHeader } from './auth-type.ts';

/** A bearer token (RFC 6750). */
export const bearer = defineAuthType({
  type: 'bearer',
  label: 'bearer token',
  options: z.strictObject({ type: z.literal('bearer'), credential: credentialName }),
  parts: {
    credential: credentialPart('the token', 'crm-token', 'token'),
  },
  credentials: ({ credential }, origin) => [credentialFor(credential, origin)],
  sign: (_auth, secret) => inHeader('Authorization', `Bearer ${secret}`),
  curl: (_auth, variable) => ({ in: 'header', text: ['Authorization: Bearer ', { variable }] }),
});
