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

/** How many records have been sent at least when a run ends by its failures. `failing`, `passing`: how many fail, or come through, without that. */
export function fewestSent(allowed: MaxErrors | undefined, { failing, passing }: { failing: number; passing: number }): number {
  if (!allowed) return Number.POSITIVE_INFINITY;
  if ('count' in allowed) return Math.max(0, allowed.count + 1 - failing);
  const fewestFailed = Math.floor(fewestForShare * allowed.share) + 1;
  return Math.max(0, fewestForShare - failing - passing, fewestFailed - failing);
}
