import { DataNeeded } from '../../core/node.ts';
import type { CategoryNames } from '../category.ts';

/** The names of place categories, once a flow has needed them. They are embedded data, so they are the same for every flow. */
let names: CategoryNames | undefined;

/** Returns the names of place categories. Throws DataNeeded if they are not loaded yet, because most flows name no category. */
export function categoryNames(): CategoryNames {
  if (names) return names;
  throw new DataNeeded(async (folder) => {
    const { loadCategoryNames } = await import('../data/categories/category-names.ts');
    names = loadCategoryNames(folder);
  });
}
