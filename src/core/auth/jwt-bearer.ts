import * as z from 'zod';
import { credentialName } from '../options/names.ts';
import { bearerToken, credentialFor, defineAuthType, originOf } from './auth-type.ts';
import { jwtSettings, keyAlgorithms, keyOptions, keyPart, keyParts, lasts } from './key-options.ts';
import { tokenOptions, tokenSettings, urlProblem } from './token-options.ts';

/** An access token that is requested with a signed assertion (RFC 7523, 2.1), as for a Google service account. */
export const jwtBearer = defineAuthType({
  type: 'oauth2_jwt_bearer',
  label: 'OAuth2 with a signed assertion, such as a Google service account',
  options: z
    .strictObject({
      type: z.literal('oauth2_jwt_bearer'),
      ...keyOptions,
      token_url: z.string().optional().describe('URL from which access tokens are requested; a JSON key file contains it'),
      audience: z.string().optional().describe('the recipient of the assertion (claim aud), if it is not the token_url'),
      algorithm: z.enum(keyAlgorithms).optional().describe('the algorithm (default: it follows from the key)'),
      lasts: lasts.default(300_000).describe('how long an assertion is valid (default: 5m)'),
      scopes: z.array(z.string()).default([]).describe('the scopes to request'),
      scopes_in: z.enum(['assertion', 'request', 'both']).default('assertion').describe('where the scopes are sent'),
      client_id: z.string().optional().describe('the id of the client, for servers that want it in the request'),
      client_credential: credentialName
        .optional()
        .describe("the name of the credential that holds the client's secret, for servers that want it in the request"),
      ...tokenOptions,
    })
    .transform(
      ({
        type,
        token_url: tokenUrl,
        scopes,
        scopes_in: scopesIn,
        client_id: clientId,
        client_credential: clientCredential,
        ...options
      }) => ({
        ...{ type, tokenUrl, scopes: scopes as readonly string[], scopesIn, clientId, clientCredential },
        ...jwtSettings(options),
        ...tokenSettings(options),
      }),
    ),
  parts: {
    token_url: {
      question: 'URL of the token server (empty for a JSON key file)',
      isOptional: true,
      example: 'https://auth.example.com/token',
    },
    issuer: { question: 'Issuer (empty for a JSON key file)', isOptional: true, example: 'robot@project.example.com' },
    credential: keyPart,
    ...keyParts,
    scopes: { isList: true },
    scopes_in: {},
    client_id: {},
    client_credential: { isCredential: true },
    params: {},
    client_auth: {},
  },
  problem: ({ tokenUrl, clientId, clientCredential }, { allowHttp }) => {
    if (clientCredential !== undefined && clientId === undefined)
      return { option: 'client_credential', message: 'expected client_id together with client_credential' };
    return tokenUrl === undefined ? undefined : urlProblem('token_url', tokenUrl, allowHttp);
  },
  credentials: ({ credential, tokenUrl, passphrase, clientCredential }) => {
    const server = tokenUrl === undefined ? undefined : originOf(tokenUrl);
    return [
      credentialFor(credential, server),
      ...(passphrase === undefined ? [] : [credentialFor(passphrase, undefined)]),
      ...(clientCredential === undefined ? [] : [credentialFor(clientCredential, server)]),
    ];
  },
  ...bearerToken,
});
