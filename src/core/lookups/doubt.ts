/** The facts about an answer that may speak against it. */
interface Doubts {
  /** True if something else fits as well. */
  readonly isAmbiguous: boolean;
  /** True if the name is written with mistakes. */
  readonly isMisspelt?: boolean;
  /** The country of the question in which the chain is not. */
  readonly missingIn?: string | undefined;
  /** The words that nothing explains. */
  readonly leftOver?: string | null;
  /** True if the score is low for a match. */
  readonly isLow?: boolean;
}

/** The reasons to look at an answer, such as `ambiguous` or `left over: Lincs`, divided by semicolons; null if there are none. */
export function doubtText({ isAmbiguous, isMisspelt = false, missingIn, leftOver = null, isLow = false }: Doubts): string | null {
  const reasons = [
    ...(isAmbiguous ? ['ambiguous'] : []),
    ...(isMisspelt ? ['misspelt'] : []),
    ...(missingIn === undefined ? [] : [`not in ${missingIn}`]),
    ...(leftOver ? [`left over: ${leftOver}`] : []),
  ];
  // The other reasons lower the score, too.
  if (reasons.length === 0) return isLow ? 'low score' : null;
  return reasons.join('; ');
}
