import type { AddressQuery } from '../../../lookup.ts';
import type { Names, Namesakes } from '../names.ts';
import type { Country, District, PlaceTable } from '../places.ts';
import { type AddressText, addressTextOf, partTextsOf } from './address-text.ts';
import { areaCandidate, type Candidate, fitOf, isVagueAlone, judged } from './judge.ts';
import { type AddressReading, type Named, partReadings, textReadings } from './readings.ts';
import type { Gazetteer, PlaceSearch } from './search.ts';
import { type Misspellings, townsIn } from './town-names.ts';
import { isMeantFor, type Meaning, meaningOf, type Understanding, understandingOf } from './understanding.ts';

export interface FoundAddress extends Meaning, Understanding {}

interface ReadAddress {
  /** The whole address. If it consists of separate parts, they are joined. */
  readonly whole: AddressText;
  readonly readings: readonly AddressReading[];
  /** True if the address consists of separate parts and its state is not the name of a known region. */
  readonly hasUnknownState: boolean;
}

export function findAddress(query: AddressQuery, gazetteer: Gazetteer, misspellings: Misspellings): FoundAddress {
  const read = readAddress(query.address, gazetteer);
  const { whole, readings, hasUnknownState } = read;
  const searched = searchedOf(searchesOf(query, gazetteer, read));
  const unknown = searched.filter(({ accepted, search }) => accepted.length === 0 && isNaming(search.reading));
  const areas = unknown.map(({ search }) => search.reading);
  let found = searched.flatMap(({ accepted }) => accepted);
  if (areas.length > 0) found = found.filter((candidate) => !isNamedAfter(candidate, areas, gazetteer.places));
  if (found.length === 0) found = unknown.flatMap(({ search }) => judged(search, misspellings.hits(search)).accepted);
  const meaning = meaningOf(preferringCounty(found, gazetteer.places), query.country !== undefined, whole.postcodes);
  const best = meaning.candidates[0] ?? searched.flatMap(({ rejected }) => rejected)[0];
  const isMatch = meaning.candidates.length > 0;
  const { matched, leftOver } = understandingOf(whole, best, best ? undefined : bestReading(readings));
  const isAmbiguous = meaning.isAmbiguous || (isMatch && hasUnknownState);
  return { candidates: meaning.candidates, isAmbiguous, matched, leftOver };
}

function readAddress(address: AddressQuery['address'], { addressNames }: Gazetteer): ReadAddress {
  if (typeof address === 'string') {
    const whole = addressTextOf(address);
    return { whole, readings: textReadings(whole, addressNames), hasUnknownState: false };
  }
  const { text, parts } = partTextsOf(address);
  const readings = partReadings({ text, parts }, addressNames);
  const all = Object.values(parts);
  const whole = {
    text,
    segments: all.flatMap(({ segments }) => segments),
    postcodes: all.flatMap(({ postcodes }) => postcodes),
    ignored: all.flatMap(({ ignored }) => ignored),
  };
  const hasState = parts.state.segments.length > 0;
  return { whole, readings, hasUnknownState: hasState && readings.some(({ region }) => !region) };
}

function searchesOf({ address, country: codes }: AddressQuery, gazetteer: Gazetteer, { whole, readings }: ReadAddress): PlaceSearch[] {
  const { places, names, addressNames } = gazetteer;
  const { postcodes } = whole;
  const allowed = codes && new Set(codes.map((code) => places.country(code)));
  const find = rememberingFind(names);
  const isAllowed = (country: Country) => allowed === undefined || allowed.has(country);
  const isLimited = allowed !== undefined;
  const hasNumbers = typeof address !== 'string' || /\d/.test(address);
  return readings.map((reading) => ({ places, names, addressNames, reading, postcodes, isAllowed, isLimited, hasNumbers, find }));
}

/** The function finds the places with a name. It keeps the results, because the readings of an address contain the same names. */
function rememberingFind(names: Names): PlaceSearch['find'] {
  const found = new Map<string, Namesakes | undefined>();
  return (key) => {
    const known = found.get(key);
    if (known || found.has(key)) return known;
    const namesakes = names.find(key);
    found.set(key, namesakes);
    return namesakes;
  };
}

interface Searched {
  readonly search: PlaceSearch;
  readonly accepted: readonly Candidate[];
  readonly rejected: readonly Candidate[];
}

/** Begins with the reading with the most names of areas. Skips searches that explain fewer words than a place already found. */
function searchedOf(searches: readonly PlaceSearch[]): Searched[] {
  const searched: Searched[] = [];
  let most = 0;
  for (const search of searches.toSorted((a, b) => b.reading.used - a.reading.used)) {
    const { rest, used } = search.reading;
    if (used + rest.reduce((longest, { words }) => Math.max(longest, words.length), 0) < most) continue;
    const { accepted, rejected } = placesIn(search);
    for (const { words } of accepted) most = Math.max(most, words);
    searched.push({ search, accepted, rejected });
  }
  return searched;
}

function placesIn(search: PlaceSearch): Omit<Searched, 'search'> {
  const { reading, places, isAllowed } = search;
  if (reading.rest.length > 0) return judged(search, townsIn(search));
  // The address contains only a region or country, which is therefore the result.
  const words = reading.named.flatMap((area) => area.words);
  const area = areaCandidate(reading, places, (place) => fitOf(search, place, words));
  const isMeant = area !== undefined && isAllowed(area.country) && !isVagueAlone(search, words, 0);
  return { accepted: isMeant ? [area] : [], rejected: [] };
}

function isNaming({ used, rest }: AddressReading): boolean {
  return used > 0 && rest.length > 0;
}

/** True if the address contains an area with the town's name: `Nowhere, Oregon` does not mean the town of Oregon in Ohio. */
function isNamedAfter(town: Candidate, unknown: readonly AddressReading[], places: PlaceTable): boolean {
  if (town.level !== 'place' || town.hit.length === 0) return false;
  const isItsName = ({ words, as }: Named) => as !== 'county' && town.hit.every((word) => words.includes(word));
  const areas = unknown.filter(({ named }) => named.some(isItsName)).flatMap((reading) => areaCandidate(reading, places) ?? []);
  // If the town is the capital of the area, or is more likely to be meant than the area, the unknown words are a street in the town.
  return areas.length > 0 && !areas.some((area) => town.place === area.place || isMeantFor(town, area));
}

/** If an address contains a county, returns only the candidates in the county. If there are none, returns the candidates near it. */
function preferringCounty(found: readonly Candidate[], places: PlaceTable): readonly Candidate[] {
  if (!found.some(({ reading }) => reading.county)) return found;
  const isThere = ({ reading, place, level }: Candidate) => {
    const district = level === 'place' ? places.district(place) : undefined;
    return district !== undefined && reading.county?.districts.includes(district) === true;
  };
  const most = found.reduce((words, candidate) => Math.max(words, candidate.words), 0);
  if (found.some((candidate) => candidate.words === most && isThere(candidate))) return found.filter(isThere);
  return found.filter(({ reading, place }) => !reading.county || isAround(place, reading.county.districts, places));
}

/** In degrees of latitude. A town need not be in its county, because some towns have become districts of their own. */
const aroundDegrees = 0.8;

function isAround(place: number, districts: readonly District[], places: PlaceTable): boolean {
  if (districts.length === 0) return true;
  return districts.some((district) => {
    const { lat, lon } = places.middleOf(district);
    const east = (places.lon(place) - lon) * Math.cos((lat / 180) * Math.PI);
    return Math.hypot(places.lat(place) - lat, east) < aroundDegrees;
  });
}

/** Prefers the most words in names of areas, then a region. Undefined if no reading contains an area. */
function bestReading(readings: readonly AddressReading[]): AddressReading | undefined {
  const rank = ({ used, region }: AddressReading) => 2 * used + (region ? 1 : 0);
  return readings.reduce<AddressReading | undefined>(
    (best, reading) => (rank(reading) > (best ? rank(best) : 1) ? reading : best),
    undefined,
  );
}
