import { rounded } from '../../core/spending.ts';
import type { Spent } from '../../io/ledger/book.ts';

type Dimension = 'month' | 'flow' | 'node' | 'connection' | 'env' | 'key';

/** Sums of credits by one dimension, the largest first. */
export function sums<Name extends Dimension>(spent: readonly Spent[], by: Name): ({ [name in Name]: string } & { credits: number })[] {
  const found = new Map<string, number>();
  for (const entry of spent) found.set(spenderName(entry, by), (found.get(spenderName(entry, by)) ?? 0) + entry.credits);
  return [...found]
    .map(([name, credits]) => ({ [by]: name, credits: rounded(credits) }) as { [name in Name]: string } & { credits: number })
    .sort((a, b) => b.credits - a.credits);
}

/** Names a node together with its flow: two flows may use the same id. */
function spenderName(entry: Spent, by: Dimension): string {
  return by === 'node' && entry.flow !== '' ? `${entry.flow} ${entry.node}` : entry[by];
}

/** Sums of credits by the API key that has paid, the largest first. Empty if no key has paid anything. `names`: by the keys' ids. */
export function keySums(
  spent: readonly Spent[],
  names: ReadonlyMap<string, string>,
): { key: string | null; name: string | null; credits: number }[] {
  if (spent.every(({ key }) => key === '')) return [];
  return sums(spent, 'key').map(({ key, credits }) => ({ key: key || null, name: names.get(key) ?? null, credits }));
}
