import { readBody } from '../../core/answer/response.ts';
import { Failure } from '../../core/failure.ts';
import type { Completion, LookupRequest } from '../../core/lookup.ts';
import type { BuildContext } from '../../core/node.ts';
import type { HttpResponse } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import { textTemplate } from '../../core/template/template.ts';
import type { JsonObject, Value } from '../../core/value/value.ts';
import { refuseLong } from '../chain-option.ts';
import type { LocalData, LookupServer } from '../lookup/lookup.ts';
import { refuseUnsuccessful, serverRequests } from '../lookup/server-requests.ts';
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
import type { PlacesOptions, SettledOptions } from '../places-options.ts';
import { pointsDocument, type QuestionParts } from './points-document.ts';
import type { PointsProvider, PointsQuestion, Where } from './provider.ts';

interface ServerPoints {
  readonly options: SettledOptions;
  readonly parts: QuestionParts;
  readonly context: BuildContext;
}

export function pointsServer(provider: PointsProvider, { options, parts, context }: ServerPoints): LookupServer {
  const { where, categories, limit } = parts;
  const { server, perDay, source } = provider;
  const requests = serverRequests({ server, options, perDay }, context);
  const questions = new PointsQuestions(parts, (question) => requests.post(provider.request(question)));
  return {
    publicServer: requests.publicServer,
    credentials: requests.credentials,
    maxAgeMs: options.cache,
    calls: 1,
    requests(fields) {
      const request = questions.request(fields);
      return request ? [request] : [];
    },
    check(response) {
      refuseUnsuccessful(response, requests.publicServer);
      const { status } = response;
      const { message, isTimeout = false } = provider.refusal(bodyOf(response)) ?? {};
      if (message !== undefined) throw new Failure(isTimeout ? 'timeout' : 'answer', message, { status, retryable: isTimeout });
    },
    document([response], record) {
      const asked = where(record) as Where;
      const found = provider.answer(bodyOf(response as HttpResponse), limit);
      return pointsDocument(found, { near: 'near' in asked ? asked.near : undefined, categories, limit, source });
    },
  };
}

function bodyOf(response: HttpResponse): Value {
  return readBody(response, 'json', true) ?? null;
}

class PointsQuestions<Request extends object> {
  readonly #parts: QuestionParts;
  readonly #chainOf: ((fields: Fields) => string) | undefined;
  readonly #requestOf: (question: PointsQuestion) => Request;

  constructor(parts: QuestionParts, requestOf: (question: PointsQuestion) => Request) {
    this.#parts = parts;
    this.#chainOf = parts.chain === undefined ? undefined : textTemplate(parts.chain);
    this.#requestOf = requestOf;
  }

  /** Undefined for a record without a place or a chain. Throws a Failure (`request`) if a value of the record is invalid. */
  request(fields: Fields): Request | (Request & { readonly completion: Completion<Request> }) | undefined {
    const { where: whereOf, categories, limit } = this.#parts;
    const where = whereOf(fields);
    const name = this.#chainOf?.(fields).trim();
    if (!where || name === '') return undefined;
    const request = (chain: Tags | undefined) => this.#requestOf({ where, categories, chain, limit });
    if (name === undefined) return request(undefined);
    if (isChainId(name)) return request(chainTags(name.toUpperCase(), name));
    refuseLong(name, 'name');
    // If several retail chains have the same name, the first category decides which one is meant.
    const query: ChainQuery = { name, category: categories[0]?.id, minScore: minChainScore };
    const found = (chain: JsonObject) => (chain.match ? request(chainTags(chain.id as string | null, String(chain.name))) : undefined);
    return {
      ...request({ brand: name }),
      completion: { lookup: { kind: 'lookup', lookup: 'chain', query }, sought: name, request: found },
    };
  }
}

interface PointsRequest extends LookupRequest {
  readonly query: PointsQuery;
}

export function pointsFile({ file, area }: PlacesOptions, parts: QuestionParts, { problem }: BuildContext): LocalData | undefined {
  if (file === undefined) return void problem(['source'], 'source: file needs the option "file"');
  if (area && !area.bbox) return void problem(['area'], 'with source: file, the area must be a bbox: [south, west, north, east]');
  const { categories, limit } = parts;
  const tags = categories.map((category) => category.tags);
  const questions = new PointsQuestions<PointsRequest>(parts, ({ where, chain }) => ({
    kind: 'lookup',
    lookup: 'points',
    query: { file, where: where as Around | Box, categories: tags, chain },
  }));
  return {
    file,
    request: (fields) => questions.request(fields),
    document({ found }, request) {
      const { where } = (request as PointsRequest).query;
      const near = 'near' in where ? where.near : undefined;
      const points = found as unknown as readonly FoundPoint[];
      return pointsDocument({ points, mayLackNearest: false }, { near, categories, limit, source: 'openstreetmap' });
    },
  };
}
