import { AutomateError } from '../../core/failure.ts';
import { didYouMean } from '../../core/text/suggest.ts';
import { connectionProblem } from '../../flow/saved-connection.ts';
import type { Asker } from '../ask.ts';

/** What the command line says of how requests are signed. */
export interface AuthOptions {
  readonly auth?: string;
  readonly credential?: string;
  readonly header?: string;
  readonly query?: string;
  readonly username?: string;
  readonly tokenUrl?: string;
  readonly clientId?: string;
  readonly clientCredential?: string;
  readonly scopes?: readonly string[];
}

/** Auth as a flow writes it. */
export type WrittenAuth = Readonly<Record<string, unknown>> & { readonly type: AuthType; readonly credential: string };

/** The ways of signing, and what a person is told of each. */
export const authTypes = {
  none: 'not at all',
  bearer: 'bearer token',
  api_key: 'API key',
  basic: 'user name and password',
  oauth2_client_credentials: 'OAuth2 client credentials',
} as const;

/** The same for MCP servers. */
export const mcpAuthTypes = { ...authTypes, oauth2_authorization_code: 'log in with a browser' } as const;

type AuthType = keyof typeof mcpAuthTypes;

/** Of which type the connection is that is added. */
export type ConnectionType = 'http' | 'mcp';

/** A part of auth: the option that gives it, what flows call it, and how a person is asked for it. */
interface Part {
  readonly option: keyof AuthOptions;
  readonly flag: string;
  readonly key: string;
  /** Absent where nobody is asked. */
  readonly question?: string;
  /** What Enter alone answers. */
  readonly usual?: string;
  readonly isOptional?: boolean;
  /** A value that is right for sure, so that the others can be checked. */
  readonly sample: unknown;
}

const credential = (question: string): Part => ({ option: 'credential', flag: '--credential', key: 'credential', question, sample: 'x' });
const query: Part = { option: 'query', flag: '--query', key: 'query', sample: 'key' };
const header: Part = {
  option: 'header',
  flag: '--header or --query',
  key: 'header',
  question: 'Header that carries the key',
  usual: 'X-API-Key',
  sample: 'X-Key',
};

const partsOf: Record<AuthType, readonly Part[]> = {
  none: [],
  bearer: [credential('Name of the credential that holds the token')],
  api_key: [header, credential('Name of the credential that holds the key')],
  basic: [
    {
      option: 'username',
      flag: '--username',
      key: 'username',
      question: 'User name (empty when the secret is username:password)',
      isOptional: true,
      sample: 'x',
    },
    credential('Name of the credential that holds the password'),
  ],
  oauth2_client_credentials: [
    { option: 'tokenUrl', flag: '--token-url', key: 'token_url', question: 'URL of the token server', sample: 'https://auth.example.com/' },
    { option: 'clientId', flag: '--client-id', key: 'client_id', question: 'Client id', sample: 'x' },
    credential('Name of the credential that holds the client secret'),
    { option: 'scopes', flag: '--scopes', key: 'scopes', sample: [] },
  ],
  oauth2_authorization_code: [
    credential('Name of the credential that will hold the login'),
    { option: 'clientId', flag: '--client-id', key: 'client_id', sample: 'x' },
    { option: 'clientCredential', flag: '--client-credential', key: 'client_credential', sample: 'x' },
    { option: 'scopes', flag: '--scopes', key: 'scopes', sample: [] },
  ],
};

/** How requests are signed; absent for not at all. `asker`: who is asked for what is missing. */
export async function authOf(
  name: string,
  options: AuthOptions,
  asker: Asker | undefined,
  isWalk: boolean,
  connection: ConnectionType = 'http',
): Promise<WrittenAuth | undefined> {
  const type = options.auth === undefined ? await askedType(options, asker, isWalk, connection) : authTypeOf(options.auth, connection);
  refuseOptionsOfOthers(type, options, connection);
  if (type === 'none') return undefined;
  const parts = partsOf[type].map((part) => (part === header && options.query !== undefined ? query : part));
  const auth: Record<string, unknown> = { type };
  for (const part of parts) {
    const value = options[part.option] ?? (await asked(part, name, type, parts, asker, isWalk, connection));
    if (value !== undefined) auth[part.key] = value;
  }
  return auth as WrittenAuth;
}

async function asked(
  part: Part,
  name: string,
  type: AuthType,
  parts: readonly Part[],
  asker: Asker | undefined,
  isWalk: boolean,
  connection: ConnectionType,
): Promise<string | undefined> {
  if (part.question === undefined || (part.isOptional && !(asker && isWalk))) return undefined;
  if (!asker) throw new AutomateError('usage', `expected ${part.flag} for --auth ${type}, as in: ${exampleOf(type, connection)}`);
  const usual = part.option === 'credential' ? `${name}-${type === 'basic' ? 'login' : 'token'}` : part.usual;
  const samples = Object.fromEntries(parts.map(({ key, sample }) => [key, sample]));
  const check = (answer: string) => {
    if (answer === '') return part.isOptional ? undefined : 'expected something, found nothing';
    const auth = { type, ...samples, [part.key]: answer };
    const where = connection === 'mcp' ? { url: 'https://example.com' } : { base_url: 'https://example.com' };
    return connectionProblem({ type: connection, ...where, auth });
  };
  return (await asker.text(part.question, { check, ...(usual !== undefined && { usual }) })) || undefined;
}

/** A command line that says all that a way of signing needs. */
export function exampleOf(type: AuthType, connection: ConnectionType = 'http'): string {
  const options: Record<AuthType, string> = {
    none: '',
    bearer: ' --auth bearer --credential crm-token',
    api_key: ' --auth api_key --header X-API-Key --credential crm-key',
    basic: ' --auth basic --username me --credential crm-login',
    oauth2_client_credentials:
      ' --auth oauth2_client_credentials --token-url https://auth.example.com/token --client-id me --credential crm-secret',
    oauth2_authorization_code: ' --auth oauth2_authorization_code --credential crm-login',
  };
  if (connection === 'mcp') return `automate connections add mcp crm --url https://crm.example.com/mcp${options[type]}`;
  return `automate connections add http crm --base-url https://crm.example.com/v2${options[type]}`;
}

/** What would be left out without a word was meant for another way of signing. */
function refuseOptionsOfOthers(type: AuthType, options: AuthOptions, connection: ConnectionType): void {
  if (options.header !== undefined && options.query !== undefined) {
    throw new AutomateError('usage', 'expected --header or --query, the place that carries the key; found both');
  }
  const own = new Set<string>([...partsOf[type].map(({ option }) => option), ...(type === 'api_key' ? ['query'] : [])]);
  const others = [...Object.values(partsOf).flat(), query].filter(({ option }) => options[option] !== undefined && !own.has(option));
  const [other] = others;
  if (!other) return;
  const types = Object.entries(partsOf).flatMap(([auth, parts]) =>
    auth in typesFor(connection) && (parts.some(({ option }) => option === other.option) || (other === query && auth === 'api_key'))
      ? [auth]
      : [],
  );
  throw new AutomateError('usage', `${other.flag.split(' ')[0]} is for --auth ${types.join(', ')}, not for ${type}`);
}

async function askedType(options: AuthOptions, asker: Asker | undefined, isWalk: boolean, connection: ConnectionType): Promise<AuthType> {
  if (options.header !== undefined || options.query !== undefined) return 'api_key';
  if (options.tokenUrl !== undefined || options.clientId !== undefined) return 'oauth2_client_credentials';
  if (options.username !== undefined) return 'basic';
  if (options.credential !== undefined) return 'bearer';
  if (!asker || !isWalk) return 'none';
  const choices = Object.entries(typesFor(connection)).map(([value, label]) => ({ value: value as AuthType, label }));
  return asker.choice('How do requests prove who sends them?', choices);
}

function typesFor(connection: ConnectionType): Readonly<Partial<Record<AuthType, string>>> {
  return connection === 'mcp' ? mcpAuthTypes : authTypes;
}

function authTypeOf(text: string, connection: ConnectionType): AuthType {
  const meant = text.replaceAll('-', '_');
  const names = Object.keys(typesFor(connection)) as AuthType[];
  const found = names.find((type) => type === meant || (meant === 'oauth2' && type === 'oauth2_client_credentials'));
  if (found) return found;
  throw new AutomateError('usage', `--auth: no type "${text}"${didYouMean(text, names) || `; expected ${names.join(', ')}`}`);
}
