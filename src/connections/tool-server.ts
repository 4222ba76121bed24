import { cleaned, excerpt } from '../core/answer/response.ts';
import { AutomateError, errorOf, Failure, LimitReached } from '../core/failure.ts';
import type { CredentialUse } from '../core/plan.ts';
import { escapedControls } from '../core/text/quoted-word.ts';
import { isRemote, type McpConnection, serverCredentials, type Tool, type ToolSchema, type ToolServer } from '../core/tools.ts';
import { type FlowSecrets, hide, loadSecretsOf } from '../credentials/flow-secrets.ts';
import type { Messages } from '../credentials/messages.ts';
import type { Secret } from '../credentials/secret.ts';
import type { LoginPerson } from '../http/auth/browser.ts';
import { diagnose } from '../mcp/diagnosis.ts';
import { cacheServer } from '../mcp/tool-cache.ts';
import { openSession } from '../run/session.ts';

export interface AskingOptions {
  readonly env?: string;
  readonly cacert?: string;
}

/** `person` is undefined if no person can log in, because there is no terminal. */
export interface ServerOfConnection extends AskingOptions {
  readonly credentials: FlowSecrets;
  readonly person?: LoginPerson;
}

/**
 * Costs no credits. If the server requires a login, asks `given`, or by default the person at the terminal. Throws an AutomateError
 * (`connection-failed`) if the server does not respond.
 */
export async function askServer(
  connection: McpConnection,
  options: AskingOptions,
  messages: Messages,
  given?: LoginPerson,
): Promise<ToolServer> {
  const opened = given ? undefined : await openLogin(connection, messages);
  const person = given ?? opened;
  try {
    const credentials = await secretsOf(connection, options, messages);
    return await queryServer(connection, { ...options, credentials, person }, messages);
  } catch (error) {
    if (error instanceof LimitReached) throw errorOf('credential', error);
    if (!(error instanceof Failure)) throw error;
    const { part, check, setting } = diagnose(error, connection);
    const facts = { code: 'connection-failed', details: { part, checks: [check], setting } } as const;
    throw new AutomateError('credential', `connection "${connection.name}": ${cleaned(error.message)}`, { ...facts, cause: error });
  } finally {
    opened?.close();
  }
}

/** Asks an MCP server for its name, version and tools, with the given secrets. Throws a Failure if the server does not respond. */
export async function queryServer(connection: McpConnection, options: ServerOfConnection, messages: Messages): Promise<ToolServer> {
  const { env, cacert, credentials, person } = options;
  const allowHttp = isRemote(connection.server) && connection.server.allowHttp;
  const use = { name: connection.name, credentials: [], prices: new Map() };
  const session = await openSession(use, { env, cacert, allowHttp }, messages, { credentials, person });
  try {
    const server = await session.ports.tools.server(connection);
    return { ...server, tools: [...server.tools] };
  } finally {
    await session.close();
  }
}

/** Caches a server's list of tools for `automate nodes`. Warns if the list cannot be cached. */
export async function cacheToolServer(name: string, written: object, server: ToolServer, { redactor, warn }: Messages): Promise<void> {
  try {
    await cacheServer({ environment: process.env, redactor }, name, written, server);
  } catch (error) {
    if (!(error instanceof AutomateError)) throw error;
    warn(`the list of tools of "${name}" could not be cached: ${error.message}`);
  }
}

/** A missing login token is not an error, because the person might not have logged in yet. */
async function secretsOf(connection: McpConnection, options: AskingOptions, messages: Messages): Promise<FlowSecrets> {
  const needs = serverCredentials(connection);
  const uses = needs.filter(({ isLogin }) => !isLogin).map((need): CredentialUse => ({ ...need, problem: (message) => ({ message }) }));
  const found = await loadSecretsOf(uses, `connection ${connection.name}`, options, messages);
  const secrets = new Map<string, Secret>(found.secrets);
  for (const { name, isLogin } of needs) {
    if (!isLogin) continue;
    const { openCredentials } = await import('../credentials/credential-store.ts');
    const finding = (await openCredentials(options.env, messages).find([name])).get(name);
    if (!finding || !('secret' in finding)) continue;
    secrets.set(name, finding.secret);
    hide(finding.secret.text, messages);
  }
  return { ...found, secrets };
}

/** Undefined if no login is needed, or none is possible: there is no terminal, and the variable BROWSER is not set. */
async function openLogin({ server }: McpConnection, { say, findAsker }: Messages): Promise<(LoginPerson & { close(): void }) | undefined> {
  if (!isRemote(server) || server.auth?.type !== 'oauth2_authorization_code') return undefined;
  if (!findAsker || !(findAsker() || process.env.BROWSER)) return undefined;
  const { openBrowser } = await import('../http/auth/browser.ts');
  return openBrowser(process.env, (url) => say(`log in with your browser; if it does not open, go to:\n  ${url}`));
}

/** Returns the first sentence of a tool's description, or of its title if it has no description. */
export function summaryOf({ description = '', title = '' }: Tool): string {
  const text = excerpt(description || title, 1000);
  return excerpt(/^.*?[.!?](?=\s|$)/.exec(text)?.[0] ?? text, 90);
}

/** Fills required arguments from fields. If one is not a string, all become one JSON string, in which a CSV value can be a number. */
export function nodeText(connection: string, { name, inputSchema: { properties = {}, required = [] } }: Tool): string {
  const values = required.map((argument) => ({ argument, ...argumentSample(argument, properties[argument] ?? {}) }));
  const asText = `'{ ${values.map(({ argument, json }) => `${JSON.stringify(argument)}: ${json}`).join(', ')} }'`.replace(
    /(?<!^)'(?!$)/g,
    "''",
  );
  const lines = values.map(({ argument, json }) => `    ${yamlKey(argument)}: ${json}`);
  const text = [
    '- type: mcp',
    `  connection: ${yamlText(connection)}`,
    `  tool: ${yamlText(name)}`,
    ...(values.length === 0 ? [] : values.some(({ isBare }) => isBare) ? [`  arguments: ${asText}`] : ['  arguments:', ...lines]),
    '  map: { answer: $body }',
  ].join('\n');
  return escapedControls(text);
}

/** `isBare` is true if the sample is a field reference without quotes, as it is for every type except strings. */
function argumentSample(argument: string, { type, default: usual, const: only }: ToolSchema): { json: string; isBare: boolean } {
  const literal = only ?? usual;
  if (literal !== undefined) return { json: JSON.stringify(literal), isBare: false };
  const reference = `{{${argument.replace(/[^\p{L}\p{M}\p{N}_]/gu, '_')}}}`;
  const isText = type === undefined || [type].flat().includes('string');
  return { json: isText ? `"${reference}"` : reference, isBare: !isText };
}

function yamlKey(name: string): string {
  return /^[A-Za-z_][\w-]*$/.test(name) ? name : JSON.stringify(name);
}

function yamlText(text: string): string {
  return /^[A-Za-z][\w/.-]*$/.test(text) && !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(text) ? text : JSON.stringify(text);
}
