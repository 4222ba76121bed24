import type { CategoryQuery } from '../../../core/lookups/category.ts';
import type { LookupDocument } from '../../../core/lookups/lookup.ts';
import { readCategories } from './category-data.ts';
import { type CategoryHit, CategorySearch } from './category-search.ts';

/** Most candidates of an answer. */
const maxCandidates = 5;

/** Least score of a candidate. */
const minCandidateScore = 0.4;

/** Loads the categories. Answers the category that words mean. */
export async function loadCategories(folder: string): Promise<(query: CategoryQuery) => LookupDocument> {
  const search = new CategorySearch(await readCategories(folder));
  return (query) => answerOf(search, query);
}

function answerOf(search: CategorySearch, { words, language, minScore }: CategoryQuery): LookupDocument {
  const tongue = language?.toLowerCase().split(/[-_]/)[0];
  const candidates = search
    .search(words, tongue)
    .filter(({ score }) => score >= minCandidateScore)
    .slice(0, maxCandidates)
    .map((hit) => candidateOf(search, hit, tongue));
  const [best] = candidates;
  const match = best !== undefined && best.score >= minScore;
  const { id, name, tags, score } = match ? best : { id: null, name: null, tags: null, score: null };
  return { query: words, match, id, name, tags, score, candidates };
}

function candidateOf({ data }: CategorySearch, { category: [id, tags], index, score }: CategoryHit, language = 'en') {
  const words = data.words.get(language)?.[index] || data.words.get('en')?.[index];
  return { id, name: words ? words[0] : id, tags: { ...tags }, score };
}
