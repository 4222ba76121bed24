import * as z from 'zod';
import { credentialName } from '../options/names.ts';
import { type AuthPart, bearerToken, credentialFor, defineAuthType, originOf } from './auth-type.ts';
import { type TokenSettings, tokenOptions, tokenSettings, urlProblem } from './token-options.ts';

const type = z.literal('oauth2_authorization_code');

const common = {
  credential: credentialName.describe('the name of the credential that holds the tokens of a login'),
  client_credential: credentialName.optional().describe("the name of the credential that holds the client's secret, if the client has one"),
  scopes: z.array(z.string()).default([]).describe('the scopes to request'),
};

const clientId = z.string().describe('the id of the client, which is not a secret');

/** The settings of a login in a browser (OAuth 2.1, authorization code). */
export interface Login extends TokenSettings {
  readonly type: z.output<typeof type>;
  /** The credential in which the tokens are stored. */
  readonly credential: string;
  /** Undefined if the server assigns a client id (dynamic client registration, RFC 7591). */
  readonly clientId: string | undefined;
  /** Undefined if the client has no secret. */
  readonly clientCredential: string | undefined;
  readonly scopes: readonly string[];
  /** The URL of the login page; undefined if the server's metadata state it. */
  readonly authorizeUrl?: string;
  /** The URL of the token server; undefined if the server's metadata state it. */
  readonly tokenUrl?: string;
}

/** A login to an HTTP API. The credential stores the tokens that the login returns. */
export const authorizationCode = defineAuthType({
  type: 'oauth2_authorization_code',
  label: 'log in with a browser',
  options: z
    .strictObject({
      type,
      ...common,
      client_id: clientId,
      authorize_url: z.string().optional().describe('URL where you log in (default: the one that the host of base_url publishes)'),
      token_url: z
        .string()
        .optional()
        .describe('URL from which access tokens are requested (default: the one that the host of base_url publishes)'),
      ...tokenOptions,
    })
    .transform(
      ({ authorize_url: authorizeUrl, token_url: tokenUrl, ...options }): Login => ({
        ...commonLogin(options),
        authorizeUrl,
        tokenUrl,
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
    scopes: { isList: true },
    params: {},
    client_auth: {},
  },
  problem({ authorizeUrl, tokenUrl }, { allowHttp }) {
    if ((authorizeUrl === undefined) !== (tokenUrl === undefined)) {
      const [has, lacks] = authorizeUrl === undefined ? ['token_url', 'authorize_url'] : ['authorize_url', 'token_url'];
      return {
        option: has,
        message: `expected ${lacks} together with ${has}\nor leave both out: they are then requested from the host of base_url`,
      };
    }
    const wrong = authorizeUrl === undefined ? undefined : urlProblem('authorize_url', authorizeUrl, allowHttp);
    return wrong ?? (tokenUrl === undefined ? undefined : urlProblem('token_url', tokenUrl, allowHttp));
  },
  credentials: loginCredentials,
  ...bearerToken,
});

/** The options of a login to an MCP server. They include no URLs, because the server's metadata state them. */
export const mcpLoginOptions = z
  .strictObject({
    type,
    ...common,
    client_id: clientId.optional().describe('the id of the client (default: one that the server registers)'),
  })
  .transform((options): Login => commonLogin(options));

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
  readonly client_id?: string;
  readonly client_credential?: string;
  readonly scopes: readonly string[];
}): Login {
  return { type, credential, clientId, clientCredential, scopes };
}

function loginCredentials({ credential, clientCredential, tokenUrl }: Login, origin: string | undefined) {
  const login = { ...credentialFor(credential, origin), isLogin: true };
  // Without a token_url, the token server is not known yet: the login finds it in the server's metadata, and sends the client secret
  // there.
  const tokenServer = tokenUrl === undefined ? undefined : originOf(tokenUrl);
  return clientCredential === undefined ? [login] : [login, credentialFor(clientCredential, tokenServer)];
}
