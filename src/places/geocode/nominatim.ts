import { excerpt } from '../../core/answer/response.ts';
import { Failure } from '../../core/failure.ts';
import { isObject, type JsonObject, jsonOf, type Value } from '../../core/value/value.ts';
import { queryText } from '../lookup/server-requests.ts';
import { addressText } from '../lookup.ts';
import { type FoundPlace, geocodeDocument, isElsewhere, type Level, placesFor, pointIn, textIn } from './document.ts';
import type { GeocodeProvider, GeocodeQuestion } from './question.ts';

/** The provider for Nominatim, which searches OpenStreetMap. https://nominatim.org/release-docs/latest/api/Overview/ */
export const nominatim: GeocodeProvider = {
  source: 'openstreetmap',
  server: 'https://nominatim.openstreetmap.org',
  perDay: { server: 'Nominatim', max: 2500 },
  timeoutMs: 30_000,
  // Without this header, each name would be in the language of its place.
  headers: { 'Accept-Language': 'en' },
  paths: () => pathOf,
  document(body, question) {
    const found = nominatimResults(body, question);
    const places = placesFor(found.map(nominatimPlace), question);
    return geocodeDocument(places, question, 'openstreetmap', 'address' in question && isAmbiguous(places));
  },
};

const format = { format: 'jsonv2', addressdetails: '1' };

function pathOf(question: GeocodeQuestion): string {
  if ('address' in question) {
    const { address, country } = question;
    const countrycodes = country && { countrycodes: country.join(',').toLowerCase() };
    return `/search?${queryText({ q: addressText(address), ...format, limit: '5', ...countrycodes })}`;
  }
  return `/reverse?${queryText({ lat: String(question.lat), lon: String(question.lon), ...format })}`;
}

/** Returns the results in a response, which has a list for an address, but a single result for a point. */
function nominatimResults(body: Value, question: GeocodeQuestion): JsonObject[] {
  if ('address' in question && Array.isArray(body)) return body.filter(isObject);
  if (!('address' in question) && isObject(body)) {
    const { error } = body;
    if (error === undefined) return [body];
    if (/unable to geocode/i.test(jsonOf(error))) return [];
    throw new Failure('answer', `the server says: ${excerpt(jsonOf(error))}`);
  }
  throw new Failure('answer', `expected ${'address' in question ? 'a list of results' : 'a result'}, found ${excerpt(jsonOf(body))}`);
}

const levels: Readonly<Record<string, Level>> = {
  ...{ house: 'house', building: 'house', house_number: 'house', house_name: 'house' },
  ...{ road: 'street', postcode: 'postcode', state: 'region', county: 'region', region: 'region', country: 'country' },
};

/** Keys of OpenStreetMap tags for kinds of places that have an address, such as a shop. */
const kindsOfPlaces = new Set(
  'aerialway aeroway amenity club craft emergency healthcare historic leisure man_made military office railway shop tourism'.split(' '),
);

function levelOf(result: JsonObject): Level {
  const type = textIn(result, 'addresstype') ?? '';
  const level = levels[type];
  if (level) return level;
  // An address point that is not part of a building has the tag place=house.
  return kindsOfPlaces.has(type) || (type === 'place' && textIn(result, 'type') === 'house') ? 'house' : 'place';
}

interface WeighedPlace extends FoundPlace {
  readonly importance: number;
}

function nominatimPlace(result: JsonObject): WeighedPlace {
  const address = isObject(result.address) ? result.address : {};
  const subdivision = textIn(address, 'ISO3166-2-lvl4', 'ISO3166-2-lvl3', 'ISO3166-2-lvl6');
  return {
    ...pointIn(result.lat, result.lon),
    level: levelOf(result),
    name: textIn(result, 'name', 'display_name'),
    housenumber: textIn(address, 'house_number'),
    street: textIn(address, 'road', 'pedestrian'),
    postcode: textIn(address, 'postcode'),
    city: textIn(address, 'city', 'town', 'village', 'municipality', 'hamlet'),
    county: textIn(address, 'county'),
    region: textIn(address, 'state', 'region', 'province'),
    regionCode: subdivision?.replace(/^[A-Z]{2}-/, ''),
    country: textIn(address, 'country'),
    countryCode: textIn(address, 'country_code')?.toUpperCase(),
    importance: Number(textIn(result, 'importance') ?? 0),
  };
}

/** An answer is ambiguous if another place is less important than the first place by at most this difference. */
const closeImportance = 0.1;

function isAmbiguous(places: readonly FoundPlace[]): boolean {
  const [first, ...others] = places as readonly WeighedPlace[];
  return others.some((other) => first && isElsewhere(first, other) && other.importance >= first.importance - closeImportance);
}
