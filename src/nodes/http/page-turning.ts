import { isLinkList, linkTarget, lostBody, nextLink, nextOfLinks } from '../../core/answer/link.ts';
import { kindOf, rootValue } from '../../core/answer/mapping.ts';
import { compilePath, type Path, valueAt } from '../../core/answer/path.ts';
import { shownSignature } from '../../core/auth/auth.ts';
import { Failure } from '../../core/failure.ts';
import type { HttpRequest } from '../../core/ports.ts';
import { withParameter } from '../../core/template/url.ts';
import { parseJson } from '../../core/value/json.ts';
import { isObject, jsonOf, orUndefined, textOf, type Value, type ValuePath } from '../../core/value/value.ts';
import { singlePath } from '../call-policy.ts';
import type { HttpAnswer } from './answer-reader.ts';
import type { PaginateOptions } from './http-options.ts';

export interface PageLinkRules {
  readonly allowHttp: boolean;
  readonly allowHosts: readonly string[];
}

interface Turned {
  readonly request: HttpRequest;
  readonly answer: HttpAnswer;
  readonly number: number;
  readonly first: HttpRequest;
}

interface PageTurning {
  first(request: HttpRequest): HttpRequest;
  /** Returns the request for the next page; undefined after the last page. Throws a Failure if that page cannot be requested. */
  turn(page: Turned): HttpRequest | undefined;
}

/** `list` is undefined if the path of the items is unknown. Throws an Error with the reason if the options are invalid. */
export function turningOf(options: PaginateOptions, list: ValuePath | undefined, rules: PageLinkRules): PageTurning {
  const first = (request: HttpRequest) => request;
  switch (options.type) {
    case 'page':
      return countedBy(options, (page) => options.start + page);
    case 'offset':
      return countedBy(options, (page) => options.size * page);
    case 'link_header':
      return { first, turn: (page) => linked(page, nextLink(page.answer.header('link')), rules) };
    case 'next_url': {
      const path = singlePath(options.path, 'value');
      return { first, turn: (page) => linked(page, urlAt(path, page.answer), rules) };
    }
    case 'cursor':
      return { first, turn: cursorTurn(options, list) };
  }
}

type CursorOptions = Extract<PaginateOptions, { type: 'cursor' }>;

function cursorTurn(options: CursorOptions, list: ValuePath | undefined): PageTurning['turn'] {
  const path = singlePath(options.path, 'value');
  const isInItem = options.from === 'last_item';
  const cursorOf = isInItem ? lastItemCursor(path, list) : (answer: HttpAnswer) => cursorAt(path, answer);
  const put =
    options.in === 'body'
      ? bodyParameter(options.param)
      : (request: HttpRequest, cursor: Value, status?: number) => withParam(request, options.param, queryText(path, cursor, status));
  return ({ request, answer }) => {
    const cursor = cursorOf(answer);
    return cursor === undefined ? undefined : put(request, cursor, answer.status);
  };
}

/** Undefined for a page without items. Fails the record if the last item has no cursor. */
function lastItemCursor(path: Path, list: ValuePath | undefined): (answer: HttpAnswer) => Value | undefined {
  if (path.root !== 'body') throw new Error(`expected a path within an item, such as id, found "${path.text}"`);
  if (!list) throw new Error('from: last_item needs items, the path of the list on a page: data.items, or $body if the answer is the list');
  return ({ body, status }) => {
    const items = valueAt(body, list);
    const last = Array.isArray(items) ? items.at(-1) : undefined;
    if (last === undefined) return undefined;
    const cursor = valueAt(last, path.legs[0] as ValuePath);
    if (!isNothing(cursor)) return cursor;
    throw new Failure('mapping', `the last item has no "${path.text}" (paginate.path), so the next page cannot be requested`, { status });
  };
}

/** Compiles paging by a page number or an offset. `after` returns the parameter's value after a number of pages. */
function countedBy({ param, in: place }: Pick<CursorOptions, 'param' | 'in'>, after: (pages: number) => number): PageTurning {
  const put = place === 'body' ? bodyParameter(param) : (request: HttpRequest, count: number) => withParam(request, param, String(count));
  return {
    first: (request) => put(request, after(0)),
    turn: ({ request, number }) => put(request, after(number)),
  };
}

function withParam(request: HttpRequest, name: string, value: string): HttpRequest {
  return { ...request, path: withParameter(request.path, name, value) };
}

/** A link to another origin is followed only if the flow allows it, without credential and headers, and not if it needs the body. */
function linked({ request, answer, first }: Turned, link: string | undefined, rules: PageLinkRules): HttpRequest | undefined {
  if (link === undefined) return undefined;
  const { auth, followAny, redirectHosts, unfollowed, timeoutMs, maxBodyBytes, http2 } = request;
  const secretParameters = auth && shownSignature(auth).parameters;
  const withBody = request.body || request.form ? request.method : undefined;
  const base = answer.response.redirectedTo ?? request;
  const { elsewhere, ...target } = pageTarget(link, request, { ...rules, followAny, secretParameters, withBody }, { answer, base });
  if (!elsewhere) return { ...request, ...target };
  if (withBody) throw new Failure('http', lostBody('the next page on', target.origin, withBody), { status: answer.status });
  const redirects = { followAny, redirectHosts, unfollowed };
  return {
    timeoutMs,
    maxBodyBytes,
    http2,
    ...redirects,
    ...target,
    method: 'GET',
    headers: {},
    hostFromData: first.hostFromData ?? elsewhere,
  };
}

function pageTarget(
  link: string,
  request: HttpRequest,
  rules: Parameters<typeof linkTarget>[2],
  { answer, base }: { readonly answer: HttpAnswer; readonly base: Parameters<typeof linkTarget>[3] },
): ReturnType<typeof linkTarget> {
  try {
    return linkTarget(link, request, rules, base);
  } catch (error) {
    throw new Failure('http', `the next page is ${(error as Error).message}`, { status: answer.status });
  }
}

/** Returns the URL of the next page, which can stand in a list of links; undefined after the last page. */
function urlAt(path: Path, answer: HttpAnswer): string | undefined {
  const value = cursorAt(path, answer);
  if (isLinkList(value)) return nextOfLinks(value);
  return value === undefined ? undefined : queryText(path, value, answer.status);
}

/** Undefined after the last page. */
function cursorAt(path: Path, answer: HttpAnswer): Value | undefined {
  const value = rootValue(path, answer, answer.body);
  return isNothing(value) ? undefined : value;
}

function isNothing(value: Value | undefined): value is undefined | null | '' | false {
  return value === undefined || value === null || value === '' || value === false;
}

/** Throws a Failure for a list, an object, or text with a lone surrogate (half a character). */
function queryText(path: Path, value: Value, status?: number): string {
  if (typeof value === 'object' && kindOf(value) !== 'a number') {
    throw new Failure('mapping', `expected a string or a number at "${path.text}", found ${kindOf(value)}`, { status });
  }
  const text = textOf(value);
  if (text.isWellFormed()) return text;
  throw new Failure('mapping', `the value at "${path.text}" contains a broken character (a lone surrogate)`, { status });
}

type PageStep = string | number;

/** Sets a parameter such as `variables.after`. Throws an Error with the reason if its path is invalid. */
function bodyParameter(text: string): (request: HttpRequest, value: Value) => HttpRequest {
  const { root, legs } = compilePath(text);
  const [steps = []] = legs;
  if (root !== 'body' || legs.length > 1 || steps.length === 0) {
    throw new Error(`expected the path of one value in the body, such as variables.after, found "${text}"`);
  }
  return (request, value) => {
    const set = (body: string) => jsonOf(withValue(jsonIn(body), steps, value, text));
    const { body, secretBody: secret } = request;
    const secretBody: HttpRequest['secretBody'] = secret && { ...secret, render: (secretOf) => set(secret.render(secretOf) as string) };
    return { ...request, body: set(body ?? ''), secretBody };
  };
}

function jsonIn(body: string): Value {
  const value = orUndefined(() => parseJson(body));
  if (value !== undefined) return value;
  throw new Failure('request', 'the parameter of the page goes into the body (paginate.in), but the body is not JSON', { sent: false });
}

/** Returns a copy of a value in which the value at the end of the steps is replaced. Missing objects along the steps are created. */
function withValue(into: Value | undefined, [step, ...more]: readonly PageStep[], value: Value, text: string): Value {
  if (step === undefined) return value;
  if (typeof step === 'number' && Array.isArray(into) && step < into.length)
    return into.with(step, withValue(into[step], more, value, text));
  if (typeof step === 'string' && (isObject(into) || into === undefined || into === null)) {
    const member = into && Object.hasOwn(into, step) ? into[step] : undefined;
    return { ...into, [step]: withValue(member, more, value, text) };
  }
  const found = into === undefined ? 'nothing' : kindOf(into);
  throw new Failure('request', `cannot set "${text}" in the body (paginate.param): found ${found} on that path`, { sent: false });
}
