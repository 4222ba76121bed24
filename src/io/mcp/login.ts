import { randomBytes } from 'node:crypto';
import type {
  OAuthClientInformationContext,
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import type { Login } from '../../core/auth/auth.ts';
import { Failure } from '../../core/failure.ts';
import { loginHint } from '../../core/tools/tool-credentials.ts';
import type { LoginPerson } from '../auth/browser.ts';

/** The login of one connection. */
export interface LoginSession {
  readonly provider: OAuthClientProvider;
  /** Waits for the parameters with which the browser comes back; absent if there is no person to ask. Throws a Failure. */
  readonly answer?: () => Promise<URLSearchParams>;
}

/** Settings and ports of a login. */
export interface LoginOptions {
  readonly connection: string;
  readonly auth: Login;
  /** The client's secret; undefined for a public client. */
  readonly clientSecret: string | undefined;
  /** The text that an earlier run gave to `store`; undefined if there is none. */
  readonly stored: string | undefined;
  store(text: string): Promise<void>;
  /** Masks a token in all that is written. It replaces the earlier token in its slot. */
  secret(token: string, slot?: string): void;
  /** The person to ask; undefined in a run. */
  readonly person: LoginPerson | undefined;
}

/** The result of a login, stored between runs. Clients and tokens are stored by issuer, so that no other server gets them (RFC 9207). */
interface StoredLogin {
  clients: Record<string, StoredOAuthClientInformation>;
  tokens: Record<string, StoredOAuthTokens>;
  /** The issuer of the tokens in use. */
  issuer?: string;
}

type Context = OAuthClientInformationContext | undefined;

const unknownIssuer = 'unknown';

/** Makes a login: the authorization-code flow with PKCE, with a browser that comes back to this machine (RFC 8252). */
export function createLogin(options: LoginOptions): LoginSession {
  const provider = new LoginProvider(options);
  const { person } = options;
  return { provider, ...(person && { answer: () => person.answer(provider.state()) }) };
}

/** Answers the SDK's questions during a login, and stores its result. */
class LoginProvider implements OAuthClientProvider {
  readonly redirectUrl: string;
  readonly clientMetadata: OAuthClientMetadata;
  readonly clientMetadataUrl?: string;
  readonly #options: LoginOptions;
  readonly #login: StoredLogin;
  readonly #state = randomBytes(16).toString('base64url');
  #verifier = '';
  /** True once there is a login to overwrite. */
  #isStored: boolean;
  /** The authorization server of the login in progress. Looked up again at the next login: it may have moved. */
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

  clientInformation(context: Context): StoredOAuthClientInformation | undefined {
    const { auth, clientSecret } = this.#options;
    if (auth.clientId === undefined || isMetadataUrl(auth.clientId)) return this.#login.clients[this.#issuer(context)];
    return { client_id: auth.clientId, ...(clientSecret !== undefined && { client_secret: clientSecret }) };
  }

  async saveClientInformation(information: StoredOAuthClientInformation, context: Context): Promise<void> {
    if ('client_secret' in information && information.client_secret) this.#options.secret(information.client_secret);
    this.#login.clients[context?.issuer ?? unknownIssuer] = information;
    await this.#store();
  }

  tokens(context: Context): StoredOAuthTokens | undefined {
    return this.#login.tokens[this.#issuer(context)];
  }

  async saveTokens(tokens: StoredOAuthTokens, context: Context): Promise<void> {
    this.#mask(tokens);
    this.#login.issuer = context?.issuer ?? unknownIssuer;
    this.#login.tokens[this.#login.issuer] = tokens;
    this.#discovery = undefined;
    await this.#store();
  }

  async redirectToAuthorization(url: URL): Promise<void> {
    const { person, connection } = this.#options;
    if (person) return person.visit(url);
    // In a run nobody can log in: the message has the command to log in.
    throw new Failure('http', `the MCP server "${connection}" asks for a login\n${loginHint(connection)}`, { status: 401, sent: false });
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

  #issuer(context: Context): string {
    return context?.issuer ?? this.#login.issuer ?? unknownIssuer;
  }

  #mask({ access_token, refresh_token }: StoredOAuthTokens): void {
    const { auth, secret } = this.#options;
    secret(access_token, `login ${auth.credential}`);
    if (refresh_token) secret(refresh_token, `refresh ${auth.credential}`);
  }

  /**
   * Stores nothing before the first tokens. After that it stores even an empty login: otherwise the next run would read the invalid tokens
   * again.
   */
  async #store(): Promise<void> {
    this.#isStored ||= Object.keys(this.#login.tokens).length > 0;
    if (this.#isStored) await this.#options.store(JSON.stringify(this.#login));
  }
}

/** True if the id of a client is the URL of its own description. */
function isMetadataUrl(clientId: string | undefined): clientId is `https://${string}` {
  return clientId?.startsWith('https://') ?? false;
}

/** Reads a stored login. Any other text, such as a secret set by hand, counts as no login. */
function parseLogin(text: string | undefined): StoredLogin {
  try {
    const found = JSON.parse(text ?? '{}') as Partial<StoredLogin>;
    return { ...found, clients: found.clients ?? {}, tokens: found.tokens ?? {} };
  } catch {
    return { clients: {}, tokens: {} };
  }
}
