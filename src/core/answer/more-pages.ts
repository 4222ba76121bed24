import { isCelName } from '../condition/expression-error.ts';
import type { MorePages } from '../event.ts';
import { yamlWord } from '../text/quoted-word.ts';
import { parseJson } from '../value/json.ts';
import { ExactNumber, isObject, type JsonObject, orUndefined, textOf, type Value, type ValuePath } from '../value/value.ts';
import { nextLink } from './link.ts';
import type { Answer } from './mapping.ts';
import { pathTo, valueAt } from './path.ts';

interface PagedRequest {
  /** The path and the query of the URL. */
  readonly path: string;
  /** True if the request has a JSON body, in which the server will look for the cursor. */
  readonly hasJsonBody: boolean;
  readonly body?: string;
}

/** Names of members that lead to the next page: its URL, its number or a cursor. */
const nextNames = ['next', 'next_page_token', 'nextPageToken'];

const pagingObjects = ['pageInfo', 'page_info', 'paging', 'pagination', 'meta', 'links'];
const innerNextNames = [
  ...nextNames,
  ...['next_cursor', 'nextCursor', 'next_token', 'nextToken', 'next_page', 'nextPage'],
  ...['next_url', 'nextUrl', 'next_link', 'nextLink'],
];

const flagNames = ['has_more', 'hasMore', 'has_next_page', 'hasNextPage'] as const;

const signNames: ReadonlySet<string> = new Set([...flagNames, ...innerNextNames]);
const pagingNames: ReadonlySet<string> = new Set(pagingObjects);

/** Looks at the Link header, and for known names next to one of the lists, at the top of the body, or in objects such as `meta` there. */
export function morePagesFinder(lists: readonly ValuePath[]): (answer: Answer, request: PagedRequest) => MorePages | undefined {
  const parents = lists.map((list) => list.slice(0, -1));
  const places = [[], ...parents].filter((steps, index, all) => all.findIndex((other) => isSamePath(other, steps)) === index);
  const holders = places.flatMap((place) => [
    { place, at: place, names: nextNames },
    ...pagingObjects.map((name) => ({ place, at: [...place, name], names: innerNextNames })),
  ]);
  return (answer, request) => {
    const { body } = answer;
    // The header and the names come first: most answers lack them, so that nothing else is looked at.
    const link = answer.header('link');
    if (link === undefined && !places.some((place) => mayHaveSign(valueAt(body, place)))) return undefined;
    const isList = (steps: ValuePath) => Array.isArray(valueAt(body, steps));
    if (nextLink(link) !== undefined)
      return lists.some(isList) ? { sign: 'the Link header', paginate: paginateLine([['type', 'link_header']]) } : undefined;
    for (const { place, at, names } of holders) {
      const sign = signIn(body, at, names);
      const list = sign && lists.find((steps) => (place.length === 0 || isSamePath(steps.slice(0, -1), place)) && isList(steps));
      if (!list) continue;
      const query = queryOfGraphql(request);
      const options = query === undefined ? optionsFor(sign, list, answer, request) : graphqlOptions(sign, query);
      const notes = query === undefined ? [] : graphqlNotes(sign, query);
      return { sign: textOfPath([...at, sign.name]), paginate: [paginateLine(options), ...notes].join(' # ') };
    }
    return undefined;
  };
}

function isSamePath(one: ValuePath, other: ValuePath): boolean {
  return one.length === other.length && one.every((step, index) => step === other[index]);
}

/** A member that says that there are more pages, and the object that contains it. */
interface Sign {
  readonly at: ValuePath;
  readonly holder: JsonObject;
  readonly name: string;
  readonly isFlag: boolean;
}

function signIn(body: Value | undefined, at: ValuePath, nextNames: readonly string[]): Sign | undefined {
  const holder = valueAt(body, at);
  if (!isObject(holder)) return undefined;
  const flag = flagNames.find((name) => Object.hasOwn(holder, name));
  // Many servers also send a cursor with the last page, so a flag decides.
  if (flag !== undefined && !isTrue(holder[flag])) return undefined;
  const name = nextNames.find((one) => Object.hasOwn(holder, one) && isMore(holder[one])) ?? flag;
  return name === undefined ? undefined : { at, holder, name, isFlag: name === flag || holder[name] === true };
}

/**
 * True for an object in which there might be a sign, itself or in one of its objects about paging. Every answer is looked at, and a loop
 * over its members takes less time than a search for each name.
 */
function mayHaveSign(value: Value | undefined, isInner = false): boolean {
  if (!isObject(value)) return false;
  for (const name in value) if (signNames.has(name) || (!isInner && pagingNames.has(name) && mayHaveSign(value[name], true))) return true;
  return false;
}

/** XML and CSV have only text. */
function isTrue(value: Value | undefined): boolean {
  return value === true || value === 'true';
}

/** True for a value that leads to another page. Some servers end their pages with 0 or -1. */
function isMore(value: Value | undefined): boolean {
  if (typeof value === 'string') return value !== '' && value !== 'false';
  return value === true || (typeof value === 'number' ? value > 0 : value instanceof ExactNumber);
}

type PaginateLines = readonly (readonly [name: string, value: string | number])[];

function optionsFor(sign: Sign, list: ValuePath, answer: Answer, request: PagedRequest): PaginateLines {
  return sign.isFlag ? byFlag(sign, list, answer, request) : byValue(sign, request);
}

function queryOfGraphql({ hasJsonBody, body }: PagedRequest): string | undefined {
  const sent = hasJsonBody && body !== undefined ? orUndefined(() => parseJson(body)) : undefined;
  const query = isObject(sent) ? sent.query : undefined;
  return typeof query === 'string' && query.includes('{') ? query : undefined;
}

/** Matches the variable of a GraphQL query that takes the cursor (GraphQL Cursor Connections, 4.1). */
const cursorVariable = /\bafter\s*:\s*\$(\w+)/;

function graphqlOptions(sign: Sign, query: string): PaginateLines {
  const { at, holder, name, isFlag } = sign;
  const cursor = isFlag ? (cursorBeside(holder, name) ?? 'endCursor') : name;
  const options: PaginateLines = [
    ['type', 'cursor'],
    ['path', textOfPath([...at, cursor])],
    ['param', `variables.${cursorVariable.exec(query)?.[1] ?? 'after'}`],
    ['in', 'body'],
  ];
  return isFlag ? [...options, ['until', `${celOf([...at, name])} == false`]] : options;
}

/** Returns what the query itself must have for the line to work. */
function graphqlNotes({ holder, name, isFlag }: Sign, query: string): string[] {
  const needs = [
    ...(cursorVariable.test(query) ? [] : ['take the variable: query ($after: String) { list(after: $after) }']),
    ...(isFlag && cursorBeside(holder, name) === undefined ? [`select endCursor next to ${name}`] : []),
  ];
  return needs.length === 0 ? [] : [`the query must also ${needs.join(', and ')}`];
}

const urlForm = /^(?:https?:\/\/|[/?]|[^\s?]*\?[^\s=]+=)/i;

function byValue({ at, holder, name }: Pick<Sign, 'at' | 'holder' | 'name'>, request: PagedRequest): PaginateLines {
  const path = textOfPath([...at, name]);
  const text = textOf(holder[name] as Value);
  if (urlForm.test(text))
    return [
      ['type', 'next_url'],
      ['path', path],
    ];
  const parameters = queryPairs(request);
  const isNumber = /^\d{1,6}$/.test(text);
  const known = parameters.find(([one]) => cursorNames.test(one) || (isNumber && (pageNames.test(one) || offsetNames.test(one))));
  // Only the first page leads to page 1 or 2. Any other number can be an offset or an id.
  const param = known?.[0] ?? (/^[12]$/.test(text) ? 'page' : cursorParameter(name));
  // A cursor that stands in the query already stays there.
  const place: PaginateLines = request.hasJsonBody && !known ? [['in', 'body']] : [];
  return [['type', 'cursor'], ['path', path], ['param', param], ...place];
}

/** Returns the parameter that usually takes the value of a member such as `endCursor`, `last_id` or `nextPageToken`. */
function cursorParameter(name: string): string {
  if (/token$/i.test(name)) return name.replace(/^next_?(?=page)/i, '').replace(/^P/, 'p');
  return /^(?:end_?cursor|last_?id|after)$/i.test(name) ? 'after' : 'cursor';
}

const pageNames = /^(?:p|page|page_?no|page_?num(?:ber)?)$/i;
const offsetNames = /^(?:offset|skip)$/i;
const cursorNames = /^(?:cursor|after|page_?token|next_?token|starting_after|start_cursor|marker)$/i;
const sizeNames = /^(?:limit|per_?page|page_?size|size|count|top)$/i;

/** Names of members next to a flag that lead to the next page. */
const siblings = /^(?:next_?(?:page|url|link|cursor|token)|cursor|end_?cursor|last_?id)$/i;

/** Returns the options for a flag such as `has_more: true`. A value next to it, or the request, shows how the next page is requested. */
function byFlag(sign: Sign, list: ValuePath, { body }: Answer, request: PagedRequest): PaginateLines {
  const { at, holder, name } = sign;
  const until: PaginateLines = [['until', `${celOf([...at, name])} == false`]];
  const items: PaginateLines = [['items', textOfPath(list)]];
  const sibling = cursorBeside(holder, name);
  if (sibling !== undefined) return [...byValue({ at, holder, name: sibling }, request), ...until];
  const parameters = queryPairs(request);
  const found = (names: RegExp) => parameters.find(([one]) => names.test(one));
  const rows = valueAt(body, list) as Value[];
  const size = found(sizeNames);
  const offset = found(offsetNames)?.[0] ?? (size?.[0] === 'limit' && !found(pageNames) ? 'offset' : undefined);
  if (holder.object === 'list' && isObject(rows[0]) && Object.hasOwn(rows[0], 'id'))
    return [['type', 'cursor'], ['path', 'id'], ['param', 'starting_after'], ['from', 'last_item'], ...items, ...until];
  if (offset !== undefined && rows.length > 0)
    return [['type', 'offset'], ['param', offset], ['size', wholeNumber(size?.[1]) ?? rows.length], ...items, ...until];
  const page = found(pageNames);
  const start = wholeNumber(page?.[1]);
  return [
    ['type', 'page'],
    ['param', page?.[0] ?? 'page'],
    ...(start === undefined || start === 1 ? [] : [['start', start] as const]),
    ...items,
    ...until,
  ];
}

function cursorBeside(holder: JsonObject, flag: string): string | undefined {
  return Object.keys(holder).find((one) => one !== flag && siblings.test(one) && holder[one] !== true && isMore(holder[one]));
}

function queryPairs({ path }: PagedRequest): (readonly [string, string])[] {
  return [...new URLSearchParams(path.replace(/^[^?]*\??/, ''))];
}

function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) : undefined;
}

function textOfPath(steps: ValuePath): string {
  return steps.length === 0 ? '$body' : steps.reduce<string>(pathTo, '');
}

function celOf(steps: ValuePath): string {
  return steps.reduce<string>((text, step) => text + (isCelName(String(step)) ? `.${step}` : `[${JSON.stringify(step)}]`), 'body');
}

function paginateLine(options: PaginateLines): string {
  const written = options.map(([name, value]) => {
    const isPlain = typeof value === 'number' || (name === 'until' && /^[\w.= ]+$/.test(value));
    return `${name}: ${isPlain ? value : yamlWord(value)}`;
  });
  return `paginate: { ${written.join(', ')} }`;
}
