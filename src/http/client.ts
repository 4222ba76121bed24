import type { Documents } from '../core/answer/document.ts';
import { redirectStatuses } from '../core/answer/link.ts';
import { excerpt } from '../core/answer/response.ts';
import { type Auth, type SessionAuth, sessionIn, shownSignature, signature } from '../core/auth/auth.ts';
import { combined, type Signature } from '../core/auth/auth-type.ts';
import { isSession } from '../core/auth/session.ts';
import { AutomateError, Failure } from '../core/failure.ts';
import type { Http, HttpRequest, HttpResponse } from '../core/ports.ts';
import type { CommandSecrets } from '../credentials/command-secrets.ts';
import { refuseOtherHost, type Secret } from '../credentials/secret.ts';
import { sleepersOf } from '../files/clock.ts';
import { withoutEcho } from './auth/echo.ts';
import type { LoginTools } from './auth/login-tokens.ts';
import { AccessTokens, type WithSecret } from './auth/oauth.ts';
import { type RequestSigner, refuseWrongClock, sendSigned, signsRequests, withSignature } from './auth/request-signers.ts';
import type { LoggedIn, LoginSessions } from './auth/sessions.ts';
import { RequestSigners } from './auth/signer-types.ts';
import type { SourceTools } from './auth/source-tools.ts';
import { hasToken, type TokenAuth, tokenSource } from './auth/token-sources.ts';
import { type DailyLimits, withDailyLimits } from './daily-limits.ts';
import { throwAsSent } from './error.ts';
import { nextTarget, type WireRequest } from './exchange.ts';
import type { RunFiles } from './transfers/run-files.ts';
import type { Transport } from './transport.ts';

export interface HttpTools {
  readonly transport: Transport;
  /** The flow's secrets, keyed by the names of their credentials. Secrets that are printed by commands are not included. */
  readonly secrets: ReadonlyMap<string, Secret>;
  /** Undefined if no credential of the flow has a command. */
  readonly commands?: CommandSecrets;
  /** Reads answers to logins that are not JSON. */
  readonly documents?: Documents;
  readonly allowHttp: boolean;
  now(): number;
  /** Time in ms since 1970. */
  wallNow(): number;
  /** The files that requests of this run upload, and the files that it saves. */
  readonly files: RunFiles;
  /** Called with the name of a credential after a request with its secret has succeeded. */
  used(credential: string): void;
  /** Masks a new secret in all output from now on. Replaces the secret that was masked earlier for the same `slot`. */
  secret(text: string, slot?: string): void;
  /** Undefined to send requests to public servers without counting them. */
  readonly publicServers?: DailyLimits;
  /** Writes the credits that are held for the run's requests to disk. Undefined if requests cost none. */
  flush?(): void;
  /** Undefined if there are no connections to which a person has logged in. */
  readonly logins?: Pick<LoginTools, 'keeper' | 'wallNow' | 'ended' | 'loginPlace'>;
}

const maxRedirects = 10;

/** Everything that clients have obtained or learned in order to authenticate requests. */
export interface RequestAuth {
  readonly tokens: AccessTokens;
  readonly signers: RequestSigners;
  /** Loaded at the first request that needs a login. */
  sessions(): Promise<LoginSessions>;
}

/** The HTTP clients of several runs may share the result. */
export function createAuthentication(tools: HttpTools): RequestAuth {
  let sessions: Promise<LoginSessions> | undefined;
  return {
    tokens: new AccessTokens({ ...tools, fetch: tools.transport.fetchToEnd }),
    signers: new RequestSigners(tools),
    sessions() {
      sessions ??= import('./auth/sessions.ts').then((module) => new module.LoginSessions());
      return sessions;
    },
  };
}

/** The tools of a client, and what it shares with others. */
type ClientTools = HttpTools &
  RequestAuth & {
    /** For each node's auth, its last signature that depends only on secrets. It is the same for all requests to one origin. */
    readonly signings: WeakMap<readonly Auth[], Signing & { readonly origin: string }>;
  };

/** Authenticates requests, follows redirects, and returns responses with any status. */
export function createHttp(given: HttpTools, authentication = createAuthentication(given)): Http {
  const tools: ClientTools = { ...given, ...authentication, signings: new WeakMap() };
  const ending = new AbortController();
  const http: Http = {
    abort() {
      ending.abort();
      tools.transport.abort();
    },
    send,
  };
  const counted = given.publicServers && withDailyLimits(http, given.publicServers);
  return http;

  function send(request: SessionRequest): Promise<HttpResponse> {
    const { auth, perDay } = request;
    if (perDay && counted) return counted.send(request);
    const login = request.session ? undefined : sessionIn(auth);
    if (login) return sendInSession(request, login, tools, send);
    const names = tools.commands ? commandsOf(request, tools.commands) : [];
    if (names.length > 0) return sendWithCommands(request, names, { ...tools, ended: ending.signal });
    if (auth?.some(hasToken)) return sendWithTokens(request, auth.filter(hasToken), tools);
    return sendAndFollow(request, request.timeoutMs, [], tools);
  }
}

/** A request of a login, or in the session that the login has made. */
interface SessionRequest extends HttpRequest {
  readonly session?: LoggedIn;
}

/** The time that logins take does not count toward the request's timeout. */
async function sendInSession(
  request: HttpRequest,
  session: SessionAuth,
  tools: ClientTools,
  send: (request: SessionRequest) => Promise<HttpResponse>,
): Promise<HttpResponse> {
  let leftMs = request.timeoutMs;
  const unfollowed = [...(request.unfollowed ?? []), ...session.renewOn];
  const sessions = await tools.sessions();
  const login = { ...tools, send: (own: HttpRequest, loggedIn: LoggedIn) => send({ ...own, session: loggedIn }) };
  return sessions.sendWith(session, request, login, async (loggedIn) => {
    const startedMs = tools.now();
    const response = await send({ ...request, timeoutMs: leftMs, unfollowed, session: loggedIn });
    leftMs -= tools.now() - startedMs;
    return loggedIn.cookies?.masked(response) ?? response;
  });
}

/** Leaves out the secrets for access tokens, because they are used only in requests for tokens. */
function commandsOf({ auth = [], secretBody }: HttpRequest, { commands }: CommandSecrets): string[] {
  const keys = auth.flatMap((one) => (hasToken(one) || isSession(one) ? [] : one.credential));
  return [...keys, ...(secretBody?.credentials ?? [])].filter((name) => commands.has(name));
}

/** The time that the commands take does not count toward the request's timeout. */
async function sendWithCommands(
  request: HttpRequest,
  names: readonly string[],
  { ended, ...tools }: ClientTools & { readonly ended: AbortSignal },
): Promise<HttpResponse> {
  const commands = tools.commands as CommandSecrets;
  // Waits only until the run ends, because a command may wait for the user's input much longer.
  await orEnded(commands.find(names), ended);
  const tokenAuths = (request.auth ?? []).filter(hasToken);
  let leftMs = request.timeoutMs;
  const send = async (given: ReadonlyMap<string, Secret>) => {
    const own = { ...tools, secrets: new Map([...tools.secrets, ...given]), signings: new WeakMap() };
    const rest = { ...request, timeoutMs: leftMs };
    if (tokenAuths.length > 0) return sendWithTokens(rest, tokenAuths, own);
    const startedMs = tools.now();
    const response = await sendAndFollow(rest, leftMs, [], own);
    leftMs -= tools.now() - startedMs;
    return response;
  };
  return commands.sendWith(names, send);
}

/** If the run ends first, rejects with a Failure that is marked as not sent. */
function orEnded<Result>(work: Promise<Result>, ended: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const end = () => reject(new Failure('network', 'the run has ended', { retryable: true, sent: false }));
    const waiting = sleepersOf(ended).add(end);
    work.then(resolve, reject).finally(() => waiting.delete(end));
    if (ended.aborted) end();
  });
}

interface Signing {
  /** Undefined if only the signers sign. */
  readonly fixed: Signature | undefined;
  /** They sign each request for itself. */
  readonly signers: readonly RequestSigner[];
  readonly parameters: Signature['parameters'];
}

/** Undefined if requests are not signed. */
function signingOf(request: SessionRequest, tokens: readonly string[], tools: ClientTools): Signing | undefined | Promise<Signing> {
  const { auth = [], origin, session } = request;
  if (auth.length === 0 && !session) return undefined;
  const isLasting = !session && tokens.length === 0;
  const known = isLasting ? tools.signings.get(auth) : undefined;
  if (known?.origin === origin) return known;
  const left = [...tokens];
  const keys = auth.filter((one) => !isSession(one));
  const fixed = keys.filter((one) => !signsRequests(one));
  const signs = fixed.map((one) => signature(one, hasToken(one) ? (left.shift() as string) : secretFor(one, origin, tools)));
  const all = session && auth.some(isSession) ? [session.signature(origin), ...signs] : signs;
  const sign = all.length > 0 ? combined(all) : undefined;
  const cookies = session?.signers ?? [];
  if (fixed.length === keys.length) {
    const signing = { fixed: sign, signers: cookies, parameters: sign?.parameters, origin };
    if (isLasting) tools.signings.set(auth, signing);
    return signing;
  }
  const { parameters } = shownSignature(auth);
  const signers = keys.filter(signsRequests).map((one) => signerOf(one, origin, tools));
  return Promise.all(signers).then((made) => ({ fixed: sign, signers: [...cookies, ...made], parameters }));
}

function signerOf(auth: Auth, origin: string, tools: ClientTools): Promise<RequestSigner> {
  return tools.signers.of(auth, { credential: auth.credential, text: secretFor(auth, origin, tools), origin });
}

/** The time to obtain the tokens does not count toward the request's timeout. */
async function sendWithTokens(request: HttpRequest, auths: readonly TokenAuth[], tools: ClientTools): Promise<HttpResponse> {
  // Refuses other secrets before a token is requested.
  for (const one of request.auth ?? []) if (!hasToken(one) && !isSession(one)) secretFor(one, request.origin, tools);
  let leftMs = request.timeoutMs;
  const sources = auths.map((auth) => tokenSource(auth, request.origin, sourceTools(tools)));
  return tools.tokens.sendWith<HttpResponse>(sources, async (tokens) => {
    const startedMs = tools.now();
    const response = await sendAndFollow(request, leftMs, tokens, tools);
    leftMs -= tools.now() - startedMs;
    const timed = auths.find(({ type }) => type === 'jwt');
    if (timed) refuseWrongClock(response, timed.credential, tools.wallNow());
    return response;
  });
}

function sourceTools(tools: ClientTools): SourceTools {
  const { transport, now, wallNow, secret, used, logins } = tools;
  return {
    ...{ now, wallNow, secret, used, logins, fetch: transport.fetchToEnd },
    withText: (credential) => withSecretFor({ credential }, undefined, tools),
    refuseHost: (credential, origin) =>
      refuseOtherHost(credential, tools.secrets.get(credential) ?? tools.commands?.commands.get(credential), origin),
    withSecret: (credential, origin) => withSecretFor({ credential }, origin, tools),
    loginText: (credential, origin) => secretFor({ credential }, origin, tools),
  };
}

/** Throws a Failure if the credential may not be sent to this origin. */
function secretFor({ credential }: Pick<Auth, 'credential'>, origin: string | undefined, { secrets }: HttpTools): string {
  const secret = secrets.get(credential);
  if (secret === undefined) throw new AutomateError('credential', `there is no credential "${credential}"`);
  if (origin !== undefined) refuseOtherHost(credential, secret, origin);
  return secret.text;
}

/** Throws a Failure immediately if the secret is already known but may not be sent to the origin. */
function withSecretFor({ credential }: Pick<Auth, 'credential'>, origin: string | undefined, tools: HttpTools): WithSecret {
  const { commands } = tools;
  if (!commands?.commands.has(credential)) {
    const text = secretFor({ credential }, origin, tools);
    return (use) => use(text);
  }
  return (use) =>
    commands.use(credential, (secret) => use(secretFor({ credential }, origin, { ...tools, secrets: new Map([[credential, secret]]) })));
}

/**
 * One deadline applies to the request and all its redirects. `tokens` are the access tokens of the types of authentication that have one, in
 * their order.
 */
async function sendAndFollow(request: HttpRequest, leftMs: number, tokens: readonly string[], tools: ClientTools): Promise<HttpResponse> {
  const deadlineMs = tools.now() + leftMs;
  const sign = await signingOf(request, tokens, tools);
  // During the `await`, the other records that continue in this turn of the event loop reserve their credits. A single write then covers
  // all of them, which saves 5 % of a run's CPU time.
  tools.flush?.();
  const save = request.save && (await tools.files.claim(request.save));
  try {
    const first = toWireRequest(request, deadlineMs, save && { ...save, takes: request.save.takes }, tools);
    const response = await sendOnce(first, sign, tools);
    if (isFollowed(response, request)) return await followRedirects(first, response, { request, sign, tools });
    if (sign || request.secretBody) reportUse(request, response, tools);
    return response;
  } finally {
    await save?.release();
  }
}

function sendOnce(request: WireRequest, sign: Signing | undefined, { transport }: HttpTools): Promise<HttpResponse> {
  if (!sign) return transport.send(request);
  const signed = sign.fixed ? withSignature(request, sign.fixed) : request;
  if (sign.signers.length === 0) return transport.send(signed);
  return sendSigned(signed, sign.signers, async (own, derived) => withoutEcho(await transport.send(own), derived));
}

interface Signed {
  readonly request: HttpRequest;
  readonly sign: Signing | undefined;
  readonly tools: HttpTools;
}

async function followRedirects(first: WireRequest, redirect: HttpResponse, { request, sign, tools }: Signed): Promise<HttpResponse> {
  const { followAny, redirectHosts: allowHosts = [] } = request;
  const rules = { followAny, allowHosts, allowHttp: tools.allowHttp, secretParameters: sign?.parameters };
  let current = first;
  let response = redirect;
  let isTrusted = true;
  for (let redirects = 0; ; redirects++) {
    const next = isFollowed(response, request) ? nextTarget(response, current, rules, first.allowHosts) : undefined;
    if (!next) {
      if (isTrusted) reportUse(request, response, tools);
      return redirects === 0 ? response : { ...response, redirectedTo: { origin: current.origin, path: current.path } };
    }
    if (redirects === maxRedirects) throw tooManyRedirects(response);
    const { waitedMs = 0 } = response;
    current = waitedMs > 0 ? { ...next, deadlineMs: next.deadlineMs + waitedMs } : next;
    // After a redirect to a different origin, requests no longer contain the credential. Otherwise a server could have the credential sent
    // to any origin.
    if (current.origin !== request.origin) isTrusted = false;
    response = await sendOnce(current, isTrusted ? sign : undefined, tools).catch(throwAsSent);
  }
}

/** Access tokens are not reported here, because `Tokens` reports them. */
function reportUse({ auth = [], secretBody }: HttpRequest, { status }: HttpResponse, tools: HttpTools): void {
  if (status < 200 || status > 299) return;
  for (const one of auth) if (!hasToken(one) && !isSession(one)) tools.used(one.credential);
  for (const name of secretBody?.credentials ?? []) tools.used(name);
}

function isFollowed({ status }: HttpResponse, { unfollowed }: HttpRequest): boolean {
  return redirectStatuses.includes(status) && !unfollowed?.includes(status);
}

/** Contains the URL exactly as sent. Parsing it could change the form of a secret in it, which would then not be masked. */
function tooManyRedirects({ status, header }: HttpResponse): Failure {
  return new Failure('http', `more than ${maxRedirects} redirects, the last to ${excerpt(header('location') ?? '')}`, { status });
}

function toWireRequest(request: SessionRequest, deadlineMs: number, save: WireRequest['save'], tools: HttpTools): WireRequest {
  const { method, origin, path, headers, encode, secretBody, timeoutMs, maxBodyBytes, clientCert, http2 } = request;
  const rendered = secretBody
    ? secretBody.render((name, kind) =>
        kind === 'session' ? (request.session?.value(origin, name) ?? '') : secretFor({ credential: name }, origin, tools),
      )
    : (request.form ?? request.body);
  const body = typeof rendered === 'object' ? tools.files.upload(rendered, request.form as object) : rendered;
  const allowHosts = request.hostFromData?.allowHosts;
  return { method, origin, path, headers, body, encode, save, deadlineMs, timeoutMs, maxBodyBytes, allowHosts, clientCert, http2 };
}
