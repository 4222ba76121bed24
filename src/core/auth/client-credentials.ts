import * as z from 'zod';
import { credentialName } from '../options/names.ts';
import { targetOf } from '../template/target.ts';
import { shellVariableAdvice } from '../template/template.ts';
import { orUndefined } from '../value/value.ts';
import { credentialFor, defineAuthType, inHeader, originOf } from './auth-type.ts';

/** An access token that the program requests with its own id and secret (RFC 6749, 4.4). The secret goes only to the token server. */
export const clientCredentials = defineAuthType({
  type: 'oauth2_client_credentials',
  label: 'OAuth2 client credentials',
  options: z
    .strictObject({
      type: z.literal('oauth2_client_credentials'),
      credential: credentialName.describe('the name of the credential that holds the client secret'),
      token_url: z.string().describe('URL of the token server'),
      client_id: z.string().describe('id of the client, which is no secret'),
      scopes: z.array(z.string()).default([]).describe('scopes to ask for'),
    })
    .transform(({ type, credential, token_url, client_id, scopes }) => ({
      type,
      credential,
      tokenUrl: token_url,
      clientId: client_id,
      scopes: scopes as readonly string[],
    })),
  parts: {
    token_url: { question: 'URL of the token server', example: 'https://auth.example.com/token' },
    client_id: { question: 'Client id', example: 'me' },
    credential: {
      question: 'Name of the credential that holds the client secret',
      isCredential: true,
      example: 'crm-secret',
      suggested: (connection) => `${connection}-token`,
    },
    scopes: {},
  },
  problem: ({ tokenUrl }, allowHttp) =>
    orUndefined(() => targetOf(tokenUrl, { allowHttp }))
      ? undefined
      : { option: 'token_url', message: `expected an absolute https URL as the token_url${shellVariableAdvice(tokenUrl)}` },
  credentials: ({ credential, tokenUrl }) => [credentialFor(credential, originOf(tokenUrl))],
  sign: (_auth, token) => inHeader('Authorization', `Bearer ${token}`),
  curl: () => ({ in: 'header', before: 'Authorization: Bearer ', variable: 'ACCESS_TOKEN' }),
});
