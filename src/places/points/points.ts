import { readBody } from '../../core/answer/response.ts';
import { Failure } from '../../core/failure.ts';
import type { Completion, LookupRequest } from '../../core/lookup.ts';
import type { BuildContext } from '../../core/node.ts';
import type { HttpResponse } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import { textTemplate } from '../../core/template/template.ts';
import type { JsonObject, Value } from '../../core/value/value.ts';
import { usesWithin } from '../../nodes/http/request-template.ts';
import type { LocalData, Lookup, LookupServer } from '../lookup/lookup.ts';
import { publicLimits, refuseUnsuccessful, serverRequests } from '../lookup/server-requests.ts';
import {
  type Around,
  type Box,
  type ChainQuery,
  chainTags,
  type FoundPoint,
  isChainId,
  minChainScore,
  type PointsQuery,
  type Tags,
} from '../lookup.ts';
import { categoryOption, type PlacesOptions, type SettledOptions } from '../places-options.ts';
import { refuseLong } from '../refused-value.ts';
import { overpass } from './overpass.ts';
import { type AskedCategory, pointsDocument, unknownChain } from './points-document.ts';
import { type Where, type WhereTemplate, whereTemplate } from './where-option.ts';

const defaultLimit = 100;
const defaultTimeoutMs = 90_000;

/** Adds the defaults, and the rules of the public server if it is used. */
export function pointsSettings(options: PlacesOptions): SettledOptions {
  const { source, timeout = defaultTimeoutMs, connection } = options;
  if (connection !== undefined || source === 'file') return { ...options, timeout };
  return { ...options, timeout, ...publicLimits(options), retry: overpass.publicRetry };
}

export function pointsLookup(options: SettledOptions, context: BuildContext): Lookup | undefined {
  const where = whereTemplate(options, context);
  const categories = categoriesOf(options, context);
  if (options.category === undefined && options.chain === undefined)
    context.missing(['category', 'chain'], 'lookup: points needs category, chain or both', ['lookup']);
  if (!where || !categories) return undefined;
  const { near, chain, source, limit = defaultLimit } = options;
  const question = { where, chain, categories, limit };
  const answerer = source === 'file' ? pointsFile(options, question, context) : pointsServer(options, question, context);
  if (!answerer) return undefined;
  return {
    answerer,
    label: 'points',
    sources: ['openstreetmap'],
    unknownChain,
    defaultMap: near ? nearMap : { points_count: 'count' },
    reads: [...usesWithin(near as Value, ['near']), ...usesWithin(options.area as Value, ['area']), ...usesWithin(chain, ['chain'])],
    notes: categories.flatMap(({ notes }) => notes),
    cutOff: ({ truncated, nearest }) => (truncated ? { cutOffAt: limit, hidesNearest: near !== undefined && nearest === null } : undefined),
    question: () => '',
    noMatch: ({ count }) => (count === null ? 'no chain has that name' : 'no point was found'),
  };
}

const nearMap = {
  points_count: 'count',
  nearest_name: 'nearest.name',
  nearest_id: 'nearest.id',
  nearest_lat: 'nearest.lat',
  nearest_lon: 'nearest.lon',
  nearest_distance_m: 'nearest.distance_m',
};

type Category = AskedCategory & { readonly notes: readonly string[] };

function categoriesOf({ category = [] }: PlacesOptions, context: BuildContext): Category[] | undefined {
  const isList = Array.isArray(category);
  const found = [category].flat().map((words, index) => categoryOption(words, isList ? ['category', index] : ['category'], context));
  return found.every((one) => one !== undefined) ? found : undefined;
}

/** The parts of a query that are the same for all records. */
interface Question {
  readonly where: WhereTemplate;
  /** A Wikidata id, or the name of a retail chain; undefined to search without a chain. */
  readonly chain: string | undefined;
  readonly categories: readonly AskedCategory[];
  readonly limit: number;
}

function pointsServer(options: SettledOptions, question: Question, context: BuildContext): LookupServer {
  const { where, categories, limit } = question;
  const { server, perDay } = overpass;
  const requests = serverRequests({ server, options, perDay }, context);
  const requestOf = requestTemplate(question, (where, chain) => requests.post(overpass.request({ where, categories, chain, limit })));
  return {
    publicServer: requests.publicServer,
    credentials: requests.credentials,
    maxAgeMs: options.cache,
    calls: 1,
    requests(fields) {
      const request = requestOf(fields);
      return request ? [request] : [];
    },
    check(response) {
      refuseUnsuccessful(response, requests.publicServer);
      const { status } = response;
      const { message, isTimeout = false } = overpass.refusal(bodyOf(response)) ?? {};
      if (message !== undefined) throw new Failure(isTimeout ? 'timeout' : 'answer', message, { status, retryable: isTimeout });
    },
    document: ([response], record) =>
      pointsDocument(overpass.answer(bodyOf(response as HttpResponse), limit), { where: where(record) as Where, categories, limit }),
  };
}

function bodyOf(response: HttpResponse): Value {
  return readBody(response, 'json', true) ?? null;
}

interface PointsRequest extends LookupRequest {
  readonly query: PointsQuery;
}

function pointsFile({ file, area }: PlacesOptions, question: Question, { problem }: BuildContext): LocalData | undefined {
  if (file === undefined) return void problem(['source'], 'source: file needs the option "file"');
  if (area && !area.bbox) return void problem(['area'], 'with source: file, the area must be a bbox: [south, west, north, east]');
  const { categories, limit } = question;
  const tags = categories.map((category) => category.tags);
  return {
    file,
    request: requestTemplate(question, (where, chain): PointsRequest => {
      return { kind: 'lookup', lookup: 'points', query: { file, where: where as Around | Box, categories: tags, chain } };
    }),
    document({ found }, request) {
      const points = found as unknown as readonly FoundPoint[];
      return pointsDocument({ points, mayLackNearest: false }, { where: (request as PointsRequest).query.where, categories, limit });
    },
  };
}

/** Undefined for a record without a place or a chain. Throws a Failure (`request`) if a value of the record is invalid. */
function requestTemplate<Request extends object>(
  { where: whereOf, chain, categories }: Question,
  requestOf: (where: Where, chain: Tags | undefined) => Request,
): (fields: Fields) => Request | (Request & { readonly completion: Completion<Request> }) | undefined {
  const chainOf = chain === undefined ? undefined : textTemplate(chain);
  return (fields) => {
    const where = whereOf(fields);
    const name = chainOf?.(fields).trim();
    if (!where || name === '') return undefined;
    if (name === undefined) return requestOf(where, undefined);
    if (isChainId(name)) return requestOf(where, chainTags(name.toUpperCase(), name));
    refuseLong(name, 'name');
    // If several retail chains have the same name, the first category decides which one is meant.
    const query: ChainQuery = { name, category: categories[0]?.id, minScore: minChainScore };
    const request = (found: JsonObject) =>
      found.match ? requestOf(where, chainTags(found.id as string | null, String(found.name))) : undefined;
    return {
      ...requestOf(where, { brand: name }),
      completion: { lookup: { kind: 'lookup', lookup: 'chain', query }, sought: name, request },
    };
  };
}
