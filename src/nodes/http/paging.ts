import { linkTarget, nextLink } from '../../core/answer/link.ts';
import { kindOf, rootValue } from '../../core/answer/mapping.ts';
import { compilePath, type Path, valueAt } from '../../core/answer/path.ts';
import { excerpt } from '../../core/answer/response.ts';
import { shownSignature } from '../../core/auth/auth.ts';
import type { ShortPage } from '../../core/event.ts';
import { Failure } from '../../core/failure.ts';
import type { HttpRequest } from '../../core/ports.ts';
import { withParameter } from '../../core/template/query.ts';
import { fingerprint } from '../../core/text/fingerprint.ts';
import { textOf, type Value } from '../../core/value/value.ts';
import { singlePath } from '../call-policy.ts';
import type { HttpAnswer } from './answer-reader.ts';
import type { PaginateOptions } from './paginate-options.ts';

/** A compiled `paginate`. */
export interface Paging {
  readonly max: number;
  /** The path that every page should have: the items, or the way to the next page; undefined if no body has such a path. */
  readonly sought: SoughtPath | undefined;
  /** The request for the first page. */
  first(request: HttpRequest): HttpRequest;
  /** Requests page after page. Throws a Failure for a page that repeats an earlier page, and if there are more pages than the maximum. */
  pages(first: HttpRequest, ask: AskPage): AsyncGenerator<Page>;
}

/** Requests one page. `number`: from 1. */
type AskPage = (request: HttpRequest, number: number) => Promise<HttpAnswer>;

/** A page as it arrived. */
export interface Page {
  /** From 1. */
  readonly number: number;
  readonly answer: HttpAnswer;
  /** True if it has no items; then it is the last. */
  readonly isEmpty: boolean;
  /** The first page before this one that had too few items; undefined if every page had enough. */
  readonly short: ShortPage | undefined;
}

/** A path into pages. */
export interface SoughtPath {
  /** Its name in the summary. */
  readonly name: string;
  isOn(answer: HttpAnswer): boolean;
}

/** The rules for links to other origins. */
export interface LinkRules {
  readonly allowHttp: boolean;
  readonly allowHosts: readonly string[];
}

/** Compiles `paginate`. Throws an Error that says what is wrong. */
export function compilePaging(options: PaginateOptions, rules: LinkRules): Paging {
  const { first, turn } = turningOf(options, rules);
  const items = 'items' in options ? arrayPath(options.items) : undefined;
  return {
    max: options.max,
    sought: soughtOf(options, items),
    first,
    async *pages(start, ask) {
      const repeats = new RepeatCheck(options);
      let firstShort: ShortPage | undefined;
      let isReported = false;
      let next: HttpRequest | undefined = start;
      for (let number = 1; next; number++) {
        if (number > options.max) throw tooMany(options);
        const request: HttpRequest = next;
        const answer = await onPage(number, () => ask(request, number));
        if (number === 1) refuseMissingPath(options, answer);
        const isEmpty = items !== undefined && (await onPage(number, () => hasNoItems(answer, items)));
        const short: ShortPage | undefined = isEmpty || isReported ? undefined : firstShort;
        isReported ||= short !== undefined;
        if (items && !isEmpty) {
          if (options.type === 'offset') firstShort ??= shortOf(answer, items, options.size, number);
          repeats.checkBody(answer, number);
        }
        yield { number, answer, isEmpty, short };
        if (isEmpty) return;
        next = await onPage(number, () => turn({ request, answer, number, first: start }));
        if (!items && next) repeats.checkLink(request, next, number);
      }
    },
  };
}

/** Refuses a first page without the path to the next one: a misspelt path would end the paging quietly. A header may be absent on the last page. */
function refuseMissingPath(options: PaginateOptions, answer: HttpAnswer): void {
  if (!('path' in options)) return;
  const { root, legs } = compilePath(options.path);
  const [steps = []] = legs;
  if (root !== 'body' || valueAt(answer.body, steps) !== undefined) return;
  // null on the way says as much as null at its end.
  if (steps.some((_, index) => valueAt(answer.body, steps.slice(0, index)) === null)) return;
  const message = `the first page has no "${options.path}" (paginate.path)`;
  throw new Failure('mapping', `${message}\nexpected a way to the next page, or null or an empty text on the last one`, {
    status: answer.status,
  });
}

/** Adds the page to a Failure of any page but the first. */
export async function onPage<Result>(page: number, act: () => Promise<Result> | Result): Promise<Result> {
  try {
    return await act();
  } catch (error) {
    throw error instanceof Failure && page > 1 ? error.withMessage(`page ${page}: ${error.message}`) : error;
  }
}

/** Finds pages that came before: then the pages would never end. */
class RepeatCheck {
  readonly #pages = new Map<string, number>();
  readonly #hint: string;

  constructor(options: PaginateOptions) {
    this.#hint = 'param' in options ? `: does the server know the parameter "${options.param}"?` : '';
  }

  checkBody({ response }: HttpAnswer, page: number): void {
    const earlier = this.#note(fingerprint(response.body), page);
    if (earlier !== undefined) throw new Failure('mapping', `page ${page} is the same as page ${earlier}${this.#hint}`);
  }

  checkLink(request: HttpRequest, next: HttpRequest, page: number): void {
    this.#note(request.origin + request.path, page);
    const earlier = this.#note(next.origin + next.path, page + 1);
    if (earlier === undefined) return;
    const again = page === earlier ? 'itself' : `page ${earlier}`;
    throw new Failure('mapping', `page ${page} leads to ${again} again: ${excerpt(next.path, 100)}`);
  }

  /** Notes a page; answers the last page that had the same mark. */
  #note(mark: string, page: number): number | undefined {
    const earlier = this.#pages.get(mark);
    this.#pages.set(mark, page);
    return earlier;
  }
}

function tooMany(options: PaginateOptions): Failure {
  const { max } = options;
  const linked = max === 1 ? 'there is more than 1 page (max)' : `there are more than ${max} pages (max)`;
  return new Failure('mapping', 'items' in options ? `page ${max} is not the last, and no more are taken (max)` : linked);
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
interface PageTurning {
  first(request: HttpRequest): HttpRequest;
  /** The request for the next page; undefined after the last one. Throws a Failure. */
  turn(page: Turned): HttpRequest | undefined;
}

function turningOf(options: PaginateOptions, rules: LinkRules): PageTurning {
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
    case 'cursor': {
      const path = singlePath(options.path, 'value');
      const turn = ({ request, answer }: Turned) => {
        const cursor = textAt(path, answer);
        return cursor === undefined ? undefined : withParam(request, options.param, cursor);
      };
      return { first, turn };
    }
  }
}

/** `after`: the parameter's value after a number of pages. */
function countedBy(param: string, after: (pages: number) => number): PageTurning {
  return {
    first: (request) => withParam(request, param, after(0)),
    turn: ({ request, number }) => withParam(request, param, after(number)),
  };
}

function withParam(request: HttpRequest, name: string, value: string | number): HttpRequest {
  return { ...request, path: withParameter(request.path, name, String(value)) };
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
  const { status } = answer;
  const value = rootValue(path, answer, answer.body);
  if (value === undefined || value === null || value === '' || value === false) return undefined;
  if (typeof value === 'object' && !isNumber(value)) {
    throw new Failure('mapping', `expected a text or a number at "${path.text}", found ${kindOf(value)}`, { status });
  }
  const text = textOf(value);
  if (text.isWellFormed()) return text;
  throw new Failure('mapping', `what is at "${path.text}" holds a broken character (a lone surrogate)`, { status });
}

function isNumber(value: Value): boolean {
  return kindOf(value) === 'a number';
}

function soughtOf(options: PaginateOptions, items: readonly (string | number)[] | undefined): SoughtPath | undefined {
  if ('items' in options && items) {
    return { name: `${options.items} (paginate.items)`, isOn: ({ body }) => valueAt(body, items) !== undefined };
  }
  if (!('path' in options)) return undefined;
  const path = singlePath(options.path, 'value');
  return { name: `${options.path} (paginate.path)`, isOn: (answer) => textAt(path, answer) !== undefined };
}

function hasNoItems({ status, body }: HttpAnswer, path: readonly (string | number)[]): boolean {
  const array = valueAt(body, path);
  if (array === undefined || array === null) return true;
  if (Array.isArray(array)) return array.length === 0;
  throw new Failure('mapping', `expected an array of items, found ${kindOf(array)}`, { status });
}

/** A page with fewer items than its size. Throws a Failure for a page with more items: the next offset would lead to items that are on this page already. */
function shortOf({ status, body }: HttpAnswer, path: readonly (string | number)[], size: number, page: number): ShortPage | undefined {
  const array = valueAt(body, path);
  if (!Array.isArray(array) || array.length === size) return undefined;
  if (array.length < size) return { page, items: array.length, size };
  const message = `page ${page} has ${array.length} items, more than the size of ${size}: the next one would repeat some`;
  throw new Failure('mapping', message, { status });
}

/** The array that `results` or `results[]` names. */
function arrayPath(text: string): readonly (string | number)[] {
  const { root, legs } = compilePath(text);
  const [array, rest, ...more] = legs;
  if (root !== 'body' || !array || more.length > 0 || (rest?.length ?? 0) > 0) {
    throw new Error(`expected a path to one array, such as results, found "${text}"`);
  }
  return array;
}
