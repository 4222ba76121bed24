import { pathTo } from '../../core/answer/path.ts';
import { isCelName } from '../../core/condition/expression-error.ts';
import { isMapping } from '../../core/value/value.ts';
import { partOf } from '../json-parts.ts';
import type { WrittenPaging } from '../written-node.ts';
import type { AnswerExample, DescribedAnswer } from './described-answer.ts';
import type { OpenApi, OpenApiObject } from './document.ts';
import { typeOf } from './sample.ts';

export interface DescribedPaging {
  readonly paginate: WrittenPaging;
  /** The query parameters of which paging takes care, so that they need no value from a record. */
  readonly parameters: readonly string[];
  /** Query parameters with fixed values, such as the size of a page. */
  readonly fixed: readonly (readonly [name: string, value: number])[];
  pages(body: unknown): Pick<AnswerExample, 'body' | 'lastBody'>;
}

interface QueryParameter {
  readonly name: string;
  readonly schema: OpenApiObject;
}

type SchemaPath = readonly string[];

interface AnswerMember {
  readonly steps: SchemaPath;
  readonly schema: OpenApiObject;
}

const parameterNames = {
  cursor:
    /^(?:cursor|after|after_?id|page_?token|pagination_?token|next_?(?:page_?)?(?:token|cursor)|continuation_?token|starting_?after|start_?cursor|marker|page\[(?:cursor|after)\])$/i,
  page: /^(?:p|page|page_?no|page_?num(?:ber)?|page\[number\])$/i,
  offset: /^(?:offset|\$?skip|start|start_?at|page\[offset\])$/i,
  size: /^(?:limit|take|rows|\$?top|count|size|per_?page|page_?size|max_?results|page\[(?:limit|size)\])$/i,
};

const memberNames = {
  cursor: /^(?:next_?(?:page_?)?(?:cursor|token)|next_?page|(?:end_?)?cursor|next|after|last_?id)$/i,
  // OData writes the name with a prefix: @odata.nextLink.
  url: /^(?:@?\w+[.:])?next(?:_?page)?(?:_?(?:url|link|uri))?$/i,
  flag: /^has_?(?:more|next(?:_?page)?)$/i,
};

export function isPagingParameter(name: string): boolean {
  return Object.values(parameterNames).some((names) => names.test(name));
}

/** Size of a page if the description has neither a maximum nor a default. */
const usualSize = 100;

/** Finds paging by a Link header, a cursor or a URL in the answer, or page or offset parameters. `list` is the path of the list. */
export function describedPaging(
  document: OpenApi,
  answer: DescribedAnswer,
  { list, query }: { readonly list: string; readonly query: readonly QueryParameter[] },
): DescribedPaging | undefined {
  const members = answerMembers(document, document.schema(answer.media.schema), []);
  const find = (names: RegExp) => query.find(({ name }) => names.test(name));
  const [page, size] = [find(parameterNames.page), find(parameterNames.size)];
  // A string is a cursor, or a filter such as a date.
  const offset = query.find(({ name, schema }) => parameterNames.offset.test(name) && typeOf(schema) !== 'string');
  if (Object.keys(answer.headers).some((name) => /^link$/i.test(name)))
    return { paginate: { type: 'link_header' }, parameters: pagingNames(page, offset), fixed: [], pages: (body) => ({ body }) };
  const until = untilOf(members);
  const items = { items: list };
  const byValue =
    cursorPaging(document, members, { query, items: { ...items, ...until } }) ?? urlPaging(members, pagingNames(page, offset));
  if (byValue) return byValue;
  const pages = (body: unknown) => ({ body, lastBody: withValue(body, stepsTo(list), []) });
  if (page) {
    const { minimum, default: first = minimum } = page.schema;
    const start = typeof first === 'number' && first !== 1 ? { start: first } : {};
    return {
      paginate: { type: 'page', param: page.name, ...start, ...items, ...until },
      parameters: [page.name],
      fixed: [],
      pages,
    };
  }
  if (!offset || !size) return undefined;
  const { maximum, default: usual = usualSize } = size.schema;
  const count = Number(typeof maximum === 'number' && maximum <= 1000 ? maximum : usual);
  const paginate = { type: 'offset', param: offset.name, size: count, ...items, ...until };
  return { paginate, parameters: [offset.name, size.name], fixed: [[size.name, count]], pages };
}

function pagingNames(...parameters: readonly (QueryParameter | undefined)[]): string[] {
  return parameters.flatMap((parameter) => parameter?.name ?? []);
}

interface CursorParts {
  readonly query: readonly QueryParameter[];
  readonly items: Readonly<Record<string, string>>;
}

function cursorPaging(document: OpenApi, members: readonly AnswerMember[], { query, items }: CursorParts): DescribedPaging | undefined {
  const param = query.find(({ name, schema }) => parameterNames.cursor.test(name) && !isDate(schema))?.name;
  if (param === undefined) return undefined;
  const cursors = members.filter(({ steps, schema }) => memberNames.cursor.test(steps.at(-1) ?? '') && !isUrl(schema) && isScalar(schema));
  // An answer can also repeat the cursor of the request.
  const next = cursors.find(({ steps }) => /^(?:next|end)/i.test(steps.at(-1) ?? '')) ?? cursors[0];
  if (next) {
    const paginate = { type: 'cursor', path: textOfPath(next.steps), param, until: items.until };
    return { paginate, parameters: [param], fixed: [], pages: (body) => ({ body: withValue(body, next.steps, null) }) };
  }
  const list = items.items ?? '';
  const element = document.schema(members.find(({ steps }) => textOfPath(steps) === list)?.schema.items);
  const isAfterItem = /^(?:starting_?after|after_?id)$/i.test(param) || (/^after$/i.test(param) && items.until !== undefined);
  if (!isAfterItem || !Object.hasOwn(partOf(element.properties), 'id')) return undefined;
  const paginate = { type: 'cursor', path: 'id', param, from: 'last_item', ...items };
  return { paginate, parameters: [param], fixed: [], pages: (body) => ({ body, lastBody: withValue(body, stepsTo(list), []) }) };
}

function urlPaging(members: readonly AnswerMember[], parameters: readonly string[]): DescribedPaging | undefined {
  const next = members.find(({ steps, schema }) => {
    // HAL has _links.next.href.
    const name = (steps.at(-1) === 'href' ? steps.at(-2) : steps.at(-1)) ?? '';
    return (
      memberNames.url.test(name) &&
      isScalar(schema) &&
      (steps.at(-1) === 'href' || isUrl(schema) || /url|link|uri/i.test(name) || steps.at(-2) === 'links')
    );
  });
  if (!next) return undefined;
  const paginate = { type: 'next_url', path: textOfPath(next.steps) };
  return { paginate, parameters, fixed: [], pages: (body) => ({ body: withValue(body, next.steps, null) }) };
}

/** Returns the condition that ends the paging if the answer has a flag such as `has_more`. */
function untilOf(members: readonly AnswerMember[]): { readonly until?: string } {
  const flag = members.find(({ steps, schema }) => memberNames.flag.test(steps.at(-1) ?? '') && typeOf(schema) === 'boolean');
  return flag?.steps.every(isCelName) ? { until: `body.${flag.steps.join('.')} == false` } : {};
}

function isUrl({ format }: OpenApiObject): boolean {
  return typeof format === 'string' && /^(?:uri|url)/.test(format);
}

/** True for a filter such as `after=2026-01-31`, which has the name of a cursor. */
function isDate({ format }: OpenApiObject): boolean {
  return typeof format === 'string' && format.startsWith('date');
}

function isScalar(schema: OpenApiObject): boolean {
  return !['object', 'array', 'boolean'].includes(typeOf(schema) ?? '');
}

/** Maximum depth at which the members about paging are looked for, as in `meta.pagination.next`. */
const maxDepth = 3;

function answerMembers(document: OpenApi, { properties }: OpenApiObject, above: SchemaPath): AnswerMember[] {
  const own = Object.entries(partOf(properties)).map(([name, schema]) => ({ steps: [...above, name], schema: document.schema(schema) }));
  const inner = above.length + 1 < maxDepth ? own.flatMap(({ steps, schema }) => answerMembers(document, schema, steps)) : [];
  return [...own, ...inner];
}

function textOfPath(steps: SchemaPath): string {
  return steps.reduce<string>(pathTo, '');
}

function stepsTo(list: string): SchemaPath {
  return list === '$body' ? [] : [...list.matchAll(/\["((?:[^"\\]|\\.)*)"\]|[^.[\]]+/g)].map(([name, quoted]) => quoted ?? name);
}

function withValue(example: unknown, [step, ...more]: SchemaPath, value: unknown): unknown {
  if (step === undefined) return value;
  return isMapping(example) ? { ...example, [step]: withValue(example[step], more, value) } : example;
}
