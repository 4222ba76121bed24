/** A question for a category. */
export interface CategoryQuery {
  /** Words of any language, or the id of a category. */
  readonly words: string;
  /** The language of the words, tried first, and of the name in the answer; absent for English. */
  readonly language?: string | undefined;
  /** Least score of a match, 0.5 to 1. */
  readonly minScore: number;
}

/** The category that words in a flow name; or the ids of those that they may mean, and the reason why they name none. */
export type NamedCategory =
  | { readonly id: string; readonly tags: Readonly<Record<string, string>> }
  | { readonly reason: 'unknown' | 'ambiguous'; readonly choices: readonly string[] };

/** Finds the one category that words name. */
export type CategoryNames = (words: string) => NamedCategory;
