import { askServer, cacheToolServer } from '../../connections/tool-server.ts';
import { AutomateError, FlowError, usageError } from '../../core/failure.ts';
import type { McpConnection, ToolServer } from '../../core/tools.ts';
import { readConnections } from '../../credentials/connections-file.ts';
import type { Asker } from '../../credentials/messages.ts';
import { compileSavedConnection, connectionProblem, connectionText } from '../../flow/connections.ts';
import { saveConnection } from '../../run/flow-folder.ts';
import { messageWithAdvice } from '../advice.ts';
import { findAsker } from '../ask.ts';
import { noteInAudit } from '../keys/stored-keys.ts';
import { printServer } from '../show/tools.ts';
import type { Terminal } from '../terminal.ts';
import { authOf, chooseName, offerSecret, refuseMissing, setHeaders, type WrittenConnection, withoutAbsent } from './connections-auth.ts';
import type { AddOptions } from './connections-options.ts';

/** Saves nothing if the test fails. */
export async function addMcpCommand(given: string | undefined, options: AddOptions, terminal: Terminal): Promise<undefined> {
  const asker = findAsker();
  refuseMistakes(options);
  const name = await chooseName(given, options, 'mcp', asker);
  const { written, auth } = await mcpConnection(name, options, asker);
  refuseMissing(auth, written.url);
  const connection = compileMcp(name, written);
  if (auth && auth.type !== 'oauth2_authorization_code') await offerSecret(auth, asker, terminal, options.env);
  const server = options.test ? await testServer(connection, options, terminal) : undefined;
  await saveConnection(name, written, options);
  noteInAudit('connection.add', name, terminal);
  if (server) await cacheToolServer(name, readConnections(process.env)[name] ?? written, server, terminal);
  await terminal.print(connectionText(name, written));
  if (server) printServer(server, terminal);
  const next = server ? `its tools: automate connections tools ${name}` : `not tested; try it: automate connections test ${name}`;
  terminal.say(`"${name}" is saved; ${next}`);
}

/** If a credential is missing, the error suggests --no-test, which saves the connection without a test. */
async function testServer(connection: McpConnection, options: AddOptions, terminal: Terminal): Promise<ToolServer> {
  try {
    return await askServer(connection, options, terminal);
  } catch (error) {
    if (!(error instanceof AutomateError) || error.kind !== 'credential') throw error;
    const reason = error instanceof FlowError ? `connection "${connection.name}": ${messageWithAdvice(error)}` : messageWithAdvice(error);
    throw new AutomateError('credential', `${reason}\nnothing is saved; --no-test saves it untested`, { cause: error });
  }
}

function compileMcp(name: string, written: object): McpConnection {
  const connection = compileSavedConnection(name, written, false);
  if (connection.type === 'mcp') return connection;
  throw usageError(`expected a connection of type mcp, found ${connection.type}`);
}

/** Throws an AutomateError (`usage`) if options belong to another type of connection, or if two options were probably confused. */
function refuseMistakes({ baseUrl, url, command, env, clientCert, clientKey, clientKeyPassphrase, http2 }: AddOptions): void {
  if (clientCert !== undefined || clientKey !== undefined || clientKeyPassphrase !== undefined)
    throw usageError('--client-cert and --client-key are for connections of type http');
  if (http2) throw usageError('--http2 is for connections of type http');
  if (baseUrl !== undefined) throw usageError('--base-url is for connections of type http; an MCP server has a --url');
  if (url !== undefined && command !== undefined) throw usageError('expected --url or --command, found both');
  if (command !== undefined && env !== undefined && process.env[env] !== undefined) {
    throw usageError(`--env chooses the environment of the credentials; to pass the variable ${env} to the server: --pass-env ${env}`);
  }
}

/** If neither --url nor --command is set, asks for every setting. */
async function mcpConnection(name: string, options: AddOptions, asker: Asker | undefined): Promise<WrittenConnection> {
  const { command, rate, concurrency, passEnv: pass_env, passCredential, startTimeout: start_timeout } = options;
  if (command !== undefined) refuseAuth(options);
  const url = command === undefined ? (options.url ?? (await askUrl(asker, options.allowHttp ?? false))) : undefined;
  const auth = command === undefined ? await authOf(name, options, { asker, isWalk: options.url === undefined }, 'mcp') : undefined;
  const credentials = passCredential && Object.fromEntries(passCredential);
  const server = { type: 'mcp', url, command, auth, headers: setHeaders(options), pass_env, credentials, start_timeout };
  return { written: withoutAbsent({ ...server, rate, concurrency, allow_http: options.allowHttp }), auth };
}

/** Throws for auth settings of a server that automate starts as a command. Such a server gets secrets in environment variables instead. */
function refuseAuth({ auth, credential }: AddOptions): void {
  if ((auth === undefined || auth === 'none') && credential === undefined) return;
  throw usageError('a server with a --command has no --auth; give it a secret as a variable: --pass-credential API_KEY=CREDENTIAL');
}

async function askUrl(asker: Asker | undefined, allowHttp: boolean): Promise<string> {
  if (!asker)
    throw usageError('expected --url or --command, as in: automate connections add mcp search --url https://search.example.com/mcp');
  const check = (answer: string) => connectionProblem({ type: 'mcp', url: answer, allow_http: allowHttp });
  return asker.text('URL of the MCP server, such as https://search.example.com/mcp', { check });
}
