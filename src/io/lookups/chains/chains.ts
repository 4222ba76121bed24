import type { ChainQuery } from '../../../core/lookups/chain.ts';
import { doubtText } from '../../../core/lookups/doubt.ts';
import type { LookupDocument } from '../../../core/lookups/lookup.ts';
import type { ChainRow } from './chain-data.ts';
import { ChainNames, world } from './chain-names.ts';
import { type Hit, type Method, searchChains } from './chain-search.ts';

/** Most candidates of an answer. */
const maxCandidates = 5;

/** Least score of a candidate. */
const minCandidateScore = 0.5;

/** A match below this score is doubtful. */
const lowScore = 0.87;

/** A chain that a name may mean, as the commands show it. */
export interface ChainCandidate {
  readonly name: string;
  /** Wikidata id. */
  readonly id: string | null;
  readonly category: string | null;
  /** ISO 3166-1 alpha-2 codes, or 001 alone for the whole world. */
  readonly countries: readonly string[];
  readonly score: number;
  readonly method: Method;
}

/** Loads the chains. Answers the chain that a name means. */
export async function loadChains(folder: string): Promise<(query: ChainQuery) => LookupDocument> {
  const names = await ChainNames.read(folder);
  return (query) => chainAnswer(names, query);
}

/** The chains that a name may mean, best first, and the doubt about the best one; null without a doubt. */
interface FoundChains {
  readonly chains: readonly ChainCandidate[];
  readonly doubt: string | null;
}

/** Loads the chains. Answers the chains that a name may mean. */
export async function loadChainSearch(folder: string): Promise<(query: Omit<ChainQuery, 'minScore'>) => FoundChains> {
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

/** The reasons to look at the best of some hits. */
function doubtAbout(names: ChainNames, [best, second]: readonly RankedHit[], { country }: Omit<ChainQuery, 'minScore'>) {
  if (!best) return { ambiguous: false, doubt: null };
  const { method, score, name } = best.hit;
  const ambiguous = second !== undefined && isTie(names, best, second);
  const missingIn = country !== undefined && names.presence(name.chain, country) === 0 ? country : undefined;
  return { ambiguous, doubt: doubtText({ isAmbiguous: ambiguous, isMisspelt: method === 'fuzzy', missingIn, isLow: score < lowScore }) };
}

const nothing = { name: null, matched_name: null, id: null, category: null, categories: [], countries: [], score: null, method: null };

function detailsOf(names: ChainNames, hit: Hit) {
  const { name, score, method, ...chain } = chainCandidate(names, hit);
  const matched = { name, matched_name: hit.name.text };
  return { ...matched, ...chain, categories: categoriesOf(names, hit), countries: countriesOf(names, hit), score, method };
}

function chainCandidate(names: ChainNames, hit: Hit) {
  const [name, id] = rowOf(names, hit);
  const brand = hit.name.brand?.[0] ?? name;
  return { name: brand, id, category: categoriesOf(names, hit)[0] ?? null, score: hit.score, method: hit.method };
}

function countriesOf(names: ChainNames, hit: Hit): string[] {
  return (hit.name.brand?.[2] ?? rowOf(names, hit)[3]).split(' ').filter((country) => country !== '');
}

function rowOf({ data }: ChainNames, { name: { chain } }: Hit): ChainRow {
  return data.chains[chain] as ChainRow;
}

/** Tags of the categories of the brand that was found, the main one first. */
function categoriesOf(names: ChainNames, { name: { chain, brand } }: Hit): string[] {
  return brand ? names.tagsOf(brand[1]) : names.categoriesOfBrand(chain);
}

/** A hit with the reasons to prefer it, the strongest first. */
interface RankedHit {
  readonly hit: Hit;
  /** First the kind of name decides: the main name of a chain, then its other names, then old names. After that country and category decide. */
  readonly reasons: readonly number[];
  /** Reasons that order hits, but do not settle which chain is meant. */
  readonly order: readonly number[];
}

function rankedHits(names: ChainNames, query: Omit<ChainQuery, 'minScore'>): RankedHit[] {
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

/** True if nothing decides between two hits. A far more widespread chain is meant rather than its namesake. */
function isTie(names: ChainNames, best: RankedHit, second: RankedHit): boolean {
  if (compared(best.reasons, second.reasons) !== 0) return false;
  return spread(rowOf(names, best.hit)) < clearLead * spread(rowOf(names, second.hit));
}

/** A chain is meant if it is this many times more widespread than its namesake. */
const clearLead = 20;

function compared(one: readonly number[], other: readonly number[]): number {
  for (const [index, value] of one.entries()) if (value !== other[index]) return value - (other[index] as number);
  return 0;
}

/** The number of countries that a worldwide chain counts with. The index also says `worldwide` of chains whose countries it does not know. */
const worldCountries = 40;

/** A measure of how widespread a chain is: its countries, times the kinds and names of its places. */
function spread([, , categories, countries, , ownNames]: ChainRow): number {
  const places = countries === world ? worldCountries : countries.split(' ').length;
  return places * (categories.length + ownNames.length);
}
