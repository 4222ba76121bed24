import { type CategoryQuery, type LookupDocument, maxCandidates } from '../../lookup.ts';
import { type CategoryHit, type CategorySearch, categorySearch } from './category-search.ts';

const minCandidateScore = 0.4;

interface DescribedCategory {
  readonly id: string;
  /** In the requested language, or in English if the data has no name in that language. */
  readonly name: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly words: readonly string[];
  readonly score?: number;
}

export function loadCategories(folder: string): (query: CategoryQuery) => LookupDocument {
  const search = categorySearch(folder);
  return (query) => categoryAnswer(search, query);
}

/** Lists the categories that some words may refer to, the best match first; all categories if the words are undefined. */
export function loadCategoryList(folder: string): (words: string | undefined, language?: string) => DescribedCategory[] {
  const search = categorySearch(folder);
  return (words, language) => {
    const tongue = tongueOf(language);
    if (words === undefined) return search.all().map((hit) => describedCategory(search, hit, tongue));
    return candidateHits(search, words, tongue).map((hit) => ({ ...describedCategory(search, hit, tongue), score: hit.score }));
  };
}

function categoryAnswer(search: CategorySearch, { words, language, minScore }: CategoryQuery): LookupDocument {
  const tongue = tongueOf(language);
  const candidates = candidateHits(search, words, tongue)
    .slice(0, maxCandidates)
    .map((hit) => {
      const { id, name, tags } = describedCategory(search, hit, tongue);
      return { id, name, tags: { ...tags }, score: hit.score };
    });
  const [best] = candidates;
  const match = best !== undefined && best.score >= minScore;
  const { id, name, tags, score } = match ? best : { id: null, name: null, tags: null, score: null };
  return { query: words, match, id, name, tags, score, candidates };
}

function tongueOf(language: string | undefined): string | undefined {
  return language?.toLowerCase().split(/[-_]/)[0];
}

function candidateHits(search: CategorySearch, words: string, tongue: string | undefined): CategoryHit[] {
  return search.search(words, tongue).filter(({ score }) => score >= minCandidateScore);
}

function describedCategory({ data }: CategorySearch, { category: [id, tags], index }: CategoryHit, language = 'en'): DescribedCategory {
  const words = data.words(language)[index] || data.words('en')[index];
  if (!words) return { id, name: id, tags, words: [] };
  const [name, aliases, terms] = words;
  return { id, name, tags, words: [...aliases, ...terms] };
}
