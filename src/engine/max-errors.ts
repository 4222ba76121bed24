/** The limit of failed records: a count, or a share of the finished records. */
export type MaxErrors = { readonly count: number } | { readonly share: number };

/** A share counts only once this many records are finished: one failure among the first three says little. */
const minForShare = 100;

/** Why the run must end; absent while the failures are within the limit. */
export function tooManyErrors(
  limit: MaxErrors | undefined,
  { finished, failed }: { readonly finished: number; readonly failed: number },
): string | undefined {
  if (!limit) return undefined;
  if ('count' in limit) {
    const records = `${limit.count.toLocaleString('en-US')} record${limit.count === 1 ? ' has' : 's have'}`;
    return failed > limit.count ? `more than ${records} failed (--max-errors ${limit.count})` : undefined;
  }
  if (finished < minForShare || failed <= finished * limit.share) return undefined;
  const percent = Number((limit.share * 100).toFixed(6));
  return `more than ${percent} % of the records have failed (--max-errors ${percent}%)`;
}

/** Records that make a call, at least, before failures end the run. `failing` others fail and `uncalled` others succeed without one. */
export function minCallsBefore(limit: MaxErrors | undefined, failing: number, uncalled: number): number {
  if (!limit) return Number.POSITIVE_INFINITY;
  if ('count' in limit) return Math.max(0, limit.count + 1 - failing);
  const minFailures = Math.floor(minForShare * limit.share) + 1;
  return Math.max(0, minForShare - failing - uncalled, minFailures - failing);
}
