import { placeKey } from '../../../core/lookups/place-key.ts';
import type { Country, Places, Region } from './places.ts';
import type { Reading } from './readings.ts';

/** Something that an address can mean. */
export interface Candidate {
  readonly level: 'place' | 'region' | 'country';
  readonly place: number;
  readonly name: string;
  /** The region; undefined for a country. */
  readonly region: Region | undefined;
  readonly country: Country;
  /** Inhabitants; 0 if not known. */
  readonly population: number;
  /** Decides between candidates: the inhabitants, reduced for a place under another name than its own. */
  readonly weight: number;
  /** The reading of the address, and the words of the address that reading and candidate explain. */
  readonly reading: Reading;
  readonly words: number;
  readonly score: number;
  /** True if another part of the address names a place elsewhere that is about as large. */
  readonly isContested?: boolean;
}

/** Share of its inhabitants with which a place counts under another name than its own. */
const otherNameWeight = 0.1;

/** A name of a place in an address. */
export interface NameInAddress {
  readonly reading: Reading;
  /** Words of the name. */
  readonly count: number;
  /** True if no other words stand beside it between commas. */
  readonly isWhole: boolean;
}

/** The candidate of a place. `isOwnName`: false if it is known by this name in another language or spelling. */
export function placeCandidate(places: Places, place: number, { reading, count, isWhole }: NameInAddress, isOwnName: boolean): Candidate {
  const region = places.region(place);
  const population = places.population(place);
  return {
    level: 'place',
    place,
    name: places.name(place),
    region,
    country: region.country,
    population,
    weight: population * (isOwnName ? 1 : otherNameWeight),
    reading,
    words: reading.used + count,
    score: (isOwnName ? 1 : 0.9) * (isWhole ? 1 : 0.9),
  };
}

/** Share of an area's inhabitants from which on its seat of government counts as the whole area, if both have one name. */
const wholeShare = 0.8;

/**
 * The candidate of the region or country that an address names and nothing else; undefined if it names none. It lies at its seat of
 * government. Where that is all of it, as in Bogotá D.C., it is the town.
 */
export function areaCandidate(reading: Reading, places: Places): Candidate | undefined {
  const area = reading.region ?? reading.country;
  if (!area) return undefined;
  const { seat: place, population } = area;
  const town = places.name(place);
  const name = area.name ?? area.code;
  const isTown = places.population(place) >= wholeShare * population && placeKey(name).includes(placeKey(town));
  return {
    level: isTown ? 'place' : reading.region ? 'region' : 'country',
    place,
    name: isTown ? town : name,
    region: isTown ? places.region(place) : reading.region,
    country: reading.region?.country ?? (reading.country as Country),
    population: isTown ? places.population(place) : population,
    weight: population,
    reading,
    words: reading.used,
    score: 1,
  };
}
