import type { CategoryNames, NamedCategory } from '../../../core/lookups/category.ts';
import { type CategoryHit, categorySearch } from './category-search.ts';

/** Least score of words that name a category. */
const minScore = 0.9;

/** Least score of words that are the name of a category. */
const nameScore = 0.99;

/** Words that are no name mean a category that is better by this much than any other. */
const minLead = 0.025;

/** Least score of a category that is near. */
const minChoiceScore = 0.5;

/** Most choices of a message. */
const maxChoices = 5;

/** Finds the one category that words in a flow name. `folder`: of the embedded data. */
export function loadCategoryNames(folder: string): CategoryNames {
  const search = categorySearch(folder);
  return (words) => namedCategory(search.search(words));
}

function namedCategory(hits: readonly CategoryHit[]): NamedCategory {
  const [best] = hits;
  if (!best || best.score < minScore) {
    return { reason: 'unknown', choices: idsOf(hits.filter(({ score }) => score >= minChoiceScore)) };
  }
  const tied = hits.filter((hit) => isRival(hit, best));
  if (tied.length > 1) return { reason: 'ambiguous', choices: idsOf(tied) };
  const [id, tags] = best.category;
  return { id, tags };
}

/** True for the best hit, and for one that the words may mean as well: of the same score, or nearly, unless they are the best one's name. */
function isRival({ score, category: [id, tags] }: CategoryHit, { score: most, category: [bestId, bestTags] }: CategoryHit): boolean {
  if (id === bestId) return true;
  // A category of one tag is meant before finer ones with the same words. `education=school` is another tagging of `amenity=school`.
  if (tagsIn(tags) > tagsIn(bestTags) || id.startsWith(`${bestId}/`) || id.startsWith('education/')) return false;
  return most >= nameScore ? score === most : score > most - minLead;
}

function tagsIn(tags: object): number {
  return Object.keys(tags).length;
}

function idsOf(hits: readonly CategoryHit[]): string[] {
  return hits.slice(0, maxChoices).map(({ category: [id] }) => id);
}
