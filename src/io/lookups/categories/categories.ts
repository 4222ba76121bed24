import type { CategoryQuery } from '../../../core/lookups/category.ts';
import type { LookupDocument } from '../../../core/lookups/lookup.ts';

/** Loads the categories. Answers the category that words mean. */
export async function loadCategories(_folder: string): Promise<(query: CategoryQuery) => LookupDocument> {
  return ({ words }) => ({ query: words, match: false, ambiguous: false, id: null, name: null, tags: null, score: null, candidates: [] });
}
