import type { CodedMessage } from '../../core/error-code.ts';
import { sumOfCredits } from '../../core/spending.ts';
import type { Book, Month } from './book.ts';

/** The API key that pays for a run. */
export interface PayingKey {
  readonly id: string;
  readonly name: string;
  /** Credits a month; undefined if the key has no quota. */
  readonly quota: number | undefined;
}

/** A limit of a month. */
export interface Rest {
  /** The limit's owner: the key, or all runs together. */
  readonly of: 'key' | 'allowance';
  readonly limit: number;
  readonly spent: number;
  /** Held by runs and not yet spent. */
  readonly held: number;
  /** Credits that can still be taken, at least 0. */
  readonly remaining: number;
}

/** The month and key whose limits count, and the run whose own hold does not. */
interface RestOptions {
  readonly month: string;
  readonly key?: PayingKey | undefined;
  readonly run?: string;
}

/** The limit of a month with the smallest rest; absent if there is no limit. */
export function smallestRest(book: Book, options: RestOptions): Rest | undefined {
  const rests = [restOf(book, 'key', options), restOf(book, 'allowance', options)].filter((rest) => rest !== undefined);
  return rests.sort((one, other) => one.limit - one.spent - one.held - (other.limit - other.spent - other.held))[0];
}

/** The rest of a key's quota or of the allowance; absent if there is no such limit. */
export function restOf(book: Book, of: Rest['of'], { month, key, run }: RestOptions): Rest | undefined {
  const limit = of === 'key' ? key?.quota : book.limit();
  if (limit === undefined) return undefined;
  const isCounted = (entry: { readonly month: string; readonly key?: string }) =>
    entry.month === month && (of === 'allowance' || entry.key === key?.id);
  const spent = sumOfCredits(book.spent(month).filter(isCounted));
  const held = sumOfCredits(book.holds().filter((hold) => hold.run !== run && isCounted(hold)));
  return { of, limit, spent, held, remaining: Math.max(0, limit - spent - held) };
}

/** The reason of a run that got no more credits. */
export function usedUpRest(rest: Rest | undefined, { name, endMs }: Month, key: PayingKey | undefined): CodedMessage {
  const { of, limit = 0, held = 0 } = rest ?? {};
  const others = held > 0 ? `, or held by runs under way (${formatCredits(Math.ceil(held))})` : '';
  const limitText = `${formatCredits(limit)} credits`;
  if (of !== 'key') return { message: `the allowance of ${limitText} for ${name} is used up${others}`, code: 'allowance', details: {} };
  const quota = `the quota of ${limitText} of the key "${key?.name}" for ${name} is used up${others}`;
  return { message: `${quota} (a new month begins on ${new Date(endMs).toISOString().slice(0, 10)})`, code: 'quota', details: {} };
}

/** Formats credits, for example `1,500` or `0.25`. */
export function formatCredits(credits: number): string {
  return credits.toLocaleString('en-US', { maximumFractionDigits: 4 });
}
