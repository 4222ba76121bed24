import { textStart } from '../../core/answer/charset.ts';
import { redirectStatuses } from '../../core/answer/link.ts';
import { answerMessage, cleaned, excerpt } from '../../core/answer/response.ts';
import { type Auth, neededCredentials, placedAuths } from '../../core/auth/auth.ts';
import { loginIn } from '../../core/auth/login-need.ts';
import { noClock } from '../../core/condition/evaluation.ts';
import type { HttpConnection } from '../../core/connection.ts';
import { Failure } from '../../core/failure.ts';
import type { BuildContext, CredentialNeed } from '../../core/node.ts';
import type { DayLimit, HttpRequest, HttpResponse } from '../../core/ports.ts';
import { connectionOf } from '../../nodes/call-policy.ts';
import { httpOptions } from '../../nodes/http/http-options.ts';
import { compileRequest } from '../../nodes/http/request-template.ts';
import type { LookupOptions } from './lookup.ts';

/** Minimum wait in ms before a retry, if a public server asks for a wait. */
const publicWaitMs = 30_000;

interface ServerParts {
  /** The origin of the built-in server. A connection replaces it. */
  readonly server: string;
  readonly options: Pick<LookupOptions, 'timeout' | 'connection'>;
  /** The way in which the node itself signs requests; undefined if only a connection can sign them. */
  readonly auth?: Auth;
  /** A hint that says where the secret for `auth` can be obtained; undefined if no hint is needed. */
  readonly hint?: string;
  readonly perDay?: DayLimit;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Payload {
  /** Path and query. */
  readonly path: string;
  readonly contentType: string;
  readonly body: string;
}

export interface ServerRequests {
  /** The credentials that sign the requests. They belong to the node if it has any, otherwise to the connection. */
  readonly credentials: readonly CredentialNeed[];
  readonly publicServer: string | undefined;
  get(path: string): HttpRequest;
  post(payload: Payload): HttpRequest;
}

/** Uses the connection's server, or else the built-in one. Redirects are returned as responses. */
export function serverRequests({ server, auth, hint, options, headers, perDay }: ServerParts, context: BuildContext): ServerRequests {
  const connection = connectionOf(options, context);
  const isBuiltIn = connection === undefined;
  const limit = isBuiltIn ? perDay : undefined;
  const written = httpOptions.parse({
    url: isBuiltIn ? `${server}/` : '/',
    headers: { Accept: 'application/json', ...headers },
    auth: auth ?? (isBuiltIn ? 'none' : undefined),
    success: ['2xx', ...redirectStatuses],
    timeout: options.timeout,
  });
  const request = compileRequest(written, connection, {
    ...context,
    problem: (_at, message) => context.problem([isBuiltIn ? 'provider' : 'connection'], message),
  });
  const none = new Map();
  const get = (path: string): HttpRequest => {
    const base = request.render(none, noClock);
    return { ...base, path: base.path.slice(0, -1) + path, perDay: limit };
  };
  return {
    credentials: credentialNeeds(auth, hint, connection, request.origin),
    publicServer: limit?.server,
    get,
    post({ path, contentType, body }) {
      const { headers, ...base } = get(path);
      return { ...base, method: 'POST', headers: { ...headers, Accept: '*/*', 'Content-Type': contentType }, body };
    },
  };
}

/** Encodes a query. Commas and colons are not percent-encoded. */
export function queryText(query: Readonly<Record<string, string>>): string {
  const encoded = (text: string) => encodeURIComponent(text.toWellFormed()).replace(/%(?:3A|2C)/g, decodeURIComponent);
  return Object.entries(query)
    .map(([name, value]) => `${name}=${encoded(value)}`)
    .join('&');
}

/** Throws a Failure for a redirect or any other unsuccessful status. */
export function refuseUnsuccessful(response: HttpResponse, publicServer?: string): void {
  const { status, header } = response;
  if (redirectStatuses.includes(status)) {
    throw new Failure('http', `the server redirects to ${excerpt(header('location') ?? '')}`, { status });
  }
  if (status !== 200) throw refusedWith(response, publicServer);
}

function credentialNeeds(
  auth: Auth | undefined,
  hint: string | undefined,
  connection: HttpConnection | undefined | null,
  origin: string | undefined,
): CredentialNeed[] {
  const signing = auth ? [auth] : placedAuths(connection?.auth).map((placed) => placed.auth);
  const at = [auth ? 'credential' : 'connection'];
  return signing
    .flatMap((one) => neededCredentials(one, origin))
    .map(({ name: field, ...need }) => ({ field, ...need, at, ...loginIn(need, connection), ...(auth && hint !== undefined && { hint }) }));
}

function refusedWith(response: HttpResponse, publicServer: string | undefined): Failure {
  const { status, retryAfterMs } = response;
  const page = pageText(response);
  const message = page === undefined ? answerMessage(response) : `the server answered ${status}: ${page}`;
  const waitMs = publicServer === undefined || retryAfterMs === undefined ? retryAfterMs : Math.max(retryAfterMs, publicWaitMs);
  return new Failure('http', message, { status, retryable: true, retryAfterMs: waitMs });
}

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', amp: '&', '#39': "'" };

/** Returns the text of an HTML page without its tags; undefined for any other body, and for a page without text. */
function pageText(response: HttpResponse): string | undefined {
  const page = textStart(response, 20_000).replace(/<(style|script)\b[\s\S]*?<\/\1>/gi, ' ');
  if (!/^\s*</.test(page)) return undefined;
  // The title mostly repeats the text, so it is used only if the page contains no other text.
  return withoutTags(page.replace(/<head\b[\s\S]*?<\/head>/gi, ' ')) || withoutTags(page) || undefined;
}

function withoutTags(html: string): string {
  const text = html.replace(/<[^<>]*>/g, ' ').replace(/&(lt|gt|quot|amp|#39);/g, (_, name: string) => entities[name] as string);
  return excerpt(cleaned(text).replace(/\s+/g, ' ').trim(), 300);
}

/** A flow cannot weaken the limits: at most one request per second, a cache of at least 30 days, and in `askServer` one at a time. */
export function publicLimits({ rate = 0, cache = 0 }: Pick<LookupOptions, 'rate' | 'cache'>) {
  return { rate: Math.max(rate, 1000), cache: Math.max(cache, 30 * 86_400_000) };
}
