import type { CodedMessage } from '../core/error-code.ts';
import { rounded, sumOfCredits } from '../core/spending.ts';
import { creditText } from '../core/text/number.ts';
import type { Book, Month, Spent } from './book.ts';

export interface PayingKey {
  readonly id: string;
  readonly name: string;
  /** Credits that the key may spend each month; undefined if it has no quota. */
  readonly quota?: number;
}

export interface Rest {
  /** `key` for the quota of an API key, or `allowance` for the limit on all runs together. */
  readonly of: 'key' | 'allowance';
  readonly limit: number;
  readonly spent: number;
  /** Credits that runs have reserved but not spent. */
  readonly held: number;
  /** Never less than 0. */
  readonly remaining: number;
}

/** The reserved credits of `run` are not counted. */
interface RestOptions {
  readonly month: string;
  readonly key?: PayingKey;
  readonly run?: string;
}

/** Returns the monthly limit that has the fewest credits left; undefined if there is no limit. */
export function smallestRest(book: Book, options: RestOptions): Rest | undefined {
  const rests = [restOf(book, 'key', options), restOf(book, 'allowance', options)].filter((rest) => rest !== undefined);
  return rests.sort((one, other) => one.limit - one.spent - one.held - (other.limit - other.spent - other.held))[0];
}

/** Undefined if there is no such quota or allowance. */
export function restOf(book: Book, of: Rest['of'], { month, key, run }: RestOptions): Rest | undefined {
  const limit = of === 'key' ? key?.quota : book.limit();
  if (limit === undefined) return undefined;
  const isCounted = (entry: { readonly month: string; readonly key?: string }) =>
    entry.month === month && (of === 'allowance' || entry.key === key?.id);
  const spent = sumOfCredits(book.spent(month).filter(isCounted));
  const held = sumOfCredits(book.holds().filter((hold) => hold.run !== run && isCounted(hold)));
  return { of, limit, spent, held, remaining: Math.max(0, limit - spent - held) };
}

export function usedUpRest(rest: Rest | undefined, { name, endMs }: Month, key: PayingKey | undefined): CodedMessage {
  const { of, limit = 0, held = 0 } = rest ?? {};
  const others = held > 0 ? `, or reserved by active runs (${creditText(Math.ceil(held))})` : '';
  const limitText = `${creditText(limit)} credits`;
  if (of !== 'key') return { message: `the allowance of ${limitText} for ${name} is used up${others}`, code: 'allowance', details: {} };
  const quota = `the quota of ${limitText} of the key "${key?.name}" for ${name} is used up${others}`;
  return { message: `${quota} (a new month begins on ${new Date(endMs).toISOString().slice(0, 10)})`, code: 'quota', details: {} };
}

type Dimension = 'month' | 'flow' | 'node' | 'connection' | 'env' | 'key';

/** The largest sum comes first. */
export function sums<Name extends Dimension>(spent: readonly Spent[], by: Name): ({ [name in Name]: string } & { credits: number })[] {
  const found = new Map<string, number>();
  for (const entry of spent) found.set(spenderName(entry, by), (found.get(spenderName(entry, by)) ?? 0) + entry.credits);
  return [...found]
    .map(([name, credits]) => ({ [by]: name, credits: rounded(credits) }) as { [name in Name]: string } & { credits: number })
    .sort((a, b) => b.credits - a.credits);
}

/** A node's name includes the flow, because nodes of different flows can have the same id. */
function spenderName(entry: Spent, by: Dimension): string {
  return by === 'node' && entry.flow !== '' ? `${entry.flow} ${entry.node}` : entry[by];
}

/** The largest sum comes first; empty if no key has paid anything. `names` maps key ids to names. */
export function keySums(
  spent: readonly Spent[],
  names: ReadonlyMap<string, string>,
): { key: string | null; name: string | null; credits: number }[] {
  if (spent.every(({ key }) => key === '')) return [];
  return sums(spent, 'key').map(({ key, credits }) => ({ key: key || null, name: names.get(key) ?? null, credits }));
}
