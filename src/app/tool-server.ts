import { randomUUID } from 'node:crypto';
import { findAsker } from '../cli/ask.ts';
import { serverText, summaryOf } from '../cli/show/tools.ts';
import type { Terminal } from '../cli/terminal.ts';
import { cleaned, excerpt } from '../core/answer/response.ts';
import { AutomateError, Failure } from '../core/failure.ts';
import type { CredentialUse } from '../core/plan.ts';
import { serverCredentials } from '../core/tools/tool-credentials.ts';
import { isRemote, type McpConnection, type ToolServer } from '../core/tools/tools.ts';
import type { Secret } from '../io/credentials/secret.ts';
import { diagnose } from '../io/mcp/diagnosis.ts';
import type { LoginPerson } from '../io/mcp/login.ts';
import { cacheServer } from '../io/mcp/tool-cache.ts';
import { type FlowSecrets, hide, loadSecretsOf } from './flow/flow-secrets.ts';
import { openRunLedger } from './ports/run-ledger.ts';
import { wire } from './ports/wire.ts';

/** Options of the commands that query a server. */
export interface AskingOptions {
  readonly env?: string;
  readonly cacert?: string;
}

/** The secrets for a server, and the person who can log in to it; absent without a terminal. */
export interface ServerOptions extends AskingOptions {
  readonly credentials: FlowSecrets;
  readonly person?: LoginPerson | undefined;
}

/**
 * Queries the server of a connection for its name, version and tools. A person at the terminal logs in if the server requires it.
 * It costs no credits. Throws an AutomateError (`credential`) that names the cause and what to check.
 */
export async function askServer(connection: McpConnection, options: AskingOptions, terminal: Terminal): Promise<ToolServer> {
  const person = await openLogin(connection, terminal);
  try {
    const credentials = await secretsOf(connection, options, terminal);
    return await queryServer(connection, { ...options, credentials, person }, terminal);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const { part, check } = diagnose(error, connection);
    const text = cleaned(error.message);
    throw new AutomateError('credential', `connection "${connection.name}": ${text}\nthe trouble is with the ${part}\ncheck ${check}`);
  } finally {
    person?.close();
  }
}

/** Queries a server with the given secrets. Throws a Failure. */
export async function queryServer(connection: McpConnection, options: ServerOptions, terminal: Terminal): Promise<ToolServer> {
  const { env, cacert, credentials, person } = options;
  const { warn, redactor } = terminal;
  const ports = wire({
    credentials,
    redactor,
    allowHttp: isRemote(connection.server) && connection.server.allowHttp,
    cacert,
    ledger: await openRunLedger(new Map(), { run: randomUUID(), env, warn }),
    env,
    report: () => {},
    warn,
    person,
  });
  try {
    const server = await ports.tools.server(connection);
    return { ...server, tools: [...server.tools] };
  } finally {
    await ports.close();
    await credentials.usesRecorded();
  }
}

const maxShownTools = 10;

/** Prints a server and its first tools. */
export function printServer(server: ToolServer, { say }: Terminal): void {
  say(serverText(server));
  for (const tool of server.tools.slice(0, maxShownTools)) say(cleaned(`  ${excerpt(tool.name, 80)}: ${summaryOf(tool) || '-'}`));
  if (server.tools.length > maxShownTools) say(`  and ${server.tools.length - maxShownTools} more`);
}

/** Caches the tools of a server for `automate nodes`. Warns if that fails. */
export async function cacheToolServer(name: string, written: object, server: ToolServer, { redactor, warn }: Terminal): Promise<void> {
  try {
    await cacheServer({ environment: process.env, redactor }, name, written, server);
  } catch (error) {
    if (!(error instanceof AutomateError)) throw error;
    warn(`the tools of "${name}" were not cached for automate nodes: ${error.message}`);
  }
}

/** The secrets of a connection. The secret of a login is missing before the first login. */
async function secretsOf(connection: McpConnection, options: AskingOptions, terminal: Terminal): Promise<FlowSecrets> {
  const needs = serverCredentials(connection);
  const uses = needs.filter(({ isLogin }) => !isLogin).map((need): CredentialUse => ({ ...need, problem: (message) => ({ message }) }));
  const found = await loadSecretsOf(uses, `connection ${connection.name}`, options, terminal);
  const secrets = new Map<string, Secret>(found.secrets);
  for (const { name, isLogin } of needs) {
    if (!isLogin) continue;
    const { openCredentials } = await import('./ports/credential-store.ts');
    const finding = (await openCredentials(options.env, terminal).find([name])).get(name);
    if (!finding || !('secret' in finding)) continue;
    secrets.set(name, finding.secret);
    hide(finding.secret.text, terminal);
  }
  return { ...found, secrets, used: (name) => void (found.secrets.has(name) && found.used(name)) };
}

/** Opens the way to log in, if there is a terminal or the variable BROWSER. */
async function openLogin({ server }: McpConnection, { say }: Terminal): Promise<(LoginPerson & { close(): void }) | undefined> {
  if (!isRemote(server) || server.auth?.type !== 'oauth2_authorization_code') return undefined;
  if (!findAsker() && !process.env.BROWSER) return undefined;
  const { openBrowser } = await import('../io/mcp/browser.ts');
  return openBrowser(process.env, (url) => say(`log in with your browser; if it does not open:\n  ${url}`));
}
