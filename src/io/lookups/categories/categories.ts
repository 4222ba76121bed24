import type { CategoryQuery } from '../../../core/lookups/category.ts';
import type { LookupDocument } from '../../../core/lookups/lookup.ts';
import { readCategories } from './category-data.ts';
import { type CategoryHit, CategorySearch } from './category-search.ts';

/** Most candidates of an answer. */
const maxCandidates = 5;

/** Least score of a candidate. */
const minCandidateScore = 0.4;

/** A category that words may mean. */
export interface CategoryCandidate {
  readonly id: string;
  /** In the language that was asked for, else in English. */
  readonly name: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly score: number;
}

/** A category with the other words for it. */
export type DescribedCategory = Omit<CategoryCandidate, 'score'> & { readonly words: readonly string[]; readonly score?: number };

/** Loads the categories. Answers the category that words mean. */
export async function loadCategories(folder: string): Promise<(query: CategoryQuery) => LookupDocument> {
  const search = new CategorySearch(await readCategories(folder));
  return (query) => categoryAnswer(search, query);
}

/** Loads the categories. Answers those that words may mean, best first; without words, all of them. */
export async function loadCategoryList(folder: string): Promise<(words: string | undefined, language?: string) => DescribedCategory[]> {
  const search = new CategorySearch(await readCategories(folder));
  return (words, language) => {
    const tongue = tongueOf(language);
    if (words === undefined) return search.all().map((hit) => describedCategory(search, hit, tongue));
    const hits = search.search(words, tongue).filter(({ score }) => score >= minCandidateScore);
    return hits.map((hit) => ({ ...describedCategory(search, hit, tongue), score: hit.score }));
  };
}

function categoryAnswer(search: CategorySearch, { words, language, minScore }: CategoryQuery): LookupDocument {
  const tongue = tongueOf(language);
  const candidates = search
    .search(words, tongue)
    .filter(({ score }) => score >= minCandidateScore)
    .slice(0, maxCandidates)
    .map((hit) => categoryCandidate(search, hit, tongue));
  const [best] = candidates;
  const match = best !== undefined && best.score >= minScore;
  const { id, name, tags, score } = match ? best : { id: null, name: null, tags: null, score: null };
  return { query: words, match, id, name, tags, score, candidates };
}

/** The language of a tag such as `de-AT`. */
function tongueOf(language: string | undefined): string | undefined {
  return language?.toLowerCase().split(/[-_]/)[0];
}

function categoryCandidate(search: CategorySearch, hit: CategoryHit, language: string | undefined) {
  const { id, name, tags } = describedCategory(search, hit, language);
  return { id, name, tags: { ...tags }, score: hit.score };
}

function describedCategory({ data }: CategorySearch, { category: [id, tags], index }: CategoryHit, language = 'en'): DescribedCategory {
  const words = data.words.get(language)?.[index] || data.words.get('en')?.[index];
  if (!words) return { id, name: id, tags, words: [] };
  const [name, aliases, terms] = words;
  return { id, name, tags, words: [...aliases, ...terms] };
}
