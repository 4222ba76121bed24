import type { Attempt } from '../core/action.ts';

/** Counts the results of all attempts to send requests, by HTTP status or by the reason why there was no response. */
export class Statuses {
  readonly #counts = new Map<string, number>();

  add({ result }: Pick<Attempt, 'result'>): void {
    const status = typeof result === 'object' ? (result.status ?? result.kind) : result;
    this.#counts.set(String(status), (this.#counts.get(String(status)) ?? 0) + 1);
  }

  /** Returns the count of each status or reason, sorted by count, highest first. */
  counts(): { readonly status: string; readonly count: number }[] {
    return [...this.#counts].map(([status, count]) => ({ status, count })).sort((one, other) => other.count - one.count);
  }
}
