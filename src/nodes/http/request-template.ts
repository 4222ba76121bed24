import { documentKinds } from '../../core/answer/document.ts';
import { redirectStatuses } from '../../core/answer/link.ts';
import type { ResponseMode } from '../../core/answer/response.ts';
import { type Auth, authProblem, boundAuth, placedAuths, sessionIn } from '../../core/auth/auth.ts';
import type { AuthUse } from '../../core/auth/auth-type.ts';
import { isSession } from '../../core/auth/session.ts';
import { planSession } from '../../core/auth/session-plan.ts';
import { hasStatus } from '../../core/call.ts';
import type { EvaluationClock } from '../../core/condition/evaluation.ts';
import type { HttpConnection } from '../../core/connection.ts';
import type { BuildContext, FieldUse } from '../../core/node.ts';
import type { HttpRequest } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import { contentTypes, payloadOf } from '../../core/template/body.ts';
import { sendsFiles } from '../../core/template/multipart.ts';
import { headerTemplate, referencedFields, type TextTemplate, templateParts } from '../../core/template/template.ts';
import { answeredTemplate, type UrlTemplate, urlTemplate } from '../../core/template/url.ts';
import { isObject, type Value, type ValuePath } from '../../core/value/value.ts';
import { tryOption } from '../call-policy.ts';
import { answerModeOf, type HttpOptions } from './http-options.ts';
import { compileBody, type Header } from './request-body.ts';

export interface RequestTemplate {
  /** The origin of the request; undefined if the record determines it. */
  readonly origin: string | undefined;
  readonly reads: readonly FieldUse[];
  readonly named: readonly string[];
  /** `inBody` are the fields for the body, if they differ. Throws a Failure if the request cannot be rendered. */
  readonly usesNow: boolean;
  render(fields: Fields, clock: EvaluationClock, inBody?: Fields): HttpRequest;
}

/** A template with a reported problem must not be rendered. If the flow lacks the connection (null), relative URLs cannot be checked. */
export function compileRequest(
  options: HttpOptions,
  connection: HttpConnection | undefined | null,
  context: BuildContext,
): RequestTemplate {
  const allowHttp = context.allowHttp || (connection?.allowHttp ?? false);
  const templateOf = isAnswered(options.url, connection, context) ? answeredTemplate : urlTemplate;
  const url = tryOption(context, ['url'], () =>
    connection === null ? undefined : templateOf(options.url, { baseUrl: connection?.baseUrl, allowHttp }),
  );
  for (const origin of [url?.origin, connection?.origin]) if (origin !== undefined) context.literalOrigins.add(origin);
  const written = headersOf(options, connection);
  const own = signersOf(options, { allowHttp, base: connection?.baseUrl ?? url?.origin, origin: url?.origin }, context);
  const signers = options.auth === undefined ? connection?.auth : own;
  const body = compileBody(options, { type: literalType(written), session: sessionIn(signers) }, context);
  const headers = written.map(({ name, text, at }) => ({ name, render: tryOption(context, at, () => headerTemplate(name, text)) }));
  const areConstant = written.every(({ text }) => referencedFields(text).length === 0);
  let constantHeaders: Record<string, string> | undefined;
  const { allowHosts, literalOrigins } = context;
  const hostFromData = { allowHosts };
  const { followAny, redirectHosts, unfollowed } = redirectsOf(options, allowHosts);
  const { method, timeout: timeoutMs, max_body: maxBodyBytes, http2 = connection?.http2 } = options;
  if (signers || connection?.clientCert || body.named.length > 0) checkHost(written, context);
  return { ...body, origin: url?.origin, render };

  /** An object literal takes much less memory than an object that is assembled by spreading. There is one request for every record. */
  function render(fields: Fields, clock: EvaluationClock, inBody = fields): HttpRequest {
    const { origin, path, fromData } = (url as UrlTemplate).render(fields);
    const isNamed = literalOrigins.has(origin);
    return {
      method,
      origin,
      path,
      headers: renderHeaders(fields),
      body: body.render?.(inBody, clock),
      encode: body.encode,
      form: body.parts?.(inBody, clock),
      secretBody: body.secrets?.(inBody, clock, { origin, isNamed }),
      auth: isNamed ? signers : undefined,
      clientCert: origin === connection?.origin ? connection.clientCert : undefined,
      http2,
      timeoutMs,
      maxBodyBytes,
      followAny,
      redirectHosts,
      unfollowed,
      hostFromData: fromData ? hostFromData : undefined,
    };
  }

  /** Renders the headers. Headers without references are rendered only once, and all requests share them. */
  function renderHeaders(fields: Fields): Record<string, string> {
    if (constantHeaders) return constantHeaders;
    const rendered: Record<string, string> = {};
    for (const { name, render } of headers) rendered[name] = (render as TextTemplate)(fields);
    if (areConstant) constantHeaders = rendered;
    return rendered;
  }
}

function redirectsOf({ follow, success }: HttpOptions, allowHosts: readonly string[]) {
  const followAny = follow === 'any';
  const wanted = redirectStatuses.filter((status) => hasStatus(success, status));
  return {
    followAny,
    redirectHosts: followAny && allowHosts.length > 0 ? allowHosts : undefined,
    unfollowed: wanted.length > 0 ? wanted : undefined,
  };
}

/** Behind a gateway, Host decides which server gets the request, and with it the credential. */
function checkHost(headers: readonly Header[], { problem }: BuildContext): void {
  const host = headers.find(({ name }) => name.toLowerCase() === 'host');
  const [field] = host ? referencedFields(host.text) : [];
  if (host && field !== undefined)
    problem(
      host.at,
      `expected a Host header without {{${field}}}: the request sends a credential, which a record could lead to another server`,
    );
}

/** True if the URL is nothing but a field that the answers of this connection's server have filled. */
function isAnswered(url: string, connection: HttpConnection | undefined | null, { answersOf }: BuildContext): boolean {
  const [part, ...others] = templateParts(url);
  return connection?.name !== undefined && typeof part === 'object' && others.length === 0 && answersOf(part.field) === connection.name;
}

/** Undefined without `auth`. Reports mistakes that the schema of the options cannot detect. */
function signersOf(
  { auth: written }: HttpOptions,
  { base, ...use }: AuthUse & { readonly base: string | undefined },
  context: BuildContext,
): readonly Auth[] | undefined {
  const own = placedAuths(written).map(({ auth, at }) => ({ auth: boundAuth(auth, base), at }));
  for (const { auth, at } of own) {
    if (isSession(auth))
      planSession(auth, {
        allowHttp: use.allowHttp,
        problem: (place, message, offset) => context.problem(['auth', ...at, ...place], message, offset),
      });
    const wrong = authProblem(auth, use);
    if (wrong) context.problem(['auth', ...at, wrong.option], wrong.message);
  }
  return own.length === 0 ? undefined : own.map(({ auth }) => auth);
}

const keyHeader = 'Idempotency-Key';

/** The idempotency key includes the page number, because it must differ from the key of the first request. */
export function withPageKey(request: HttpRequest, page: number): HttpRequest {
  const key = request.headers[keyHeader];
  return key === undefined ? request : { ...request, headers: { ...request.headers, [keyHeader]: `${key}-page-${page}` } };
}

/** The media types that a node with a map requests in the Accept header. */
function acceptedIn(mode: ResponseMode): string | undefined {
  if (mode === 'text' || mode === 'rows') return undefined;
  return mode === 'auto' || mode === 'json' ? 'application/json' : documentKinds[mode].accept;
}

/** The node's headers win over the connection's, ignoring case. By default, Content-Type fits the body, and a map adds Accept. */
function headersOf(options: HttpOptions, connection: HttpConnection | undefined | null): Header[] {
  const headers = new Map<string, Header>();
  const add = (name: string, text: string, at: readonly string[]) => headers.set(name.toLowerCase(), { name, text, at });
  const wanted = acceptedIn(answerModeOf(options));
  if (options.map && wanted !== undefined) add('Accept', `${wanted}, */*;q=0.5`, ['map']);
  const payload = payloadOf(options);
  if (payload && !sendsFiles(options.form as Record<string, Value>)) add('Content-Type', contentTypes[payload.name], [payload.name]);
  if (typeof options.idempotency_key === 'string') add(keyHeader, options.idempotency_key, ['idempotency_key']);
  for (const [name, text] of Object.entries(connection?.headers ?? {})) add(name, text, ['connection']);
  for (const [name, text] of Object.entries(options.headers ?? {})) add(name, text, ['headers', name]);
  return [...headers.values()];
}

/** Returns the Content-Type among the headers; undefined if it depends on the record, or if there is none. */
function literalType(headers: readonly Header[]): Header | undefined {
  const type = headers.find(({ name }) => /^content-type$/i.test(name));
  return type === undefined || referencedFields(type.text).length > 0 ? undefined : type;
}

export function fieldsIn(options: HttpOptions, connection: HttpConnection | undefined | null): FieldUse[] {
  const payload = payloadOf(options);
  return [
    ...usesWithin(options.url, ['url']),
    ...headersOf(options, connection).flatMap(({ text, at }) => usesWithin(text, at)),
    ...usesWithin(payload?.value, [payload?.name ?? '']),
    ...usesWithin(options.save?.to, ['save', 'to']),
  ];
}

/** Returns the fields that the strings and member names in a value refer to. */
export function usesWithin(value: Value | undefined, at: ValuePath): FieldUse[] {
  if (typeof value === 'string') return referencedFields(value).map((field) => ({ field, at }));
  if (Array.isArray(value)) return value.flatMap((member, index) => usesWithin(member, [...at, index]));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => [...usesWithin(name, at), ...usesWithin(member, [...at, name])]);
}
