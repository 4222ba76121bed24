import { AutomateError, FlowError } from '../../core/failure.ts';
import type { McpConnection, ToolServer } from '../../core/tools/tools.ts';
import { compileSavedConnection, connectionProblem, connectionText } from '../../flow/saved-connection.ts';
import { changeConnections, savedConnections } from '../../io/connections.ts';
import { type Asker, findAsker } from '../ask.ts';
import { exitCodes } from '../exit.ts';
import type { Terminal } from '../terminal.ts';
import { type AuthOptions, authOf, type WrittenAuth } from './connections-auth.ts';
import { tellServer } from './connections-mcp.ts';
import { askedName, existing, headersOf, nameProblem, offerSecret } from './connections-saving.ts';
import { askServer, cacheToolServer } from './tool-server.ts';

/** The options of `automate connections add mcp`. */
export interface AddMcpOptions extends AuthOptions {
  readonly url?: string;
  readonly command?: string;
  readonly passEnv?: readonly string[];
  readonly passCredential?: readonly (readonly [string, string])[];
  readonly startTimeout?: string;
  readonly baseUrl?: string;
  readonly setHeader: readonly (readonly [string, string])[];
  readonly rate?: string;
  readonly concurrency?: number;
  readonly allowHttp?: boolean;
  readonly test: boolean;
  readonly env?: string;
  readonly cacert?: string;
  readonly force?: boolean;
}

/** Saves a connection to an MCP server that was spoken to first. A failed test saves nothing. Answers the exit code. */
export async function addMcpCommand(name: string | undefined, options: AddMcpOptions, terminal: Terminal): Promise<number> {
  const asker = findAsker();
  refuseMistakes(options);
  const called = name ?? (await askedName(asker, options, 'mcp'));
  const problem = nameProblem(called, options);
  if (problem !== undefined) throw new AutomateError('usage', problem);
  const { written, auth } = await connectionOf(called, options, asker);
  const connection = compiled(called, written);
  if (auth && auth.type !== 'oauth2_authorization_code') await offerSecret(auth, asker, terminal, options.env);
  const server = options.test ? await tested(connection, options, terminal) : undefined;
  await changeConnections(process.env, (saved) => {
    if (Object.hasOwn(saved, called) && !options.force) throw new AutomateError('usage', existing(called));
    return { ...saved, [called]: written };
  });
  if (server) await cacheToolServer(called, savedConnections(process.env)[called] ?? written, server, terminal);
  await terminal.print(connectionText(called, written));
  if (server) tellServer(server, terminal);
  const next = server ? `its tools: automate connections tools ${called}` : `not tested; try it: automate connections test ${called}`;
  terminal.say(`"${called}" is saved; ${next}`);
  return exitCodes.success;
}

/** What stands in the way of a test is told with the way to save it all the same. */
async function tested(connection: McpConnection, options: AddMcpOptions, terminal: Terminal): Promise<ToolServer> {
  try {
    return await askServer(connection, options, terminal);
  } catch (error) {
    if (!(error instanceof AutomateError) || error.kind !== 'credential') throw error;
    const reason = error instanceof FlowError ? `connection "${connection.name}": ${error.message}` : error.message;
    throw new AutomateError('credential', `${reason}\nnothing is saved; --no-test saves it untested`, { cause: error });
  }
}

function compiled(name: string, written: object): McpConnection {
  try {
    const connection = compileSavedConnection(name, written, false);
    if (connection.type === 'mcp') return connection;
    throw new Error(`expected a connection of type mcp, found ${connection.type}`);
  } catch (error) {
    throw new AutomateError('usage', (error as Error).message);
  }
}

/** What means one thing elsewhere and is easily taken for another here. */
function refuseMistakes({ baseUrl, url, command, env }: AddMcpOptions): void {
  if (baseUrl !== undefined) throw new AutomateError('usage', '--base-url is for connections of type http; an MCP server has a --url');
  if (url !== undefined && command !== undefined) throw new AutomateError('usage', 'expected --url or --command, found both');
  if (command !== undefined && env !== undefined && process.env[env] !== undefined) {
    throw new AutomateError(
      'usage',
      `--env names whose credentials are used, as everywhere; to pass the variable ${env} to the server: --pass-env ${env}`,
    );
  }
}

async function connectionOf(
  name: string,
  options: AddMcpOptions,
  asker: Asker | undefined,
): Promise<{ written: Record<string, unknown>; auth: WrittenAuth | undefined }> {
  const { command, passEnv, passCredential, setHeader, rate, concurrency, allowHttp, startTimeout } = options;
  const isWalk = options.url === undefined && command === undefined;
  const url = command === undefined ? (options.url ?? (await askedUrl(asker, allowHttp ?? false))) : undefined;
  if (command !== undefined) refuseAuth(options);
  const auth = command === undefined ? await authOf(name, options, { asker, isWalk }, 'mcp') : undefined;
  const written = {
    type: 'mcp',
    ...(url !== undefined && { url }),
    ...(command !== undefined && { command }),
    ...(auth && { auth }),
    ...(setHeader.length > 0 && { headers: headersOf(setHeader) }),
    ...(passEnv && { pass_env: passEnv }),
    ...(passCredential && { credentials: Object.fromEntries(passCredential) }),
    ...(startTimeout !== undefined && { start_timeout: startTimeout }),
    ...(rate !== undefined && { rate }),
    ...(concurrency !== undefined && { concurrency }),
    ...(allowHttp && { allow_http: true }),
  };
  return { written, auth };
}

/** A server that is started here is given its secrets as variables. */
function refuseAuth({ auth, credential }: AddMcpOptions): void {
  if ((auth === undefined || auth === 'none') && credential === undefined) return;
  throw new AutomateError(
    'usage',
    'a server with a --command has no --auth; give it a secret as a variable: --pass-credential API_KEY=CREDENTIAL',
  );
}

async function askedUrl(asker: Asker | undefined, allowHttp: boolean): Promise<string> {
  if (!asker)
    throw new AutomateError(
      'usage',
      'expected --url or --command, as in: automate connections add mcp search --url https://search.example.com/mcp',
    );
  const check = (answer: string) => connectionProblem({ type: 'mcp', url: answer, allow_http: allowHttp });
  return asker.text('URL of the MCP server', { placeholder: 'https://search.example.com/mcp', check });
}
