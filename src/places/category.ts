/** The languages in which categories of places have names. */
export const categoryLanguages: readonly string[] = 'ar ca cs da de el en es fi fr he hr hu it ja ko nl no pl pt ru sv tr uk vi zh'.split(
  ' ',
);

/**
 * Returns the message for a language in which categories have no names. Returns undefined for any other language, even with a region, such
 * as de-AT.
 */
export function noLanguage(text: string): string | undefined {
  if (categoryLanguages.includes(text.trim().toLowerCase().split(/[-_]/)[0] ?? '')) return undefined;
  return `expected a language such as de, found ${JSON.stringify(text)}\nthere are ${categoryLanguages.join(', ')}`;
}

/** A query for a category of places, such as "bakery". */
export interface CategoryQuery {
  /** Words in any language, or the id of a category. */
  readonly words: string;
  /** The language that is tried first for the words, and that is used for the name in the answer. It is undefined for English. */
  readonly language?: string | undefined;
  /** Minimum score of a match, from 0.5 to 1. */
  readonly minScore: number;
}

/** The category that words in a flow stand for. If they match no category: the reason, and the ids of possible categories. */
export type NamedCategory =
  | { readonly id: string; readonly tags: Readonly<Record<string, string>> }
  | { readonly reason: 'unknown' | 'ambiguous'; readonly choices: readonly string[] };

/** Finds the one category that the words refer to. */
export type CategoryNames = (words: string) => NamedCategory;
