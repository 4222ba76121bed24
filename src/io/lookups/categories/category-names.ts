import type { CategoryNames, NamedCategory } from '../../../core/lookups/category.ts';
import { readCategories } from './category-data.ts';
import { type CategoryHit, CategorySearch } from './category-search.ts';

/** Least score of words that name a category. */
const minScore = 0.9;

/** Least score of a category that is near. */
const minChoiceScore = 0.5;

/** A category whose score is as near to the best is meant as well. */
const tieScore = 0.015;

/** Most choices of a message. */
const maxChoices = 5;

/** Loads the categories. Finds the one category that words in a flow name. */
export async function loadCategoryNames(folder: string): Promise<CategoryNames> {
  const search = new CategorySearch(await readCategories(folder));
  return (words) => namedCategory(search.search(words));
}

function namedCategory(hits: readonly CategoryHit[]): NamedCategory {
  const [best] = hits;
  if (!best || best.score < minScore) {
    return { reason: 'unknown', choices: idsOf(hits.filter(({ score }) => score >= minChoiceScore)) };
  }
  const tied = hits.filter(({ score }) => score >= best.score - tieScore);
  if (tied.length > 1) return { reason: 'ambiguous', choices: idsOf(tied) };
  const [id, tags] = best.category;
  return { id, tags };
}

function idsOf(hits: readonly CategoryHit[]): string[] {
  return hits.slice(0, maxChoices).map(({ category: [id] }) => id);
}
