import * as z from 'zod';
import { credentialName } from '../options/names.ts';
import { type AuthType, credentialFor } from './auth-type.ts';

const options = z
  .strictObject({
    type: z.literal('oauth2_authorization_code'),
    credential: credentialName.describe('the name of the credential that holds the tokens of a login'),
    client_id: z.string().optional().describe('without it the server registers a client by itself'),
    client_credential: credentialName.optional().describe("the name of the credential that holds the client's own secret"),
    scopes: z.array(z.string()).default([]).describe('scopes to ask for'),
  })
  .transform(({ type, credential, client_id: clientId, client_credential: clientCredential, scopes }) => ({
    type,
    credential,
    /** Undefined if the server registers clients by itself (RFC 7591). */
    clientId,
    /** The credential of the client's own secret. Undefined for a client without one. */
    clientCredential,
    scopes: scopes as readonly string[],
  }));

/** A login with a browser (OAuth 2.1, authorization code), for MCP servers. The credential holds the tokens that it brings. */
export const authorizationCode: AuthType<typeof options> = {
  type: 'oauth2_authorization_code',
  label: 'log in with a browser',
  options,
  parts: {
    credential: {
      question: 'Name of the credential that will hold the login',
      isCredential: true,
      example: 'crm-login',
      suggested: (connection) => `${connection}-token`,
    },
    client_id: {},
    client_credential: { isCredential: true },
    scopes: {},
  },
  credentials: ({ credential, clientCredential }, origin) => [
    { ...credentialFor(credential, origin), isLogin: true },
    // The server itself says, during the login, where the client's secret goes.
    ...(clientCredential === undefined ? [] : [credentialFor(clientCredential, undefined)]),
  ],
};
