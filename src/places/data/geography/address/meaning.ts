import { placeKey } from '../../../place-key.ts';
import type { Candidate } from './candidate.ts';
import type { Postcode } from './postcodes.ts';
import { keyOf } from './readings.ts';

/** The candidates for an address, with the best first. */
export interface Meaning {
  readonly candidates: readonly Candidate[];
  readonly isAmbiguous: boolean;
}

/** If a town has the same name as its region, the town is meant if it has at least this share of the region's inhabitants. */
const townShare = 0.1;

/**
 * If a town has the same name as its country, the town is meant if it has at least this share of the country's inhabitants. Only city
 * states have such a town.
 */
const cityStateShare = 0.5;

/**
 * Replaces `townShare` and `cityStateShare` if the address consists of separate parts and the name is in the part for the town. It is so
 * small that it excludes only villages with the name of a country.
 */
const cityShare = 0.005;

/** The result is ambiguous if another candidate has at least this share of the best candidate's inhabitants. */
const rivalShare = 0.1;

/**
 * Because of a four-digit number, which may be a postcode, a smaller candidate can be preferred. It must have at least this share of the
 * largest candidate's inhabitants.
 */
const shortCodeShare = 0.05;

/**
 * Returns the candidates that explain the most words, sorted by number of inhabitants. If there are several, keeps only those that fit the
 * postcodes best.
 */
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
  // A number that may not be a postcode is weak evidence against a larger place, so the result is marked as ambiguous.
  const isOverruled =
    chosen.length < candidates.length && !postcodes.some(({ isMarked }) => isMarked) && best !== candidates[0] && best.fit < 2;
  return { candidates: [best, ...others], isAmbiguous: best.isDoubtful || isOverruled || others.some(isRival) };
}

/**
 * Returns true if the town is meant and not the area with the same name. This is the case for most capitals, for a town with a large share
 * of the area's inhabitants, and if the address contains the town's region.
 */
export function isMeantFor(town: Candidate, area: Candidate, hasCountry = false): boolean {
  const { level, region, country, population, reading } = area;
  if (town.level !== 'place') return false;
  if (town.reading.region) return true;
  if (town.reading.isCity) return (town.country === country && reading.country !== undefined) || town.weight >= cityShare * population;
  if (town.country !== country) return false;
  if (level === 'country') return town.population >= cityStateShare * population || isCapitalMeant(town, area, hasCountry);
  if (town.region !== region) return town.place === country.seat || town.weight >= townShare * population;
  // In the data, a town in the region may have a longer name, such as New York City.
  const isLarge = town.population >= townShare * population;
  return isLarge || town.place === country.seat || (town.place === region?.largest && town.weight === town.population);
}

/**
 * Returns true if a capital is meant and not its country. This is the case if the lookup already specifies the country, or if the name is
 * not the country's English name.
 */
function isCapitalMeant(town: Candidate, { country, name }: Candidate, hasCountry: boolean): boolean {
  return town.place === country.seat && town.weight === town.population && (hasCountry || keyOf(town.hit) !== placeKey(name ?? ''));
}

/**
 * Returns true if the address contains a postcode and the town is in the region with the same name. The town is then meant, because a whole
 * region has no postcode.
 */
function hasCode(town: Candidate, { level, region }: Candidate, postcodes: readonly Postcode[]): boolean {
  return level === 'region' && town.region === region && postcodes.length > 0;
}

/** Returns the candidates that fit the postcodes in the address best. */
function byPostcode(candidates: readonly Candidate[], postcodes: readonly Postcode[]): readonly Candidate[] {
  const best = candidates.reduce((most, { fit }) => Math.max(most, fit), 0);
  if (best === 0) return candidates;
  const fitting = candidates.filter(({ fit }) => fit === best);
  const isShort = postcodes.every(({ isMarked, code }) => !isMarked && code.length < 5);
  const [largest, first] = [candidates[0] as Candidate, fitting[0] as Candidate];
  return isShort && largest.fit === 0 && first.weight < shortCodeShare * largest.weight ? candidates : fitting;
}

/** Removes duplicate candidates. Different readings of an address can lead to the same place. */
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
