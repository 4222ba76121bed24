/** A count of records, or a share of those that have ended. */
export type MaxErrors = { readonly count: number } | { readonly share: number };

/** A share is judged only once this many records have ended: one failure among the first three says little. */
const fewestForShare = 100;

/** Whether a run ends by its failures. */
export function isTooMany(allowed: MaxErrors | undefined, { ended, failed }: { ended: number; failed: number }): boolean {
  if (!allowed) return false;
  if ('count' in allowed) return failed > allowed.count;
  return ended >= fewestForShare && failed > ended * allowed.share;
}

/** How many records have been sent at least when a run ends by its failures. */
export function fewestSent(allowed: MaxErrors | undefined): number {
  if (!allowed) return Number.POSITIVE_INFINITY;
  return 'count' in allowed ? allowed.count + 1 : fewestForShare;
}
