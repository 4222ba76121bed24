import { Failure } from '../../core/failure.ts';
import { isObject, type JsonObject, textOf, type Value } from '../../core/value/value.ts';
import { type Coordinates, metresBetween, readCoordinates } from '../coordinates.ts';
import { doubtText, type LookupDocument, maxCandidates, noPlace } from '../lookup.ts';
import { type SourceName, sources } from '../sources.ts';
import type { GeocodeQuestion } from './question.ts';

/** It shows how exact the place's coordinates are. */
export type Level = 'house' | 'street' | 'postcode' | 'place' | 'region' | 'country';

/** A place that a server has found. A part of its address that is missing or empty is unknown. */
export interface FoundPlace extends Coordinates {
  readonly level: Level;
  readonly name: string | undefined;
  readonly housenumber?: string;
  readonly street?: string;
  readonly postcode?: string;
  readonly city?: string;
  readonly county?: string;
  readonly region?: string;
  readonly regionCode?: string;
  readonly country: string | undefined;
  readonly countryCode: string | undefined;
  readonly fips?: JsonObject;
}

export function placesFor(found: readonly FoundPlace[], question: GeocodeQuestion): readonly FoundPlace[] {
  const { country } = question;
  const there = country ? found.filter(({ countryCode = '' }) => country.includes(countryCode)) : found;
  return 'address' in question ? there : there.filter((place) => metresBetween(question, place) <= question.maxDistance);
}

/** The best place comes first. */
export function geocodeDocument(
  found: readonly FoundPlace[],
  question: GeocodeQuestion,
  source: SourceName,
  isAmbiguous = false,
): LookupDocument {
  const [first] = found;
  const attribution = sources[source].text;
  if (!first) return { ...noPlace, ambiguous: isAmbiguous, doubt: doubtText({ isAmbiguous }), attribution };
  const { lat, lon, level, fips } = first;
  return {
    ...noPlace,
    match: true,
    ...{ lat, lon, level, name: known(first.name) },
    street: known(first.street),
    housenumber: known(first.housenumber),
    postcode: known(first.postcode),
    city: known(first.city),
    county: known(first.county),
    region: known(first.region),
    region_code: known(first.regionCode),
    country: known(first.country),
    country_code: known(first.countryCode),
    distance_m: 'address' in question ? null : Math.round(metresBetween(question, first)),
    ambiguous: isAmbiguous,
    doubt: doubtText({ isAmbiguous }),
    fips: fips ?? null,
    candidates: 'address' in question ? found.slice(0, maxCandidates).map(candidateOf) : [],
    attribution,
  };
}

function candidateOf({ name, regionCode, countryCode, lat, lon }: FoundPlace): Value {
  return { name: known(name), region_code: known(regionCode), country_code: known(countryCode), lat, lon, population: null };
}

function known(text: string | undefined): string | null {
  return text === undefined || text === '' ? null : text;
}

export function textIn(object: JsonObject, ...names: readonly string[]): string | undefined {
  return names.map((name) => plainText(object[name])).find((text) => text !== '');
}

function plainText(value: Value | undefined): string {
  return value === undefined || isObject(value) || Array.isArray(value) ? '' : textOf(value).trim();
}

/** Parses the coordinates in a response. Throws a Failure if they are invalid. */
export function pointIn(lat: Value | undefined, lon: Value | undefined): Coordinates {
  try {
    return readCoordinates(plainText(lat), plainText(lon));
  } catch (error) {
    throw new Failure('answer', `the answer has no coordinates: ${(error as Error).message}`);
  }
}

/** True if the other place has the same name and level, but is in another region or country. */
export function isElsewhere(place: FoundPlace, other: FoundPlace): boolean {
  const nameOf = ({ level, name, street, housenumber }: FoundPlace) =>
    level === 'house' && housenumber ? `${housenumber} ${street}` : name;
  const regionOf = ({ region, countryCode }: FoundPlace) => `${countryCode}/${region}`;
  return place.level === other.level && nameOf(place) === nameOf(other) && regionOf(place) !== regionOf(other);
}
