import { isCelName } from '../condition/expression-error.ts';
import type { MorePages } from '../event.ts';
import { yamlWord } from '../text/quoted-word.ts';
import { parseJson } from '../value/json.ts';
import { isObject, type JsonObject, orUndefined, textOf, type Value, type ValuePath } from '../value/value.ts';
import { nextLink } from './link.ts';
import type { Answer } from './mapping.ts';
import {
  type Count,
  countIn,
  type Flag,
  isFromZero,
  isMore,
  leadsToUrl,
  mayHaveSign,
  type PageMember,
  type Signs,
  signsIn,
  wholeNumber,
} from './page-signs.ts';
import { pathTo, valueAt } from './path.ts';

interface PagedRequest {
  /** The path and the query of the URL. */
  readonly path: string;
  /** True if the request has a JSON body, in which the server will look for the cursor. */
  readonly hasJsonBody: boolean;
  readonly body?: string;
}

/**
 * Looks at the Link header, and for known names next to one of the lists, at the top of the body, or in objects such as `meta` there.
 * `isRead` is true for a path that the map reads: its sign is known to the user.
 */
export function morePagesFinder(
  lists: readonly ValuePath[],
  isRead: (path: string) => boolean = () => false,
): (answer: Answer, request: PagedRequest) => MorePages | undefined {
  const parents = unique(lists.map((list) => list.slice(0, -1)));
  const places = unique([[], ...parents]);
  return (answer, request) => {
    const { body } = answer;
    // The header and the names come first: most answers lack them, so that nothing else is looked at.
    const link = answer.header('link');
    if (link === undefined && !places.some((place) => mayHaveSign(valueAt(body, place)))) return undefined;
    const isList = (steps: ValuePath) => Array.isArray(valueAt(body, steps));
    if (nextLink(link) !== undefined)
      return lists.some(isList) ? { sign: 'the Link header', paginate: paginateLine([['type', 'link_header']]) } : undefined;
    for (const place of parents) {
      const list = lists.find((steps) => isSamePath(steps.slice(0, -1), place) && isList(steps));
      // A flag at the top also decides for a cursor next to the list, and the other way round.
      const signs = list && signsIn(body, unique([[], place]), (valueAt(body, list) as Value[]).length);
      if (!signs) continue;
      const shown = signs.flag ?? signs.next ?? (signs.count as Count);
      if (isRead(textOfPath(shown.at)) || (signs.next && isRead(textOfPath(signs.next.at)))) return undefined;
      return { sign: textOfPath(shown.at), paginate: suggestion(signs, list, answer, request) };
    }
    return undefined;
  };
}

function suggestion(signs: Signs, list: ValuePath, answer: Answer, request: PagedRequest): string {
  const query = queryOfGraphql(request);
  if (query !== undefined && !signs.count) return [paginateLine(graphqlOptions(signs, query)), ...graphqlNotes(signs, query)].join(' # ');
  return paginateLine(optionsFor(signs, list, answer, request));
}

function unique(paths: readonly ValuePath[]): ValuePath[] {
  return paths.filter((steps, index) => paths.findIndex((other) => isSamePath(other, steps)) === index);
}

function isSamePath(one: ValuePath, other: ValuePath): boolean {
  return one.length === other.length && one.every((step, index) => step === other[index]);
}

type PaginateLines = readonly (readonly [name: string, value: string | number])[];

function optionsFor(signs: Signs, list: ValuePath, { body }: Answer, request: PagedRequest): PaginateLines {
  const { flag, next, count } = signs;
  const rows = valueAt(body, list) as Value[];
  const until: PaginateLines = flag ? [['until', untilOf(flag)]] : [];
  const value = next ?? (flag && cursorBeside(flag));
  if (value) return [...byValue(value, request), ...until];
  if (flag) return byFlag(flag, list, rows, request);
  return byCount(count as Count, list, request);
}

function untilOf({ at, isTrueAtEnd }: Flag): string {
  return `${celOf(at)} == ${isTrueAtEnd}`;
}

function queryOfGraphql({ hasJsonBody, body }: PagedRequest): string | undefined {
  const sent = hasJsonBody && body !== undefined ? orUndefined(() => parseJson(body)) : undefined;
  const query = isObject(sent) ? sent.query : undefined;
  return typeof query === 'string' && query.includes('{') ? query : undefined;
}

/** Matches the variable of a GraphQL query that takes the cursor (GraphQL Cursor Connections, 4.1). */
const cursorVariable = /\bafter\s*:\s*\$(\w+)/;

function graphqlOptions({ flag, next }: Signs, query: string): PaginateLines {
  const cursor = next ?? (flag && cursorBeside(flag));
  const path = cursor?.at ?? [...(flag as Flag).at.slice(0, -1), 'endCursor'];
  const options: PaginateLines = [
    ['type', 'cursor'],
    ['path', textOfPath(path)],
    ['param', `variables.${cursorVariable.exec(query)?.[1] ?? 'after'}`],
    ['in', 'body'],
  ];
  return flag ? [...options, ['until', untilOf(flag)]] : options;
}

/** Returns what the query itself must have for the line to work. */
function graphqlNotes({ flag, next }: Signs, query: string): string[] {
  const needs = [
    ...(cursorVariable.test(query) ? [] : ['take the variable: query ($after: String) { list(after: $after) }']),
    ...(flag && !next && !cursorBeside(flag) ? [`select endCursor next to ${flag.name}`] : []),
  ];
  return needs.length === 0 ? [] : [`the query must also ${needs.join(', and ')}`];
}

function byValue({ at, holder, name }: PageMember, request: PagedRequest): PaginateLines {
  const path = textOfPath(at);
  const value = holder[name] as Value;
  if (leadsToUrl(value) && name !== 'offset')
    return [
      ['type', 'next_url'],
      ['path', path],
    ];
  const text = textOf(value);
  const parameters = queryPairs(request);
  const isNumber = /^\d{1,6}$/.test(text);
  const known = parameters.find(([one]) => cursorNames.test(one) || (isNumber && (pageNames.test(one) || offsetNames.test(one))));
  // Only the first page leads to page 1 or 2. Any other number can be an offset or an id.
  const param = known?.[0] ?? ownParameter(name, holder) ?? (/^[12]$/.test(text) ? 'page' : cursorParameter(name));
  // A cursor that stands in the query already stays there.
  const place: PaginateLines = request.hasJsonBody && !known ? [['in', 'body']] : [];
  return [['type', 'cursor'], ['path', path], ['param', param], ...place];
}

/** Returns the parameter that follows from the name, as in `nextMarker`, or from the API that has such answers. */
function ownParameter(name: string, holder: JsonObject): string | undefined {
  if (name === 'LastEvaluatedKey') return 'ExclusiveStartKey';
  if (name === 'offset' || /\wcontinue$/.test(name)) return name;
  // The API of Notion.
  if (name === 'next_cursor' && holder.object === 'list') return 'start_cursor';
  // The APIs of Jira and Zoom take the token under its own name.
  if ((name === 'nextPageToken' && 'isLast' in holder) || (name === 'next_page_token' && 'page_size' in holder)) return name;
  return /^next[_-]?(?:page[_-]?)?(start|offset|marker|key)$/i.exec(name)?.[1]?.toLowerCase();
}

/** Returns the parameter that usually takes the value of a member such as `endCursor`, `last_id`, `nextPageToken` or `starting_after`. */
function cursorParameter(name: string): string {
  if (name === 'starting_after') return name;
  if (/token$/i.test(name)) return name.replace(/^next[_-]?(?=page)/i, '').replace(/^P/, 'p');
  return /^(?:end_?cursor|last_?id|after)$/i.test(name) ? 'after' : 'cursor';
}

const pageNames = /^(?:p|page|page_?no|page_?num(?:ber)?|page\[number\]|pagination\[page\])$/i;
const offsetNames = /^(?:offset|skip|start_?at|page\[offset\]|pagination\[start\])$/i;
const cursorNames = /^(?:cursor|after|page_?token|next_?token|starting_after|start_cursor|marker|page\[(?:cursor|after)\])$/i;
const sizeNames = /^(?:limit|per_?page|page_?size|size|count|top|page\[(?:size|limit)\]|pagination\[(?:pageSize|limit)\])$/i;

/** Names of members next to a flag that lead to the next page. */
const siblings = /^(?:cursor|(?:end|after)_?cursor|last_?id)$/i;

/** Returns the options for a flag such as `has_more: true`. The request shows how the next page is requested. */
function byFlag(flag: Flag, list: ValuePath, rows: readonly Value[], request: PagedRequest): PaginateLines {
  const until: PaginateLines = [['until', untilOf(flag)]];
  const items: PaginateLines = [['items', textOfPath(list)]];
  const parameters = queryPairs(request);
  const found = (names: RegExp) => parameters.find(([one]) => names.test(one));
  const size = found(sizeNames);
  const countsRows = size?.[0] === 'limit' || countIn(flag.holder.offset) === 0;
  const offset = found(offsetNames)?.[0] ?? (countsRows && !found(pageNames) ? 'offset' : undefined);
  if (flag.holder.object === 'list' && isObject(rows[0]) && Object.hasOwn(rows[0], 'id'))
    return [['type', 'cursor'], ['path', 'id'], ['param', 'starting_after'], ['from', 'last_item'], ...items, ...until];
  if (offset !== undefined && rows.length > 0)
    return [
      ['type', 'offset'],
      ['param', offset],
      ['size', wholeNumber(size?.[1]) ?? countIn(flag.holder.limit) ?? rows.length],
      ...items,
      ...until,
    ];
  return [...pageOptions(found(pageNames)), ...items, ...until];
}

function pageOptions([param, written]: readonly string[] = [], counted?: number): PaginateLines {
  const start = wholeNumber(written) ?? counted;
  return [['type', 'page'], ['param', param ?? 'page'], ...(start === undefined || start === 1 ? [] : [['start', start] as const])];
}

function byCount({ type, at, holder, name, beside }: Count, list: ValuePath, request: PagedRequest): PaginateLines {
  const items: PaginateLines = [['items', textOfPath(list)]];
  const parameters = queryPairs(request);
  if (type === 'offset') {
    const param = parameters.find(([one]) => offsetNames.test(one))?.[0] ?? name;
    return [['type', 'offset'], ['param', param], ['size', countIn(holder[beside]) as number], ...items];
  }
  const page = parameters.find(([one]) => pageNames.test(one));
  const isText = typeof holder[name] === 'string' || typeof holder[beside] === 'string';
  const number = `${celOf(at)}${isFromZero({ at, holder, name }) ? ' + 1' : ''}`;
  const until: PaginateLines = isText ? [] : [['until', `${number} >= ${celOf([...at.slice(0, -1), beside])}`]];
  return [...pageOptions(page, countIn(holder[name])), ...items, ...until];
}

/** A member next to a flag that leads to the next page, but alone would be no sign. */
function cursorBeside({ at, holder, name: flag }: Flag): PageMember | undefined {
  const name = Object.keys(holder).find((one) => one !== flag && siblings.test(one) && holder[one] !== true && isMore(holder[one]));
  return name === undefined ? undefined : { at: [...at.slice(0, -1), name], holder, name };
}

function queryPairs({ path }: PagedRequest): (readonly [string, string])[] {
  return [...new URLSearchParams(path.replace(/^[^?]*\??/, ''))];
}

function textOfPath(steps: ValuePath): string {
  return steps.length === 0 ? '$body' : steps.reduce<string>(pathTo, '');
}

function celOf(steps: ValuePath): string {
  return steps.reduce<string>((text, step) => text + (isCelName(String(step)) ? `.${step}` : `[${JSON.stringify(step)}]`), 'body');
}

function paginateLine(options: PaginateLines): string {
  const written = options.map(([name, value]) => {
    const isPlain = typeof value === 'number' || (name === 'until' && /^[\w.=>+ ]+$/.test(value));
    return `${name}: ${isPlain ? value : yamlWord(value)}`;
  });
  return `paginate: { ${written.join(', ')} }`;
}
