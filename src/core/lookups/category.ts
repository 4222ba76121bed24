/** A question for a category. */
export interface CategoryQuery {
  /** Words of any language, or the id of a category. */
  readonly words: string;
  /** The language of the words, tried first, and of the name in the answer; absent for English. */
  readonly language?: string | undefined;
  /** Least score of a match, 0.5 to 1. */
  readonly minScore: number;
}
