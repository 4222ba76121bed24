import type { Completion } from '../../core/lookup.ts';
import type { Fields } from '../../core/record.ts';
import { textTemplate } from '../../core/template/template.ts';
import type { JsonObject } from '../../core/value/value.ts';
import type { ChainQuery } from '../chain.ts';
import { refuseLong } from '../node/chain.ts';
import { chainTags, isChainId, minChainScore, type Tags } from '../points.ts';
import type { QuestionParts } from './points-document.ts';
import type { PointsQuestion } from './provider.ts';

/** Creates the requests for points, one for each record. */
export class PointsQuestions<Request extends object> {
  readonly #parts: QuestionParts;
  readonly #chainOf: ((fields: Fields) => string) | undefined;
  readonly #requestOf: (question: PointsQuestion) => Request;

  constructor(parts: QuestionParts, requestOf: (question: PointsQuestion) => Request) {
    this.#parts = parts;
    this.#chainOf = parts.chain === undefined ? undefined : textTemplate(parts.chain);
    this.#requestOf = requestOf;
  }

  /**
   * Returns the request for a record; undefined for a record that has no place or no chain. Throws a Failure (`request`) if a value of the
   * record is invalid.
   */
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
