import type { ChainQuery } from '../../../core/lookups/chain.ts';
import type { LookupDocument } from '../../../core/lookups/lookup.ts';
import { foldedWords } from '../folded-text.ts';
import { type ChainData, type ChainRow, readChains } from './chain-data.ts';

/** Loads the chains. Answers the chain that a name means. */
export async function loadChains(folder: string): Promise<(query: ChainQuery) => LookupDocument> {
  const data = await readChains(folder);
  const byName = indexOf(data);
  return ({ name, minScore }) => {
    const found = byName.get(foldedWords(name).join('')) ?? [];
    const candidates = found.map((chain) => ({
      name: chain[0],
      id: chain[1],
      category: data.categories[chain[2][0] ?? 0] ?? null,
      score: 1,
      method: 'exact',
    }));
    const [best] = candidates;
    const match = best !== undefined && best.score >= minScore;
    return {
      query: name,
      match,
      ambiguous: candidates.length > 1,
      name: match ? best.name : null,
      id: match ? best.id : null,
      category: match ? best.category : null,
      categories: [],
      countries: [],
      score: match ? best.score : null,
      method: match ? best.method : null,
      candidates: candidates.slice(0, 5),
    };
  };
}

function indexOf({ chains }: ChainData): Map<string, ChainRow[]> {
  const index = new Map<string, ChainRow[]>();
  for (const chain of chains) {
    for (const name of [chain[0], ...chain[5]]) {
      const key = foldedWords(name).join('');
      const found = index.get(key);
      if (!found) index.set(key, [chain]);
      else if (!found.includes(chain)) found.push(chain);
    }
  }
  return index;
}
