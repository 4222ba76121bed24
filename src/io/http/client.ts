import { redirectStatuses } from '../../core/answer/link.ts';
import { excerpt } from '../../core/answer/response.ts';
import { type Auth, type Login, signature } from '../../core/auth/auth.ts';
import { combined, type Signature } from '../../core/auth/auth-type.ts';
import { AutomateError, Failure } from '../../core/failure.ts';
import type { Http, HttpRequest, HttpResponse } from '../../core/ports.ts';
import { withQuery } from '../../core/template/query.ts';
import { type LoginTools, loginTokens } from '../auth/login-tokens.ts';
import { type OAuth, Tokens, type WithSecret } from '../auth/oauth.ts';
import { sleepersOf } from '../clock/clock.ts';
import type { CommandSecrets } from '../credentials/command-secrets.ts';
import { hostRefusal, isAllowedHost, type Secret } from '../credentials/secret.ts';
import type { RunFiles } from '../transfers/run-files.ts';
import type { WireRequest } from './exchange.ts';
import { nextTarget } from './redirect.ts';
import type { Transport } from './transport.ts';

/** The ports and secrets that the HTTP port uses. */
export interface HttpTools {
  readonly transport: Transport;
  /** The flow's secrets by credential name, without those that commands give. */
  readonly secrets: ReadonlyMap<string, Secret>;
  /** The secrets that commands give; undefined if there is no command. */
  readonly commands?: CommandSecrets | undefined;
  readonly allowHttp: boolean;
  now(): number;
  /** The files that requests send and answers are saved to. */
  readonly files: RunFiles;
  /** Reports that a request signed with this credential has succeeded. */
  used(credential: string): void;
  /** Registers a new secret, such as an access token. It replaces the earlier secret in its slot. */
  secret(text: string, slot?: string): void;
  /** The logins of people; undefined if there are none. */
  readonly logins?: Pick<LoginTools, 'keeper' | 'wallNow' | 'ended' | 'loginPlace'> | undefined;
}

/** Auth with an access token. */
type TokenAuth = OAuth | Login;

const maxRedirects = 10;

/** The access tokens of a flow. The HTTP ports of several runs may share them. */
export function createTokens(tools: HttpTools): Tokens {
  return new Tokens({ ...tools, fetch: tools.transport.fetchToEnd });
}

/** Makes the HTTP port: it signs requests, follows their redirects, and answers any status. */
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

/** The credentials of a request whose secrets commands give, without the client secrets of its access tokens. */
function commandsOf({ auth = [], secretBody }: HttpRequest, { commands }: CommandSecrets): string[] {
  const keys = auth.flatMap((one) => (isOAuth(one) ? [] : one.credential));
  return [...keys, ...(secretBody?.credentials ?? [])].filter((name) => commands.has(name));
}

/** Sends with the present secrets of commands. The wait for them is not counted against the request's timeout. */
async function sendWithCommands(
  request: HttpRequest,
  names: readonly string[],
  tokens: Tokens,
  { ended, ...tools }: HttpTools & { readonly ended: AbortSignal },
): Promise<HttpResponse> {
  const commands = tools.commands as CommandSecrets;
  // The run may end while a command waits for a person.
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

/** The result of work that sends nothing, or a Failure once the run has ended. */
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

/** The signatures of a request that are made from a secret itself, not from an access token. */
function keySignatures({ auth = [], origin }: HttpRequest, tools: HttpTools): Signature[] {
  return auth.filter((one) => !isOAuth(one)).map((one) => signature(one, secretFor(one, origin, tools)));
}

/** The wait for a token is not counted against the request's timeout. */
function sendWithToken(request: HttpRequest, auth: TokenAuth, tokens: Tokens, tools: HttpTools): Promise<HttpResponse> {
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

/** The tokens of a login. Its refresh token only goes to the server that gave it, its access tokens to the hosts of its connection. */
function loginSource(auth: Login, { origin }: HttpRequest, tools: HttpTools) {
  const { logins, transport, secret } = tools;
  if (!logins) throw new AutomateError('credential', `there is no login "${auth.credential}"`);
  const { clientCredential: credential } = auth;
  const clientSecret = async (server: string) =>
    credential && withSecretFor({ credential }, server, tools)((secret) => Promise.resolve(secret));
  const use = { auth, text: secretFor(auth, origin, tools), clientSecret, origin };
  return loginTokens(use, { ...logins, fetch: transport.fetchToEnd, secret });
}

/** The secret of a credential, bound to its hosts. A flow and its records cannot remove that limit. */
function secretFor({ credential }: Pick<Auth, 'credential'>, origin: string, { secrets }: HttpTools): string {
  const secret = secrets.get(credential);
  if (secret === undefined) throw new AutomateError('credential', `there is no credential "${credential}"`);
  if (!isAllowedHost(origin, secret.hosts)) throw new Failure('request', hostRefusal(credential, secret, origin), { sent: false });
  return secret.text;
}

/** The use of a secret that is sent to an origin. A secret that is known is refused at once. */
function withSecretFor({ credential }: Pick<Auth, 'credential'>, origin: string, tools: HttpTools): WithSecret {
  const { commands } = tools;
  if (!commands?.commands.has(credential)) {
    const text = secretFor({ credential }, origin, tools);
    return (use) => use(text);
  }
  return (use) =>
    commands.use(credential, (secret) => use(secretFor({ credential }, origin, { ...tools, secrets: new Map([[credential, secret]]) })));
}

/** Sends a request and follows its redirects, all before one deadline. */
async function sendAndFollow(
  request: HttpRequest,
  deadlineMs: number,
  sign: Signature | undefined,
  tools: HttpTools,
): Promise<HttpResponse> {
  const save = request.save && (await tools.files.claim(request.save));
  try {
    const first = { ...toWireRequest(request, deadlineMs, tools), save: save && { ...save, takes: request.save.takes } };
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
    current = next;
    // After a redirect to another origin, no request is signed: that origin must not choose where the credential goes.
    if (current.origin !== request.origin) isTrusted = false;
    response = await tools.transport.send(isTrusted && sign ? withSignature(current, sign) : current).catch(throwAsSent);
  }
}

/** Access tokens report the use of their credential themselves. */
function reportUse({ auth = [], secretBody }: HttpRequest, { status }: HttpResponse, tools: HttpTools): void {
  if (status < 200 || status > 299) return;
  for (const one of auth) if (!isOAuth(one)) tools.used(one.credential);
  for (const name of secretBody?.credentials ?? []) tools.used(name);
}

function isFollowed({ status }: HttpResponse, { unfollowed }: HttpRequest): boolean {
  return redirectStatuses.includes(status) && !unfollowed?.includes(status);
}

/** Shows the address as the server sent it: after URL parsing, a secret in it could not be found and masked. */
function tooManyRedirects({ status, header }: HttpResponse): Failure {
  return new Failure('http', `more than ${maxRedirects} redirects, the last to ${excerpt(header('location') ?? '')}`, { status });
}

/** After a redirect something was sent in any case, even if the next request is refused. */
function throwAsSent(error: unknown): never {
  throw error instanceof Failure ? error.asSent() : error;
}

function toWireRequest(request: HttpRequest, deadlineMs: number, tools: HttpTools): WireRequest {
  const { method, origin, path, headers, secretBody, timeoutMs, maxBodyBytes, clientCert } = request;
  const rendered = secretBody
    ? secretBody.render((credential) => secretFor({ credential }, origin, tools))
    : (request.form ?? request.body);
  const body = typeof rendered === 'object' ? tools.files.upload(rendered, request.form as object) : rendered;
  const allowHosts = request.hostFromData?.allowHosts;
  return { method, origin, path, headers, body, deadlineMs, timeoutMs, maxBodyBytes, allowHosts, clientCert };
}

/** The credential's header replaces a header of the flow with the same name, ignoring case. */
function withSignature(request: WireRequest, { headers, query }: Signature): WireRequest {
  return { ...request, path: withQuery(request.path, query), headers: Object.assign({}, request.headers, headers) };
}
