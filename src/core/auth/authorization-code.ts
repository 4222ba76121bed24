import * as z from 'zod';
import { credentialName } from '../options/names.ts';
import { type AuthPart, credentialFor, defineAuthType, inHeader, originOf } from './auth-type.ts';
import { type TokenSettings, tokenOptions, tokenSettings, urlProblem } from './token-options.ts';

const type = z.literal('oauth2_authorization_code');

const common = {
  credential: credentialName.describe('the name of the credential that holds the tokens of a login'),
  client_credential: credentialName.optional().describe("the name of the credential that holds the client's own secret"),
  scopes: z.array(z.string()).default([]).describe('scopes to ask for'),
};

const clientId = z.string().describe('id of the client, which is no secret');

/** A login with a browser (OAuth 2.1, authorization code). */
export interface Login extends TokenSettings {
  readonly type: z.output<typeof type>;
  /** The credential that holds the tokens. */
  readonly credential: string;
  /** Undefined if the server registers clients by itself (RFC 7591). */
  readonly clientId: string | undefined;
  /** The credential of the client's own secret. Undefined for a client without one. */
  readonly clientCredential: string | undefined;
  readonly scopes: readonly string[];
  /** Undefined if the server says it. */
  readonly authorizeUrl?: string | undefined;
  /** Undefined if the server says it. */
  readonly tokenUrl?: string | undefined;
}

/** A login to an HTTP API. The credential holds the tokens that it brings. */
export const authorizationCode = defineAuthType({
  type: 'oauth2_authorization_code',
  label: 'log in with a browser',
  options: z
    .strictObject({
      type,
      ...common,
      client_id: clientId,
      authorize_url: z.string().optional().describe('URL where a person logs in; without it the host of base_url is asked for it'),
      token_url: z.string().optional().describe('URL of the token server; without it the host of base_url is asked for it'),
      ...tokenOptions,
    })
    .transform(
      ({ authorize_url: authorizeUrl, token_url: tokenUrl, ...options }): Login => ({
        ...commonLogin(options),
        ...(authorizeUrl !== undefined && { authorizeUrl }),
        ...(tokenUrl !== undefined && { tokenUrl }),
        ...tokenSettings(options),
      }),
    ),
  parts: {
    client_id: { question: 'Client id', example: 'me' },
    credential: {
      question: 'Name of the credential that will hold the login',
      isCredential: true,
      example: 'crm-login',
      suggested: (connection) => `${connection}-login`,
    },
    client_credential: { isCredential: true },
    authorize_url: {},
    token_url: {},
    scopes: {},
    params: {},
    client_auth: {},
  },
  problem({ authorizeUrl, tokenUrl }, allowHttp) {
    if ((authorizeUrl === undefined) !== (tokenUrl === undefined)) {
      const [has, lacks] = authorizeUrl === undefined ? ['token_url', 'authorize_url'] : ['authorize_url', 'token_url'];
      return { option: has, message: `expected ${lacks} beside ${has}\nor leave both out: then the host of base_url is asked for them` };
    }
    const wrong = authorizeUrl === undefined ? undefined : urlProblem('authorize_url', authorizeUrl, allowHttp);
    return wrong ?? (tokenUrl === undefined ? undefined : urlProblem('token_url', tokenUrl, allowHttp));
  },
  credentials: loginCredentials,
  sign: (_auth, token) => inHeader('Authorization', `Bearer ${token}`),
  curl: () => ({ in: 'header', before: 'Authorization: Bearer ', variable: 'ACCESS_TOKEN' }),
});

/** A login to an MCP server, which says itself how to log in. */
export const mcpLoginOptions = z
  .strictObject({ type, ...common, client_id: clientId.optional().describe('without it the server registers a client by itself') })
  .transform((options): Login => commonLogin(options));

/** The parts of a login to an MCP server. */
export const mcpLoginParts: Readonly<Record<string, AuthPart>> = {
  credential: authorizationCode.parts.credential,
  client_id: {},
  client_credential: authorizationCode.parts.client_credential,
  scopes: {},
};

function commonLogin({
  type,
  credential,
  client_id: clientId,
  client_credential: clientCredential,
  scopes,
}: {
  readonly type: Login['type'];
  readonly credential: string;
  readonly client_id?: string | undefined;
  readonly client_credential?: string | undefined;
  readonly scopes: readonly string[];
}): Login {
  return { type, credential, clientId, clientCredential, scopes };
}

function loginCredentials({ credential, clientCredential, tokenUrl }: Login, origin: string | undefined) {
  const login = { ...credentialFor(credential, origin), isLogin: true };
  // Without a token_url, the server itself says during the login where the client's secret goes.
  const tokenServer = tokenUrl === undefined ? undefined : originOf(tokenUrl);
  return clientCredential === undefined ? [login] : [login, credentialFor(clientCredential, tokenServer)];
}
