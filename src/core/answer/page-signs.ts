import { ExactNumber, isObject, type JsonObject, textOf, type Value, type ValuePath } from '../value/value.ts';
import { isLinkList, nextOfLinks } from './link.ts';
import { valueAt } from './path.ts';

const urlForm = /^(?:https?:\/\/|[/?]|[^\s?]*\?[^\s=]+=)/i;

/** Spellings of a name that is given in words. */
function spellings(words: string): string[] {
  const [first = '', ...others] = words.split(' ');
  const upper = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
  const camel = first + others.map(upper).join('');
  return [words.replaceAll(' ', '_'), camel, upper(camel), words.replaceAll(' ', '-')];
}

const named = (...words: readonly string[]): ReadonlySet<string> => new Set(words.flatMap(spellings));

/** Names of members that lead to the next page: its URL, its number or a cursor. */
const nextNames: ReadonlySet<string> = new Set([
  ...named('next', 'next cursor', 'next token', 'next marker', 'next key', 'next start', 'next offset', 'next records url'),
  ...named('next page', 'next page token', 'next page cursor', 'next page id', 'next page start', 'continuation token'),
  ...['url', 'uri', 'link', 'href'].flatMap((what) => [...named(`next ${what}`, `next page ${what}`)]),
  // OData 4, 4.01, 3 and 2, MediaWiki, and DynamoDB.
  ...['@odata.nextLink', '@nextLink', 'odata.nextLink', '__next', 'continue', 'LastEvaluatedKey'],
]);

/** The number of a row, or a distance in time such as `+02:00`, but no cursor. */
const ownOffset = /^(?:(?:UTC|GMT)?\s*[+-]?[\d:.]*|Z)$/i;

/** Members of an object that leads to the next page, as in HAL, JSON:API and the APIs of HubSpot and Intercom. */
const linkNames = ['href', 'url', 'uri', 'link', 'after', 'starting_after', 'cursor', 'token'];

/** Names of lists of links, each with its relation. */
const linkLists: ReadonlySet<string> = new Set(['link', 'links', 'Link', 'Links', '_links']);

const moreFlags = named(
  'has more',
  'has next page',
  'has next',
  'has more items',
  'has more results',
  'more records',
  'more items in collection',
  'is truncated',
);
const lastFlags = named('last', 'is last', 'is last page');

const pageNumbers = named('page', 'current page', 'page number', 'number');
const pageTotals = named('pages', 'total pages', 'page count', 'last page', 'num pages', 'nb pages', 'number of pages');
const offsets = named('offset', 'skip', 'start at');
const sizes = named('limit', 'max results', 'size', 'count');
const totals = named('total', 'total count', 'total results');

const pagingNames: ReadonlySet<string> = new Set([
  ...named('page info', 'paging', 'pagination', 'page', 'pages', 'meta', 'metadata', 'info', 'links', 'response metadata', 'result info'),
  ...named('additional data'),
  ...['_links', '_meta', '_metadata', '_pagination'],
]);

const signNames: ReadonlySet<string> = new Set([...nextNames, ...linkLists, ...moreFlags, ...lastFlags, ...pageTotals, ...totals]);

/** A member of an answer, by the path that leads to it. */
export interface PageMember {
  readonly at: ValuePath;
  readonly holder: JsonObject;
  readonly name: string;
}

/** A member that is false, or true, on the last page. */
export interface Flag extends PageMember {
  readonly isTrueAtEnd: boolean;
}

/** Counts of pages or rows, of which the answer has not the last ones. */
export interface Count extends PageMember {
  readonly type: 'page' | 'offset';
  /** The name of the member with the number of pages, or with the number of rows on one page. */
  readonly beside: string;
}

/** The signs that there are more pages: a flag, and a value that leads to the next one, or only one of these, or counts. */
export interface Signs {
  readonly flag?: Flag;
  readonly next?: PageMember;
  readonly count?: Count;
}

/** Undefined if the answer is the last page, or does not say. `places` are those where signs of one list can stand. */
export function signsIn(body: Value | undefined, places: readonly ValuePath[], rows: number): Signs | undefined {
  const holders = places.flatMap((place) => holdersIn(valueAt(body, place), place));
  const members = holders.flatMap(({ at, holder }) => Object.keys(holder).map((name): PageMember => ({ at: [...at, name], holder, name })));
  const flags = members.flatMap((member) => flagOf(member) ?? []);
  // Many servers also send a cursor with the last page, so a flag decides.
  if (flags.some(({ holder, name, isTrueAtEnd }) => isTrue(holder[name]) === isTrueAtEnd)) return undefined;
  const leading = members.filter(({ name }) => nextNames.has(name) || linkLists.has(name) || name === 'offset');
  const values = leading.flatMap((member) => valueIn(member) ?? []);
  const next = values.find(({ holder, name }) => leadsToUrl(holder[name])) ?? values[0];
  const [flag = leading.map(trueNext).find((found) => found !== undefined)] = flags;
  if (flag || next) return { flag, next };
  // A server that says that there is no next page knows it better than its counts.
  if (leading.some(({ name }) => nextNames.has(name))) return undefined;
  const count = members.map((member) => pagesLeft(member, rows) ?? rowsLeft(member, rows)).find((found) => found !== undefined);
  return count && { count };
}

/** The object itself, and its objects about paging, such as `meta` and `meta.pagination`. */
function holdersIn(value: Value | undefined, at: ValuePath, depth = 0): { readonly at: ValuePath; readonly holder: JsonObject }[] {
  if (!isObject(value)) return [];
  const inner = depth === 2 ? [] : Object.keys(value).filter((name) => pagingNames.has(name));
  return [{ at, holder: value }, ...inner.flatMap((name) => holdersIn(value[name], [...at, name], depth + 1))];
}

function flagOf(member: PageMember): Flag | undefined {
  const { holder, name } = member;
  const isFlag = typeof holder[name] === 'boolean' || /^(?:true|false)$/.test(String(holder[name]));
  if (isFlag && moreFlags.has(name)) return { ...member, isTrueAtEnd: false };
  return isFlag && lastFlags.has(name) ? { ...member, isTrueAtEnd: true } : undefined;
}

function trueNext(member: PageMember): Flag | undefined {
  return member.holder[member.name] === true ? { ...member, isTrueAtEnd: false } : undefined;
}

/** The value that leads to the next page, which can be a member of an object. */
function valueIn(member: PageMember): PageMember | undefined {
  const { at, holder, name } = member;
  const value = holder[name];
  if (linkLists.has(name)) return isLinkList(value) && nextOfLinks(value) !== undefined ? member : undefined;
  // An offset is usually that of this page. The one of Airtable is a cursor.
  if (name === 'offset') return typeof value === 'string' && !ownOffset.test(value) ? member : undefined;
  if (name === 'LastEvaluatedKey') return isObject(value) ? member : undefined;
  if (!isObject(value)) return value !== true && name !== 'continue' && isMore(value) && !isBeyondEnd(member) ? member : undefined;
  const isInner = (inner: string) => (name === 'continue' ? /\wcontinue$/.test(inner) : linkNames.includes(inner));
  const inner = Object.keys(value).find((one) => isInner(one) && value[one] !== true && isMore(value[one]));
  return inner === undefined ? undefined : { at: [...at, inner], holder: value, name: inner };
}

/** Some servers name the next page or row although the counts next to it say that there is none. */
function isBeyondEnd({ holder, name }: PageMember): boolean {
  const next = countIn(holder[name]);
  if (next === undefined) return false;
  const [pages, rows] = [countOf(pageTotals, holder), countOf(totals, holder)];
  if (/(?:start|offset)$/i.test(name)) return rows !== undefined && next >= rows;
  return /^next(?:[_-]?page)?$/i.test(name) && pages !== undefined && next > pages;
}

/** Pages are counted from 0 or 1. */
function pagesLeft(member: PageMember, rows: number): Count | undefined {
  const { holder, name } = member;
  const beside = pageNumbers.has(name) ? Object.keys(holder).find((one) => pageTotals.has(one)) : undefined;
  // A number next to pages could be that of a document.
  if (beside === undefined || (name === 'number' && beside !== 'totalPages')) return undefined;
  const [number, total] = [countIn(holder[name]), countIn(holder[beside])];
  const isLast = number === undefined || total === undefined || number + (isFromZero(member) ? 1 : 0) >= total;
  // A number next to page_count could be that of the rows on this page.
  return isLast || rows >= (countOf(totals, holder) ?? Number.POSITIVE_INFINITY) ? undefined : { ...member, type: 'page', beside };
}

/** Spring calls the number of a page `number`, and begins with 0. */
export function isFromZero({ holder, name }: PageMember): boolean {
  return name === 'number' || countIn(holder[name]) === 0;
}

/** The list that is mapped can be another one than the list of the rows, so a page counts as full. */
function rowsLeft(member: PageMember, rows: number): Count | undefined {
  const { holder, name } = member;
  const beside = [...sizes].find((one) => Object.hasOwn(holder, one));
  if (!offsets.has(name) || rows === 0 || beside === undefined) return undefined;
  const [from, size, total] = [countIn(holder[name]), countIn(holder[beside]), countOf(totals, holder)];
  const isLast = from === undefined || !size || total === undefined || from + Math.max(rows, size) >= total;
  return isLast ? undefined : { ...member, type: 'offset', beside };
}

function countOf(names: ReadonlySet<string>, holder: JsonObject): number | undefined {
  const name = Object.keys(holder).find((one) => names.has(one));
  return name === undefined ? undefined : countIn(holder[name]);
}

export function countIn(value: Value | undefined): number | undefined {
  return wholeNumber(textOf(value ?? null));
}

/**
 * True for an object in which there might be a sign, itself or in one of its objects about paging. Every answer is looked at, and a loop
 * over its members takes less time than a search for each name.
 */
export function mayHaveSign(value: Value | undefined, depth = 0): boolean {
  if (!isObject(value)) return false;
  for (const name in value) {
    if (signNames.has(name) || (name === 'offset' && typeof value.offset === 'string')) return true;
    if (depth < 2 && pagingNames.has(name) && mayHaveSign(value[name], depth + 1)) return true;
  }
  return false;
}

/** XML and CSV have only text. */
function isTrue(value: Value | undefined): boolean {
  return value === true || value === 'true';
}

/** True for a URL, and for a list of links. */
export function leadsToUrl(value: Value | undefined): boolean {
  return isLinkList(value) || isUrl(value);
}

function isUrl(value: Value | undefined): boolean {
  return typeof value === 'string' && urlForm.test(value);
}

/** True for a value that leads to another page. Some servers end their pages with 0 or -1, and XML and CSV have only text. */
export function isMore(value: Value | undefined): boolean {
  if (typeof value === 'string') return !/^(?:|false|null|none|0|-1)$/i.test(value);
  return value === true || (typeof value === 'number' ? value > 0 : value instanceof ExactNumber);
}

export function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) : undefined;
}
