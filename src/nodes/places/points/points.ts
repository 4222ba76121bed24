import { Failure } from '../../../core/failure.ts';
import type { BuildContext } from '../../../core/node.ts';
import type { HttpResponse } from '../../../core/ports.ts';
import type { Value } from '../../../core/value/value.ts';
import { usesWithin } from '../../http/request-template.ts';
import type { Lookup, LookupServer } from '../../lookup/lookup.ts';
import type { LookupOptions } from '../../lookup/lookup-options.ts';
import { publicLimits, refuseUnsuccessful, serverRequests } from '../../lookup/server-requests.ts';
import { categoryOption } from '../category-option.ts';
import type { PlacesOptions, SettledOptions } from '../places-options.ts';
import { pageText, pointsOf, refuseRemark } from './overpass-answer.ts';
import { overpassQuery, type Where } from './overpass-query.ts';
import { type AskedCategory, pointsDocument, type QuestionParts, unknownChain } from './points-document.ts';
import { pointsFile } from './points-file.ts';
import { PointsQuestions } from './question.ts';
import { whereTemplate } from './where-option.ts';

const server = 'https://overpass-api.de';
const defaultLimit = 100;
const defaultTimeoutMs = 90_000;

/** The maximum of requests that the public server takes from one machine in a day. */
const publicDay = { server: 'Overpass', max: 10_000 } as const;

/** The retries of the public server, whatever the flow says: it asks to come back after 30 s, 60 s and 120 s. */
const publicRetry: LookupOptions['retry'] = {
  max: 3,
  on: [429, 504, 'timeout', 'network'],
  backoff: { initial: 30_000, factor: 2, max: 120_000, jitter: false },
  max_wait: 86_400_000,
};

/** The options of a node for points, with their defaults, and with the rules of the public server. */
export function pointsSettings(options: PlacesOptions): SettledOptions {
  const { timeout = defaultTimeoutMs, connection } = options;
  if (connection !== undefined || options.source === 'file') return { ...options, timeout };
  return { ...options, timeout, ...publicLimits(options), retry: publicRetry };
}

/** `lookup: points`: points of interest near a place or in an area. Undefined if a problem was reported. */
export function pointsLookup(options: SettledOptions, context: BuildContext): Lookup | undefined {
  const where = whereTemplate(options, context);
  const categories = categoriesOf(options, context);
  if (options.category === undefined && options.chain === undefined)
    context.problem(['lookup'], 'lookup: points needs category, chain or both');
  if (!where || !categories) return undefined;
  const { near, chain, limit = defaultLimit } = options;
  const parts = { where, chain, categories, limit };
  const answerer = options.source === 'file' ? pointsFile(options, parts, context) : overpass(options, parts, context);
  if (!answerer) return undefined;
  return {
    answerer,
    label: 'points',
    sources: ['openstreetmap'],
    unknownChain,
    defaultMap: near ? nearMap : { points_count: 'count' },
    reads: [...usesWithin(near as Value, ['near']), ...usesWithin(options.area as Value, ['area']), ...usesWithin(chain, ['chain'])],
    notes: categories.flatMap(({ notes }) => notes),
    cutOffAt: ({ truncated }) => (truncated ? limit : undefined),
    question: () => '',
    noMatch: ({ count }) => (count === null ? 'no chain has that name' : 'no point was found'),
  };
}

/** The server of `source: overpass`. */
function overpass(options: SettledOptions, parts: QuestionParts, context: BuildContext): LookupServer {
  const { where, categories, limit } = parts;
  const requests = serverRequests({ server, options, perDay: publicDay }, context);
  const questions = new PointsQuestions(parts, (question) => requests.post(formOf(overpassQuery(question))));
  return {
    publicServer: requests.publicServer,
    credentials: requests.credentials,
    maxAgeMs: options.cache,
    calls: 1,
    requests(fields) {
      const request = questions.request(fields);
      return request ? [request] : [];
    },
    check: (response) => checkOverpassAnswer(response, options),
    document([response], record) {
      const place = where(record) as Where;
      return pointsDocument(pointsOf(response as HttpResponse), { near: 'near' in place ? place.near : undefined, categories, limit });
    },
  };
}

const nearMap = {
  points_count: 'count',
  nearest_name: 'points[0].name',
  nearest_id: 'points[0].id',
  nearest_lat: 'points[0].lat',
  nearest_lon: 'points[0].lon',
  nearest_distance_m: 'points[0].distance_m',
};

type Category = AskedCategory & { readonly notes: readonly string[] };

/** The categories that the flow names. Undefined if a problem was reported. */
function categoriesOf({ category = [] }: PlacesOptions, context: BuildContext): Category[] | undefined {
  const isList = Array.isArray(category);
  const found = [category].flat().map((words, index) => categoryOption(words, isList ? ['category', index] : ['category'], context));
  return found.every((one) => one !== undefined) ? found : undefined;
}

function formOf(query: string) {
  return { path: '/api/interpreter', contentType: 'application/x-www-form-urlencoded', body: `data=${encodeURIComponent(query)}` };
}

/** Refuses a response that is not a list of points. Throws a Failure. */
function checkOverpassAnswer(response: HttpResponse, options: SettledOptions): void {
  const { status, retryAfterMs } = response;
  if (status === 400) throw new Failure('http', `the server answered 400: ${pageText(response)}`, { status });
  if (options.connection === undefined && (status === 429 || status === 504)) {
    const waitMs = Math.max(retryAfterMs ?? 0, publicRetry.backoff.initial);
    const text = `the public server answered ${status}: ${pageText(response)}`;
    throw new Failure('http', text, { status, retryable: true, retryAfterMs: retryAfterMs === undefined ? undefined : waitMs });
  }
  refuseUnsuccessful(response, options);
  refuseRemark(response);
}
