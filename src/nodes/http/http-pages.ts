import { linkTarget, nextLink } from '../../core/answer/link.ts';
import { kindOf, rootValue } from '../../core/answer/mapping.ts';
import { compilePath, type Path, valueAt } from '../../core/answer/path.ts';
import { excerpt } from '../../core/answer/response.ts';
import { shownSignature } from '../../core/auth/auth.ts';
import type { ShortPage } from '../../core/event.ts';
import { Failure } from '../../core/failure.ts';
import type { HttpRequest, HttpResponse } from '../../core/ports.ts';
import { withParameter } from '../../core/template/url.ts';
import { fingerprint } from '../../core/text/fingerprint.ts';
import { textOf, type Value } from '../../core/value/value.ts';
import type { Exchange } from './http-call.ts';
import type { PaginateOptions } from './http-pages-options.ts';

/** The pages that a request leads to. */
export interface Paging {
  readonly max: number;
  /** The request for the first page. */
  first(request: HttpRequest): HttpRequest;
  /** Begins with the first page, over again for every record. */
  walk(first: HttpRequest): PageWalk;
  /** What is looked for on every page: the items, or the way on; absent where that is in no body. */
  readonly sought: Sought | undefined;
}

/** A path into pages. */
export interface Sought {
  /** As the summary tells of it. */
  readonly name: string;
  isOn(answer: Exchange): boolean;
}

/** A record's way from page to page. */
export interface PageWalk {
  /** From 1. */
  readonly page: number;
  readonly request: HttpRequest;
  /** Whether there is nothing on the page, which ends the walk. Throws a Failure. */
  isEmpty(answer: Exchange): boolean;
  /** Throws a Failure for a page none of whose items may go on: it came before, or is longer than was asked for. */
  check(answer: Exchange): void;
  /** Goes on to the next page; `false` when there is none. Throws a Failure when it would never end. */
  turn(answer: Exchange): boolean;
  /** The first page that fell short, once: asked where there are items behind it. */
  shortPage(): ShortPage | undefined;
}

/** What is said of links to other origins. */
export interface PagingRules {
  readonly allowHttp: boolean;
  readonly allowHosts: readonly string[];
}

/** Compiles `paginate`. Throws an Error that says what is wrong. */
export function compilePaging(options: PaginateOptions, rules: PagingRules): Paging {
  const find = finderOf(options, rules);
  const hint = 'param' in options ? `: does the server know the parameter "${options.param}"?` : '';
  const items = 'items' in options ? arrayPath(options.items) : undefined;
  return {
    max: options.max,
    sought: soughtOf(options, items),
    first: (request) => firstOf(options, request),
    walk(first) {
      const seen = createSeen();
      let page = 1;
      let request = first;
      let short: ShortPage | undefined;
      let isTold = false;
      return {
        get page() {
          return page;
        },
        get request() {
          return request;
        },
        isEmpty: (answer) => items !== undefined && isEmpty(answer, items),
        check(answer) {
          if (!items) return;
          if (options.type === 'offset') short ??= shortOf(answer, items, options.size, page);
          const earlier = seen(fingerprint(answer.response.body), page);
          if (earlier !== undefined) throw new Failure('mapping', `page ${page} is the same as page ${earlier}${hint}`);
        },
        turn(answer) {
          const next = nextOf(request, answer, page, first);
          if (!next) return false;
          if (!items) refuseReturn(seen, request, next, page);
          if (page === options.max) throw tooMany();
          request = next;
          page++;
          return true;
        },
        shortPage() {
          if (page === 1 || isTold) return undefined;
          isTold = short !== undefined;
          return short;
        },
      };
    },
  };

  function nextOf(...from: Parameters<Finder>): HttpRequest | undefined {
    try {
      return find(...from);
    } catch (error) {
      throw onPage(from[2], error);
    }
  }

  /** A link that was followed leads round and round. */
  function refuseReturn(seen: Seen, request: HttpRequest, next: HttpRequest, page: number): void {
    seen(request.origin + request.path, page);
    const earlier = seen(next.origin + next.path, page + 1);
    if (earlier === undefined) return;
    const again = page === earlier ? 'itself' : `page ${earlier}`;
    throw new Failure('mapping', `page ${page} leads to ${again} again: ${excerpt(next.path, 100)}`);
  }

  function tooMany(): Failure {
    const { max } = options;
    const linked = max === 1 ? 'there is more than 1 page (max)' : `there are more than ${max} pages (max)`;
    return new Failure('mapping', items ? `page ${max} is not the last, and no more are taken (max)` : linked);
  }
}

/** A failure says on which page it was, but on the first. */
export function onPage(page: number, error: unknown): unknown {
  return error instanceof Failure && page > 1 ? error.retold(`page ${page}: ${error.message}`) : error;
}

type Seen = (mark: string, page: number) => number | undefined;

/** Answers on which page a mark was seen last; absent for a new one. */
function createSeen(): Seen {
  const pages = new Map<string, number>();
  return (mark, page) => {
    const earlier = pages.get(mark);
    pages.set(mark, page);
    return earlier;
  };
}

function firstOf(options: PaginateOptions, request: HttpRequest): HttpRequest {
  if (options.type === 'page') return withParam(request, options.param, options.start);
  return options.type === 'offset' ? withParam(request, options.param, 0) : request;
}

function withParam(request: HttpRequest, name: string, value: string | number): HttpRequest {
  return { ...request, path: withParameter(request.path, name, String(value)) };
}

type Finder = (request: HttpRequest, answer: Exchange, page: number, first: HttpRequest) => HttpRequest | undefined;

function finderOf(options: PaginateOptions, rules: PagingRules): Finder {
  switch (options.type) {
    case 'page':
      return (request, _answer, page) => withParam(request, options.param, options.start + page);
    case 'offset':
      return (request, _answer, page) => withParam(request, options.param, options.size * page);
    case 'link_header':
      return (request, { response }, _page, first) => linked(request, nextLink(response.header('link')), { response, first, rules });
    case 'next_url': {
      const path = singlePath(options.path);
      return (request, answer, _page, first) => linked(request, textAt(path, answer), { response: answer.response, first, rules });
    }
    case 'cursor': {
      const path = singlePath(options.path);
      return (request, answer) => {
        const cursor = textAt(path, answer);
        return cursor === undefined ? undefined : withParam(request, options.param, cursor);
      };
    }
  }
}

/** Where a link was found. */
interface Found {
  readonly response: HttpResponse;
  /** The request for the first page. */
  readonly first: HttpRequest;
  readonly rules: PagingRules;
}

/** The request for a link's page. To another origin only where the flow says so, and then without credential, headers and body. */
function linked(request: HttpRequest, link: string | undefined, { response, first, rules }: Found): HttpRequest | undefined {
  if (link === undefined) return undefined;
  const { auth, followAny, redirectHosts, unfollowed, timeoutMs, maxBodyBytes } = request;
  const secretParameter = auth && shownSignature(auth).parameter;
  try {
    const base = response.redirectedTo ?? request;
    const { elsewhere, ...target } = linkTarget(link, request, { ...rules, followAny, secretParameter }, base);
    if (!elsewhere) return { ...request, ...target };
    const redirects = { followAny, ...(redirectHosts && { redirectHosts }), ...(unfollowed && { unfollowed }) };
    return { timeoutMs, maxBodyBytes, ...redirects, ...target, method: 'GET', headers: {}, hostFromData: first.hostFromData ?? elsewhere };
  } catch (error) {
    throw new Failure('http', `the next page is ${(error as Error).message}`, { status: response.status });
  }
}

/** What leads to the next page; absent where nothing does. */
function textAt(path: Path, { response, body }: Exchange): string | undefined {
  const value = rootValue(path, { status: response.status, header: response.header, body }, body);
  if (value === undefined || value === null || value === '' || value === false) return undefined;
  if (typeof value === 'object' && !isNumber(value)) {
    throw new Failure('mapping', `expected a text or a number at "${path.text}", found ${kindOf(value)}`, { status: response.status });
  }
  const text = textOf(value);
  if (!text.isWellFormed()) {
    throw new Failure('mapping', `what is at "${path.text}" holds a broken character (a lone surrogate)`, { status: response.status });
  }
  return text;
}

function isNumber(value: Value): boolean {
  return kindOf(value) === 'a number';
}

function soughtOf(options: PaginateOptions, items: readonly (string | number)[] | undefined): Sought | undefined {
  if ('items' in options && items) {
    return { name: `${options.items} (paginate.items)`, isOn: ({ body }) => valueAt(body, items) !== undefined };
  }
  if (!('path' in options)) return undefined;
  const path = singlePath(options.path);
  return { name: `${options.path} (paginate.path)`, isOn: (answer) => textAt(path, answer) !== undefined };
}

function isEmpty({ response, body }: Exchange, path: readonly (string | number)[]): boolean {
  const array = valueAt(body, path);
  if (array === undefined || array === null) return true;
  if (Array.isArray(array)) return array.length === 0;
  throw new Failure('mapping', `expected an array of items, found ${kindOf(array)}`, { status: response.status });
}

/** A page that lacks items of its size. Of one that has more, the next offset would lead to what is on it already: throws a Failure. */
function shortOf({ response, body }: Exchange, path: readonly (string | number)[], size: number, page: number): ShortPage | undefined {
  const array = valueAt(body, path);
  if (!Array.isArray(array) || array.length === size) return undefined;
  if (array.length < size) return { page, items: array.length, size };
  const message = `page ${page} has ${array.length} items, more than the size of ${size}: the next one would repeat some`;
  throw new Failure('mapping', message, { status: response.status });
}

function singlePath(text: string): Path {
  const path = compilePath(text);
  if (path.legs.length > 1) throw new Error(`expected a path to one value, found "${text}", which leads to several`);
  return path;
}

/** `results` and `results[]` mean the same here. */
function arrayPath(text: string): readonly (string | number)[] {
  const { root, legs } = compilePath(text);
  const [array, rest, ...more] = legs;
  if (root !== 'body' || !array || more.length > 0 || (rest?.length ?? 0) > 0) {
    throw new Error(`expected a path to one array, such as results, found "${text}"`);
  }
  return array;
}
