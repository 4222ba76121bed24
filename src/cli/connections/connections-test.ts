import { randomUUID } from 'node:crypto';
import { envOf } from '../../app/env.ts';
import { exitCodes } from '../../app/exit-codes.ts';
import { loadSecretsOf } from '../../app/flow/flow-secrets.ts';
import { openRunLedger } from '../../app/ports/run-ledger.ts';
import { type WiredPorts, wire } from '../../app/ports/wire.ts';
import { type AskingOptions, askServer, cacheToolServer, printServer } from '../../app/tool-server.ts';
import { answerMessage, cleaned } from '../../core/answer/response.ts';
import { neededCredentials } from '../../core/auth/auth.ts';
import type { Connection, HttpConnection } from '../../core/connection.ts';
import { durationText } from '../../core/duration.ts';
import { AutomateError, Failure } from '../../core/failure.ts';
import type { CredentialUse } from '../../core/plan.ts';
import type { HttpRequest, HttpResponse } from '../../core/ports.ts';
import { referencedFields } from '../../core/template/template.ts';
import { creditsText } from '../../core/text/number.ts';
import type { McpConnection } from '../../core/tools/tools.ts';
import { costPath } from '../../nodes/call-policy.ts';
import { costOf } from '../../nodes/calling.ts';
import { readIfPossible } from '../../nodes/http/answer-reader.ts';
import type { Terminal } from '../terminal.ts';
import { findSaved, loadConnection } from './connections.ts';

/** The options of `automate connections test`. */
export interface TestOptions extends AskingOptions {
  readonly path?: string;
  readonly allowHttp?: boolean;
}

const timeoutMs = 30_000;
const maxBodyBytes = 10_000_000;

/** Tests a saved connection: one GET request, or a query of its MCP server. Returns the exit code. */
export async function testCommand(name: string, options: TestOptions, terminal: Terminal): Promise<number> {
  const connection = loadConnection(name, options.allowHttp ?? false);
  return connection.type === 'mcp' ? testMcp(connection, options, terminal) : testHttp(connection, options, terminal);
}

/** Tests a connection that need not be saved. Throws an AutomateError that says what to check. */
export async function testUnsaved(connection: Connection, options: TestOptions, terminal: Terminal): Promise<void> {
  if (connection.type === 'mcp') await askServer(connection, options, terminal);
  else await testHttp(connection, options, terminal);
}

async function testMcp(connection: McpConnection, options: TestOptions, terminal: Terminal): Promise<number> {
  const { name } = connection;
  const server = await askServer(connection, options, terminal);
  await cacheToolServer(name, findSaved(name), server, terminal);
  printServer(server, terminal);
  await terminal.print(`${name}: works`);
  return exitCodes.success;
}

async function testHttp(connection: HttpConnection, options: TestOptions, terminal: Terminal): Promise<number> {
  const { name } = connection;
  const { env, cacert } = options;
  const credentials = await loadSecretsOf(usesOf(connection), `connection ${name}`, options, terminal);
  const account = { flow: '', node: 'connections test', connection: name, env: envOf(env) };
  const prices = new Map([[name, { account, credits: connection.credits }]]);
  const ledger = await openRunLedger(prices, { run: randomUUID(), env, warn: terminal.warn });
  const { allowHttp } = connection;
  const ports = wire({ credentials, redactor: terminal.redactor, allowHttp, cacert, ledger, env, report: () => {} });
  const request = testedRequest(connection, options.path ?? '');
  const startedMs = ports.clock.now();
  const response = await sendPaid(connection, request, ports);
  ledger.close();
  await credentials.usesRecorded();
  const outcome = response instanceof Failure ? response.kind : response.status;
  terminal.say(`GET ${request.origin}${request.path}: ${outcome} in ${durationText(ports.clock.now() - startedMs)}`);
  if (ledger.isLimited || connection.credits !== 1 || connection.cost) terminal.say(`${creditsText(ports.credits())} spent`);
  const problem = testProblem(response);
  if (problem !== undefined) throw new AutomateError('credential', `connection "${name}": ${problem}\n${adviceFor(connection)}`);
  const isMissing = 'status' in response && response.status === 404;
  if (isMissing) terminal.say(`the server was reached, and has nothing at ${request.path}; --path tries another path`);
  await terminal.print(isMissing ? `${name}: reached, and answers 404` : `${name}: works`);
  return exitCodes.success;
}

/** Sends a request for the credits of a connection. A failure of the request is returned. */
async function sendPaid(connection: HttpConnection, request: HttpRequest, { ledger, http }: WiredPorts): Promise<HttpResponse | Failure> {
  const { name } = connection;
  const refusal = ledger.hold(name);
  if (refusal !== undefined) throw new AutomateError('credits', refusal);
  const response = await http.send(request).catch((error: unknown) => {
    if (error instanceof Failure) return error;
    throw error;
  });
  if (response instanceof Failure && !response.sent) ledger.release(name);
  else ledger.settle(name, costOfTest(connection, response));
  return response;
}

function usesOf({ auth, origin }: HttpConnection): CredentialUse[] {
  return (auth ?? []).flatMap((one) => neededCredentials(one, origin)).map((need) => ({ ...need, problem: (message) => ({ message }) }));
}

/** Leaves out headers that need a record. */
function testedRequest({ baseUrl, origin, auth, headers }: HttpConnection, path: string): HttpRequest {
  const url = new URL(path === '' ? baseUrl : `${baseUrl.replace(/\/+$/, '')}/${path.replace(/^\/+/, '')}`);
  return {
    method: 'GET',
    origin,
    path: url.pathname + url.search,
    headers: Object.fromEntries(Object.entries(headers).filter(([, value]) => referencedFields(value).length === 0)),
    ...(auth && { auth }),
    timeoutMs,
    maxBodyBytes,
    followAny: false,
  };
}

/** Absent for a failed request, which costs the default price as in a run. */
function costOfTest({ cost }: HttpConnection, response: HttpResponse | Failure): number | undefined {
  if (response instanceof Failure || response.status < 200 || response.status > 299) return undefined;
  const { status, header } = response;
  return costOf({ cost: costPath(cost) }, { status, header, body: readIfPossible(response, 'auto') });
}

/** A 404 at the base URL is not a problem: the server was reached. */
function testProblem(response: HttpResponse | Failure): string | undefined {
  if (response instanceof Failure) return cleaned(response.message);
  const { status } = response;
  return status === 401 || status === 403 || status === 407 || status >= 500 ? cleaned(answerMessage(response)) : undefined;
}

function adviceFor({ auth }: HttpConnection): string {
  const checks = (auth ?? []).map((one) => `automate credentials check ${one.credential}`).join(' and ');
  const credential = checks && `, the credential's validity and expiry (${checks})`;
  return `check the URL, outbound firewall rules${credential}`;
}
