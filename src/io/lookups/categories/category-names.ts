import type { CategoryNames, NamedCategory } from '../../../core/lookups/category.ts';
import { readCategories } from './category-data.ts';
import { type CategoryHit, CategorySearch } from './category-search.ts';

/** Least score of words that name a category. */
const minScore = 0.9;

/** Least score of a category that is near. */
const minChoiceScore = 0.5;

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
  // A category of one tag is meant before finer ones with the same words.
  const tied = hits.filter(({ score, category: [, tags] }) => score === best.score && tagsIn(tags) <= tagsIn(best.category[1]));
  if (tied.length > 1) return { reason: 'ambiguous', choices: idsOf(tied) };
  const [id, tags] = best.category;
  return { id, tags };
}

function tagsIn(tags: object): number {
  return Object.keys(tags).length;
}

function idsOf(hits: readonly CategoryHit[]): string[] {
  return hits.slice(0, maxChoices).map(({ category: [id] }) => id);
}
