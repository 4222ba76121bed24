import { type ChainQuery, doubtText, type LookupDocument, maxCandidates } from '../../lookup.ts';
import { ChainNames, world } from './chain-names.ts';
import { type ChainHit, type MatchMethod, type Query, searchChains } from './chain-search.ts';
import type { ChainRow } from './company-words.ts';

const minCandidateScore = 0.5;

/** A match whose score is below this is reported as doubtful. */
const lowScore = 0.87;

/** A chain that a name may refer to, as commands show it. */
export interface ChainCandidate {
  readonly name: string;
  /** The chain's Wikidata ID; null if it has none. */
  readonly id: string | null;
  readonly category: string | null;
  /** ISO 3166-1 alpha-2 codes of the chain's countries. For a worldwide chain, the only code is 001. */
  readonly countries: readonly string[];
  readonly score: number;
  readonly method: MatchMethod;
}

export async function loadChains(folder: string): Promise<(query: ChainQuery) => LookupDocument> {
  const names = await ChainNames.read(folder);
  return (query) => chainAnswer(names, query);
}

/** The best chain comes first, and `doubt` is a reason why it may be wrong. */
export async function loadChainSearch(
  folder: string,
): Promise<(query: Query) => { readonly chains: readonly ChainCandidate[]; readonly doubt: string | null }> {
  const names = await ChainNames.read(folder);
  return (query) => {
    const ranked = rankedHits(names, query);
    const chains = ranked.map(({ hit }) => {
      const { name, id, category, ...found } = chainCandidate(names, hit);
      return { name, id, category, countries: countriesOf(names, hit), ...found };
    });
    return { chains, doubt: doubtAbout(names, ranked, query).doubt };
  };
}

function chainAnswer(names: ChainNames, query: ChainQuery): LookupDocument {
  const ranked = rankedHits(names, query);
  const [best] = ranked;
  const match = best !== undefined && best.hit.score >= query.minScore;
  return {
    query: query.name,
    match,
    ...(match ? doubtAbout(names, ranked, query) : { ambiguous: false, doubt: null }),
    ...(match ? detailsOf(names, best.hit) : nothing),
    candidates: ranked.slice(0, maxCandidates).map(({ hit }) => chainCandidate(names, hit)),
  };
}

function doubtAbout(names: ChainNames, [best, second]: readonly RankedHit[], { country }: Query) {
  if (!best) return { ambiguous: false, doubt: null };
  const { method, score, name } = best.hit;
  const ambiguous = second !== undefined && isTie(names, best, second);
  const missingIn = country !== undefined && names.presence(name.chain, country) === 0 ? country : undefined;
  return { ambiguous, doubt: doubtText({ isAmbiguous: ambiguous, isMisspelt: method === 'fuzzy', missingIn, isLow: score < lowScore }) };
}

const nothing = { name: null, matched_name: null, id: null, category: null, categories: [], countries: [], score: null, method: null };

function detailsOf(names: ChainNames, hit: ChainHit) {
  const { name, score, method, ...chain } = chainCandidate(names, hit);
  const matched = { name, matched_name: hit.name.text };
  return { ...matched, ...chain, categories: categoriesOf(names, hit), countries: countriesOf(names, hit), score, method };
}

function chainCandidate(names: ChainNames, hit: ChainHit) {
  const [name, id] = rowOf(names, hit);
  const brand = hit.name.brand?.[0] ?? name;
  return { name: brand, id, category: categoriesOf(names, hit)[0] ?? null, score: hit.score, method: hit.method };
}

function countriesOf(names: ChainNames, hit: ChainHit): string[] {
  return (hit.name.brand?.[2] ?? rowOf(names, hit)[3]).split(' ').filter((country) => country !== '');
}

function rowOf({ data }: ChainNames, { name: { chain } }: ChainHit): ChainRow {
  return data.chains[chain] as ChainRow;
}

/** The main category of the brand comes first. */
function categoriesOf(names: ChainNames, { name: { chain, brand } }: ChainHit): string[] {
  return brand ? names.tagsOf(brand[1]) : names.categoriesOfBrand(chain);
}

interface RankedHit {
  readonly hit: ChainHit;
  /** Compared in this order: score, kind of name (main, further or old), country, and category. Higher is better. */
  readonly reasons: readonly number[];
  /** Numbers for sorting hits whose `reasons` are equal. Hits that differ only in these numbers still count as equally good. */
  readonly order: readonly number[];
}

function rankedHits(names: ChainNames, query: Query): RankedHit[] {
  const category = query.category?.split('/').slice(0, 2).join('/');
  return searchChains(names, { ...query, category })
    .filter(({ score }) => score >= minCandidateScore)
    .map((hit) => {
      const row = rowOf(names, hit);
      const place = category === undefined ? -1 : names.categoriesOfBrand(hit.name.chain).indexOf(category);
      const reasons = [
        hit.score,
        2 - hit.name.rank,
        query.country === undefined ? 0 : names.presence(hit.name.chain, query.country),
        place < 0 ? 0 : place === 0 ? 2 : 1,
      ];
      return { hit, reasons, order: [row[1] === null ? 0 : 1, spread(row)] };
    })
    .sort((one, other) => compared(other.reasons, one.reasons) || compared(other.order, one.order));
}

/** False if the hits have the same name, but the best chain is far more widespread. */
function isTie(names: ChainNames, best: RankedHit, second: RankedHit): boolean {
  if (compared(best.reasons, second.reasons) !== 0) return false;
  return spread(rowOf(names, best.hit)) < clearLead * spread(rowOf(names, second.hit));
}

/** Of two chains with the same name, the best is preferred if it is this many times as widespread as the other. */
const clearLead = 20;

function compared(one: readonly number[], other: readonly number[]): number {
  for (const [index, value] of one.entries()) if (value !== other[index]) return value - (other[index] as number);
  return 0;
}

/** It is not larger, because chains whose countries are unknown also count as worldwide. */
const worldCountries = 40;

/** Returns how widespread a chain is: its number of countries, multiplied by its number of categories and names. */
function spread([, , categories, countries, , ownNames]: ChainRow): number {
  const places = countries === world ? worldCountries : countries.split(' ').length;
  return places * (categories.length + ownNames.length);
}
