import { rateIntervalMs } from '../../core/duration.ts';
import { AutomateError } from '../../core/failure.ts';
import { didYouMean } from '../../core/suggest.ts';
import { compileSavedConnection, connectionText } from '../../flow/saved-connection.ts';
import { changeConnections, savedConnections } from '../../io/connections.ts';
import { variableWith } from '../../io/credentials/environment.ts';
import { type Asker, findAsker } from '../ask.ts';
import { openCredentials } from '../credential-store.ts';
import { exitCodes } from '../exit.ts';
import type { Terminal } from '../terminal.ts';
import { setCommand } from './credentials-set.ts';

/** The options of `automate connections add http`. */
export interface AddOptions {
  readonly baseUrl?: string;
  readonly auth?: string;
  readonly credential?: string;
  readonly header?: string;
  readonly query?: string;
  readonly username?: string;
  readonly tokenUrl?: string;
  readonly clientId?: string;
  readonly scopes?: readonly string[];
  readonly setHeader: readonly [string, string][];
  readonly rate?: string;
  readonly concurrency?: number;
  readonly allowHttp?: boolean;
  readonly force?: boolean;
}

const types = ['http'];

const authTypes = ['none', 'bearer', 'api_key', 'basic', 'oauth2_client_credentials'] as const;

type AuthType = (typeof authTypes)[number];

/** Saves a connection. Whoever is at a terminal is asked for what is missing. Answers the exit code. */
export async function addCommand(
  type: string | undefined,
  name: string | undefined,
  options: AddOptions,
  terminal: Terminal,
): Promise<number> {
  const asker = findAsker();
  const known = typeOf(type);
  const called = name ?? (await answer(asker, 'a name', (person) => person.text('Name of the connection', 'crm', nameProblem)));
  const problem = nameProblem(called);
  if (problem !== undefined) throw new AutomateError('usage', problem);
  if (!options.force) refuseExisting(called);
  const { written, auth } = await connectionOf(known, called, options, asker);
  try {
    compileSavedConnection(called, written, false);
  } catch (error) {
    throw new AutomateError('usage', (error as Error).message);
  }
  await changeConnections(process.env, (saved) => {
    if (Object.hasOwn(saved, called) && !options.force) throw existing(called);
    return { ...saved, [called]: written };
  });
  await terminal.print(connectionText(called, written));
  terminal.tell(`"${called}" is saved; try it: automate connections test ${called}`);
  if (auth?.credential !== undefined) await offerSecret(auth.credential, asker, terminal);
  return exitCodes.success;
}

function typeOf(type: string | undefined): string {
  if (type === undefined || types.includes(type)) return type ?? 'http';
  throw new AutomateError(
    'usage',
    `no connection type "${type}"${didYouMean(type, types) || `; expected ${types.join(' or ')}, as in: automate connections add http ${type}`}`,
  );
}

/** What a person answers; without one the option is missing. */
async function answer(asker: Asker | undefined, what: string, ask: (person: Asker) => Promise<string>): Promise<string> {
  if (asker) return ask(asker);
  throw new AutomateError(
    'usage',
    `expected ${what}, as in: automate connections add http crm --base-url https://crm.example.com/v2 --auth bearer --credential crm-token`,
  );
}

function nameProblem(name: string): string | undefined {
  return /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name) ? undefined : 'expected a name of letters, digits, dots, dashes and underscores';
}

function refuseExisting(name: string): void {
  if (Object.hasOwn(savedConnections(process.env), name)) throw existing(name);
}

function existing(name: string): AutomateError {
  return new AutomateError('usage', `there is a connection "${name}" already\nreplace it with --force`);
}

interface WrittenAuth {
  readonly type: string;
  readonly credential?: string;
}

async function connectionOf(
  type: string,
  name: string,
  options: AddOptions,
  asker: Asker | undefined,
): Promise<{ written: Record<string, unknown>; auth: WrittenAuth | undefined }> {
  const isComplete = options.baseUrl !== undefined;
  const baseUrl =
    options.baseUrl ??
    (await answer(asker, '--base-url', (person) => person.text('Base URL', 'https://crm.example.com/v2', urlProblem(name, options))));
  const auth = await authOf(name, options, asker, isComplete);
  const rate = options.rate ?? (isComplete || !asker ? undefined : await askedRate(asker));
  const headers = headersOf(options);
  const written = {
    type,
    base_url: baseUrl,
    ...(auth && { auth }),
    ...(options.setHeader.length > 0 && { headers }),
    ...(rate !== undefined && { rate }),
    ...(options.concurrency !== undefined && { concurrency: options.concurrency }),
    ...(options.allowHttp && { allow_http: true }),
  };
  return { written, auth };
}

function urlProblem(name: string, { allowHttp = false }: AddOptions): (answer: string) => string | undefined {
  return (baseUrl) => {
    try {
      compileSavedConnection(name, { type: 'http', base_url: baseUrl, allow_http: allowHttp }, false);
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  };
}

/** Absent for no limit. */
async function askedRate(asker: Asker): Promise<string | undefined> {
  return (await asker.text('At most so many requests in a time (empty for no limit)', '10/s', rateProblem)) || undefined;
}

function headersOf({ setHeader }: AddOptions): Record<string, string> {
  const headers = new Map<string, string>();
  for (const [header, value] of setHeader) {
    if (headers.has(header)) throw new AutomateError('usage', `--set-header: the header "${header}" is there already`);
    headers.set(header, value);
  }
  return Object.fromEntries(headers);
}

function rateProblem(answer: string): string | undefined {
  return answer === '' || rateIntervalMs(answer) !== undefined ? undefined : 'expected a rate such as 10/s, 600/min, 5000/h';
}

const authOptions = {
  credential: { flag: '--credential', types: ['bearer', 'api_key', 'basic', 'oauth2_client_credentials'] },
  header: { flag: '--header', types: ['api_key'] },
  query: { flag: '--query', types: ['api_key'] },
  username: { flag: '--username', types: ['basic'] },
  tokenUrl: { flag: '--token-url', types: ['oauth2_client_credentials'] },
  clientId: { flag: '--client-id', types: ['oauth2_client_credentials'] },
  scopes: { flag: '--scopes', types: ['oauth2_client_credentials'] },
} as const satisfies Partial<Record<keyof AddOptions, { flag: string; types: readonly AuthType[] }>>;

/** What would be left out without a word was meant for another way of signing. */
function refuseOptionsOfOthers(type: AuthType, options: AddOptions): void {
  for (const [option, { flag, types }] of Object.entries(authOptions)) {
    if (options[option as keyof typeof authOptions] === undefined || (types as readonly AuthType[]).includes(type)) continue;
    throw new AutomateError('usage', `${flag} is for --auth ${types.join(', ')}, not for ${type}`);
  }
}

/** How requests are signed; absent for not at all. With all of the rest given, nobody is asked whether they are. */
async function authOf(name: string, options: AddOptions, asker: Asker | undefined, isComplete: boolean): Promise<WrittenAuth | undefined> {
  const type = options.auth === undefined ? await askedType(options, asker, isComplete) : authTypeOf(options.auth);
  refuseOptionsOfOthers(type, options);
  if (type === 'none') return undefined;
  const ask = (option: string, question: string, hint: string) =>
    answer(asker, `--${option} for --auth ${type}`, (person) => person.text(question, hint));
  const credential = options.credential ?? (await ask('credential', 'Name of the credential that holds the secret', `${name}-token`));
  const username = options.username === undefined ? {} : { username: options.username };
  switch (type) {
    case 'bearer':
      return { type, credential };
    case 'basic':
      return { type, credential, ...username };
    case 'api_key': {
      if (options.query !== undefined)
        return { type, query: options.query, credential, ...(options.header !== undefined && { header: options.header }) } as WrittenAuth;
      return {
        type,
        header: options.header ?? (await ask('header or --query', 'Header that carries the key', 'X-API-Key')),
        credential,
      } as WrittenAuth;
    }
    case 'oauth2_client_credentials': {
      const token_url = options.tokenUrl ?? (await ask('token-url', 'URL of the token server', 'https://auth.example.com/oauth/token'));
      const client_id = options.clientId ?? (await ask('client-id', 'Client id', 'my-client'));
      return { type, token_url, client_id, credential, ...(options.scopes && { scopes: options.scopes }) } as WrittenAuth;
    }
  }
}

async function askedType(options: AddOptions, asker: Asker | undefined, isComplete: boolean): Promise<AuthType> {
  if (options.header !== undefined || options.query !== undefined) return 'api_key';
  if (options.tokenUrl !== undefined || options.clientId !== undefined) return 'oauth2_client_credentials';
  if (options.username !== undefined) return 'basic';
  if (options.credential !== undefined) return 'bearer';
  if (!asker || isComplete) return 'none';
  const labels = {
    none: 'not at all',
    bearer: 'bearer token',
    api_key: 'API key',
    basic: 'user name and password',
    oauth2_client_credentials: 'OAuth2 client credentials',
  };
  return asker.choice(
    'How do requests prove who sends them?',
    authTypes.map((value) => ({ value, label: labels[value] })),
  );
}

function authTypeOf(text: string): AuthType {
  const meant = text.replaceAll('-', '_');
  const found = authTypes.find((type) => type === meant || (meant === 'oauth2' && type === 'oauth2_client_credentials'));
  if (found) return found;
  throw new AutomateError('usage', `--auth: no type "${text}"${didYouMean(text, authTypes) || `; expected ${authTypes.join(', ')}`}`);
}

/** Without its secret the connection is of no use yet. */
async function offerSecret(credential: string, asker: Asker | undefined, terminal: Terminal): Promise<void> {
  if (variableWith(credential, process.env) !== undefined) return;
  const store = openCredentials(undefined, terminal);
  if (store.kept().some(({ name }) => name === credential)) return;
  if (asker && process.stdin.isTTY && (await asker.yes(`There is no credential "${credential}" yet. Keep its secret now?`)))
    await setCommand(credential, {}, terminal);
  else terminal.tell(`there is no credential "${credential}" yet; keep it: automate credentials set ${credential}`);
}
