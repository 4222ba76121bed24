import type { AddressQuery } from '../../../core/lookups/geocode.ts';
import { areaCandidate, type Candidate, placeCandidate } from './found-place.ts';
import type { Names } from './names.ts';
import type { Country, Places } from './places.ts';
import { type AddressNames, isUnspaced, type Reading, readingsOf } from './readings.ts';

/** The data that addresses are looked up in. */
export interface Gazetteer {
  readonly places: Places;
  readonly names: Names;
  readonly addressNames: AddressNames;
}

/** The answer to an address: everything that it can mean, best first. */
export interface Meaning {
  readonly candidates: readonly Candidate[];
  readonly isAmbiguous: boolean;
}

/** Least inhabitants of a place that a text without commas, country and digits names along with other words. */
const leastAmongWords = 50_000;

/** Share of a region's inhabitants from which on its name means a town in it with that name, and not the region. */
const townShare = 0.1;

/** Share of a country's inhabitants from which on its name means the capital: only in city states. */
const cityStateShare = 0.5;

/** Share of the best candidate's inhabitants from which on another candidate makes the answer ambiguous. */
const rivalShare = 0.1;

/** Finds the place, the region or the country that an address names. */
export function findAddress({ address, country: codes }: AddressQuery, gazetteer: Gazetteer): Meaning {
  const { places, addressNames } = gazetteer;
  const allowed = codes && new Set(codes.map((code) => places.country(code)));
  const isAllowed = (country: Country) => allowed === undefined || allowed.has(country);
  const hasNumbers = typeof address !== 'string' || /\d/.test(address);
  const isLoose = allowed !== undefined || hasNumbers;
  const readings = readingsOf(address, addressNames);
  const searched = readings.map((reading) => {
    const search = { gazetteer, reading, isAllowed, isLoose, isUnsupported: !hasNumbers && readings.length === 1 };
    return { reading, found: reading.rest.length > 0 ? placesIn(search) : areasOf(search) };
  });
  const found = searched.flatMap((search) => search.found);
  const unknown = searched.filter(({ found, reading }) => found.length === 0 && reading.used > 0).map(({ reading }) => reading);
  return meaningOf(
    found.filter((candidate) => !isNamedAfter(candidate, unknown, places)),
    allowed !== undefined,
  );
}

/** True for a town with the name of an area in which the address names a place that is not known: `Nowhere, Oregon` is not Oregon, Ohio. */
function isNamedAfter(town: Candidate, unknown: readonly Reading[], places: Places): boolean {
  const areas = unknown.filter(({ used }) => used >= town.words).flatMap((reading) => areaCandidate(reading, places) ?? []);
  const isLarge = (area: Candidate) => town.level === 'place' && town.population >= townShare * area.population;
  return areas.length > 0 && !areas.some((area) => isMeantFor(town, area) || isLarge(area));
}

interface Search {
  readonly gazetteer: Gazetteer;
  readonly reading: Reading;
  readonly isAllowed: (country: Country) => boolean;
  /** True if a place may be named by some of the words between commas. */
  readonly isLoose: boolean;
  /** True if nothing says which part names the place: no region, no country, no house number. */
  readonly isUnsupported: boolean;
}

/** The country or the region itself, if the address names nothing else. */
function areasOf({ gazetteer, reading, isAllowed }: Search): Candidate[] {
  const area = areaCandidate(reading, gazetteer.places);
  return area && isAllowed(area.country) ? [area] : [];
}

/** The places that the last part with a place's name can mean: the parts before it are streets and houses. */
function placesIn(search: Search): Candidate[] {
  const parts = search.reading.rest.toReversed();
  const last = lastNamed(search, parts);
  if (last) return search.isUnsupported ? compared(last.found, lastNamed(search, last.before)?.found ?? []) : last.found;
  for (const words of parts) {
    const found = words.some(isUnspaced) ? placesInUnspaced(search, words.flatMap(namesIn)) : placesAmong(search, words);
    if (found.length > 0) return found;
  }
  return [];
}

/** The places named by the first of some parts that is a place's name, and the parts after it. */
function lastNamed(search: Search, parts: Reading['rest']) {
  for (const [index, words] of parts.entries()) {
    const found = placesNamed(search, words, true);
    if (found.length > 0) return { found, before: parts.slice(index + 1) };
  }
  return undefined;
}

/** The places of the last part, or far larger places of an earlier part in another region: `Barcelona, Cat` is not Çat in Turkey. */
function compared(last: Candidate[], earlier: Candidate[]): Candidate[] {
  const weightOf = (found: readonly Candidate[]) => Math.max(...found.map(({ weight }) => weight));
  const largest = last.find(({ weight }) => weight === weightOf(last));
  if (earlier.length === 0 || earlier.some(({ region }) => region === largest?.region)) return last;
  const ratio = weightOf(earlier) / weightOf(last);
  if (ratio >= 1 / rivalShare) return earlier;
  return ratio >= rivalShare ? last.map((candidate) => ({ ...candidate, isContested: true })) : last;
}

/** Maximum of cuts in a name: 市川市 has one within. */
const longestCut = 3;

/** The parts of a text without spaces that can be names: a country, then names that each end with the word for a province, a town or a district. */
function namesIn(text: string): string[] {
  return text.match(/^(?:日本|中国|中國)|.+?(?:[都道府県县縣市区區町村省]|$)/gu) ?? [];
}

/** The places that the first of these names means; the places of a later name if they are in the same region. */
function placesInUnspaced(search: Search, names: readonly string[]): Candidate[] {
  for (let start = 0; start < names.length; start++) {
    for (let end = Math.min(names.length, start + longestCut); end > start; end--) {
      const found = placesNamed(search, [names.slice(start, end).join('')], false);
      if (found.length === 0) continue;
      const finer = placesInUnspaced(search, names.slice(end)).filter(({ region }) => found.some((place) => place.region === region));
      return finer.length > 0 ? finer : found;
    }
  }
  return [];
}

/** The places that the last words name, else the first words: `Hauptstraße Berlin`, `Berlin Mitte`. */
function placesAmong(search: Search, words: readonly string[]): Candidate[] {
  const { country, region } = search.reading;
  const least = search.isLoose || country || region ? 0 : leastAmongWords;
  for (let count = words.length - 1; count > 0; count--) {
    for (const some of [words.slice(-count), words.slice(0, count)]) {
      const found = placesNamed(search, some, false).filter(({ population }) => population >= least);
      if (found.length > 0) return found;
    }
  }
  return [];
}

function placesNamed({ gazetteer, reading, isAllowed }: Search, words: readonly string[], isWhole: boolean): Candidate[] {
  const { places, names } = gazetteer;
  const namesakes = names.find(words.join(' '));
  if (!namesakes) return [];
  const own = Array.from({ length: namesakes.count }, (_, index) => namesakes.first + index);
  const others = [...namesakes.others].filter((place) => !own.includes(place));
  const candidateOf = (isOwnName: boolean) => (place: number) =>
    placeCandidate(places, place, { reading, count: words.length, isWhole }, isOwnName);
  const found = [...own.map(candidateOf(true)), ...others.map(candidateOf(false))];
  return found.filter((candidate) => isInside(candidate, reading) && isAllowed(candidate.country));
}

function isInside(candidate: Candidate, { country, region }: Reading): boolean {
  return (!region || candidate.region === region) && (!country || candidate.country === country);
}

/** Chooses the candidates that explain most words, and among them the largest. */
function meaningOf(found: readonly Candidate[], hasCountry: boolean): Meaning {
  const words = found.reduce((most, candidate) => Math.max(most, candidate.words), 0);
  const fitting = found.filter((candidate) => candidate.words === words);
  const towns = fitting.filter(({ level }) => level === 'place');
  const areas = fitting.filter((area) => area.level !== 'place' && !towns.some((town) => isMeantFor(town, area)));
  const isRegionNamed = areas.some(({ level, reading }) => level === 'region' && (hasCountry || reading.country));
  const candidates = isRegionNamed ? areas : [...areas, ...towns];
  const [best, ...others] = unique(candidates.sort((a, b) => b.weight - a.weight));
  if (!best) return { candidates: [], isAmbiguous: false };
  const isElsewhere = ({ region, country }: Candidate) => (best.level === 'country' ? country !== best.country : region !== best.region);
  const isRival = (candidate: Candidate) => isElsewhere(candidate) && candidate.weight >= rivalShare * best.weight;
  return { candidates: [best, ...others], isAmbiguous: best.isContested === true || others.some(isRival) };
}

/** True if a town is meant and not the area of the same name: the town is a good part of it, or stands with a region of its own. */
function isMeantFor(town: Candidate, { level, region, country, population }: Candidate): boolean {
  if (town.level !== 'place') return false;
  if (town.reading.region) return true;
  if (level === 'region') return town.region === region && town.population >= townShare * population;
  return town.country === country && town.population >= cityStateShare * population;
}

/** The candidates without repetitions: several readings can lead to one place. */
function unique(candidates: readonly Candidate[]): Candidate[] {
  const seen = new Map(
    candidates.map((candidate) => [`${candidate.level} ${candidate.place}`, candidate]).toReversed() as [string, Candidate][],
  );
  return candidates.filter((candidate) => seen.get(`${candidate.level} ${candidate.place}`) === candidate);
}
