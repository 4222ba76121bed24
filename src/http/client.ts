import { redirectStatuses } from '../core/answer/link.ts';
import { excerpt } from '../core/answer/response.ts';
import { type Auth, type Login, signature } from '../core/auth/auth.ts';
import { combined, type Signature } from '../core/auth/auth-type.ts';
import { AutomateError, Failure } from '../core/failure.ts';
import type { Http, HttpRequest, HttpResponse } from '../core/ports.ts';
import { withQuery } from '../core/template/url.ts';
import type { CommandSecrets } from '../credentials/command-secrets.ts';
import { hostRefusal, isAllowedHost, type Secret } from '../credentials/secret.ts';
import { sleepersOf } from '../files/clock.ts';
import { type LoginTools, loginTokens } from './auth/login-tokens.ts';
import { AccessTokens, type OAuth, type WithSecret } from './auth/oauth.ts';
import { nextTarget, type WireRequest } from './exchange.ts';
import type { RunFiles } from './transfers/run-files.ts';
import type { Transport } from './transport.ts';

export interface HttpTools {
  readonly transport: Transport;
  /** The flow's secrets, keyed by the names of their credentials. Secrets that are printed by commands are not included. */
  readonly secrets: ReadonlyMap<string, Secret>;
  /** Undefined if no credential of the flow has a command. */
  readonly commands?: CommandSecrets;
  readonly allowHttp: boolean;
  now(): number;
  /** The files that requests of this run upload, and the files that it saves. */
  readonly files: RunFiles;
  /** Called with the name of a credential after a request with its secret has succeeded. */
  used(credential: string): void;
  /** Masks a new secret in all output from now on. Replaces the secret that was masked earlier for the same `slot`. */
  secret(text: string, slot?: string): void;
  /** Undefined if there are no connections to which a person has logged in. */
  readonly logins?: Pick<LoginTools, 'keeper' | 'wallNow' | 'ended' | 'loginPlace'>;
}

type TokenAuth = OAuth | Login;

const maxRedirects = 10;

/** The HTTP clients of several runs may share the result. */
export function createTokens(tools: HttpTools): AccessTokens {
  return new AccessTokens({ ...tools, fetch: tools.transport.fetchToEnd });
}

/** Authenticates requests, follows redirects, and returns responses with any status. */
export function createHttp(tools: HttpTools, tokens = createTokens(tools)): Http {
  const { transport, now } = tools;
  const ending = new AbortController();
  return {
    abort() {
      ending.abort();
      transport.abort();
    },
    async send(request) {
      const { auth } = request;
      const oauth = auth?.find(isOAuth);
      const names = tools.commands ? commandsOf(request, tools.commands) : [];
      if (names.length > 0) return sendWithCommands(request, names, tokens, { ...tools, ended: ending.signal });
      if (oauth) return sendWithToken(request, oauth, tokens, tools);
      return sendAndFollow(request, now() + request.timeoutMs, auth && combined(keySignatures(request, tools)), tools);
    },
  };
}

/** Leaves out client secrets for access tokens, because they are sent only in requests for tokens. */
function commandsOf({ auth = [], secretBody }: HttpRequest, { commands }: CommandSecrets): string[] {
  const keys = auth.flatMap((one) => (isOAuth(one) ? [] : one.credential));
  return [...keys, ...(secretBody?.credentials ?? [])].filter((name) => commands.has(name));
}

/** The time that the commands take does not count toward the request's timeout. */
async function sendWithCommands(
  request: HttpRequest,
  names: readonly string[],
  tokens: AccessTokens,
  { ended, ...tools }: HttpTools & { readonly ended: AbortSignal },
): Promise<HttpResponse> {
  const commands = tools.commands as CommandSecrets;
  // Waits only until the run ends, because a command may wait for the user's input much longer.
  await orEnded(commands.find(names), ended);
  const oauth = request.auth?.find(isOAuth);
  let leftMs = request.timeoutMs;
  const send = async (given: ReadonlyMap<string, Secret>) => {
    const own = { ...tools, secrets: new Map([...tools.secrets, ...given]) };
    const rest = { ...request, timeoutMs: leftMs };
    if (oauth) return sendWithToken(rest, oauth, tokens, own);
    const startedMs = tools.now();
    const response = await sendAndFollow(rest, startedMs + leftMs, combined(keySignatures(request, own)), own);
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

function isOAuth(auth: Auth): auth is TokenAuth {
  return auth.type === 'oauth2_client_credentials' || auth.type === 'oauth2_authorization_code';
}

/** The headers and query parameters that authenticate the request, except access tokens. */
function keySignatures({ auth = [], origin }: HttpRequest, tools: HttpTools): Signature[] {
  return auth.filter((one) => !isOAuth(one)).map((one) => signature(one, secretFor(one, origin, tools)));
}

/** The time to obtain the token does not count toward the request's timeout. */
function sendWithToken(request: HttpRequest, auth: TokenAuth, tokens: AccessTokens, tools: HttpTools): Promise<HttpResponse> {
  const keys = keySignatures(request, tools);
  let leftMs = request.timeoutMs;
  const send = async (token: string) => {
    const startedMs = tools.now();
    const response = await sendAndFollow(request, startedMs + leftMs, combined([signature(auth, token), ...keys]), tools);
    leftMs -= tools.now() - startedMs;
    return response;
  };
  if (auth.type === 'oauth2_authorization_code') return tokens.sendWith(loginSource(auth, request, tools), send);
  return tokens.send(auth, withSecretFor(auth, new URL(auth.tokenUrl).origin, tools), send);
}

/** A refresh token is sent only to the server that issued it, an access token only to the hosts that the login's credential allows. */
function loginSource(auth: Login, { origin }: HttpRequest, tools: HttpTools) {
  const { logins, transport, secret } = tools;
  if (!logins) throw new AutomateError('credential', `there is no login "${auth.credential}"`);
  const { clientCredential: credential } = auth;
  const clientSecret = async (server: string) =>
    credential && withSecretFor({ credential }, server, tools)((secret) => Promise.resolve(secret));
  const use = { auth, text: secretFor(auth, origin, tools), clientSecret, origin };
  return loginTokens(use, { ...logins, fetch: transport.fetchToEnd, secret });
}

/** Throws a Failure if the credential may not be sent to this origin. Flows and records cannot change the allowed hosts. */
function secretFor({ credential }: Pick<Auth, 'credential'>, origin: string, { secrets }: HttpTools): string {
  const secret = secrets.get(credential);
  if (secret === undefined) throw new AutomateError('credential', `there is no credential "${credential}"`);
  if (!isAllowedHost(origin, secret.hosts)) throw new Failure('request', hostRefusal(credential, secret, origin), { sent: false });
  return secret.text;
}

/** Throws a Failure immediately if the secret is already known but may not be sent to the origin. */
function withSecretFor({ credential }: Pick<Auth, 'credential'>, origin: string, tools: HttpTools): WithSecret {
  const { commands } = tools;
  if (!commands?.commands.has(credential)) {
    const text = secretFor({ credential }, origin, tools);
    return (use) => use(text);
  }
  return (use) =>
    commands.use(credential, (secret) => use(secretFor({ credential }, origin, { ...tools, secrets: new Map([[credential, secret]]) })));
}

/** One deadline applies to the request and all its redirects. */
async function sendAndFollow(
  request: HttpRequest,
  deadlineMs: number,
  sign: Signature | undefined,
  tools: HttpTools,
): Promise<HttpResponse> {
  const save = request.save && (await tools.files.claim(request.save));
  try {
    const first = toWireRequest(request, deadlineMs, save && { ...save, takes: request.save.takes }, tools);
    const response = await tools.transport.send(sign ? withSignature(first, sign) : first);
    if (isFollowed(response, request)) return await followRedirects(first, response, { request, sign, tools });
    if (sign || request.secretBody) reportUse(request, response, tools);
    return response;
  } finally {
    await save?.release();
  }
}

interface Signed {
  readonly request: HttpRequest;
  readonly sign: Signature | undefined;
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
    response = await tools.transport.send(isTrusted && sign ? withSignature(current, sign) : current).catch(throwAsSent);
  }
}

/** Access tokens are not reported here, because `Tokens` reports them. */
function reportUse({ auth = [], secretBody }: HttpRequest, { status }: HttpResponse, tools: HttpTools): void {
  if (status < 200 || status > 299) return;
  for (const one of auth) if (!isOAuth(one)) tools.used(one.credential);
  for (const name of secretBody?.credentials ?? []) tools.used(name);
}

function isFollowed({ status }: HttpResponse, { unfollowed }: HttpRequest): boolean {
  return redirectStatuses.includes(status) && !unfollowed?.includes(status);
}

/** Contains the URL exactly as sent. Parsing it could change the form of a secret in it, which would then not be masked. */
function tooManyRedirects({ status, header }: HttpResponse): Failure {
  return new Failure('http', `more than ${maxRedirects} redirects, the last to ${excerpt(header('location') ?? '')}`, { status });
}

/** Even if the redirected request was not sent, the first request was. */
function throwAsSent(error: unknown): never {
  throw error instanceof Failure ? error.asSent() : error;
}

function toWireRequest(request: HttpRequest, deadlineMs: number, save: WireRequest['save'], tools: HttpTools): WireRequest {
  const { method, origin, path, headers, encode, secretBody, timeoutMs, maxBodyBytes, clientCert, http2 } = request;
  const rendered = secretBody
    ? secretBody.render((credential) => secretFor({ credential }, origin, tools))
    : (request.form ?? request.body);
  const body = typeof rendered === 'object' ? tools.files.upload(rendered, request.form as object) : rendered;
  const allowHosts = request.hostFromData?.allowHosts;
  return { method, origin, path, headers, body, encode, save, deadlineMs, timeoutMs, maxBodyBytes, allowHosts, clientCert, http2 };
}

/** The signature's header replaces a header of the same name from the flow. */
function withSignature(request: WireRequest, { headers, query }: Signature): WireRequest {
  return { ...request, path: withQuery(request.path, query), headers: Object.assign({}, request.headers, headers) };
}
