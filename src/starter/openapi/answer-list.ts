import { pathTo } from '../../core/answer/path.ts';
import { referable } from '../../core/template/template.ts';
import { formatCount } from '../../core/text/number.ts';
import { freeName } from '../../core/text/suggest.ts';
import { isObject, type Value } from '../../core/value/value.ts';
import { listOf, partOf } from '../json-parts.ts';
import { quotedPathTo } from '../written-node.ts';
import { type DescribedAnswer, successfulAnswer } from './described-answer.ts';
import { isPagingParameter } from './described-paging.ts';
import type { OpenApi, OpenApiObject, Operation } from './document.ts';
import { typeOf } from './sample.ts';

/** A list in a response: its path, and the schema of one element. */
interface AnswerList {
  readonly path: string;
  readonly element: OpenApiObject;
}

interface ArrayOfAnswer {
  readonly steps: readonly string[];
  readonly isOfObjects: boolean;
  beside(): readonly string[];
}

interface DescribedArray extends ArrayOfAnswer {
  readonly element: OpenApiObject;
}

const envelopes = /^(?:data|items|results?|records|values?|entries|hits|rows|list|content|elements|nodes|edges|docs|objects)$/i;

/** Names of arrays that can stand next to the list, but are not the list. */
const asides = /^_?(?:errors?|warnings?|messages|notices|links?|included|includes|facets|aggregations|filters|sort)$/i;

/** Names of members that describe a list, without separators and in lower case. */
const aboutList = new RegExp(
  `^(?:${[
    ...['total.*', '.*count', '.*total', '.*pages?', 'page.*', 'perpage', 'limit', 'offset', 'size', 'start(?:at|index)?', 'maxresults'],
    ...['has(?:more|next|prev).*', 'islast.*', 'next.*', 'prev.*', 'first', 'last', 'self', '.*cursor', '.*token', '.*links?', '.*url'],
    ...['.*meta(?:data)?', 'paging', 'pagination', 'pageinfo', 'ok', 'success', 'status', 'code', 'message', 'object', 'kind', 'etag'],
    ...['expand', 'requestid', 'took', 'odatacontext', 'odatanextlink'],
  ].join('|')})$`,
);

/** At the top or one level down, with a general name such as `data` or the resource's. Undefined for a single object with arrays. */
export function answerList(document: OpenApi, operation: Operation, answer: DescribedAnswer): AnswerList | undefined {
  const schema = document.schema(answer.media.schema);
  if (typeOf(schema) === 'array') return { path: '$body', element: document.schema(schema.items) };
  const isPaged =
    Object.keys(answer.headers).some((name) => /^link$/i.test(name)) ||
    listOf(operation.part.parameters).some((parameter) => {
      const { name, in: place } = document.at(parameter);
      return place === 'query' && typeof name === 'string' && isPagingParameter(name);
    });
  const found = likeliest(arraysIn(document, schema), operation.path, isPaged);
  return found && { path: found.steps.reduce<string>(pathTo, ''), element: found.element };
}

function arraysIn(
  document: OpenApi,
  { properties }: OpenApiObject,
  above: readonly string[] = [],
  around: DescribedArray['beside'] = () => [],
): DescribedArray[] {
  const members = partOf(properties);
  return Object.entries(members).flatMap(([name, member]): DescribedArray[] => {
    const steps = [...above, name];
    const schema = document.schema(member);
    const beside = () => [...around(), ...namesBut(name, members)];
    if (typeOf(schema) === 'array') {
      const element = document.schema(schema.items);
      return [{ steps, beside, element, isOfObjects: typeOf(element) === 'object' }];
    }
    return above.length === 0 && !isAboutList(name) ? arraysIn(document, schema, steps, beside) : [];
  });
}

function namesBut(name: string, members: OpenApiObject): string[] {
  return Object.keys(members).filter((other) => other !== name);
}

const maxRecordedDepth = 4;

/** Returns the path of the list in a recorded answer, which would split it into records; undefined for a single object with arrays. */
export function recordedList(body: Value, url: string): string | undefined {
  if (Array.isArray(body)) return '';
  const [address = '', query = ''] = url.replace(/^[a-z]+:\/\/[^/?]*/i, '').split(/\?(.*)/s);
  const path = address.replace(/(?<=\/)(?:\d+|:\w+|\{\{[^{}]*\}\}|[^/{}]*\d{3}[^/{}]*)(?=\/|$)/g, '{id}');
  const isPaged = query.split('&').some((pair) => isPagingParameter(pair.split('=')[0] ?? ''));
  return likeliest(recordedArrays(body), path, isPaged)?.steps.reduce<string>(pathTo, '');
}

function recordedArrays(object: Value, above: readonly string[] = [], around: readonly string[] = []): ArrayOfAnswer[] {
  if (!isObject(object) || above.length === maxRecordedDepth) return [];
  return Object.entries(object).flatMap(([name, member]): ArrayOfAnswer[] => {
    const steps = [...above, name];
    const beside = [...around, ...namesBut(name, object)];
    if (Array.isArray(member)) return [{ steps, beside: () => beside, isOfObjects: member.some(isObject) }];
    return isAboutList(name) ? [] : recordedArrays(member, steps, beside);
  });
}

/** Outer arrays come first. */
function likeliest<A extends ArrayOfAnswer>(arrays: readonly A[], path: string, isPaged: boolean): A | undefined {
  const isOfOne = /\{[^{}]*\}(?:\.\w+)?\/?$/.test(path);
  const all = [...arrays].sort((one, other) => one.steps.length - other.steps.length);
  const isOnlyList = ({ beside }: A) => beside().every(isAboutList);
  if (isOfOne && !isPaged) return all.find((one) => envelopes.test(nameOf(one)) && isOnlyList(one));
  const resource = resourceWords(path);
  const named = all.find((one) => resource.includes(singular(nameOf(one))));
  if (named) return named;
  const enveloped = all.find((one) => envelopes.test(nameOf(one)));
  if (enveloped && (isPaged || isOnlyList(enveloped) || (isInEnvelopes(enveloped) && !enveloped.beside().some(isId)))) return enveloped;
  const objects = all.filter((one) => one.isOfObjects && !asides.test(nameOf(one)));
  const outer = objects.filter(({ steps }) => steps.length === objects[0]?.steps.length);
  const [only] = outer;
  return only && outer.length === 1 && (isPaged || isOnlyList(only)) ? only : undefined;
}

function nameOf({ steps }: ArrayOfAnswer): string {
  return steps.at(-1) ?? '';
}

/** True for `data` or `hits.hits`, but not for `items`, because an order has items, too. */
function isInEnvelopes({ steps }: ArrayOfAnswer): boolean {
  return (
    steps.every((step) => envelopes.test(step)) && !/^(?:items|entries|content|elements|values?|list|objects)$/i.test(steps.at(-1) ?? '')
  );
}

function isId(name: string): boolean {
  return /^_?(?:uu|gu)?(?:id|Id|ID)$|_id$|[a-z]I[dD]$|[nN]umber$|^name$/.test(name) && !isAboutList(name);
}

function isAboutList(name: string): boolean {
  return aboutList.test(folded(name));
}

function folded(name: string): string {
  return name.replace(/[^\p{L}\p{N}]/gu, '').toLowerCase();
}

function singular(name: string): string {
  return folded(name)
    .replace(/ies$/, 'y')
    .replace(/(?<=s|x|z|ch|sh)es$|(?<=[^s])s$/, '');
}

/** Returns the last literal segment of an operation's path, such as `pets` in `/v1/pets/{petId}`, and each of its words. */
function resourceWords(path: string): string[] {
  const literal = path.split('/').findLast((segment) => segment !== '' && !segment.includes('{')) ?? '';
  return [literal, ...literal.split(/[^\p{L}\p{N}]+/u)].map(singular).filter((word) => word !== '');
}

const maxFields = 12;
const otherValues = 'add others by hand, or let automate test-request write them';
const maxDepth = 3;

/** A scalar value in a response: its path, and the names along that path. */
interface Leaf {
  readonly path: string;
  readonly names: readonly string[];
}

/** Outer values come first, and a list becomes records. Undefined without JSON. A value with a name in `columns` gets another name. */
export function answerMap(document: OpenApi, operation: Operation, columns: readonly string[]) {
  const answer = successfulAnswer(document, operation.part);
  if (answer?.media.schema === undefined) return undefined;
  const list = answerList(document, operation, answer);
  const [schema, start] = list ? [list.element, `${list.path}[]`] : [document.schema(answer.media.schema), ''];
  const leaves = leavesOf(document, schema, { path: start, names: [] }).sort((one, other) => one.names.length - other.names.length);
  const map = new Map<string, string>();
  const notes: string[] = [];
  if (leaves.length > maxFields)
    notes.push(`the map has ${maxFields} of the answer's ${formatCount(leaves.length)} values; ${otherValues}`);
  for (const { path, names } of leaves.slice(0, maxFields)) {
    const own = referable(names.join('_')) || 'value';
    const field = freeName(own, (name) => columns.includes(name) || map.has(name));
    if (columns.includes(own)) notes.push(`the answer's "${own}" becomes ${field}, because the records already have a field "${own}"`);
    map.set(field, path);
  }
  return map.size === 0 ? undefined : { map: Object.fromEntries(map), notes };
}

/** Returns the scalar values within a schema. `above` lists the enclosing schemas, to detect recursion. */
function leavesOf(document: OpenApi, schema: OpenApiObject, { path, names }: Leaf, above: readonly OpenApiObject[] = []): Leaf[] {
  const type = typeOf(schema);
  if (type === 'array' || names.length > maxDepth) return [];
  if (type !== 'object') return path === '' ? [{ path: '$body', names: ['value'] }] : [{ path, names }];
  return Object.entries(partOf(schema.properties)).flatMap(([name, member]) => {
    const own = document.schema(member);
    if (own.writeOnly === true || above.includes(document.at(member))) return [];
    return leavesOf(document, own, { path: quotedPathTo(path, name), names: [...names, name] }, [...above, document.at(member)]);
  });
}
