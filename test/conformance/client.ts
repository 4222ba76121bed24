// Runs the tool's MCP client in the official conformance suite, which passes the server's URL as the last argument.

import type { Auth, Login } from '../../src/core/auth/auth.ts';
import type { McpConnection, Tool, ToolSchema } from '../../src/core/tools.ts';
import type { JsonObject, Value } from '../../src/core/value/value.ts';
import { createClock } from '../../src/files/clock.ts';
import { openBrowser } from '../../src/http/auth/browser.ts';
import { createTransport } from '../../src/http/transport.ts';
import { createTools } from '../../src/mcp/tools.ts';

const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? '';
const given = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}') as {
  client_id?: string;
  client_secret?: string;
  toolCalls?: { name: string; arguments: JsonObject }[];
};
const url = process.argv.at(-1) as string;

const clock = createClock();
const common = { environment: process.env, cacert: undefined, now: clock.now, wallNow: clock.wallNow };
const browser = await openBrowser({ BROWSER: 'true' }, (address) => void visited(address));
const secrets = new Map([['client', { text: given.client_secret ?? '', from: 'the suite' }]]);

const confirmed: Record<string, boolean> = { confirmed: true };

const tools = createTools({
  ...common,
  version: '0.0.0',
  fetch: createTransport({ ...common, userAgent: 'automate' }).fetch,
  secrets,
  used: () => {},
  secret: () => {},
  storeLogin: async () => {},
  person: browser,
  // The suite expects forms to be accepted with their defaults. The tool itself tells servers that it does not support forms.
  elicit: /elicitation|sep-2322/.test(scenario)
    ? () => ({ action: 'accept', content: scenario.startsWith('sep') ? confirmed : {} })
    : undefined,
  report: () => {},
});

const connection: McpConnection = {
  name: 'suite',
  isSaved: false,
  server: { url, auth: scenario.startsWith('auth/') ? await authFor(scenario) : undefined, headers: {}, allowHttp: true },
  origin: new URL(url).origin,
  intervalMs: undefined,
  concurrency: undefined,
  credits: 1,
  cost: undefined,
  startTimeoutMs: 20_000,
};

try {
  const { tools: found } = await tools.server(connection);
  const calls = given.toolCalls ?? found.map((tool) => ({ name: tool.name, arguments: argumentsFor(tool, found) }));
  for (const { name, arguments: values } of calls) await called(name, values);
} finally {
  await tools.close();
  browser.close();
}

async function called(tool: string, values: JsonObject): Promise<void> {
  const call = { kind: 'tool', connection, origin: connection.origin, tool, arguments: values, timeoutMs: 20_000 } as const;
  try {
    said(tool, JSON.stringify(await tools.call(call, () => {})));
  } catch (error) {
    said(tool, (error as Error).message);
    if (scenario.startsWith('auth/')) throw error;
  }
}

/** Prints words that the suite shows if a scenario fails. */
function said(...words: string[]): void {
  process.stdout.write(`${words.join(' ')}\n`);
}

/** Returns the authentication for a scenario. For client credentials it looks up the token URL, which a flow would contain. */
async function authFor(name: string): Promise<Auth> {
  if (name !== 'auth/client-credentials-basic') return loginFor(name);
  const { origin, pathname } = new URL(url);
  const known = async (address: string) => (await fetch(address)).json() as Promise<Record<string, string[] & string>>;
  const { authorization_servers: [issuer] = [] } = await known(`${origin}/.well-known/oauth-protected-resource${pathname}`);
  const { token_endpoint: tokenUrl = '' } = await known(`${issuer}/.well-known/oauth-authorization-server`);
  return { type: 'oauth2_client_credentials', credential: 'client', tokenUrl, clientId: given.client_id ?? '', scopes: [] };
}

function loginFor(name: string): Login {
  const clientId = given.client_id ?? (name === 'auth/basic-cimd' ? 'https://conformance-test.local/client-metadata.json' : undefined);
  return {
    type: 'oauth2_authorization_code',
    credential: 'login',
    clientId,
    clientCredential: given.client_secret ? 'client' : undefined,
    scopes: [],
  };
}

/** Acts as the browser and the user: the suite's authorization server asks for no confirmation. */
async function visited(address: string): Promise<void> {
  const response = await fetch(address, { redirect: 'manual' });
  const location = response.headers.get('location');
  if (location) await fetch(new URL(location, address)).catch(() => undefined);
}

/** Returns a value for each argument that a tool requires. */
function argumentsFor({ name, inputSchema: { properties = {}, required = [] } }: Tool, all: readonly Tool[]): JsonObject {
  // In this scenario, the suite compares the schema of the other tool.
  const other = all.find((tool) => tool.name !== name)?.inputSchema;
  if (name === 'json_schema_echo') return { schema: JSON.parse(JSON.stringify(other)) };
  return Object.fromEntries(required.map((name) => [name, sample(properties[name] ?? {})]));
}

function sample({ type, enum: some, default: usual, properties = {}, required = [] }: ToolSchema): Value {
  if (usual !== undefined) return usual as Value;
  if (some) return some[0] as Value;
  if (type === 'number' || type === 'integer') return 5;
  if (type === 'boolean') return true;
  if (type === 'array') return [];
  if (type === 'object') return Object.fromEntries(required.map((name) => [name, sample(properties[name] ?? {})]));
  return 'test';
}
