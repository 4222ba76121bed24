import { isDependent } from '../county-names.ts';
import type { Names, Namesakes } from '../names.ts';
import type { Country, PlaceTable } from '../places.ts';
import type { Word } from './address-text.ts';
import type { Postcode } from './postcodes.ts';
import { type AddressNames, type AddressReading, keyOf } from './readings.ts';

export interface Gazetteer {
  readonly places: PlaceTable;
  readonly names: Names;
  readonly addressNames: AddressNames;
}

/** A search for the places that one reading of an address may refer to. */
export interface PlaceSearch extends Gazetteer {
  readonly reading: AddressReading;
  readonly postcodes: readonly Postcode[];
  readonly isAllowed: (country: Country) => boolean;
  readonly isLimited: boolean;
  /** True if the address contains numbers or consists of separate parts. */
  readonly hasNumbers: boolean;
  /** Finds the places that have a name. All readings of the address share the results. */
  readonly find: (key: string) => Namesakes | undefined;
}

export interface Hit {
  readonly place: number;
  /** True if the name is the place's main name. False for a name in another language or spelling. */
  readonly isOwnName: boolean;
  readonly words: readonly Word[];
  readonly isWhole: boolean;
  readonly isNear?: boolean;
}

/** A name of at most this many Latin letters may be the code of a region, country or airport instead. */
const longestCode = 3;

/** Maximum number of places with the same name that are considered. */
const maxNamesakes = 12;

export function hitsOf(search: PlaceSearch, words: readonly Word[], isWhole: boolean, key = keyOf(words)): Hit[] {
  const namesakes = search.find(key);
  if (!namesakes) return [];
  const { reading } = search;
  const hits: Hit[] = [];
  const consider = (place: number, isOwnName: boolean) => {
    if (isInside(search, place, key)) hits.push({ place, isOwnName, words, isWhole });
  };
  const end = namesakes.first + namesakes.count;
  // The largest places come first, so a few are enough. But if the address contains a county or a postcode, a smaller place may be meant.
  const most = reading.county || search.postcodes.length > 0 ? Infinity : maxNamesakes;
  for (let place = namesakes.first; place < end && hits.length < most; place++) consider(place, true);
  // Among other words, a short name such as PA, LA or IN is probably a code. It is then used only as a place's main name.
  const isAlone = isWhole && reading.used === 0 && reading.rest.length === 1;
  if (isCode(key) && !(isAlone && !namesArea(search, key))) return hits;
  const own = [...hits];
  for (const place of namesakes.others) {
    if ((place < namesakes.first || place >= end) && !isOutdone(search, place, own)) consider(place, false);
  }
  return hits;
}

/**
 * A place with another main name is excluded if the name is the main name of a place in its region with at least this share of its
 * inhabitants. For example, `New Delhi` is also a name of Delhi, but does not mean the far larger Delhi.
 */
const ownShare = 0.02;

function isOutdone({ places }: PlaceSearch, place: number, own: readonly Hit[]): boolean {
  const region = places.region(place);
  return own.some((hit) => places.region(hit.place) === region && places.population(hit.place) >= ownShare * places.population(place));
}

function isCode(key: string): boolean {
  return key.length <= longestCode && /^[a-z]+$/.test(key);
}

function namesArea({ addressNames }: PlaceSearch, key: string): boolean {
  return addressNames.countries.has(key) || addressNames.regions.has(key);
}

function isInside({ places, addressNames, reading, isAllowed, postcodes }: PlaceSearch, place: number, key: string): boolean {
  const region = places.region(place);
  const { country } = region;
  if (!isAllowed(country)) return false;
  if (reading.country && country !== reading.country) {
    // A postcode may show that the address is in a territory of the country. For example, `97400 Saint-Denis, France` is in Réunion.
    return isDependent(country, reading.country) && postcodes.some(({ countries }) => countries.includes(country.code));
  }
  // A city may be outside the region that is named after it, as in `Kyiv, Kyiv Oblast`.
  if (!reading.region || region === reading.region) return true;
  return country === reading.region.country && addressNames.regions.get(key)?.includes(reading.region) === true;
}
