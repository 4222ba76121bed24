import { placeKey } from '../../../../core/lookups/place-key.ts';
import type { Candidate } from './candidate.ts';
import type { Postcode } from './postcodes.ts';
import { keyOf } from './readings.ts';

/** The answer to an address: everything that it can mean, best first. */
export interface Meaning {
  readonly candidates: readonly Candidate[];
  readonly isAmbiguous: boolean;
}

/** Share of a region's inhabitants from which on its name means a town of its country with that name, and not the region. */
const townShare = 0.1;

/** Share of a country's inhabitants from which on its name means the capital: only in city states. */
const cityStateShare = 0.5;

/** The same shares for a name that stands where a town should: so little that only a village with the name of a country is left out. */
const cityShare = 0.005;

/** Share of the best candidate's inhabitants from which on another candidate makes the answer ambiguous. */
const rivalShare = 0.1;

/** Share of the largest candidate's inhabitants from which on a number of four digits decides for a smaller one. */
const shortCodeShare = 0.05;

/** Chooses the candidates that explain most words, then those of the county and the postcode, and among them the largest. */
export function meaningOf(found: readonly Candidate[], hasCountry: boolean, postcodes: readonly Postcode[]): Meaning {
  const [only] = found;
  if (only && found.length === 1) return { candidates: found, isAmbiguous: only.isDoubtful };
  const words = found.reduce((most, candidate) => Math.max(most, candidate.words), 0);
  const fitting = found.filter((candidate) => candidate.words === words);
  const towns = fitting.filter(({ level }) => level === 'place');
  const areas = fitting.filter(
    (area) => area.level !== 'place' && !towns.some((town) => isMeantFor(town, area, hasCountry) || hasCode(town, area, postcodes)),
  );
  const isRegionNamed = areas.some(({ level, reading }) => level === 'region' && (hasCountry || reading.country));
  const candidates = unique((isRegionNamed ? areas : [...areas, ...towns]).sort((a, b) => b.weight - a.weight));
  const chosen = byPostcode(candidates, postcodes);
  const [best, ...others] = chosen;
  if (!best) return { candidates: [], isAmbiguous: false };
  const isElsewhere = ({ region, country }: Candidate) => (best.level === 'country' ? country !== best.country : region !== best.region);
  const isRival = (candidate: Candidate) => isElsewhere(candidate) && candidate.weight >= rivalShare * best.weight;
  // A number alone is weak evidence against a larger place.
  const isOverruled =
    chosen.length < candidates.length && !postcodes.some(({ isMarked }) => isMarked) && best !== candidates[0] && best.fit < 2;
  return { candidates: [best, ...others], isAmbiguous: best.isDoubtful || isOverruled || others.some(isRival) };
}

/** True if a town is meant and not the area of the same name: the capital, a good part of the area, or a town with a region of its own. */
export function isMeantFor(town: Candidate, area: Candidate, hasCountry = false): boolean {
  const { level, region, country, population, reading } = area;
  if (town.level !== 'place') return false;
  if (town.reading.region) return true;
  if (town.reading.isCity) return (town.country === country && reading.country !== undefined) || town.weight >= cityShare * population;
  if (town.country !== country) return false;
  if (level === 'country') return town.population >= cityStateShare * population || isCapitalMeant(town, area, hasCountry);
  if (town.region !== region) return town.place === country.seat || town.weight >= townShare * population;
  // A town within the region may have a longer name of its own: New York City.
  const isLarge = town.population >= townShare * population;
  return isLarge || town.place === country.seat || (town.place === region?.largest && town.weight === town.population);
}

/** True if a capital is meant and not its country: the country is known already, or has this name in another language only, as Brasilia. */
function isCapitalMeant(town: Candidate, { country, name }: Candidate, hasCountry: boolean): boolean {
  return town.place === country.seat && town.weight === town.population && (hasCountry || keyOf(town.hit) !== placeKey(name ?? ''));
}

/** True if a postcode stands beside a town in the region of its name: regions have none. */
function hasCode(town: Candidate, { level, region }: Candidate, postcodes: readonly Postcode[]): boolean {
  return level === 'region' && town.region === region && postcodes.length > 0;
}

/** The candidates that fit the postcodes best. */
function byPostcode(candidates: readonly Candidate[], postcodes: readonly Postcode[]): readonly Candidate[] {
  const best = candidates.reduce((most, { fit }) => Math.max(most, fit), 0);
  if (best === 0) return candidates;
  const fitting = candidates.filter(({ fit }) => fit === best);
  const isShort = postcodes.every(({ isMarked, code }) => !isMarked && code.length < 5);
  const [largest, first] = [candidates[0] as Candidate, fitting[0] as Candidate];
  return isShort && largest.fit === 0 && first.weight < shortCodeShare * largest.weight ? candidates : fitting;
}

/** The candidates without repetitions: several readings can lead to one place. */
function unique(candidates: readonly Candidate[]): Candidate[] {
  if (candidates.length < 2) return [...candidates];
  const seen = new Set<number>();
  return candidates.filter(({ level, place }) => {
    const key = 3 * place + (level === 'place' ? 0 : level === 'region' ? 1 : 2);
    const isNew = !seen.has(key);
    seen.add(key);
    return isNew;
  });
}
