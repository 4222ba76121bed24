import { readData } from '../data.ts';

/** A category: its id, the tags that it stands for, its weight among categories with the same words, 0 to 1, and a number of its chains. */
export type CategoryRow = readonly [id: string, tags: Readonly<Record<string, string>>, weight: number, chains: number];

/** The words of a language for a category: its name, other names, and terms for it. 0 if the language has none. */
export type CategoryWords = readonly [name: string, aliases: readonly string[], terms: readonly string[]] | 0;

/** The categories in all languages. */
export interface CategoryData {
  readonly categories: readonly CategoryRow[];
  /** By language: one entry for each category, in their order. */
  readonly words: ReadonlyMap<string, readonly CategoryWords[]>;
}

/** Reads the categories and their words. */
export async function readCategories(folder: string): Promise<CategoryData> {
  const { languages, categories } = await readData<{ languages: readonly string[]; categories: CategoryRow[] }>(folder, 'categories');
  const words = languages.map(async (language) => [language, await readData<CategoryWords[]>(folder, `categories-${language}`)] as const);
  return { categories, words: new Map(await Promise.all(words)) };
}
