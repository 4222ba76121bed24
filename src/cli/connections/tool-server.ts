import { randomUUID } from 'node:crypto';
import { cleaned } from '../../core/answer/response.ts';
import { AutomateError, Failure } from '../../core/failure.ts';
import type { CredentialUse } from '../../core/plan.ts';
import { serverCredentials } from '../../core/tools/tool-credentials.ts';
import { isRemote, type McpConnection, type ToolServer } from '../../core/tools/tools.ts';
import type { Secret } from '../../io/credentials/secret.ts';
import { diagnose } from '../../io/mcp/diagnosis.ts';
import type { LoginPerson } from '../../io/mcp/login.ts';
import { cacheServer } from '../../io/mcp/tool-cache.ts';
import { findAsker } from '../ask.ts';
import { type FlowSecrets, hide, loadSecretsOf } from '../flow/flow-secrets.ts';
import { openRunLedger } from '../run/run-ledger.ts';
import type { Terminal } from '../terminal.ts';
import { wire } from '../wire.ts';

/** What a command line says of how a server is asked. */
export interface AskingOptions {
  readonly env?: string;
  readonly cacert?: string;
}

/**
 * What the server of a connection says of itself; a person at the terminal logs in where that is asked for. It costs nothing.
 * Throws an AutomateError (`credential`) that says what the trouble was with, and what to check.
 */
export async function askServer(connection: McpConnection, options: AskingOptions, terminal: Terminal): Promise<ToolServer> {
  const browser = await browserFor(connection, terminal);
  try {
    const credentials = await secretsOf(connection, options, terminal);
    return await serverWith(connection, credentials, options, terminal, browser);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const { part, check } = diagnose(error, connection);
    const text = cleaned(error.message);
    throw new AutomateError('credential', `connection "${connection.name}": ${text}\nthe trouble is with the ${part}\ncheck ${check}`);
  } finally {
    browser?.close();
  }
}

/** The same with secrets that are there already, and nobody to log in. Throws a Failure. */
export async function serverWith(
  connection: McpConnection,
  credentials: FlowSecrets,
  options: AskingOptions,
  terminal: Terminal,
  person?: LoginPerson,
): Promise<ToolServer> {
  const { warn } = terminal;
  const ports = wire({
    credentials,
    redactor: terminal.redactor,
    allowHttp: isRemote(connection.server) && connection.server.allowHttp,
    cacert: options.cacert,
    ledger: await openRunLedger(new Map(), { run: randomUUID(), env: options.env, warn }),
    env: options.env,
    report: () => {},
    warn,
    person,
  });
  try {
    const server = await ports.tools.server(connection);
    return { ...server, tools: [...server.tools] };
  } finally {
    await ports.close();
    await credentials.noted();
  }
}

/** Keeps what a server has said, for `automate nodes`. Where that cannot be kept, what was asked of the server is done all the same. */
export async function cacheToolServer(name: string, written: object, server: ToolServer, { redactor, warn }: Terminal): Promise<void> {
  try {
    await cacheServer({ environment: process.env, redactor }, name, written, server);
  } catch (error) {
    if (!(error instanceof AutomateError)) throw error;
    warn(`the tools of "${name}" are not kept for automate nodes: ${error.message}`);
  }
}

/** The secrets of a connection. One that comes of a login may be missing before the first. */
async function secretsOf(connection: McpConnection, options: AskingOptions, terminal: Terminal): Promise<FlowSecrets> {
  const needs = serverCredentials(connection);
  const uses = (isLogin: boolean): CredentialUse[] =>
    needs.filter((need) => need.isLogin === isLogin).map((need) => ({ ...need, problem: (message) => ({ message }) }));
  const found = await loadSecretsOf(uses(false), `connection ${connection.name}`, options, terminal);
  const secrets = new Map<string, Secret>(found.secrets);
  for (const { name } of uses(true)) {
    const { openCredentials } = await import('../credentials/credential-store.ts');
    const finding = (await openCredentials(options.env, terminal).find([name])).get(name);
    if (!finding || !('secret' in finding)) continue;
    secrets.set(name, finding.secret);
    hide(finding.secret.text, terminal);
  }
  return { ...found, secrets, used: (name) => void (found.secrets.has(name) && found.used(name)) };
}

/** Whoever can log in: a person at a terminal, or a browser that the environment names. */
async function browserFor({ server }: McpConnection, { say }: Terminal): Promise<(LoginPerson & { close(): void }) | undefined> {
  if (!isRemote(server) || server.auth?.type !== 'oauth2_authorization_code') return undefined;
  if (!findAsker() && !process.env.BROWSER) return undefined;
  const { openBrowser } = await import('../../io/mcp/browser.ts');
  return openBrowser(process.env, (url) => say(`log in with your browser; if it does not open:\n  ${url}`));
}
