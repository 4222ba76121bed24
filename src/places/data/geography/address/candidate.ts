import { placeKey } from '../../../country-names.ts';
import type { Country, PlaceTable, Region } from '../places.ts';
import type { Word } from './address-text.ts';
import type { PostcodeFit } from './postcodes.ts';
import type { AddressReading } from './readings.ts';

export interface Candidate {
  readonly level: 'place' | 'region' | 'country';
  readonly place: number;
  /** The name of the region or country; undefined for a place, whose name is in the data. */
  readonly name: string | undefined;
  /** The region itself, or the region that contains the place; undefined for a country. */
  readonly region: Region | undefined;
  readonly country: Country;
  readonly population: number;
  /** The number of inhabitants, reduced if the address does not contain the main name of the place. */
  readonly weight: number;
  readonly reading: AddressReading;
  readonly hit: readonly Word[];
  /** Number of words in the address that are the name of the candidate, or of a country, region or county that contains the candidate. */
  readonly words: number;
  readonly score: number;
  readonly isNear: boolean;
  readonly fit: PostcodeFit;
  /** The unexplained words before the place's name. `after` contains the unexplained words after the name. */
  readonly before: readonly Word[];
  readonly after: readonly Word[];
  /** True if there is also evidence against the place. The result is then marked as ambiguous. */
  readonly isDoubtful: boolean;
}

/** A capital with the name of its region or country stands for the area if it has at least this share of the inhabitants. */
const wholeShare = 0.8;

/** For an address with only a region or country. Has the coordinates of the capital, or is the capital if it is nearly the whole area. */
export function areaCandidate(reading: AddressReading, places: PlaceTable, fitOf?: (place: number) => PostcodeFit): Candidate | undefined {
  const area = reading.region ?? reading.country;
  if (!area) return undefined;
  const { seat: place, population } = area;
  const town = places.name(place);
  const name = area.name ?? area.code;
  const isNamed = reading.region ? placeKey(name).includes(placeKey(town)) : placeKey(name) === placeKey(town);
  const isTown = isNamed && places.population(place) >= wholeShare * population;
  return {
    level: isTown ? 'place' : reading.region ? 'region' : 'country',
    place,
    name: isTown ? undefined : name,
    region: isTown ? places.region(place) : reading.region,
    country: reading.region?.country ?? (reading.country as Country),
    population: isTown ? places.population(place) : population,
    weight: population,
    reading,
    hit: [],
    words: reading.used,
    score: 1,
    isNear: false,
    fit: isTown && fitOf ? fitOf(place) : 0,
    before: [],
    after: [],
    isDoubtful: false,
  };
}
