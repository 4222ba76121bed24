import type { CategoryNames, NamedCategory } from '../../../core/lookups/category.ts';
import { type CategoryHit, categorySearch } from './category-search.ts';

/** Least score of words that name a category. */
const minScore = 0.9;

/** Least score of words that are the name of a category. */
const nameScore = 0.99;

/** Words that are not the name of a category mean the best category only if it leads by this much. */
const minLead = 0.025;

/** Least score of a category that is offered as a choice. */
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

/** True for the best hit, and for a hit that the words may mean as well: its score is equal, or nearly equal if the words are not the name of the best hit. */
function isRival({ score, category: [id, tags] }: CategoryHit, { score: most, category: [bestId, bestTags] }: CategoryHit): boolean {
  if (id === bestId) return true;
  // Words that a category shares with finer categories mean the category of one tag. `education=school` is another tagging of `amenity=school`.
  if (tagsIn(tags) > tagsIn(bestTags) || id.startsWith(`${bestId}/`) || id.startsWith('education/')) return false;
  return most >= nameScore ? score === most : score > most - minLead;
}

function tagsIn(tags: object): number {
  return Object.keys(tags).length;
}

function idsOf(hits: readonly CategoryHit[]): string[] {
  return hits.slice(0, maxChoices).map(({ category: [id] }) => id);
}
