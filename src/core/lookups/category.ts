/** The languages in which categories have names. */
export const categoryLanguages: readonly string[] = 'ar ca cs da de el en es fi fr he hr hu it ja ko nl no pl pt ru sv tr uk vi zh'.split(
  ' ',
);

/** The message for a language without names of categories; undefined for a language that has names, even with a region, such as de-AT. */
export function noLanguage(text: string): string | undefined {
  if (categoryLanguages.includes(text.trim().toLowerCase().split(/[-_]/)[0] ?? '')) return undefined;
  return `expected a language such as de, found ${JSON.stringify(text)}\nthere are ${categoryLanguages.join(', ')}`;
}

/** A question for a category. */
export interface CategoryQuery {
  /** Words of any language, or the id of a category. */
  readonly words: string;
  /** The language of the words, tried first, and of the name in the answer; undefined for English. */
  readonly language?: string | undefined;
  /** Least score of a match, 0.5 to 1. */
  readonly minScore: number;
}

/** The category that words in a flow name; or the reason why they name no category, and the ids of categories that they may mean. */
export type NamedCategory =
  | { readonly id: string; readonly tags: Readonly<Record<string, string>> }
  | { readonly reason: 'unknown' | 'ambiguous'; readonly choices: readonly string[] };

/** Finds the one category that words name. */
export type CategoryNames = (words: string) => NamedCategory;
