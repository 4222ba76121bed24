import { linkTarget, nextLink } from '../../core/answer/link.ts';
import { kindOf, rootValue } from '../../core/answer/mapping.ts';
import { type Path, valueAt } from '../../core/answer/path.ts';
import { shownSignature } from '../../core/auth/auth.ts';
import { Failure } from '../../core/failure.ts';
import type { HttpRequest } from '../../core/ports.ts';
import { withParameter } from '../../core/template/query.ts';
import { textOf, type Value } from '../../core/value/value.ts';
import { singlePath } from '../call-policy.ts';
import type { HttpAnswer } from './answer-reader.ts';
import { bodyParameter } from './body-parameter.ts';
import type { PaginateOptions } from './paginate-options.ts';

/** The steps to a list on a page. */
export type ListPath = readonly (string | number)[];

/** The rules for links to other origins. */
export interface LinkRules {
  readonly allowHttp: boolean;
  readonly allowHosts: readonly string[];
}

/** A page and its request. */
interface Turned {
  readonly request: HttpRequest;
  readonly answer: HttpAnswer;
  readonly number: number;
  /** The request for the first page. */
  readonly first: HttpRequest;
}

/** The way from page to page of one type of paging. */
export interface PageTurning {
  first(request: HttpRequest): HttpRequest;
  /** The request for the next page; undefined after the last one. Throws a Failure. */
  turn(page: Turned): HttpRequest | undefined;
}

/** Compiles the way to the next page. `list`: undefined if it is not known. Throws an Error that says what is wrong. */
export function turningOf(options: PaginateOptions, list: ListPath | undefined, rules: LinkRules): PageTurning {
  const first = (request: HttpRequest) => request;
  switch (options.type) {
    case 'page':
      return countedBy(options.param, (page) => options.start + page);
    case 'offset':
      return countedBy(options.param, (page) => options.size * page);
    case 'link_header':
      return { first, turn: (page) => linked(page, nextLink(page.answer.header('link')), rules) };
    case 'next_url': {
      const path = singlePath(options.path, 'value');
      return { first, turn: (page) => linked(page, textAt(path, page.answer), rules) };
    }
    case 'cursor':
      return { first, turn: cursorTurn(options, list) };
  }
}

type CursorOptions = Extract<PaginateOptions, { type: 'cursor' }>;

function cursorTurn(options: CursorOptions, list: ListPath | undefined): PageTurning['turn'] {
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

/** Reads the cursor in the last element of a page's list; undefined if the page has none. An element without a cursor fails the record. */
function lastItemCursor(path: Path, list: ListPath | undefined): (answer: HttpAnswer) => Value | undefined {
  if (path.root !== 'body') throw new Error(`expected a path within an item, such as id, found "${path.text}"`);
  if (!list) throw new Error('from: last_item needs items, the path of the list on a page: data.items, or $body if the answer is the list');
  return ({ body, status }) => {
    const items = valueAt(body, list);
    const last = Array.isArray(items) ? items.at(-1) : undefined;
    if (last === undefined) return undefined;
    const cursor = valueAt(last, path.legs[0] as ListPath);
    if (!isNothing(cursor)) return cursor;
    throw new Failure('mapping', `the last item has no "${path.text}" (paginate.path), so the next page cannot be requested`, { status });
  };
}

/** `after`: the parameter's value after a number of pages. */
function countedBy(param: string, after: (pages: number) => number): PageTurning {
  return {
    first: (request) => withParam(request, param, String(after(0))),
    turn: ({ request, number }) => withParam(request, param, String(after(number))),
  };
}

function withParam(request: HttpRequest, name: string, value: string): HttpRequest {
  return { ...request, path: withParameter(request.path, name, value) };
}

/** The request for a link's page. To another origin only if the flow allows it, and then without credential, headers and body. */
function linked({ request, answer, first }: Turned, link: string | undefined, rules: LinkRules): HttpRequest | undefined {
  if (link === undefined) return undefined;
  const { auth, followAny, redirectHosts, unfollowed, timeoutMs, maxBodyBytes } = request;
  const secretParameters = auth && shownSignature(auth).parameters;
  try {
    const base = answer.response.redirectedTo ?? request;
    const { elsewhere, ...target } = linkTarget(link, request, { ...rules, followAny, secretParameters }, base);
    if (!elsewhere) return { ...request, ...target };
    const redirects = { followAny, ...(redirectHosts && { redirectHosts }), ...(unfollowed && { unfollowed }) };
    return { timeoutMs, maxBodyBytes, ...redirects, ...target, method: 'GET', headers: {}, hostFromData: first.hostFromData ?? elsewhere };
  } catch (error) {
    throw new Failure('http', `the next page is ${(error as Error).message}`, { status: answer.status });
  }
}

/** The text that leads to the next page; undefined after the last one. */
function textAt(path: Path, answer: HttpAnswer): string | undefined {
  const value = cursorAt(path, answer);
  return value === undefined ? undefined : queryText(path, value, answer.status);
}

/** The value that leads to the next page; undefined after the last one. */
export function cursorAt(path: Path, answer: HttpAnswer): Value | undefined {
  const value = rootValue(path, answer, answer.body);
  return isNothing(value) ? undefined : value;
}

function isNothing(value: Value | undefined): value is undefined | null | '' | false {
  return value === undefined || value === null || value === '' || value === false;
}

/** A value as a URL can hold it. Throws a Failure for a list, an object or half a character. */
function queryText(path: Path, value: Value, status?: number): string {
  if (typeof value === 'object' && kindOf(value) !== 'a number') {
    throw new Failure('mapping', `expected a text or a number at "${path.text}", found ${kindOf(value)}`, { status });
  }
  const text = textOf(value);
  if (text.isWellFormed()) return text;
  throw new Failure('mapping', `what is at "${path.text}" holds a broken character (a lone surrogate)`, { status });
}
