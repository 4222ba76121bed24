import { answerMessage, cleaned } from '../core/answer/response.ts';
import { type Auth, neededCredentials } from '../core/auth/auth.ts';
import { credentialFor } from '../core/auth/auth-type.ts';
import { loginIn } from '../core/auth/login-need.ts';
import type { HttpConnection } from '../core/connection.ts';
import { detailsOf } from '../core/error-code.ts';
import { AutomateError, errorOf, Failure, LimitReached } from '../core/failure.ts';
import type { CredentialUse } from '../core/plan.ts';
import type { HttpRequest, HttpResponse } from '../core/ports.ts';
import type { SessionOptions } from '../core/run-options.ts';
import { referencedFields } from '../core/template/template.ts';
import { isMapping } from '../core/value/value.ts';
import { changeConnections, readConnections } from '../credentials/connections-file.ts';
import { openCredentials } from '../credentials/credential-store.ts';
import type { Messages } from '../credentials/messages.ts';
import { isCommand } from '../credentials/secret.ts';
import { envOf } from '../files/home.ts';
import { costPath } from '../nodes/call-policy.ts';
import { costOf } from '../nodes/calling.ts';
import { readIfPossible } from '../nodes/http/answer-reader.ts';
import { openSession, type SessionParts, type SessionUse } from '../run/session.ts';
import type { WiredPorts } from '../run/wire.ts';

interface ConnectionTest {
  readonly request: HttpRequest;
  readonly response: HttpResponse | Failure;
  readonly ms: number;
  /** Credits spent; undefined if the connection has neither a limit nor a price. */
  readonly spent: number | undefined;
  /** The reason why the connection does not work, and what to check. A 404 counts as working, because the server was reached. */
  readonly problem: AutomateError | undefined;
}

const timeoutMs = 30_000;
const maxBodyBytes = 10_000_000;

/** `path` is appended to the base URL. Throws an AutomateError if a secret is missing or no credits are left. */
export async function testConnection(
  connection: HttpConnection,
  { path, ...options }: SessionOptions & { readonly path?: string },
  messages: Messages,
  parts: Pick<SessionParts, 'routes'> = {},
): Promise<ConnectionTest> {
  const { name, allowHttp, credits, cost } = connection;
  const account = { flow: '', node: 'connections test', connection: name, env: envOf(options.env) };
  const use = {
    name: `connection ${name}`,
    credentials: usesOf(connection),
    ...certificatesOf(connection),
    prices: new Map([[name, { account, credits }]]),
  };
  const session = await openSession(use, { ...options, allowHttp }, messages, parts);
  try {
    const { ports, ledger } = session;
    const request = testedRequest(connection, path ?? '');
    const startedMs = ports.clock.now();
    const response = await sendPaid(connection, request, ports);
    const ms = ports.clock.now() - startedMs;
    const spent = ledger.isLimited || credits !== 1 || cost ? ports.credits() : undefined;
    return { request, response, ms, spent, problem: problemOf(connection, response) };
  } finally {
    await session.close();
  }
}

/** Charges the credits to the connection. Returns a failure instead of throwing it. */
async function sendPaid(connection: HttpConnection, request: HttpRequest, { ledger, http }: WiredPorts): Promise<HttpResponse | Failure> {
  const { name, charset } = connection;
  const refusal = ledger.hold(name);
  if (refusal) throw errorOf('credits', refusal);
  const received = await http.send(request).catch((error: unknown) => {
    if (error instanceof Failure) return error;
    ledger.release(name);
    throw error instanceof LimitReached ? errorOf('credential', error) : error;
  });
  const response = received instanceof Failure ? received : { ...received, charset };
  if (response instanceof Failure && !response.sent) ledger.release(name);
  else ledger.settle(name, costOfTest(connection, response));
  return response;
}

function usesOf(connection: HttpConnection): CredentialUse[] {
  const { auth, origin, clientCert } = connection;
  const signing = (auth ?? []).flatMap((one) => neededCredentials(one, origin));
  const passphrase = clientCert?.passphrase;
  const needs = [...signing, ...(passphrase === undefined ? [] : [credentialFor(passphrase, undefined)])];
  return needs.map((need) => ({ ...need, ...loginIn(need, connection), problem: (message) => ({ message }) }));
}

function certificatesOf({ clientCert }: HttpConnection): Pick<SessionUse, 'certificates'> {
  return clientCert ? { certificates: [clientCert] } : {};
}

/** Leaves out headers that contain a record's fields, because there is no record. */
function testedRequest({ baseUrl, origin, auth, clientCert, http2, headers }: HttpConnection, path: string): HttpRequest {
  const url = new URL(path === '' ? baseUrl : `${baseUrl.replace(/\/+$/, '')}/${path.replace(/^\/+/, '')}`);
  return {
    method: 'GET',
    origin,
    path: url.pathname + url.search,
    headers: Object.fromEntries(Object.entries(headers).filter(([, value]) => referencedFields(value).length === 0)),
    auth,
    clientCert,
    http2,
    timeoutMs,
    maxBodyBytes,
    followAny: false,
  };
}

/** The cost according to the response. Undefined for a failed request, which costs the default price, as in a run. */
function costOfTest({ cost }: HttpConnection, response: HttpResponse | Failure): number | undefined {
  if (response instanceof Failure || response.status < 200 || response.status > 299) return undefined;
  const { status, header } = response;
  return costOf({ cost: costPath(cost) }, { status, header, body: readIfPossible(response, 'auto') });
}

/** A 404 at the base URL is not a problem: it shows that the server was reached. */
function testProblem(response: HttpResponse | Failure): string | undefined {
  if (response instanceof Failure) return cleaned(response.message);
  const { status } = response;
  return status === 401 || status === 403 || status === 407 || status >= 500 ? cleaned(answerMessage(response)) : undefined;
}

function checkCommand({ type, credential }: Auth, connection: string): string {
  return type === 'oauth2_authorization_code' ? `automate connections login ${connection}` : `automate credentials check ${credential}`;
}

function problemOf({ name, auth }: HttpConnection, response: HttpResponse | Failure): AutomateError | undefined {
  const setting = detailsOf(response, 'tls')?.isUnknownAuthority ? 'authority' : undefined;
  const problem = testProblem(response);
  if (problem === undefined) return undefined;
  const commands = (auth ?? []).map((one) => checkCommand(one, name)).join(' and ');
  const credential = commands === '' ? [] : [`the credential's validity and expiry (${commands})`];
  const checks = ['the URL', 'outbound firewall rules', ...credential];
  return new AutomateError('credential', `connection "${name}": ${problem}`, {
    code: 'connection-failed',
    details: { checks, setting },
  });
}

/**
 * Removes a saved connection and deletes the tokens of its logins in every environment. Keeps logins that another saved connection uses,
 * and returns their names. If tokens cannot be deleted, keeps the connection and throws an AutomateError (`credential`).
 */
export async function removeConnection(name: string, messages: Pick<Messages, 'redactor' | 'findAsker'>): Promise<readonly string[]> {
  const { [name]: removed = {}, ...others } = readConnections(process.env);
  const elsewhere = new Set(Object.values(others).flatMap(loginsIn));
  const logins = loginsIn(removed);
  for (const login of logins) if (!elsewhere.has(login)) await deleteLogin(login, messages);
  await changeConnections(process.env, (saved) => Object.fromEntries(Object.entries(saved).filter(([other]) => other !== name)));
  return logins.filter((login) => elsewhere.has(login));
}

function loginsIn({ auth }: Readonly<Record<string, unknown>>): string[] {
  return [auth].flat().flatMap((one) => {
    const isLogin = isMapping(one) && one.type === 'oauth2_authorization_code' && typeof one.credential === 'string';
    return isLogin ? [one.credential as string] : [];
  });
}

async function deleteLogin(login: string, messages: Pick<Messages, 'redactor' | 'findAsker'>): Promise<void> {
  const stored = openCredentials(undefined, messages).list();
  for (const one of stored) if (one.name === login && !isCommand(one)) await openCredentials(one.env, messages).remove(login, false);
}
