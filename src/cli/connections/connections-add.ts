import { resolve } from 'node:path';
import { rateIntervalMs } from '../../core/duration.ts';
import { AutomateError, usageError } from '../../core/failure.ts';
import { didYouMean } from '../../core/text/suggest.ts';
import type { Asker } from '../../credentials/messages.ts';
import { compileSavedConnection, connectionProblem, connectionText } from '../../flow/connections.ts';
import { loadLibraries } from '../../run/flow-file.ts';
import { saveConnection } from '../../run/flow-folder.ts';
import { findAsker } from '../ask.ts';
import { noteInAudit } from '../keys/stored-keys.ts';
import type { Terminal } from '../terminal.ts';
import {
  authOf,
  chooseName,
  exampleOf,
  type GivenAuth,
  offerSecret,
  refuseMissing,
  setHeaders,
  type WrittenConnection,
  withoutAbsent,
} from './connections-auth.ts';
import { type AddOptions, addOptions } from './connections-options.ts';

export async function addCommand(
  given: { readonly type?: string; readonly name?: string },
  options: AddOptions,
  terminal: Terminal,
): Promise<undefined> {
  refuseOtherTypes(given.type);
  if (typeFor(given.type, options) === 'mcp')
    return (await import('./connections-add-mcp.ts')).addMcpCommand(given.name, options, terminal);
  refuseMcpOptions(options);
  const asker = findAsker();
  const name = await chooseName(given.name, options, 'http', asker);
  const { written, auth } = await httpConnection(name, options, asker);
  refuseMissing(auth, written.base_url);
  await loadLibraries(JSON.stringify(written));
  compileSavedConnection(name, written, false);
  await saveConnection(name, written, options);
  noteInAudit('connection.add', name, terminal);
  await terminal.print(connectionText(name, written));
  const isLogin = auth?.type === 'oauth2_authorization_code';
  terminal.say(`"${name}" is saved; ${isLogin ? 'log in' : 'try it'}: automate connections ${isLogin ? 'login' : 'test'} ${name}`);
  const secret = isLogin ? clientSecretOf(auth) : auth;
  try {
    if (secret) await offerSecret(secret, asker, terminal);
  } catch (error) {
    if (!(error instanceof AutomateError) || error.kind !== 'cancelled') throw error;
    throw new AutomateError('cancelled', `cancelled; "${name}" is saved without a secret`);
  }
}

/** If --base-url is not set, asks for every setting. */
async function httpConnection(name: string, options: AddOptions, asker: Asker | undefined): Promise<WrittenConnection> {
  const isWalk = options.baseUrl === undefined;
  const base_url = options.baseUrl ?? (await askBaseUrl(asker, options.allowHttp ?? false));
  const auth = await authOf(name, options, { asker, isWalk });
  const rate = options.rate ?? (isWalk && asker ? await askRate(asker) : undefined);
  const { http2, concurrency, allowHttp: allow_http } = options;
  const headers = setHeaders(options);
  return {
    written: withoutAbsent({
      type: 'http',
      base_url,
      auth,
      client_cert: clientCertificate(options),
      http2,
      headers,
      rate,
      concurrency,
      allow_http,
    }),
    auth,
  };
}

/** The paths are full. Throws an AutomateError (`usage`) for a certificate without its private key, or a key without a certificate. */
function clientCertificate({ clientCert: cert, clientKey: key, clientKeyPassphrase: credential }: AddOptions): object | undefined {
  if (cert === undefined && key === undefined && credential === undefined) return undefined;
  if (cert === undefined || key === undefined) throw usageError('a client certificate needs both: --client-cert FILE --client-key FILE');
  return { cert: resolve(cert), key: resolve(key), ...(credential !== undefined && { passphrase: { credential } }) };
}

/** Names the OAuth client secret, which must be stored before the login. Undefined for a public client, which has no secret. */
function clientSecretOf({ client_credential: credential }: GivenAuth): GivenAuth | undefined {
  return typeof credential === 'string' ? { type: 'bearer', credential } : undefined;
}

function refuseOtherTypes(type: string | undefined): void {
  if (type === undefined || type === 'http' || type === 'mcp') return;
  const hint = didYouMean(type, ['http', 'mcp']);
  throw usageError(`expected a connection of type http or mcp, found "${type}"${hint}\nas in: ${exampleOf('http')}`);
}

function typeFor(type: string | undefined, { url, command }: AddOptions): string {
  return type ?? (url !== undefined || command !== undefined ? 'mcp' : 'http');
}

/** Throws, because options for MCP servers would have no effect on an HTTP connection. */
function refuseMcpOptions(options: AddOptions): void {
  const mcpOptions = ['url', 'command', 'passEnv', 'passCredential', 'startTimeout'] as const;
  const found = mcpOptions.find((name) => options[name] !== undefined);
  if (found === undefined) return;
  const [flag] = addOptions[found].flags.split(' ');
  throw usageError(`${flag} is for connections of type mcp${found === 'url' ? '; did you mean --base-url?' : ''}`);
}

async function askBaseUrl(asker: Asker | undefined, allowHttp: boolean): Promise<string> {
  if (!asker) throw usageError(`expected --base-url, as in: ${exampleOf('http')}`);
  const check = (answer: string) => connectionProblem({ type: 'http', base_url: answer, allow_http: allowHttp });
  return asker.text('Base URL, such as https://crm.example.com/v2', { check });
}

async function askRate(asker: Asker): Promise<string | undefined> {
  const answer = await asker.text('Maximum rate of requests, such as 10/s (empty for no limit)', { check: rateProblem });
  return answer || undefined;
}

function rateProblem(answer: string): string | undefined {
  return answer === '' || rateIntervalMs(answer) !== undefined ? undefined : 'expected a rate such as 10/s, 600/min, 5000/h';
}
