import { rounded } from '../core/spending.ts';
import type { Spent } from './book.ts';

type Dimension = 'month' | 'flow' | 'node' | 'connection' | 'env' | 'key';

/** Sums spent credits by flow, by node, or by another dimension. The largest sum comes first in the result. */
export function sums<Name extends Dimension>(spent: readonly Spent[], by: Name): ({ [name in Name]: string } & { credits: number })[] {
  const found = new Map<string, number>();
  for (const entry of spent) found.set(spenderName(entry, by), (found.get(spenderName(entry, by)) ?? 0) + entry.credits);
  return [...found]
    .map(([name, credits]) => ({ [by]: name, credits: rounded(credits) }) as { [name in Name]: string } & { credits: number })
    .sort((a, b) => b.credits - a.credits);
}

/**
 * Returns the name under which the credits of an entry are summed. A node's name includes the flow, because nodes of different flows can
 * have the same id.
 */
function spenderName(entry: Spent, by: Dimension): string {
  return by === 'node' && entry.flow !== '' ? `${entry.flow} ${entry.node}` : entry[by];
}

/**
 * Sums spent credits by the API key that paid them, with the largest sum first. The result is empty if no key has paid anything. `names`
 * maps key ids to names.
 */
export function keySums(
  spent: readonly Spent[],
  names: ReadonlyMap<string, string>,
): { key: string | null; name: string | null; credits: number }[] {
  if (spent.every(({ key }) => key === '')) return [];
  return sums(spent, 'key').map(({ key, credits }) => ({ key: key || null, name: names.get(key) ?? null, credits }));
}
