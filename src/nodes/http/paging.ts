import { kindOf, rootValue } from '../../core/answer/mapping.ts';
import { compilePath, valueAt } from '../../core/answer/path.ts';
import { excerpt } from '../../core/answer/response.ts';
import type { EvaluationClock } from '../../core/condition/evaluation.ts';
import type { ShortPage } from '../../core/event.ts';
import { Failure } from '../../core/failure.ts';
import type { FieldUse } from '../../core/node.ts';
import { recordUses } from '../../core/options/expressions.ts';
import type { HttpRequest } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import { fingerprint } from '../../core/value/json.ts';
import type { ValuePath } from '../../core/value/value.ts';
import { variablesOf } from '../answer-rules.ts';
import { singlePath } from '../call-policy.ts';
import type { HttpAnswer } from './answer-reader.ts';
import type { PaginateOptions } from './http-options.ts';
import { type PageLinkRules, turningOf } from './page-turning.ts';

export interface Paging {
  readonly max: number;
  /** The path of the items, which should exist on every page; undefined if the options contain none. */
  readonly sought: SoughtPath | undefined;
  /** The path that leads to the next page; undefined if the options contain none. */
  readonly nextPath: string | undefined;
  first(request: HttpRequest): HttpRequest;
  /** Requests one page after another. Throws a Failure if a page repeats an earlier page, or if there are more pages than the maximum. */
  pages(first: HttpRequest, record: Fields, clock: EvaluationClock, ask: AskPage): AsyncGenerator<Page>;
}

/** Requests one page. `number` is the 1-based number of the page. */
type AskPage = (request: HttpRequest, number: number) => Promise<HttpAnswer>;

export interface Page {
  /** The 1-based number of the page. */
  readonly number: number;
  readonly answer: HttpAnswer;
  /** True if the page has no items, so that it is the last one. */
  readonly isEmpty: boolean;
  /** The first earlier page that had too few items. It is undefined if every page had enough, or if that page was already reported. */
  readonly short: ShortPage | undefined;
  /** Tells if the page has `paginate.path`. It is undefined if that does not matter, as on later pages and on pages that are the last anyway. */
  readonly hasNextPath: boolean | undefined;
}

interface SoughtPath {
  readonly name: string;
  isOn(answer: HttpAnswer): boolean;
}

/** `mapped` is the list that `map` expands, if any. Throws an Error with the reason if the options are invalid. */
export function compilePaging(options: PaginateOptions, mapped: ValuePath | undefined, rules: PageLinkRules): Paging {
  const items = options.items === undefined ? undefined : arrayPath(options.items);
  const { first, turn } = turningOf(options, items ?? mapped, rules);
  const isEnd = lastPageCheck(options);
  const nextPath = nextPathOf(options);
  return {
    max: options.max,
    sought: soughtOf(options, items),
    nextPath: nextPath?.name,
    first,
    async *pages(start, record, clock, ask) {
      const repeats = new RepeatCheck(options, items, mapped);
      const lengths = new LengthCheck(options, items);
      let next: HttpRequest | undefined = start;
      for (let number = 1; next; number++) {
        if (number > options.max) throw tooMany(options);
        const request: HttpRequest = next;
        const answer = await onPage(number, () => ask(request, number));
        const isLast = await onPage(number, () => isEnd(answer, record, clock));
        const isEmpty = await onPage(number, () => hasNoItems(answer, items));
        const short = isEmpty ? undefined : await checkedPage(lengths, repeats, answer, number);
        const hasNextPath = number > 1 || isLast || isEmpty ? undefined : nextPath?.isOn(answer);
        yield { number, answer, isEmpty, short, hasNextPath };
        const lacksItems = isEmpty && isListMissing(options, items, number, answer);
        if (isLast || (isEmpty && !lacksItems)) return;
        next = await onPage(number, () => turn({ request, answer, number, first: start }));
        if (next && lacksItems) throw missingItems(options, answer);
        if (next && repeats.isEnd({ request, next, answer, number })) return;
      }
    },
  };
}

/** Returns an earlier page that was too short; undefined if there is none to report. */
async function checkedPage(lengths: LengthCheck, repeats: RepeatCheck, answer: HttpAnswer, number: number) {
  const short = await lengths.check(answer, number);
  repeats.checkBody(answer, number);
  return short;
}

function lastPageCheck({ until }: PaginateOptions): (answer: HttpAnswer, record: Fields, clock: EvaluationClock) => boolean {
  if (!until) return () => false;
  return (answer, record, clock) => {
    try {
      return until.evaluate(variablesOf(until, answer, record), clock);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      throw new Failure('mapping', `paginate.until: ${error.message}`, { status: answer.status });
    }
  };
}

export function untilReads({ until }: PaginateOptions): FieldUse[] {
  return until ? recordUses(until, ['paginate', 'until']) : [];
}

/** True if the type of paging counts pages or items, and therefore reads nothing from the responses to find the next page. */
function isCounted({ type }: PaginateOptions): boolean {
  return type === 'page' || type === 'offset';
}

/** Many servers leave the path out on the last page, and write null or nothing there on others: the path is right if any page has it. */
function nextPathOf(options: PaginateOptions): SoughtPath | undefined {
  if (!('path' in options) || (options.type === 'cursor' && options.from === 'last_item')) return undefined;
  const path = singlePath(options.path, 'value');
  const [steps = []] = path.legs;
  const isOn = (answer: HttpAnswer) => (path.root === 'body' ? isThere(answer, steps) : rootValue(path, answer, answer.body) !== undefined);
  return { name: options.path, isOn };
}

/** Without this failure, a misspelt path to the list would silently end the paging. */
function missingItems({ items }: PaginateOptions, { status }: HttpAnswer): Failure {
  const message = `the first page has no "${items}" (paginate.items), but leads to another page`;
  return new Failure(
    'mapping',
    `${message}\nset paginate.items to the list on a page, such as data.items, or to $body if the page is the list`,
    {
      status,
    },
  );
}

/** True if the first page lacks the list of items, so that its path might be misspelt. False if the paging counts pages. */
function isListMissing(options: PaginateOptions, items: ValuePath | undefined, page: number, answer: HttpAnswer): boolean {
  return items !== undefined && page === 1 && !isCounted(options) && !isThere(answer, items);
}

/** True if the body has a value at the end of the steps. A null along the steps counts as a value, like a null at the end. */
function isThere({ body }: HttpAnswer, steps: ValuePath): boolean {
  return valueAt(body, steps) !== undefined || steps.some((_, index) => valueAt(body, steps.slice(0, index)) === null);
}

/** Adds to a Failure on a later page the page's number and the number of pages that had been read. */
export async function onPage<Result>(page: number, act: () => Promise<Result> | Result): Promise<Result> {
  try {
    return await act();
  } catch (error) {
    throw error instanceof Failure && page > 1 ? error.withMessage(afterPages(page - 1, `page ${page}: ${error.message}`)) : error;
  }
}

/** Adds the number of pages that had been read to the first line of a message. */
function afterPages(count: number, message: string): string {
  const [line, ...more] = message.split('\n');
  return [`${line} (${count === 1 ? '1 page' : `${count} pages`} had been read)`, ...more].join('\n');
}

interface PagePair {
  readonly request: HttpRequest;
  readonly next: HttpRequest;
  readonly answer: HttpAnswer;
  readonly number: number;
}

/** Detects pages that lead back to an earlier page, because the paging would never end. */
class RepeatCheck {
  readonly #pages = new Map<string, number>();
  readonly #options: PaginateOptions;
  readonly #list: ValuePath | undefined;
  /** True once a page had the list of items. From then on, a page without the list counts as a page without items. */
  #isListSeen: boolean;

  /** `mapped` is the list that the map expands. It is used if `items` is undefined. */
  constructor(options: PaginateOptions, items: ValuePath | undefined, mapped: ValuePath | undefined) {
    this.#options = options;
    this.#list = items ?? mapped;
    this.#isListSeen = items !== undefined;
  }

  /** Throws a Failure if the paging counts pages and the page is the same as an earlier page. */
  checkBody({ response }: HttpAnswer, page: number): void {
    if (!isCounted(this.#options)) return;
    const earlier = this.#note(fingerprint(response.body), page);
    if (earlier !== undefined)
      throw new Failure('mapping', afterPages(page, `page ${page} is the same as page ${earlier}${this.#parameterHint()}`));
  }

  /** Many servers keep returning the last cursor, so an empty page that leads back ends the paging. Throws a Failure if it has items. */
  isEnd({ request, next, answer, number }: PagePair): boolean {
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
    const isInBody = 'in' in this.#options && this.#options.in === 'body';
    return origin + path + (isInBody ? ` ${fingerprint(body ?? '')}` : '');
  }

  #parameterHint(): string {
    return 'param' in this.#options ? `: does the server know the parameter "${this.#options.param}"?` : '';
  }

  /** `requested` is the page that was requested with the cursor. */
  #cursorHint(page: number, requested: number): string {
    if (this.#options.type !== 'cursor') return '';
    const had = requested === 1 ? 'the cursor that the request for page 1 had' : `the cursor of page ${requested - 1}`;
    if (this.#options.items !== undefined) return `\npage ${page} has items and ${had}${this.#parameterHint()}`;
    return `\npage ${page} has ${had}; if that was the last page, set paginate.items to the path of the list`;
  }

  /** A mark is the URL of a request or a fingerprint of a body. Returns the last page with the same mark. */
  #note(mark: string, page: number): number | undefined {
    const earlier = this.#pages.get(mark);
    this.#pages.set(mark, page);
    return earlier;
  }
}

/** Detects pages that are shorter than the offset step, although they are not the last page. */
class LengthCheck {
  readonly #options: PaginateOptions;
  readonly #items: ValuePath | undefined;
  #firstShort: ShortPage | undefined;
  #isReported = false;

  constructor(options: PaginateOptions, items: ValuePath | undefined) {
    this.#options = options;
    this.#items = items;
  }

  /** Returns the first short page before this one, but only once. Throws a Failure if the page has too many items. */
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
  const linked = max === 1 ? 'there is more than 1 page (paginate.max)' : `there are more than ${max} pages (paginate.max)`;
  return new Failure(
    'mapping',
    isCounted(options) ? `page ${max} is not the last, and no more pages are requested (paginate.max)` : linked,
  );
}

/** The last page may lack the path to the next one, so only the path of the items is sought on every page. */
function soughtOf({ items: text }: PaginateOptions, items: ValuePath | undefined): SoughtPath | undefined {
  return items && { name: `${text} (paginate.items)`, isOn: ({ body }) => valueAt(body, items) !== undefined };
}

/** True if the list of a page is empty or missing; false if the path of the list is unknown. */
function hasNoItems({ status, body }: HttpAnswer, path: ValuePath | undefined): boolean {
  if (!path) return false;
  const array = valueAt(body, path);
  if (array === undefined || array === null) return true;
  if (Array.isArray(array)) return array.length === 0;
  throw new Failure('mapping', `expected an array of items, found ${kindOf(array)}`, { status });
}

/** Undefined if the page is complete. Throws a Failure if it has too many items, because the next page would repeat some. */
function shortOf({ status, body }: HttpAnswer, path: ValuePath, size: number, page: number): ShortPage | undefined {
  const array = valueAt(body, path);
  if (!Array.isArray(array) || array.length === size) return undefined;
  if (array.length < size) return { page, items: array.length, size };
  const message = `page ${page} has ${array.length} items, more than the size of ${size}: the next page would repeat some of them`;
  throw new Failure('mapping', message, { status });
}

/** Returns the steps to the list at a path such as `results` or `results[]`. */
function arrayPath(text: string): ValuePath {
  const { root, legs } = compilePath(text);
  const [array, rest, ...more] = legs;
  if (root !== 'body' || !array || more.length > 0 || (rest?.length ?? 0) > 0) {
    throw new Error(`expected a path to one array, such as results, found "${text}"`);
  }
  return array;
}
