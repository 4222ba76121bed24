import type { ChainQuery } from '../../../core/lookups/chain.ts';
import type { LookupDocument } from '../../../core/lookups/lookup.ts';
import type { ChainRow } from './chain-data.ts';
import { ChainNames } from './chain-names.ts';
import { type Hit, searchChains } from './chain-search.ts';

/** Most candidates of an answer. */
const maxCandidates = 5;

/** Least score of a candidate. */
const minCandidateScore = 0.5;

/** Loads the chains. Answers the chain that a name means. */
export async function loadChains(folder: string): Promise<(query: ChainQuery) => LookupDocument> {
  const names = await ChainNames.read(folder);
  return (query) => answerOf(names, query);
}

function answerOf(names: ChainNames, query: ChainQuery): LookupDocument {
  const ranked = rankedHits(names, query);
  const [best, second] = ranked;
  const match = best !== undefined && best.hit.score >= query.minScore;
  return {
    query: query.name,
    match,
    ambiguous: match && second !== undefined && isTie(best, second),
    ...(match
      ? detailsOf(names, best.hit)
      : { name: null, id: null, category: null, categories: [], countries: [], score: null, method: null }),
    candidates: ranked.slice(0, maxCandidates).map(({ hit }) => candidateOf(names, hit)),
  };
}

function detailsOf(names: ChainNames, hit: Hit) {
  const [name, id, , countries] = rowOf(names, hit);
  const categories = categoriesOf(names, hit);
  return {
    ...{ name, id, category: categories[0] ?? null, categories },
    countries: countries === '' ? [] : countries.split(' '),
    ...{ score: hit.score, method: hit.method },
  };
}

function candidateOf(names: ChainNames, hit: Hit) {
  const [name, id] = rowOf(names, hit);
  return { name, id, category: categoriesOf(names, hit)[0] ?? null, score: hit.score, method: hit.method };
}

function rowOf({ data }: ChainNames, { name: { chain } }: Hit): ChainRow {
  return data.chains[chain] as ChainRow;
}

function categoriesOf(names: ChainNames, hit: Hit): string[] {
  return rowOf(names, hit)[2].map((index) => names.data.categories[index] as string);
}

/** A hit with the reasons to prefer it, the strongest first. */
interface RankedHit {
  readonly hit: Hit;
  /** A name of another chain's own comes before an old or other one; then the country decides, then the category. */
  readonly reasons: readonly number[];
  /** Reasons that settle nothing, but put one first. */
  readonly order: readonly number[];
}

function rankedHits(names: ChainNames, query: ChainQuery): RankedHit[] {
  const category = query.category?.split('/').slice(0, 2).join('/');
  return searchChains(names, query.name)
    .filter(({ score }) => score >= minCandidateScore)
    .map((hit) => {
      const row = rowOf(names, hit);
      const kinds = category === undefined ? [] : categoriesOf(names, hit);
      const place = kinds.indexOf(category as string);
      const reasons = [
        hit.score,
        hit.name.rank === 2 ? 0 : 1,
        query.country === undefined ? 0 : presence(row, query.country),
        place < 0 ? 0 : place === 0 ? 2 : 1,
        hit.name.rank === 0 ? 1 : 0,
      ];
      return { hit, reasons, order: [row[1] === null ? 0 : 1, spread(row)] };
    })
    .sort((one, other) => compared(other.reasons, one.reasons) || compared(other.order, one.order));
}

function isTie(best: RankedHit, second: RankedHit): boolean {
  return compared(best.reasons, second.reasons) === 0;
}

function compared(one: readonly number[], other: readonly number[]): number {
  for (const [index, value] of one.entries()) if (value !== other[index]) return value - (other[index] as number);
  return 0;
}

/** 2 for a chain that is in the country, 1 for one of the whole world, 0 for one that is elsewhere. */
function presence([, , , countries, except]: ChainRow, country: string): number {
  if (countries === world) return except.includes(country) ? 0 : 1;
  return countries.includes(country) ? 2 : 0;
}

const world = '001';

/** Stands for the whole world in a count of countries: the index says it also of chains of which it does not know the countries. */
const worldCountries = 40;

/** A measure of how widespread a chain is: its countries, times the kinds and names of its places. */
function spread([, , categories, countries, , ownNames]: ChainRow): number {
  const places = countries === world ? worldCountries : countries.split(' ').length;
  return places * (categories.length + ownNames.length);
}
