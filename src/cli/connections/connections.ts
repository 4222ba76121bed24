import { randomUUID } from 'node:crypto';
import { answerMessage, cleaned } from '../../core/answer/response.ts';
import { neededCredentials } from '../../core/auth/auth.ts';
import type { Connection, HttpConnection } from '../../core/connection.ts';
import { AutomateError, Failure } from '../../core/failure.ts';
import type { CredentialUse } from '../../core/plan.ts';
import type { HttpRequest, HttpResponse } from '../../core/ports.ts';
import { referencedFields } from '../../core/template/template.ts';
import { didYouMean } from '../../core/text/suggest.ts';
import { compileSavedConnection, connectionText } from '../../flow/saved-connection.ts';
import { changeConnections, type SavedConnections, savedConnections } from '../../io/connections.ts';
import { costPath } from '../../nodes/call-policy.ts';
import { costOf } from '../../nodes/calling.ts';
import { readIfPossible } from '../../nodes/http/answer-reader.ts';
import { envOf } from '../env.ts';
import { exitCodes } from '../exit.ts';
import { loadSecretsOf } from '../flow/flow-secrets.ts';
import { openRunLedger } from '../run/run-ledger.ts';
import { creditsText } from '../show/number.ts';
import { tableText } from '../show/structure.ts';
import type { Terminal } from '../terminal.ts';
import { wire } from '../wire.ts';

/** Lists the saved connections, or one of them. Answers the exit code. */
export async function listCommand(name: string | undefined, options: { json?: boolean }, terminal: Terminal): Promise<number> {
  const saved = savedConnections(process.env);
  const names = name === undefined ? Object.keys(saved).sort() : known(name) && [name];
  if (options.json)
    await terminal.print(
      JSON.stringify(
        names.map((name) => ({ name, ...saved[name] })),
        null,
        2,
      ),
    );
  else if (names.length > 0) await terminal.print(tableText(rowsOf(names, saved)).join('\n'));
  else terminal.say('no connections are saved; save one: automate connections add http NAME --base-url URL, or add mcp NAME --url URL');
  return exitCodes.success;
}

function rowsOf(names: readonly string[], saved: SavedConnections): string[][] {
  const text = (value: unknown) => (value === undefined ? '-' : Array.isArray(value) ? value.join(' ') : String(value));
  const where = names.some((name) => saved[name]?.type === 'mcp') ? 'URL or command' : 'base URL';
  return [
    ['name', 'type', where, 'auth', 'credential', 'rate'],
    ...names.map((name) => {
      const { type, base_url, url, command, auth, rate } = saved[name] ?? {};
      const { type: kind, credential } = (auth ?? {}) as Record<string, unknown>;
      return [name, text(type), text(base_url ?? url ?? command), text(kind ?? 'none'), text(credential), text(rate)];
    }),
  ];
}

/** Shows a saved connection, as a flow would write it. Answers the exit code. */
export async function showCommand(name: string, options: { json?: boolean }, terminal: Terminal): Promise<number> {
  const written = known(name);
  await terminal.print(options.json ? JSON.stringify({ name, ...written }, null, 2) : connectionText(name, written));
  return exitCodes.success;
}

/** Removes a saved connection. Answers the exit code. */
export async function removeCommand(name: string, terminal: Terminal): Promise<number> {
  known(name);
  await changeConnections(process.env, (saved) => Object.fromEntries(Object.entries(saved).filter(([other]) => other !== name)));
  terminal.say(`"${name}" is removed`);
  return exitCodes.success;
}

/** A saved connection, as it was written. Throws an AutomateError (`credential`) when there is none of that name. */
export function known(name: string): Readonly<Record<string, unknown>> {
  const saved = savedConnections(process.env);
  const found = Object.hasOwn(saved, name) ? saved[name] : undefined;
  if (found) return found;
  const names = Object.keys(saved);
  const choices = didYouMean(name, names) || (names.length === 0 ? '; none is saved' : `; there are ${names.join(', ')}`);
  throw new AutomateError('credential', `no connection "${name}"${choices}`);
}

/** The options of `automate connections test`. */
export interface TestOptions {
  readonly path?: string;
  readonly env?: string;
  readonly allowHttp?: boolean;
  readonly cacert?: string;
}

const timeoutMs = 30_000;
const maxBodyBytes = 10_000_000;

/** Sends one GET request over a saved connection, and says what came of it. Answers the exit code. */
export async function testCommand(name: string, options: TestOptions, terminal: Terminal): Promise<number> {
  const connection = compiled(name, options.allowHttp ?? false);
  if (connection.type === 'mcp') return (await import('./connections-mcp.ts')).testMcpCommand(connection, known(name), options, terminal);
  const credentials = await loadSecretsOf(usesOf(connection), `connection ${name}`, options, terminal);
  const account = { flow: '', node: 'connections test', connection: name, env: envOf(options.env) };
  const ledger = await openRunLedger(new Map([[name, { account, credits: connection.credits }]]), {
    run: randomUUID(),
    env: options.env,
    warn: terminal.warn,
  });
  const ports = wire({
    credentials,
    redactor: terminal.redactor,
    allowHttp: connection.allowHttp,
    cacert: options.cacert,
    ledger,
    env: options.env,
    report: () => {},
  });
  const request = requestOf(connection, options.path ?? '');
  const startedMs = ports.clock.now();
  const refusal = ledger.hold(name);
  if (refusal !== undefined) throw new AutomateError('credits', refusal);
  const response = await ports.http.send(request).catch((error: unknown) => {
    if (error instanceof Failure) return error;
    throw error;
  });
  if (response instanceof Failure && !response.sent) ledger.release(name);
  else ledger.settle(name, costOfTest(connection, response));
  ledger.close();
  await credentials.usesRecorded();
  terminal.say(`GET ${request.origin}${request.path}: ${outcomeOf(response)} in ${Math.round(ports.clock.now() - startedMs)} ms`);
  terminal.say(`${creditsText(ports.credits())} spent`);
  const problem = problemOf(response);
  if (problem === undefined) {
    const isMissing = 'status' in response && response.status === 404;
    if (isMissing) terminal.say(`the server was reached, and has nothing at ${request.path}; --path tries another path`);
    await terminal.print(isMissing ? `${name}: reached, and answers 404` : `${name}: works`);
    return exitCodes.success;
  }
  throw new AutomateError('credential', `connection "${name}": ${problem}\n${whatToCheck(connection)}`);
}

/** A saved connection, checked. Throws an AutomateError (`credential`). */
export function compiled(name: string, allowHttp: boolean): Connection {
  try {
    return compileSavedConnection(name, known(name), allowHttp);
  } catch (error) {
    if (error instanceof AutomateError) throw error;
    throw new AutomateError('credential', `the saved connection "${name}" is not valid: ${(error as Error).message}`);
  }
}

function usesOf({ auth, origin }: HttpConnection): CredentialUse[] {
  return (auth ? neededCredentials(auth, origin) : []).map((need) => ({ ...need, problem: (message) => ({ message }) }));
}

/** Headers that need a record are left out. */
function requestOf({ baseUrl, origin, auth, headers }: HttpConnection, path: string): HttpRequest {
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

/** As in a run, what a failure really cost is not asked for. */
function costOfTest({ cost }: HttpConnection, response: HttpResponse | Failure): number | undefined {
  if (response instanceof Failure || response.status < 200 || response.status > 299) return undefined;
  const { status, header } = response;
  return costOf({ cost: costPath(cost) }, { status, header, body: readIfPossible(response, 'auto') });
}

function outcomeOf(response: HttpResponse | Failure): string {
  return response instanceof Failure ? response.kind : String(response.status);
}

/** An answer that the server's root has nothing for us is an answer all the same. */
function problemOf(response: HttpResponse | Failure): string | undefined {
  if (response instanceof Failure) return cleaned(response.message);
  const { status } = response;
  return status === 401 || status === 403 || status === 407 || status >= 500 ? cleaned(answerMessage(response)) : undefined;
}

function whatToCheck({ auth }: HttpConnection): string {
  const credential = auth ? `, the credential's validity and expiry (automate credentials check ${auth.credential})` : '';
  return `check the URL, outbound firewall rules${credential}`;
}
