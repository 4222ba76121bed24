import { isCelName } from '../condition/cel-name.ts';
import type { MorePages } from '../event.ts';
import { yamlWord } from '../text/yaml-word.ts';
import { ExactNumber, isObject, type JsonObject, textOf, type Value } from '../value/value.ts';
import { nextLink } from './link.ts';
import type { Answer } from './mapping.ts';
import { pathTo, valueAt } from './path.ts';

/** A request, as far as its paging depends on it. */
interface PagedRequest {
  /** The path and the query of the URL. */
  readonly path: string;
  /** True if the request has a JSON body, in which the server will look for the cursor. */
  readonly hasJsonBody: boolean;
}

type Steps = readonly (string | number)[];

/** Names of members that lead to the next page: its URL, its number or a cursor. */
const nextNames = ['next', 'next_page_token', 'nextPageToken'] as const;

/** Names of members that are true if there is another page. */
const flagNames = ['has_more', 'hasMore', 'has_next_page', 'hasNextPage'] as const;

/**
 * Returns a function that looks for signs of more pages: a Link header, or a member with a known name next to one of the lists or at the top
 * of the body. `lists` are the paths at which the node's map might read a list.
 */
export function morePagesFinder(lists: readonly Steps[]): (answer: Answer, request: PagedRequest) => MorePages | undefined {
  const parents = lists.map((list) => list.slice(0, -1));
  const holders = [[], ...parents].filter((steps, index, all) => all.findIndex((other) => isSamePath(other, steps)) === index);
  return (answer, request) => {
    const { body } = answer;
    const isList = (steps: Steps) => Array.isArray(valueAt(body, steps));
    // The header and the names come first: most answers lack them, so that nothing else is looked at.
    if (nextLink(answer.header('link')) !== undefined)
      return lists.some(isList) ? { sign: 'the Link header', paginate: paginateLine([['type', 'link_header']]) } : undefined;
    for (const at of holders) {
      const sign = signIn(body, at);
      const list = sign && lists.find((steps) => (at.length === 0 || isSamePath(steps.slice(0, -1), at)) && isList(steps));
      if (!list) continue;
      const options = sign.isFlag ? byFlag(sign, list, answer, request) : byValue(sign, request);
      return { sign: textOfPath([...at, sign.name]), paginate: paginateLine(options) };
    }
    return undefined;
  };
}

function isSamePath(one: Steps, other: Steps): boolean {
  return one.length === other.length && one.every((step, index) => step === other[index]);
}

/** A member that says that there are more pages, and the object that contains it. */
interface Sign {
  readonly at: Steps;
  readonly holder: JsonObject;
  readonly name: string;
  readonly isFlag: boolean;
}

function signIn(body: Value | undefined, at: Steps): Sign | undefined {
  const holder = valueAt(body, at);
  if (!isObject(holder)) return undefined;
  const flag = flagNames.find((name) => Object.hasOwn(holder, name));
  // Many servers also send a cursor with the last page, so a flag decides.
  if (flag !== undefined && !isTrue(holder[flag])) return undefined;
  const name = nextNames.find((one) => Object.hasOwn(holder, one) && isMore(holder[one])) ?? flag;
  return name === undefined ? undefined : { at, holder, name, isFlag: name === flag || holder[name] === true };
}

/** True for a flag that is set. XML and CSV have only text. */
function isTrue(value: Value | undefined): boolean {
  return value === true || value === 'true';
}

/** True for a value that leads to another page. Some servers end their pages with 0 or -1. */
function isMore(value: Value | undefined): boolean {
  if (typeof value === 'string') return value !== '' && value !== 'false';
  return value === true || (typeof value === 'number' ? value > 0 : value instanceof ExactNumber);
}

type Options = readonly (readonly [name: string, value: string | number])[];

const urlForm = /^(?:https?:\/\/|[/?]|[^\s?]*\?[^\s=]+=)/i;

/** Returns the options for a value that leads to the next page. */
function byValue({ at, holder, name }: Pick<Sign, 'at' | 'holder' | 'name'>, request: PagedRequest): Options {
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
  const place: Options = request.hasJsonBody && !known ? [['in', 'body']] : [];
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
function byFlag(sign: Sign, list: Steps, { body }: Answer, request: PagedRequest): Options {
  const { at, holder, name } = sign;
  const until: Options = [['until', `${celOf([...at, name])} == false`]];
  const items: Options = [['items', textOfPath(list)]];
  const sibling = Object.keys(holder).find((one) => siblings.test(one) && holder[one] !== true && isMore(holder[one]));
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

function queryPairs({ path }: PagedRequest): (readonly [string, string])[] {
  return [...new URLSearchParams(path.replace(/^[^?]*\??/, ''))];
}

function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) : undefined;
}

function textOfPath(steps: Steps): string {
  return steps.length === 0 ? '$body' : steps.reduce<string>(pathTo, '');
}

/** Returns the expression for a part of the body. */
function celOf(steps: Steps): string {
  return steps.reduce<string>((text, step) => text + (isCelName(String(step)) ? `.${step}` : `[${JSON.stringify(step)}]`), 'body');
}

function paginateLine(options: Options): string {
  const written = options.map(([name, value]) => {
    const isPlain = typeof value === 'number' || (name === 'until' && /^[\w.= ]+$/.test(value));
    return `${name}: ${isPlain ? value : yamlWord(value)}`;
  });
  return `paginate: { ${written.join(', ')} }`;
}
