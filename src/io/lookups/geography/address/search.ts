import { isDependent } from '../area-names/country-names.ts';
import type { Names, Namesakes } from '../names.ts';
import type { Country, Places } from '../places.ts';
import type { Word } from './address-text.ts';
import type { Hit } from './candidate.ts';
import type { Postcode } from './postcodes.ts';
import { type AddressNames, keyOf, type Reading } from './readings.ts';

/** The data that addresses are looked up in. */
export interface Gazetteer {
  readonly places: Places;
  readonly names: Names;
  readonly addressNames: AddressNames;
}

/** The search for the places that one reading of an address can mean. */
export interface Search {
  readonly gazetteer: Gazetteer;
  readonly reading: Reading;
  readonly postcodes: readonly Postcode[];
  /** True for a country in which places may lie. */
  readonly isAllowed: (country: Country) => boolean;
  /** True if the question limits the countries. */
  readonly isLimited: boolean;
  /** True if the address has numbers. */
  readonly hasNumbers: boolean;
  /** Finds a name. Shared by all readings of an address. */
  readonly find: (key: string) => Namesakes | undefined;
}

/** Longest name in Latin letters that may be an abbreviation: a code of a region, a country or an airport. */
const longestCode = 3;

/** Maximum of places with one name that are compared. */
const maxNamesakes = 12;

/** Finds the places of the reading's country and region that some words name. */
export function hitsOf(search: Search, words: readonly Word[], isWhole: boolean, key = keyOf(words)): Hit[] {
  const namesakes = search.find(key);
  if (!namesakes) return [];
  const { reading } = search;
  const hits: Hit[] = [];
  const consider = (place: number, isOwnName: boolean) => {
    if (isInside(search, place, key)) hits.push({ place, isOwnName, words, isWhole });
  };
  const end = namesakes.first + namesakes.count;
  // The largest come first. A county or a postcode may mean a smaller one.
  const most = reading.county || search.postcodes.length > 0 ? Infinity : maxNamesakes;
  for (let place = namesakes.first; place < end && hits.length < most; place++) consider(place, true);
  // Beside other words a short other name is rather a code: PA, LA, IN.
  const isAlone = isWhole && reading.used === 0 && reading.rest.length === 1;
  if (isCode(key) && !(isAlone && !namesArea(search, key))) return hits;
  const own = [...hits];
  for (const place of namesakes.others) {
    if ((place < namesakes.first || place >= end) && !isOutdone(search, place, own)) consider(place, false);
  }
  return hits;
}

/** Share of a place's inhabitants from which on a place of the region whose own name this is counts in its stead: New Delhi and Delhi. */
const ownShare = 0.02;

function isOutdone({ gazetteer: { places } }: Search, place: number, own: readonly Hit[]): boolean {
  const region = places.region(place);
  return own.some((hit) => places.region(hit.place) === region && places.population(hit.place) >= ownShare * places.population(place));
}

function isCode(key: string): boolean {
  return key.length <= longestCode && /^[a-z]+$/.test(key);
}

function namesArea({ gazetteer: { addressNames } }: Search, key: string): boolean {
  return addressNames.countries.has(key) || addressNames.regions.has(key);
}

function isInside({ gazetteer, reading, isAllowed, postcodes }: Search, place: number, key: string): boolean {
  const region = gazetteer.places.region(place);
  const { country } = region;
  if (!isAllowed(country)) return false;
  if (reading.country && country !== reading.country) {
    // `97400 Saint-Denis, France` is in Réunion.
    return isDependent(country, reading.country) && postcodes.some(({ countries }) => countries.includes(country.code));
  }
  // `Kyiv, Kyiv Oblast`: a city may lie outside of the region that is named after it.
  if (!reading.region || region === reading.region) return true;
  return country === reading.region.country && gazetteer.addressNames.regions.get(key)?.includes(reading.region) === true;
}
