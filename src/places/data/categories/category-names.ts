import type { CategoryNames, NamedCategory } from '../../lookup.ts';
import { type CategoryHit, categorySearch, depthOf } from './category-search.ts';

/** Minimum score at which words in a flow are accepted as a category. */
const minScore = 0.9;

/** Minimum score of a category whose name is exactly the words. */
const nameScore = 0.99;

/** Minimum lead of the best score over all others, unless the words are exactly the category's name. */
const minLead = 0.025;

const minChoiceScore = 0.5;

const maxChoices = 5;

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

/** True if the scores are nearly equal, or equal if the words are exactly the best hit's name. True for the best hit itself. */
function isRival(hit: CategoryHit, best: CategoryHit): boolean {
  const [[id], [bestId]] = [hit.category, best.category];
  if (id === bestId) return true;
  // If the words also refer to more specific categories, the category with a single tag is meant. `education/school` is left out, because
  // `education=school` means the same as `amenity=school`.
  if (depthOf(hit) > depthOf(best) || id.startsWith(`${bestId}/`) || id.startsWith('education/')) return false;
  return best.score >= nameScore ? hit.score === best.score : hit.score > best.score - minLead;
}

function idsOf(hits: readonly CategoryHit[]): string[] {
  return hits.slice(0, maxChoices).map(({ category: [id] }) => id);
}
