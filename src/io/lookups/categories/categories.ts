import type { CategoryQuery } from '../../../core/lookups/category.ts';
import type { LookupDocument } from '../../../core/lookups/lookup.ts';
import { type CategoryHit, type CategorySearch, categorySearch } from './category-search.ts';

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

/** Answers questions for the category that words mean. `folder`: of the embedded data. */
export function loadCategories(folder: string): (query: CategoryQuery) => LookupDocument {
  const search = categorySearch(folder);
  return (query) => categoryAnswer(search, query);
}

/** Lists the categories that words may mean, best first; without words, all categories. `folder`: of the embedded data. */
export function loadCategoryList(folder: string): (words: string | undefined, language?: string) => DescribedCategory[] {
  const search = categorySearch(folder);
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
  const words = data.words(language)[index] || data.words('en')[index];
  if (!words) return { id, name: id, tags, words: [] };
  const [name, aliases, terms] = words;
  return { id, name, tags, words: [...aliases, ...terms] };
}
