import { randomBytes } from 'node:crypto';
import type {
  OAuthClientInformationContext,
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import type { Login } from '../core/auth/auth.ts';
import { Failure } from '../core/failure.ts';
import { loginHint } from '../core/tools.ts';
import type { LoginPerson } from '../http/auth/browser.ts';

export interface LoginSession {
  readonly provider: OAuthClientProvider;
  /** Resolves to the parameters of the redirect to this machine, and rejects if the login fails. Undefined if no user can log in. */
  readonly answer?: () => Promise<URLSearchParams>;
}

interface LoginOptions {
  readonly connection: string;
  readonly auth: Login;
  /** Undefined for a public client. */
  readonly clientSecret: string | undefined;
  /** The stored login, as a string that was passed to `store` earlier; undefined if no login is stored. */
  readonly stored: string | undefined;
  store(text: string): Promise<void>;
  /** Registers a token as a secret, which masks it in all output. A new token replaces the earlier token of the same slot. */
  secret(token: string, slot?: string): void;
  /** Undefined in a run, which has no user. */
  readonly person: LoginPerson | undefined;
}

/** Stored between runs. Clients and tokens are keyed by issuer, so that they never go to another authorization server (RFC 9207). */
interface StoredMcpLogin {
  clients: Record<string, StoredOAuthClientInformation>;
  tokens: Record<string, StoredOAuthTokens>;
  /** The issuer of the tokens in use. The tokens are stored under this key. */
  issuer?: string;
}

type LoginContext = OAuthClientInformationContext | undefined;

const unknownIssuer = 'unknown';

/** Uses the authorization code flow with PKCE and redirects the browser to this machine (RFC 8252). */
export function createLogin(options: LoginOptions): LoginSession {
  const provider = new LoginProvider(options);
  const { person } = options;
  return { provider, answer: person && (() => person.answer(provider.state())) };
}

class LoginProvider implements OAuthClientProvider {
  readonly redirectUrl: string;
  readonly clientMetadata: OAuthClientMetadata;
  readonly clientMetadataUrl?: string;
  readonly #options: LoginOptions;
  readonly #login: StoredMcpLogin;
  readonly #state = randomBytes(16).toString('base64url');
  #verifier = '';
  /** True once a login has been stored. From then on, every change is stored too. */
  #isStored: boolean;
  /** Cleared after the login, because the next login may use a different authorization server. */
  #discovery: OAuthDiscoveryState | undefined;

  constructor(options: LoginOptions) {
    const { auth, person, stored } = options;
    this.#options = options;
    this.#login = parseLogin(stored);
    this.#isStored = stored !== undefined;
    for (const tokens of Object.values(this.#login.tokens)) this.#mask(tokens);
    this.redirectUrl = person?.redirectUrl ?? 'http://127.0.0.1/callback';
    if (isMetadataUrl(auth.clientId)) this.clientMetadataUrl = auth.clientId;
    this.clientMetadata = {
      client_name: 'automate',
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      application_type: 'native',
      ...(auth.scopes.length > 0 && { scope: auth.scopes.join(' ') }),
    };
  }

  state(): string {
    return this.#state;
  }

  clientInformation(context: LoginContext): StoredOAuthClientInformation | undefined {
    const { auth, clientSecret } = this.#options;
    if (auth.clientId === undefined || isMetadataUrl(auth.clientId)) return this.#login.clients[this.#issuer(context)];
    return { client_id: auth.clientId, client_secret: clientSecret };
  }

  async saveClientInformation(information: StoredOAuthClientInformation, context: LoginContext): Promise<void> {
    if ('client_secret' in information && information.client_secret) this.#options.secret(information.client_secret);
    this.#login.clients[context?.issuer ?? unknownIssuer] = information;
    await this.#store();
  }

  tokens(context: LoginContext): StoredOAuthTokens | undefined {
    return this.#login.tokens[this.#issuer(context)];
  }

  async saveTokens(tokens: StoredOAuthTokens, context: LoginContext): Promise<void> {
    this.#mask(tokens);
    this.#login.issuer = context?.issuer ?? unknownIssuer;
    this.#login.tokens[this.#login.issuer] = tokens;
    this.#discovery = undefined;
    await this.#store();
  }

  async redirectToAuthorization(url: URL): Promise<void> {
    const { person, connection } = this.#options;
    if (person) return person.visit(url);
    // A run has no user who could log in, so the error message names the command for logging in.
    throw new Failure('http', `the MCP server "${connection}" requires a login\n${loginHint(connection)}`, { status: 401, sent: false });
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  saveDiscoveryState(found: OAuthDiscoveryState): void {
    this.#discovery = found;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovery;
  }

  async invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): Promise<void> {
    if (scope === 'all' || scope === 'client') this.#login.clients = {};
    if (scope === 'all' || scope === 'tokens') this.#login.tokens = {};
    if (scope === 'all' || scope === 'discovery') this.#discovery = undefined;
    await this.#store();
  }

  #issuer(context: LoginContext): string {
    return context?.issuer ?? this.#login.issuer ?? unknownIssuer;
  }

  #mask({ access_token, refresh_token }: StoredOAuthTokens): void {
    const { auth, secret } = this.#options;
    secret(access_token, `login ${auth.credential}`);
    if (refresh_token) secret(refresh_token, `refresh ${auth.credential}`);
  }

  /** Stores the login once it has tokens, and then every change, even a loss of tokens. Else the next run would load invalid tokens. */
  async #store(): Promise<void> {
    this.#isStored ||= Object.keys(this.#login.tokens).length > 0;
    if (this.#isStored) await this.#options.store(JSON.stringify(this.#login));
  }
}

/** True if the client id is a URL at which a client metadata document describes the client. */
function isMetadataUrl(clientId: string | undefined): clientId is `https://${string}` {
  return clientId?.startsWith('https://') ?? false;
}

/** Parses a stored login. Returns an empty login for any other text, such as a secret that a user has set. */
function parseLogin(text: string | undefined): StoredMcpLogin {
  try {
    const found = JSON.parse(text ?? '{}') as Partial<StoredMcpLogin>;
    return { ...found, clients: found.clients ?? {}, tokens: found.tokens ?? {} };
  } catch {
    return { clients: {}, tokens: {} };
  }
}
