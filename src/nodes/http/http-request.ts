import { redirectStatuses } from '../../core/answer/link.ts';
import { authProblem } from '../../core/auth/auth.ts';
import type { HttpConnection } from '../../core/connection.ts';
import type { BuildContext, FieldUse } from '../../core/node.ts';
import type { HttpRequest } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import { bodyTemplate } from '../../core/template/body.ts';
import { headerTemplate, referencedFields, type TextTemplate } from '../../core/template/template.ts';
import { type UrlTemplate, urlTemplate } from '../../core/template/url.ts';
import { isObject, type Value } from '../../core/value/value.ts';
import { matches } from '../call-policy.ts';
import type { HttpOptions } from './http-options.ts';

/** What a node sends. */
export interface RequestTemplate {
  /** Where to; absent when a record says so. */
  readonly origin: string | undefined;
  /** `inBody`: what the body is made of; absent for the fields. */
  render(fields: Fields, inBody?: Fields): HttpRequest;
}

/**
 * Compiles what a node sends. What is wrong with it is reported; then nothing will be rendered.
 * `connection`: `null` for one that the node names and nobody knows: then a relative URL cannot be judged.
 */
export function compileRequest(
  options: HttpOptions,
  connection: HttpConnection | undefined | null,
  context: BuildContext,
): RequestTemplate {
  const allowHttp = context.allowHttp || (connection?.allowHttp ?? false);
  const url = tried(context, ['url'], () =>
    connection === null ? undefined : urlTemplate(options.url, { baseUrl: connection?.baseUrl, allowHttp }),
  );
  for (const origin of [url?.origin, connection?.origin]) if (origin !== undefined) context.literalOrigins.add(origin);
  const body = tried(context, ['body'], () =>
    options.body === undefined ? undefined : bodyTemplate(options.body as Value, context.isCell),
  );
  const rendering = headersOf(options, connection).map(({ name, text, at }) => ({
    name,
    render: tried(context, at, () => headerTemplate(name, text)),
  }));
  const { auth } = options;
  const wrong = auth && authProblem(auth, allowHttp);
  if (wrong) context.problem(['auth', wrong.option], wrong.message);
  const signer = (auth === undefined ? connection?.auth : auth) ?? undefined;
  const { allowHosts, literalOrigins } = context;
  const hostFromData = { allowHosts };
  const followAny = options.follow === 'any';
  const redirectHosts = followAny && allowHosts.length > 0 ? allowHosts : undefined;
  const wanted = redirectStatuses.filter((status) => matches(options.success, status));
  const unfollowed = wanted.length > 0 ? wanted : undefined;
  const { method, timeout: timeoutMs, max_body: maxBodyBytes } = options;
  return { origin: url?.origin, render };

  /** Every record has one: written out it is several times smaller than put together of parts. */
  function render(fields: Fields, inBody = fields): HttpRequest {
    const { origin, path, fromData } = (url as UrlTemplate).render(fields);
    return {
      method,
      origin,
      path,
      headers: rendering.length === 0 ? noHeaders : headersFor(fields),
      body: body?.(inBody),
      auth: literalOrigins.has(origin) ? signer : undefined,
      timeoutMs,
      maxBodyBytes,
      followAny,
      redirectHosts,
      unfollowed,
      hostFromData: fromData ? hostFromData : undefined,
    };
  }

  function headersFor(fields: Fields): Record<string, string> {
    const headers: Record<string, string> = {};
    for (const { name, render } of rendering) headers[name] = (render as TextTemplate)(fields);
    return headers;
  }
}

const noHeaders = {};

/** A header as it is written, and where. */
interface Header {
  readonly name: string;
  readonly text: string;
  readonly at: readonly string[];
}

/** What `compile` gives; absent, with the problem reported, when it throws. */
export function tried<Result>(context: BuildContext, at: readonly string[], compile: () => Result): Result | undefined {
  try {
    return compile();
  } catch (error) {
    context.problem(at, (error as Error).message);
    return undefined;
  }
}

/** The node's headers over the connection's, whatever their case; JSON is announced unless the flow announces another type. */
function headersOf(options: HttpOptions, connection: HttpConnection | undefined | null): Header[] {
  const headers = new Map<string, Header>();
  const add = (name: string, text: string, at: readonly string[]) => headers.set(name.toLowerCase(), { name, text, at });
  if (options.body !== undefined) add('Content-Type', 'application/json', ['body']);
  for (const [name, text] of Object.entries(connection?.headers ?? {})) add(name, text, ['connection']);
  for (const [name, text] of Object.entries(options.headers ?? {})) add(name, text, ['headers', name]);
  return [...headers.values()];
}

/** The fields that a request is made of. */
export function fieldsIn(options: HttpOptions, connection: HttpConnection | undefined | null): FieldUse[] {
  return [
    ...usesWithin(options.url, ['url']),
    ...headersOf(options, connection).flatMap(({ text, at }) => usesWithin(text, at)),
    ...usesWithin(options.body as Value | undefined, ['body']),
  ];
}

/** The fields that a body refers to. */
export function fieldsWithin(body: unknown): string[] {
  return usesWithin(body as Value, []).map(({ field }) => field);
}

/** The fields that a value's texts refer to, its names included. */
export function usesWithin(value: Value | undefined, at: readonly (string | number)[]): FieldUse[] {
  if (typeof value === 'string') return referencedFields(value).map((field) => ({ field, at }));
  if (Array.isArray(value)) return value.flatMap((member, index) => usesWithin(member, [...at, index]));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => [...usesWithin(name, at), ...usesWithin(member, [...at, name])]);
}
