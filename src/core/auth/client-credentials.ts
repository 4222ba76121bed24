import * as z from 'zod';
import { credentialName } from '../options/names.ts';
import { bearerToken, credentialFor, credentialPart, defineAuthType, originOf } from './auth-type.ts';
import { tokenOptions, tokenSettings, urlProblem } from './token-options.ts';

/** An access token that is requested with a client id and a client secret (RFC 6749, 4.4). The secret is sent only to the token server. */
export const clientCredentials = defineAuthType({
  type: 'oauth2_client_credentials',
  label: 'OAuth2 client credentials',
  options: z
    .strictObject({
      type: z.literal('oauth2_client_credentials'),
      credential: credentialName.describe('the name of the credential that holds the client secret'),
      token_url: z.string().describe('URL from which access tokens are requested'),
      client_id: z.string().describe('the id of the client, which is not a secret'),
      scopes: z.array(z.string()).default([]).describe('the scopes to request'),
      ...tokenOptions,
    })
    .transform(({ type, credential, token_url, client_id, scopes, ...settings }) => ({
      type,
      credential,
      tokenUrl: token_url,
      clientId: client_id,
      scopes: scopes as readonly string[],
      ...tokenSettings(settings),
    })),
  parts: {
    token_url: { question: 'URL of the token server', example: 'https://auth.example.com/token' },
    client_id: { question: 'Client id', example: 'me' },
    credential: credentialPart('the client secret', 'crm-secret', 'token'),
    scopes: { isList: true },
    params: {},
    client_auth: {},
  },
  problem: ({ tokenUrl }, { allowHttp }) => urlProblem('token_url', tokenUrl, allowHttp),
  credentials: ({ credential, tokenUrl }) => [credentialFor(credential, originOf(tokenUrl))],
  ...bearerToken,
});
