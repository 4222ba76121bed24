import type { Documents } from '../../core/answer/document.ts';
import { linkTarget, redirectStatuses } from '../../core/answer/link.ts';
import { rootValue } from '../../core/answer/mapping.ts';
import { type Path, pathTo } from '../../core/answer/path.ts';
import { documentKind, excerpt, readBody, readDocument } from '../../core/answer/response.ts';
import { authKey, type SessionAuth } from '../../core/auth/auth.ts';
import type { Signature } from '../../core/auth/auth-type.ts';
import { type SentValue, sentText, sessionSignature } from '../../core/auth/session.ts';
import { type LoginPlan, planSession, type SessionPlan, type Taken } from '../../core/auth/session-plan.ts';
import type { AnswerCondition } from '../../core/condition/condition.ts';
import { CredentialRefused, Failure, LimitReached } from '../../core/failure.ts';
import type { ReportProblem } from '../../core/node.ts';
import type { HttpRequest, HttpResponse } from '../../core/ports.ts';
import { isObject, jsonOf, objectOf, orUndefined, textOf, type Value } from '../../core/value/value.ts';
import { abortIfLong } from '../../files/time-limit.ts';
import { throwAsSent } from '../error.ts';
import { withoutBody } from '../exchange.ts';
import { Cookies } from './cookies.ts';
import { usableMs } from './oauth.ts';
import { type RequestSigner, refusedCredential } from './request-signers.ts';

export interface SessionTools {
  readonly documents?: Documents;
  readonly allowHttp: boolean;
  now(): number;
  wallNow(): number;
  /** Masks a text in all output from now on. */
  secret(text: string, slot?: string): void;
  /** Sends the request of a login, with the cookies and values that it has got so far. */
  send(request: HttpRequest, login: LoggedIn): Promise<HttpResponse>;
}

const loginTimeoutMs = 30_000;
const maxLoginBytes = 1_000_000;
const maxRedirects = 10;
/** Without a success between them, so many renewals in a row end the run. */
const maxRenewals = 3;

/** For a refused login, which is not repeated before. */
const refusalMs = 60_000;

/** The sessions of a process. All nodes, records and calls with the same settings share one. */
export class LoginSessions {
  readonly #sessions = new Map<string, OpenSession>();

  /** If the answer says that the session has ended, calls `send` once more after a new login. */
  sendWith(auth: SessionAuth, request: HttpRequest, tools: SessionTools, send: SendInSession): Promise<HttpResponse> {
    const { origin, clientCert, http2 } = request;
    const key = `${origin} ${authKey(auth)}`;
    const session = this.#sessions.get(key) ?? new OpenSession(auth, { origin, clientCert, http2 }, tools);
    this.#sessions.set(key, session);
    return session.sendWith(send, tools);
  }
}

type SendInSession = (session: LoggedIn) => Promise<HttpResponse>;

/** The result of the logins. A renewal makes another, so that requests in flight keep theirs. */
export class LoggedIn {
  readonly cookies: Cookies | undefined;
  readonly #auth: SessionAuth;
  readonly #values = new Map<string, string>();
  readonly #cookieNames = new Map<string, string>();
  expiresMs = Number.POSITIVE_INFINITY;

  constructor(auth: SessionAuth, { secret }: Pick<SessionTools, 'secret'>, slot: string) {
    this.#auth = auth;
    this.cookies = auth.cookies ? new Cookies(secret, slot) : undefined;
  }

  get signers(): readonly RequestSigner[] {
    return this.cookies ? [this.cookies] : [];
  }

  take(name: string, value: string | { readonly cookie: string }): void {
    if (typeof value === 'string') this.#values.set(name, value);
    else this.#cookieNames.set(name, value.cookie);
  }

  value(origin: string, name: string): string {
    const cookie = this.#cookieNames.get(name);
    return (cookie === undefined ? this.#values.get(name) : this.cookies?.value(origin, cookie)) ?? '';
  }

  /** The headers and parameters that go with a request, besides the cookies. */
  signature(origin: string): Signature {
    return sessionSignature(this.#auth, (name) => this.value(origin, name));
  }
}

type LoginSample = Pick<HttpRequest, 'origin' | 'clientCert' | 'http2'>;

class OpenSession {
  readonly #auth: SessionAuth;
  readonly #sample: LoginSample;
  readonly #plan: SessionPlan;
  /** Those of the last request, because an earlier run may have ended. */
  #tools: SessionTools;
  #login: Promise<LoggedIn> | undefined;
  /** The session in use; undefined while a login is under way. */
  #loggedIn: LoggedIn | undefined;
  #refusedUntilMs: number | undefined;
  #renewals = 0;

  constructor(auth: SessionAuth, sample: LoginSample, tools: SessionTools) {
    this.#auth = auth;
    this.#sample = sample;
    this.#tools = tools;
    this.#plan = planOf(auth, tools);
  }

  async sendWith(send: SendInSession, tools: SessionTools): Promise<HttpResponse> {
    this.#tools = tools;
    const used = await this.#session();
    const first = await send(used);
    if (!(await this.#hasEnded(first))) return this.#success(first);
    const second = await this.#renew(used).then(send).catch(throwAsSent);
    if (!(await this.#hasEnded(second))) return this.#success(second);
    if (this.#renewals < maxRenewals) return second;
    const after = `after ${maxRenewals} logins in a row, the server still refuses it (${second.status})`;
    throw this.#refusal(`the session at ${this.#sample.origin} ends at once: ${after}`);
  }

  #success(answer: HttpResponse): HttpResponse {
    this.#renewals = 0;
    return answer;
  }

  async #session(): Promise<LoggedIn> {
    const now = this.#tools.now();
    if ((this.#loggedIn?.expiresMs ?? Number.POSITIVE_INFINITY) <= now || (this.#refusedUntilMs ?? now) < now) this.#forget();
    try {
      return await (this.#login ?? this.#startLogin());
    } catch (error) {
      // Copies the failure for each waiting record, because each record adds its node and its number of attempts to the failure.
      throw error instanceof Failure ? error.withMessage(error.message) : error;
    }
  }

  /** All requests that were refused in the same session share one login. */
  #renew(used: LoggedIn): Promise<LoggedIn> {
    if (this.#loggedIn === used) {
      this.#renewals++;
      this.#forget();
    }
    return this.#session();
  }

  #forget(): void {
    this.#login = undefined;
    this.#loggedIn = undefined;
    this.#refusedUntilMs = undefined;
  }

  #startLogin(): Promise<LoggedIn> {
    const login = this.#logIn();
    this.#login = login;
    login.then(
      (session) => {
        this.#loggedIn = session;
      },
      (error) => {
        if (error instanceof LimitReached) this.#refusedUntilMs = this.#tools.now() + refusalMs;
        else this.#login = undefined;
      },
    );
    return login;
  }

  async #logIn(): Promise<LoggedIn> {
    const slot = `session ${authKey(this.#auth)}`;
    const session = new LoggedIn(this.#auth, this.#tools, slot);
    let lifetimeMs = typeof this.#auth.lasts === 'number' ? this.#auth.lasts : undefined;
    const answers: LoginAnswer[] = [];
    for (const [index, login] of this.#plan.logins.entries()) {
      const answer = await this.#sendLogin(login, index, session);
      answers.push(answer);
      for (const taken of login.take) this.#take(taken, { answer, session, slot, origin: login.origin, where: this.#where(login, index) });
      lifetimeMs = this.#lifetimeIn(answer) ?? lifetimeMs;
    }
    if (this.#plan.lasts && lifetimeMs === undefined) {
      const found = foundIn(answers, this.#plan.lasts, 'lasts');
      throw new CredentialRefused(`no answer to the login has a number of seconds at "${this.#auth.lasts}" (lasts)\n${found}`, false);
    }
    if (lifetimeMs !== undefined) session.expiresMs = this.#tools.now() + Math.max(lifetimeMs, 1000);
    return session;
  }

  #where({ method, origin, path }: LoginPlan, index: number): string {
    const of = this.#plan.logins.length === 1 ? '' : ` (request ${index + 1} of ${this.#plan.logins.length})`;
    return `the login ${method} ${origin}${path.replace(/\?.*/s, '')}${of}`;
  }

  async #sendLogin(login: LoginPlan, index: number, session: LoggedIn): Promise<LoginAnswer> {
    let request = this.#requestOf(login, session);
    for (let redirects = 0; ; redirects++) {
      const response = await this.#tools.send(request, session).catch((error) => this.#throwUnsent(error, this.#where(login, index)));
      const answer = await answerOf(response, this.#tools);
      const { status, retryAfterMs } = response;
      if (status === 429 || status >= 500) {
        const message = `${this.#where(login, index)}: the server answered ${status}${saidIn(answer)}`;
        throw new Failure('http', message, { status, retryable: true, retryAfterMs, sent: false });
      }
      const next = redirects < maxRedirects && !this.#isFinal(login, answer) ? redirected(request, response) : undefined;
      if (!next) {
        this.#check(login, index, answer, redirects > 0);
        return answer;
      }
      request = next;
    }
  }

  /** The record's own request was not sent, so it costs no credit. An answer that cannot be read is no better the next time. */
  #throwUnsent(error: unknown, where: string): never {
    if (!(error instanceof Failure)) throw error;
    const { kind, message, status, retryable, retryAfterMs, code, details } = error;
    if (kind === 'parse') throw this.#refusal(`${where} has an answer that cannot be read: ${message}`);
    const facts = { status, retryable, retryAfterMs, sent: false, code, details };
    throw new Failure(kind, `${where}: ${message}`, facts as ConstructorParameters<typeof Failure>[2]);
  }

  #requestOf(login: LoginPlan, session: LoggedIn): HttpRequest {
    const { method, origin, path, body, secretBody, auth } = login;
    const sample = this.#sample;
    const textOf = (value: SentValue) => sentText(value, ({ name }) => session.value(origin, name));
    const headers = Object.fromEntries(Object.entries(login.headers).map(([name, value]) => [name, textOf(value)]));
    return {
      ...{ method, origin, path, headers, body, secretBody, auth: auth.length === 0 ? undefined : auth },
      ...(origin === sample.origin && { clientCert: sample.clientCert, http2: sample.http2 }),
      timeoutMs: loginTimeoutMs,
      maxBodyBytes: maxLoginBytes,
      followAny: false,
      unfollowed: redirectStatuses,
    };
  }

  /** A redirect is the answer to a login if `expect` and `take` are about it, and not about the page to which it leads. */
  #isFinal({ expect, take }: LoginPlan, answer: LoginAnswer): boolean {
    if (!redirectStatuses.includes(answer.status)) return true;
    const inHead = take.filter(({ from }) => 'paths' in from && from.paths.some(({ root }) => root !== 'body'));
    const isTaken = inHead.length > 0 && inHead.every(({ from }) => 'paths' in from && firstValue(from.paths, answer) !== undefined);
    if (!expect) return isTaken;
    return !expect.named.includes('body') && isTrue(expect, answer, this.#tools);
  }

  #check(login: LoginPlan, index: number, answer: LoginAnswer, isRedirected: boolean): void {
    const { status } = answer;
    const refused = (reason: string) => this.#refusal(`${this.#where(login, index)} was refused: ${reason}${saidIn(answer)}`);
    if (login.expect) {
      if (isTrue(login.expect, answer, this.#tools)) return;
      throw refused(`the server answered ${status}, and expect is false: ${login.expect.source}`);
    }
    // The page after a login can be missing although the login has succeeded.
    const isRefusal = isRedirected ? status === 401 || status === 403 : status < 200 || status > 299;
    if (!isRefusal) return;
    const location = answer.header('location');
    const advice = `, with a redirect that is not followed\nif that is what it answers to a good login, write: expect: status == ${status}`;
    throw refused(`the server answered ${status}${location === undefined ? '' : advice}`);
  }

  #take({ name, from }: Taken, { answer, session, slot, origin, where }: Taking): void {
    const found = `${where}: the server answered ${answer.status}`;
    if ('cookie' in from) {
      session.take(name, from);
      if (session.cookies?.take(origin, from.cookie) !== undefined) return;
      const cookies = session.cookies?.names(origin) ?? [];
      const missing = `${found}, and set no cookie "${from.cookie}" (take.${name})`;
      throw this.#nothingTaken(answer, missing, correction(`take.${name}`, 'cookies', cookies));
    }
    const value = firstValue(from.paths, answer) ?? '';
    const path = `"${from.paths.at(-1)?.text}"`;
    const advice = foundIn([answer], from.paths, `take.${name}`);
    if (isObject(value) || Array.isArray(value)) {
      const kind = Array.isArray(value) ? 'a list' : 'an object';
      throw this.#nothingTaken(answer, `${found}, and ${path} is ${kind}, not a text (take.${name})`, advice);
    }
    const text = textOf(value);
    if (text === '') throw this.#nothingTaken(answer, `${found}, and the answer has no ${path} (take.${name})`, advice);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: a header cannot contain them
    if (/[\x00-\x1f\x7f]/.test(text)) throw this.#refusal(`${where}: the value of take.${name} has a control character`);
    this.#tools.secret(text, `${slot} ${name}`);
    session.take(name, text);
  }

  /** A new credential is only advised if the answer reports an error: otherwise the path can be wrong, and the login a good one. */
  #nothingTaken({ body }: LoginAnswer, message: string, advice: string): LimitReached {
    const error = errorIn(body);
    if (error === '') return new CredentialRefused(`${message}\n${advice}`, false);
    return this.#refusal(`${message}${error}\nif the login was good, ${advice}`);
  }

  #lifetimeIn(answer: LoginAnswer): number | undefined {
    const seconds = Number(textOf(firstValue(this.#plan.lasts ?? [], answer) ?? ''));
    return seconds > 0 ? usableMs(seconds * 1000) : undefined;
  }

  #hasEnded(response: HttpResponse): Promise<boolean> {
    return hasEnded(this.#auth, this.#plan, response, this.#tools);
  }

  #refusal(message: string): LimitReached {
    const { credential } = this.#auth;
    return credential === '' ? new CredentialRefused(message, false) : refusedCredential(credential, message, false);
  }
}

/** Throws a Failure if the options of the session cannot be used. */
export function planOf(auth: SessionAuth, { allowHttp }: Pick<SessionTools, 'allowHttp'>): SessionPlan {
  const problem: ReportProblem = (_at, message) => {
    throw new Failure('request', typeof message === 'string' ? message : message.message, { sent: false });
  };
  return planSession(auth, { allowHttp, problem });
}

type ReadingTools = Pick<SessionTools, 'documents' | 'wallNow'>;

/** True if the answer says that the session has ended. */
export async function hasEnded(
  { renewOn }: SessionAuth,
  { renewWhen }: SessionPlan,
  response: HttpResponse,
  tools: ReadingTools,
): Promise<boolean> {
  if (renewOn.includes(response.status)) return true;
  return renewWhen !== undefined && isTrue(renewWhen, await answerOf(response, tools), tools);
}

/** A condition that cannot be evaluated, for example because the body has no such member, is false. */
function isTrue(condition: AnswerCondition, answer: LoginAnswer, { wallNow }: ReadingTools): boolean {
  const all: Readonly<Record<string, () => Value>> = {
    status: () => answer.status,
    headers: () => objectOf(Object.keys(answer.headers).map((name) => [name.toLowerCase(), answer.header(name.toLowerCase()) ?? ''])),
    body: () => answer.body ?? null,
  };
  const fields = new Map(condition.named.map((name) => [name, all[name]?.() ?? null] as const));
  try {
    return condition.evaluate(fields, { wallNow: () => wallNow(), abortIfLong });
  } catch (error) {
    if (error instanceof Failure) return false;
    throw error;
  }
}

async function answerOf(response: HttpResponse, { documents }: ReadingTools): Promise<LoginAnswer> {
  const kind = documents && documentKind(response, 'auto');
  const document = kind && documents ? await readDocument(response, kind, documents) : undefined;
  const read = { ...response, document: document ?? response.document };
  const { status, header, headers } = response;
  try {
    return { status, header, headers, body: readBody(read, 'auto', false) };
  } catch (error) {
    if (error instanceof Failure) return { status, header, headers, body: undefined };
    throw error;
  }
}

interface LoginAnswer extends Pick<HttpResponse, 'status' | 'header' | 'headers'> {
  /** Undefined if the answer has no body, or one that cannot be read. */
  readonly body: Value | undefined;
}

interface Taking {
  readonly answer: LoginAnswer;
  readonly session: LoggedIn;
  readonly slot: string;
  readonly origin: string;
  readonly where: string;
}

function firstValue(paths: readonly Path[], answer: LoginAnswer): Value | undefined {
  for (const path of paths) {
    const value = rootValue(path, answer, answer.body);
    if (value !== undefined && value !== null) return value;
  }
  return undefined;
}

/** The redirect to the same origin; undefined for any other answer. */
function redirected(request: HttpRequest, { status, header }: HttpResponse): HttpRequest | undefined {
  const location = header('location');
  if (!redirectStatuses.includes(status) || location === undefined) return undefined;
  const rules = { followAny: false, allowHttp: true, secretParameters: undefined, allowHosts: [] };
  const target = orUndefined(() => linkTarget(location, request, rules));
  if (!target) return undefined;
  if (status === 307 || status === 308) return { ...request, path: target.path };
  return withoutBody({ ...request, method: 'GET', path: target.path, secretBody: undefined });
}

/** The words of the server, without what might be a token: a login's answer can contain one that is not known yet. */
function saidIn({ body }: Pick<LoginAnswer, 'body'>): string {
  if (body === undefined) return '';
  return `: ${withoutTokens(excerpt(typeof body === 'string' ? body : jsonOf(body), 300))}`;
}

function withoutTokens(text: string): string {
  return text.replace(/(?=[\w+/=.~-]{8})[\w+/=.~-]*(?:\d[\w+/=.~-]*){4}|[\w+/=.~-]{25,}/g, '***');
}

/** The error that an answer reports. Its other members are left out, because a short token cannot be told from a word. */
function errorIn(body: Value | undefined): string {
  if (typeof body === 'string') return /\s/.test(body.trim()) ? saidIn({ body }) : '';
  if (!isObject(body)) return '';
  const members = Object.entries(body).filter(([name, value]) =>
    value === false ? /^(?:ok|success)$/i.test(name) : value && /error|fault|fail|message|msg|detail|reason/i.test(name),
  );
  return members.length === 0 ? '' : saidIn({ body: objectOf(members) });
}

const maxNames = 20;

/** The names of what the answers have in the place of the paths, never with values: they can be tokens. */
function foundIn(answers: readonly LoginAnswer[], paths: readonly Path[], option: string): string {
  if (paths.at(-1)?.root === 'headers')
    return correction(
      option,
      'headers',
      answers.flatMap(({ headers }) => Object.keys(headers)),
    );
  return correction(
    option,
    'fields',
    answers.flatMap(({ body }) => (body === undefined ? [] : leavesOf(body, ''))),
  );
}

function correction(option: string, kind: string, names: readonly string[]): string {
  const different = [...new Set(names)].filter((name) => name !== '');
  const more = different.length > maxNames ? `, and ${different.length - maxNames} more` : '';
  const list = different.length === 0 ? `no ${kind}` : `the ${kind} ${different.slice(0, maxNames).join(', ')}${more}`;
  return `correct ${option}: the answer has ${list}`;
}

/** The paths of all values. Elements of a list share the path of the first one. */
function leavesOf(value: Value, path: string): string[] {
  if (Array.isArray(value)) return value.length === 0 ? [path] : leavesOf(value[0] as Value, pathTo(path, 0));
  if (!isObject(value)) return [path];
  return Object.entries(value).flatMap(([name, member]) => leavesOf(member, pathTo(path, withoutTokens(excerpt(name, 60)))));
}
