import { logInToApi, loginAuthOf } from '../../connections/http-login.ts';
import { askServer, cacheToolServer } from '../../connections/tool-server.ts';
import type { HttpConnection } from '../../core/connection.ts';
import { type AutomateError, usageError } from '../../core/failure.ts';
import type { GivenVariables } from '../../core/run-options.ts';
import { shellWord } from '../../core/text/quoted-word.ts';
import { isRemote, type McpConnection } from '../../core/tools.ts';
import { openBrowser } from '../../http/auth/browser.ts';
import { loadFlow } from '../../run/flow-file.ts';
import { findSaved, loadConnection } from '../../run/flow-folder.ts';
import { noteInAudit } from '../keys/stored-keys.ts';
import type { Terminal } from '../terminal.ts';

interface LoginCommandOptions {
  readonly flow?: string;
  readonly var?: GivenVariables;
  readonly browser: boolean;
  readonly env?: string;
  readonly cacert?: string;
  readonly allowHttp?: boolean;
}

export async function loginCommand(name: string, options: LoginCommandOptions, terminal: Terminal): Promise<undefined> {
  const connection = await namedConnection(name, options);
  const login = 'server' in connection ? undefined : loginAuthOf(connection);
  if ('server' in connection ? !logsIn(connection) : !login) throw noLogin(name);
  const showAddress = (url: string) =>
    options.browser ? terminal.say(`log in with your browser; if it does not open, go to:\n  ${url}`) : void terminal.print(url);
  if (!options.browser) terminal.say('open this address in a browser on this machine, and log in:');
  const person = await openBrowser(options.browser ? process.env : undefined, showAddress);
  try {
    if ('server' in connection) {
      const server = await askServer(connection, options, terminal, person);
      if (options.flow === undefined) await cacheToolServer(name, findSaved(name), server, terminal);
    } else if (login) await logInToApi(connection, login, { ...options, person }, terminal);
  } finally {
    person.close();
  }
  noteInAudit('connection.login', name, terminal);
  const next = options.flow === undefined ? `; try it: automate connections test ${name}` : '';
  terminal.say(`"${name}" is logged in${next}`);
}

/** With `--flow`, a connection in that flow, otherwise a saved one. */
async function namedConnection(name: string, { flow, ...options }: LoginCommandOptions): Promise<HttpConnection | McpConnection> {
  const allowHttp = options.allowHttp ?? false;
  if (flow === undefined) return loadConnection(name, allowHttp);
  const plan = await loadFlow(flow, { ...options, allowHttp, textCells: false });
  const found = plan.credentials.flatMap(({ login }) => login?.connection ?? []).find((one) => one.name === name);
  if (found) return found;
  throw usageError(`no node of ${shellWord(flow)} uses a connection "${name}" that needs a login`);
}

function logsIn({ server }: McpConnection): boolean {
  return isRemote(server) && server.auth?.type === 'oauth2_authorization_code';
}

function noLogin(name: string): AutomateError {
  return usageError(`"${name}" needs no login: its auth is not of type oauth2_authorization_code`);
}
