import { kindOf } from '../../core/answer/mapping.ts';
import { compilePath, valueAt } from '../../core/answer/path.ts';
import { excerpt } from '../../core/answer/response.ts';
import type { ShortPage } from '../../core/event.ts';
import { Failure } from '../../core/failure.ts';
import type { FieldUse } from '../../core/node.ts';
import type { HttpRequest } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import { fingerprint } from '../../core/text/fingerprint.ts';
import { variablesOf } from '../answer-rules.ts';
import { singlePath } from '../call-policy.ts';
import type { HttpAnswer } from './answer-reader.ts';
import { cursorAt, type LinkRules, type ListPath, turningOf } from './page-turning.ts';
import type { PaginateOptions } from './paginate-options.ts';

/** A compiled `paginate`. */
export interface Paging {
  readonly max: number;
  /** The path that every page should have: the items, or the way to the next page; undefined if no body has such a path. */
  readonly sought: SoughtPath | undefined;
  /** The request for the first page. */
  first(request: HttpRequest): HttpRequest;
  /** Requests page after page. Throws a Failure for a page that repeats an earlier page, and if there are more pages than the maximum. */
  pages(first: HttpRequest, record: Fields, ask: AskPage): AsyncGenerator<Page>;
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

/** Compiles `paginate`. `mapped`: the steps to the list that the map expands; undefined if it expands none. Throws an Error that says what is wrong. */
export function compilePaging(options: PaginateOptions, mapped: ListPath | undefined, rules: LinkRules): Paging {
  const items = options.items === undefined ? undefined : arrayPath(options.items);
  const { first, turn } = turningOf(options, items ?? mapped, rules);
  const isEnd = lastPageCheck(options);
  return {
    max: options.max,
    sought: soughtOf(options, items),
    first,
    async *pages(start, record, ask) {
      const repeats = new RepeatCheck(options, items, mapped);
      const lengths = new LengthCheck(options, items);
      let next: HttpRequest | undefined = start;
      for (let number = 1; next; number++) {
        if (number > options.max) throw tooMany(options);
        const request: HttpRequest = next;
        const answer = await onPage(number, () => ask(request, number));
        const isLast = await onPage(number, () => isEnd(answer, record));
        const isEmpty = await onPage(number, () => hasNoItems(answer, items));
        if (number === 1 && !isLast) refuseMissingPath(options, answer, isEmpty && hasList(answer, items));
        const short = isEmpty ? undefined : await checkedPage(lengths, repeats, answer, number);
        yield { number, answer, isEmpty, short };
        const lacksItems = isEmpty && isListMissing(options, items, number, answer);
        if (isLast || (isEmpty && !lacksItems)) return;
        next = await onPage(number, () => turn({ request, answer, number, first: start }));
        if (next && lacksItems) throw missingItems(options, answer);
        if (next && repeats.isEnd({ request, next, answer, number })) return;
      }
    },
  };
}

/** Checks a page with items for its length and for a repetition. Returns what is short about it. */
async function checkedPage(lengths: LengthCheck, repeats: RepeatCheck, answer: HttpAnswer, number: number) {
  const short = await lengths.check(answer, number);
  repeats.checkBody(answer, number);
  return short;
}

/** Makes the check of `until`. */
function lastPageCheck({ until }: PaginateOptions): (answer: HttpAnswer, record: Fields) => boolean {
  if (!until) return () => false;
  return (answer, record) => {
    try {
      return until.evaluate(variablesOf(until, answer, record));
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      throw new Failure('mapping', `paginate.until: ${error.message}`, { status: answer.status });
    }
  };
}

/** The record's fields that `until` needs. */
export function untilReads({ until }: PaginateOptions): FieldUse[] {
  return (until?.recordFields ?? []).map(({ name: field, written }) => ({ field, written, at: ['paginate', 'until'] }));
}

/** True if a type of paging counts: an answer has no way to the next page. */
function isCounted({ type }: PaginateOptions): boolean {
  return type === 'page' || type === 'offset';
}

/**
 * Refuses a first page without the path to the next one: a misspelt path would end the paging quietly. A header may be absent on the
 * last page, and a path on a page without items. `isBare`: true for a page whose list is there and empty.
 */
function refuseMissingPath(options: PaginateOptions, answer: HttpAnswer, isBare: boolean): void {
  if (!('path' in options) || isBare || (options.type === 'cursor' && options.from === 'last_item')) return;
  const { root, legs } = compilePath(options.path);
  const [steps = []] = legs;
  if (root !== 'body' || isThere(answer, steps)) return;
  const message = `the first page has no "${options.path}" (paginate.path)`;
  throw new Failure('mapping', `${message}\nexpected a way to the next page, or null or an empty text on the last one`, {
    status: answer.status,
  });
}

/** The failure for a first page that leads on, but has no list: a misspelt path of the list would end the paging quietly. */
function missingItems({ items }: PaginateOptions, { status }: HttpAnswer): Failure {
  return new Failure('mapping', `the first page has no "${items}" (paginate.items), but leads to another page`, { status });
}

/** True if the first page lacks the list of a paging that only its links or cursors end: its path may be misspelt. */
function isListMissing(options: PaginateOptions, items: ListPath | undefined, page: number, answer: HttpAnswer): boolean {
  return items !== undefined && page === 1 && !isCounted(options) && !isThere(answer, items);
}

/** True if a body has a value at the steps. null on the way says as much as null at its end. */
function isThere({ body }: HttpAnswer, steps: ListPath): boolean {
  return valueAt(body, steps) !== undefined || steps.some((_, index) => valueAt(body, steps.slice(0, index)) === null);
}

/** Adds the page, and how many pages had been read, to a Failure of any page but the first. */
export async function onPage<Result>(page: number, act: () => Promise<Result> | Result): Promise<Result> {
  try {
    return await act();
  } catch (error) {
    throw error instanceof Failure && page > 1 ? error.withMessage(afterPages(page - 1, `page ${page}: ${error.message}`)) : error;
  }
}

/** A message whose first line says how many pages had been read. */
function afterPages(count: number, message: string): string {
  const [line, ...more] = message.split('\n');
  return [`${line} (${count === 1 ? '1 page' : `${count} pages`} had been read)`, ...more].join('\n');
}

/** A page that leads to another. */
interface Step {
  readonly request: HttpRequest;
  readonly next: HttpRequest;
  readonly answer: HttpAnswer;
  readonly number: number;
}

/** Finds pages that came before: then the pages would never end. */
class RepeatCheck {
  readonly #pages = new Map<string, number>();
  readonly #options: PaginateOptions;
  readonly #list: ListPath | undefined;
  /** True once a page had the list: from then on a page without it has no items. */
  #isListSeen: boolean;

  /** `mapped`: the list of the map, which stands in for `items`. */
  constructor(options: PaginateOptions, items: ListPath | undefined, mapped: ListPath | undefined) {
    this.#options = options;
    this.#list = items ?? mapped;
    this.#isListSeen = items !== undefined;
  }

  /** Refuses a page that is the same as an earlier one, if pages are counted. */
  checkBody({ response }: HttpAnswer, page: number): void {
    if (!isCounted(this.#options)) return;
    const earlier = this.#note(fingerprint(response.body), page);
    if (earlier !== undefined)
      throw new Failure('mapping', afterPages(page, `page ${page} is the same as page ${earlier}${this.#parameterHint()}`));
  }

  /** True if a page without items leads to an earlier page: many servers give the last cursor again and again. Throws a Failure for one with items. */
  isEnd({ request, next, answer, number }: Step): boolean {
    if (isCounted(this.#options)) return false;
    const value = this.#list && valueAt(answer.body, this.#list);
    this.#isListSeen ||= value !== undefined;
    this.#note(this.#markOf(request), number);
    const earlier = this.#note(this.#markOf(next), number + 1);
    if (earlier === undefined) return false;
    const items = Array.isArray(value) ? value.length : 0;
    if (this.#list && this.#isListSeen && items === 0) return true;
    const again = number === earlier ? 'itself' : `page ${earlier}`;
    const message = `page ${number} leads to ${again} again: ${excerpt(next.path, 100)}${this.#cursorHint(number, earlier)}`;
    throw new Failure('mapping', afterPages(number, message), { status: answer.status });
  }

  #markOf({ origin, path, body }: HttpRequest): string {
    const isInBody = this.#options.type === 'cursor' && this.#options.in === 'body';
    return origin + path + (isInBody ? ` ${fingerprint(body ?? '')}` : '');
  }

  #parameterHint(): string {
    return 'param' in this.#options ? `: does the server know the parameter "${this.#options.param}"?` : '';
  }

  /** The page that had the same cursor, and what may be wrong. `requested`: the page that was requested with the cursor. */
  #cursorHint(page: number, requested: number): string {
    if (this.#options.type !== 'cursor') return '';
    const had = requested === 1 ? 'that page 1 was requested with' : `of page ${requested - 1}`;
    if (this.#options.items !== undefined) return `\npage ${page} has items and the cursor ${had}${this.#parameterHint()}`;
    return `\npage ${page} has the cursor ${had}: was that the end? paginate.items says where the list is`;
  }

  /** Notes a page; answers the last page that had the same mark. */
  #note(mark: string, page: number): number | undefined {
    const earlier = this.#pages.get(mark);
    this.#pages.set(mark, page);
    return earlier;
  }
}

/** Finds pages of an offset that are shorter than its size, and not the last. */
class LengthCheck {
  readonly #options: PaginateOptions;
  readonly #items: ListPath | undefined;
  #firstShort: ShortPage | undefined;
  #isReported = false;

  constructor(options: PaginateOptions, items: ListPath | undefined) {
    this.#options = options;
    this.#items = items;
  }

  /** Takes a page with items. Answers the first short page before it, once. Throws a Failure for a page that is too long. */
  check(answer: HttpAnswer, page: number): ShortPage | undefined {
    if (this.#options.type !== 'offset' || !this.#items) return undefined;
    const short = this.#isReported ? undefined : this.#firstShort;
    this.#isReported ||= short !== undefined;
    this.#firstShort ??= shortOf(answer, this.#items, this.#options.size, page);
    return short;
  }
}

function tooMany(options: PaginateOptions): Failure {
  const { max } = options;
  const linked = max === 1 ? 'there is more than 1 page (max)' : `there are more than ${max} pages (max)`;
  return new Failure('mapping', isCounted(options) ? `page ${max} is not the last, and no more are taken (max)` : linked);
}

function soughtOf(options: PaginateOptions, items: ListPath | undefined): SoughtPath | undefined {
  if (items) return { name: `${options.items} (paginate.items)`, isOn: ({ body }) => valueAt(body, items) !== undefined };
  if (!('path' in options) || (options.type === 'cursor' && options.from === 'last_item')) return undefined;
  const path = singlePath(options.path, 'value');
  return { name: `${options.path} (paginate.path)`, isOn: (answer) => cursorAt(path, answer) !== undefined };
}

/** True for a page that has the named list. */
function hasList({ body }: HttpAnswer, path: ListPath | undefined): boolean {
  return path !== undefined && valueAt(body, path) !== undefined;
}

/** True for a page whose list is empty or missing; false if no list is named. */
function hasNoItems({ status, body }: HttpAnswer, path: ListPath | undefined): boolean {
  if (!path) return false;
  const array = valueAt(body, path);
  if (array === undefined || array === null) return true;
  if (Array.isArray(array)) return array.length === 0;
  throw new Failure('mapping', `expected an array of items, found ${kindOf(array)}`, { status });
}

/** A page with fewer items than its size. Throws a Failure for a page with more items: the next offset would lead to items that are on this page already. */
function shortOf({ status, body }: HttpAnswer, path: ListPath, size: number, page: number): ShortPage | undefined {
  const array = valueAt(body, path);
  if (!Array.isArray(array) || array.length === size) return undefined;
  if (array.length < size) return { page, items: array.length, size };
  const message = `page ${page} has ${array.length} items, more than the size of ${size}: the next one would repeat some`;
  throw new Failure('mapping', message, { status });
}

/** The array that `results` or `results[]` names. */
function arrayPath(text: string): ListPath {
  const { root, legs } = compilePath(text);
  const [array, rest, ...more] = legs;
  if (root !== 'body' || !array || more.length > 0 || (rest?.length ?? 0) > 0) {
    throw new Error(`expected a path to one array, such as results, found "${text}"`);
  }
  return array;
}
