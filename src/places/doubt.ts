interface Doubts {
  /** True if another answer fits the query just as well. */
  readonly isAmbiguous: boolean;
  readonly isMisspelt?: boolean;
  /** The country in the query, if the chain does not exist there. */
  readonly missingIn?: string | undefined;
  /** The words of the query that matched nothing. */
  readonly leftOver?: string | null;
  readonly isLow?: boolean;
}

/** Returns the reasons to check an answer, such as `ambiguous` or `left over: Lincs`, separated by semicolons; null if there are none. */
export function doubtText({ isAmbiguous, isMisspelt = false, missingIn, leftOver = null, isLow = false }: Doubts): string | null {
  const reasons = [
    ...(isAmbiguous ? ['ambiguous'] : []),
    ...(isMisspelt ? ['misspelt'] : []),
    ...(missingIn === undefined ? [] : [`not in ${missingIn}`]),
    ...(leftOver ? [`left over: ${leftOver}`] : []),
  ];
  // `low score` is added only if there is no other reason, because the other reasons themselves lower the score.
  if (reasons.length === 0) return isLow ? 'low score' : null;
  return reasons.join('; ');
}
