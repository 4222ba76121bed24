import { randomBytes } from 'node:crypto';
import type {
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import type { Login } from '../../core/auth/auth.ts';
import { Failure } from '../../core/failure.ts';
import { loginHint } from '../../core/tools/tool-credentials.ts';

/** Logs in, and knows what came of earlier logins. */
export interface LoginSession {
  readonly provider: OAuthClientProvider;
  /** What the browser was sent back with; absent where nobody can be asked. Throws a Failure. */
  readonly answer?: () => Promise<URLSearchParams>;
}

/** What a login needs around it. */
export interface LoginTools {
  readonly connection: string;
  readonly auth: Login;
  /** Of a client that has one. */
  readonly clientSecret: string | undefined;
  /** What is kept of earlier logins; absent for nothing. */
  readonly kept: string | undefined;
  keep(text: string): Promise<void>;
  /** A token is a secret like any other, and follows another one in its slot. */
  secret(token: string, slot?: string): void;
  /** Whoever can log in; absent where nobody is. */
  readonly person: LoginPerson | undefined;
}

/** A person with a browser. */
export interface LoginPerson {
  /** Where the browser is sent back to. */
  readonly redirectUrl: string;
  visit(url: URL): Promise<void>;
  answer(state: string): Promise<URLSearchParams>;
}

/** What is kept between runs: by the issuer that it came from (RFC 9207), so that no other one gets it. */
interface Kept {
  clients: Record<string, StoredOAuthClientInformation>;
  tokens: Record<string, StoredOAuthTokens>;
  /** The issuer of the tokens in use. */
  issuer?: string;
}

const unknownIssuer = 'unknown';

/** Makes a login: the authorization-code flow with PKCE, the browser sent back to this machine (RFC 8252). */
export function createLogin(tools: LoginTools): LoginSession {
  const { auth, person, clientSecret } = tools;
  const kept = keptOf(tools.kept);
  const state = randomBytes(16).toString('base64url');
  let verifier = '';
  let isKept = tools.kept !== undefined;
  /** Who logs people in, while one does. The next login asks anew: a server may have moved to another. */
  let discovery: OAuthDiscoveryState | undefined;
  for (const tokens of Object.values(kept.tokens)) hide(tokens);
  // A URL is the id of a client that describes itself there.
  const isDescribed = auth.clientId?.startsWith('https://') ?? false;
  const provider: OAuthClientProvider = {
    redirectUrl: person?.redirectUrl ?? 'http://127.0.0.1/callback',
    ...(isDescribed && { clientMetadataUrl: auth.clientId as string }),
    clientMetadata: {
      client_name: 'automate',
      redirect_uris: [person?.redirectUrl ?? 'http://127.0.0.1/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      application_type: 'native',
      ...(auth.scopes.length > 0 && { scope: auth.scopes.join(' ') }),
    },
    state: () => state,
    clientInformation: (context) => given() ?? kept.clients[context?.issuer ?? kept.issuer ?? unknownIssuer],
    async saveClientInformation(information, context) {
      if ('client_secret' in information && information.client_secret) tools.secret(information.client_secret);
      kept.clients[context?.issuer ?? unknownIssuer] = information;
      await keep();
    },
    tokens: (context) => kept.tokens[context?.issuer ?? kept.issuer ?? unknownIssuer],
    async saveTokens(tokens, context) {
      hide(tokens);
      kept.issuer = context?.issuer ?? unknownIssuer;
      kept.tokens[kept.issuer] = tokens;
      discovery = undefined;
      await keep();
    },
    async redirectToAuthorization(url) {
      if (!person) throw noLogin(tools.connection);
      await person.visit(url);
    },
    saveCodeVerifier: (text) => {
      verifier = text;
    },
    codeVerifier: () => verifier,
    saveDiscoveryState: (found) => {
      discovery = found;
    },
    discoveryState: () => discovery,
    async invalidateCredentials(scope) {
      if (scope === 'all' || scope === 'client') kept.clients = {};
      if (scope === 'all' || scope === 'tokens') kept.tokens = {};
      if (scope === 'all' || scope === 'discovery') discovery = undefined;
      await keep();
    },
  };
  return { provider, ...(person && { answer: () => person.answer(state) }) };

  function given(): StoredOAuthClientInformation | undefined {
    if (auth.clientId === undefined || isDescribed) return undefined;
    return { client_id: auth.clientId, ...(clientSecret !== undefined && { client_secret: clientSecret }) };
  }

  function hide({ access_token, refresh_token }: StoredOAuthTokens): void {
    tools.secret(access_token, `login ${auth.credential}`);
    if (refresh_token) tools.secret(refresh_token, `refresh ${auth.credential}`);
  }

  /** Before the first tokens nobody has logged in, and there is nothing to keep. Later their absence is kept, too: dead ones would come back. */
  async function keep(): Promise<void> {
    isKept ||= Object.keys(kept.tokens).length > 0;
    if (isKept) await tools.keep(JSON.stringify(kept));
  }
}

/** What is no JSON of ours is no login. */
function keptOf(text: string | undefined): Kept {
  try {
    const found = JSON.parse(text ?? '{}') as Partial<Kept>;
    return { ...found, clients: found.clients ?? {}, tokens: found.tokens ?? {} };
  } catch {
    return { clients: {}, tokens: {} };
  }
}

/** That somebody has to log in, and how. */
export function noLogin(connection: string): Failure {
  return new Failure('http', `the MCP server "${connection}" asks for a login\n${loginHint(connection)}`, {
    status: 401,
    sent: false,
  });
}
