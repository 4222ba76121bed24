import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { removeConnection, testConnection } from '../../connections/connection-test.ts';
import { askServer, cacheToolServer } from '../../connections/tool-server.ts';
import { neededCredentials, writtenAuth } from '../../core/auth/auth.ts';
import type { NeededCredential } from '../../core/auth/auth-type.ts';
import { type Connection as CompiledConnection, connectionLimitKey } from '../../core/connection.ts';
import { type ConnectionSetting, detailsOf } from '../../core/error-code.ts';
import { AutomateError, Failure } from '../../core/failure.ts';
import { mostAuto } from '../../core/options/amounts.ts';
import { name as connectionName, credentialName } from '../../core/options/names.ts';
import { serverCredentials, type ToolServer } from '../../core/tools.ts';
import { readConnections } from '../../credentials/connections-file.ts';
import { openCredentials } from '../../credentials/credential-store.ts';
import { createMessages, type Messages } from '../../credentials/messages.ts';
import { compileSavedConnection } from '../../flow/connections.ts';
import { loadLibraries } from '../../run/flow-file.ts';
import { findSaved, loadConnection, saveConnection } from '../../run/flow-folder.ts';
import { messageForClient } from '../advice.ts';
import { addRoute, addRoutes } from '../app.ts';
import { Caller } from '../caller.ts';
import { isLoopback } from '../listening.ts';
import { ProblemResponse } from '../problem.ts';
import type { Server } from '../server.ts';
import { authOfForm, shownAuthTypes } from './auth-form.ts';
import { refuseOtherAddress } from './credential-address.ts';

/** Options as texts, as in the fields of the form. */
const auth = z.object({ type: z.string(), credential: credentialName.optional() }).catchall(z.string().max(65_536));

/** Only connections to a URL. Programs can only be added on the command line, because the page must not choose programs to run. */
const body = z.strictObject({
  type: z.enum(['http', 'mcp']),
  name: connectionName,
  url: z.string(),
  http2: z.boolean().optional(),
  auth,
  secret: z.string().max(65_536).optional(),
});

type ConnectionBody = z.output<typeof body>;

const params = z.object({ name: z.string() });

const page = new Caller(undefined);

export function addConnectionRoutes(app: FastifyInstance, server: Server): void {
  // For each connection, the result of its latest test since the server started.
  const tests = new Map<string, { readonly at: string; readonly problem: string }>();
  const tested = (name: string, { ok, message }: ShownConnectionTest) =>
    tests.set(name, { at: new Date().toISOString(), problem: ok ? '' : message });
  // The latest test of a connection that was not saved. If that connection is saved next, this is shown as its test result.
  let unsaved: { readonly body: string; readonly test: TestedConnection } | undefined;
  addRoutes(app, '/ui/connections', {
    GET: { handler: async () => ({ connections: shownConnections(tests) }) },
    POST: {
      schema: { body },
      handler: async (request, reply) => {
        const given = request.body as ConnectionBody;
        await saveFromPage(given, request, server);
        if (unsaved?.body === hashOf(given)) {
          tested(given.name, unsaved.test.result);
          if (unsaved.test.tools) await cacheToolServer(given.name, findSaved(given.name), unsaved.test.tools, createMessages());
        }
        unsaved = undefined;
        server.audit(page, request, 'connection.add', given.name);
        return reply.code(201).send({ name: given.name });
      },
    },
  });
  addRoute(app, 'GET', '/ui/auth-types', { handler: async () => ({ types: shownAuthTypes() }) });
  addRoute(app, 'POST', '/ui/connections/tests', {
    schema: { body },
    handler: async (request) => {
      const given = request.body as ConnectionBody;
      const test = await testNew(given, request, server);
      unsaved = { body: hashOf(given), test };
      return test.result;
    },
  });
  addRoute(app, 'POST', '/ui/connections/:name/tests', {
    schema: { params },
    handler: async (request) => {
      const { name } = request.params as z.output<typeof params>;
      const { result } = await resultOf(testSaved(savedName(name), server));
      tested(name, result);
      return result;
    },
  });
  addRoute(app, 'DELETE', '/ui/connections/:name', {
    schema: { params },
    handler: async (request, reply) => {
      const name = savedName((request.params as z.output<typeof params>).name);
      await removeConnection(name, createMessages());
      server.audit(page, request, 'connection.remove', name);
      return reply.code(204).send();
    },
  });
}

/** Recognizes a connection with its secret, which must not stay in memory. */
function hashOf(given: ConnectionBody): string {
  return createHash('sha256').update(JSON.stringify(given)).digest('base64url');
}

function savedName(name: string): string {
  if (Object.hasOwn(readConnections(process.env), name)) return name;
  throw new ProblemResponse('not-found', `there is no connection "${name}"`);
}

function optionsOf({ shared: { env, cacert, allowHttp } }: Server) {
  return { allowHttp, env, cacert };
}

/** `problem` is what the last test found; empty if the test succeeded, null if the connection has not been tested. */
export function shownConnections(tests: ReadonlyMap<string, { readonly at: string; readonly problem: string }>) {
  return Object.entries(readConnections(process.env)).map(([name, { type, base_url, url, command, auth: written }]) => {
    const { types, credentials } = writtenAuth(written);
    const test = tests.get(name);
    return {
      ...{ name, type: type === 'mcp' ? ('mcp' as const) : ('http' as const), address: String(base_url ?? url ?? command ?? '') },
      ...{ auth: types[0] ?? 'none', credential: credentials[0] ?? null },
      ...{ tested_at: test?.at ?? null, problem: test?.problem ?? null },
    };
  });
}

/** Throws a Problem (`bad-request`) if the connection is not valid. */
async function writtenOf({ type, name, url, http2, auth: form }: ConnectionBody, { shared: { allowHttp } }: Server) {
  const method = authOfForm(form as Readonly<Record<string, string>>);
  const written = {
    type,
    ...(type === 'http' ? { base_url: url } : { url }),
    ...(method && { auth: method }),
    ...(http2 && { http2 }),
    ...(allowHttp && { allow_http: true }),
  };
  await loadLibraries(JSON.stringify(written));
  try {
    return { written, connection: compileSavedConnection(name, written, allowHttp) };
  } catch (error) {
    throw new ProblemResponse('bad-request', messageForClient(error as Error));
  }
}

async function saveFromPage(given: ConnectionBody, request: FastifyRequest, server: Server): Promise<void> {
  const { written, connection } = await writtenOf(given, server);
  if (Object.hasOwn(readConnections(process.env), given.name))
    throw new ProblemResponse('bad-request', `there is a connection "${given.name}" already: remove it first, or choose another name`);
  await storeSecret(given, connection, { request, server });
  await saveConnection(given.name, written, { force: false });
  await loadConnection(given.name, server.shared.allowHttp);
}

export interface ShownConnectionTest {
  readonly ok: boolean;
  readonly message: string;
  readonly check: readonly string[];
}

/** The result of a test, and the tools of the MCP server if it responded. */
interface TestedConnection {
  readonly result: ShownConnectionTest;
  readonly tools: ToolServer | undefined;
}

/** Saves neither the connection nor the secret. */
async function testNew(given: ConnectionBody, request: FastifyRequest, server: Server): Promise<TestedConnection> {
  const { connection } = await writtenOf(given, server);
  const forget = await storeSecret(given, connection, { request, server });
  try {
    return await resultOf(testOne(connection, server));
  } finally {
    await forget();
  }
}

/** Returns a function that removes the secret. Throws a Problem if it was sent without encryption or would replace another secret. */
async function storeSecret(
  { secret, url }: ConnectionBody,
  connection: CompiledConnection,
  { request, server }: { readonly request: FastifyRequest; readonly server: Server },
): Promise<() => Promise<unknown>> {
  const needs = credentialsOf(connection);
  const credential = needs[0]?.name;
  for (const need of needs)
    for (const to of new Set([url, ...need.origins]))
      await refuseOtherAddress({ credential: need.name, url: to, hasSecret: secret !== undefined && need.name === credential }, server);
  if (secret === undefined || credential === undefined) return async () => undefined;
  if (request.protocol !== 'https' && !isLoopback(request.ip))
    throw new ProblemResponse('bad-request', 'expected TLS for a secret: store it on the command line, with automate credentials set');
  const store = openCredentials(server.shared.env, createMessages());
  try {
    await store.set(credential, secret, {});
  } catch (error) {
    if (error instanceof AutomateError) throw new ProblemResponse('bad-request', messageForClient(error));
    throw error;
  }
  return () => store.remove(credential, true);
}

/** The credential that signs the requests comes first. */
function credentialsOf(connection: CompiledConnection): readonly NeededCredential[] {
  if (connection.type === 'mcp') return serverCredentials(connection);
  return (connection.auth ?? []).flatMap((one) => neededCredentials(one, connection.origin));
}

/** Counts as a request in flight, but ignores pauses of the rate limiter, to show whether the connection works now. Caches MCP tools. */
function testSaved(name: string, server: Server): TestOfConnection {
  return async (messages) => {
    const { gates, allowHttp } = server.shared;
    const connection = await loadConnection(name, allowHttp);
    const test = () => testOne(connection, server)(messages);
    const { concurrency: max } = connection;
    const key = connectionLimitKey(connection, '');
    const gate = { origin: `test of ${key}`, credential: undefined };
    const tools = await (max === undefined
      ? test()
      : gates.pass({ gate, limit: { key, max: max === 'auto' ? mostAuto : max }, intervalMs: undefined }, test));
    if (tools) await cacheToolServer(name, findSaved(name), tools, messages);
    return tools;
  };
}

/** Throws an AutomateError or a Failure if the connection does not work. Resolves with the tools of an MCP server. */
type TestOfConnection = (messages: Messages) => Promise<ToolServer | undefined>;

function testOne(connection: CompiledConnection, server: Server): TestOfConnection {
  return async (messages) => {
    if (connection.type === 'mcp') return askServer(connection, optionsOf(server), messages);
    const { problem } = await testConnection(connection, optionsOf(server), messages, server.shared);
    if (problem) throw problem;
    return undefined;
  };
}

/** The place where the user or the operator can change a setting that might be wrong. */
const settingChecks: Readonly<Record<ConnectionSetting, string>> = {
  authority: 'its certificate authority, which automate serve takes with --cacert FILE',
  auth: 'the authentication that is chosen for it: a bearer token with its credential, or a login by automate connections add',
  variables: 'the variables that its program needs: automate connections add passes them on',
};

async function resultOf(test: TestOfConnection): Promise<TestedConnection> {
  const messages = createMessages();
  try {
    const tools = await test(messages);
    return { result: { ok: true, message: 'it answers as expected', check: [] }, tools };
  } catch (error) {
    if (!(error instanceof AutomateError || error instanceof Failure)) throw error;
    const [message = '', ...more] = messages.redactor.text(messageForClient(error)).split('\n');
    const { part, checks = more, setting } = detailsOf(error, 'connection-failed') ?? {};
    const blamed = part === undefined ? [] : [`the problem is in the ${part}`];
    const check = [...blamed, ...checks, ...(setting === undefined ? [] : [settingChecks[setting]])];
    return { result: { ok: false, message, check }, tools: undefined };
  }
}
