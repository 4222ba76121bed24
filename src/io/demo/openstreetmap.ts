import { metresBetween } from '../../core/lookups/distance.ts';
import data from './airports.json' with { type: 'json' };
import { answerWith, type DemoAnswer, type Route } from './answer.ts';

type Airport = (typeof data.airports)[number];

const countries: Readonly<Record<string, string>> = data.countries;

/** Metres from a point in which an airport is found. */
const reach = 50_000;

/** Maximum of results. */
const maxResults = 5;

/** Two geocoders over the airports: one as Nominatim answers, one as Photon does. */
export function openStreetMapRoutes(): Route[] {
  return [
    { method: 'GET', path: /^\/search$/, answer: (_, { url }) => searchPlaces(queryOf(url)) },
    { method: 'GET', path: /^\/api\/?$/, answer: (_, { url }) => photonSearch(queryOf(url)) },
    { method: 'GET', path: /^\/reverse$/, answer: (_, { url }) => reverse(queryOf(url)) },
  ];
}

function queryOf(url = ''): URLSearchParams {
  return new URL(url, 'http://localhost').searchParams;
}

/** The airports with all words of a text in their name, their country or their code. */
function matching(text: string, among: readonly string[] | undefined): Airport[] {
  const words = searchWords(text);
  const all = data.airports.filter(({ country }) => !among || among.includes(country.toLowerCase()));
  return words.length === 0 ? [] : all.filter((airport) => hasWords(airport, words)).slice(0, maxResults);
}

function hasWords({ name, country, iata }: Airport, words: readonly string[]): boolean {
  const own = searchWords(`${name} ${countries[country]} ${country} ${iata}`);
  return words.every((word) => own.includes(word));
}

function searchWords(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

function searchPlaces(query: URLSearchParams): DemoAnswer {
  const wrong = wrongFormat(query) ?? (query.get('q') ? undefined : "Nothing to search for: expected 'q'");
  if (wrong !== undefined) return refuse(wrong);
  return answerWith(matching(query.get('q') ?? '', query.get('countrycodes')?.split(',')).map(nominatimResult));
}

function photonSearch(query: URLSearchParams): DemoAnswer {
  const text = query.get('q');
  return text ? answerWith(collectionOf(matching(text, undefined))) : answerWith({ message: "missing search term 'q'" }, 400);
}

/** Nominatim and Photon have the same path. Only a request to Nominatim names a format. */
function reverse(query: URLSearchParams): DemoAnswer {
  const isNominatim = query.has('format');
  const wrong = isNominatim ? wrongFormat(query) : undefined;
  if (wrong !== undefined) return refuse(wrong);
  const point = { lat: Number(query.get('lat') || Number.NaN), lon: Number(query.get('lon') || Number.NaN) };
  if (!(Math.abs(point.lat) <= 90 && Math.abs(point.lon) <= 180)) return refuse('expected lat and lon');
  const [nearest] = data.airports
    .map((airport) => ({ airport, distance: metresBetween(point, airport) }))
    .filter(({ distance }) => distance <= reach)
    .sort((a, b) => a.distance - b.distance);
  if (!isNominatim) return answerWith(collectionOf(nearest ? [nearest.airport] : []));
  return answerWith(nearest ? nominatimResult(nearest.airport) : { error: 'Unable to geocode' });
}

function wrongFormat(query: URLSearchParams): string | undefined {
  return query.get('format') === 'jsonv2' && query.get('addressdetails') === '1' ? undefined : 'expected format=jsonv2&addressdetails=1';
}

function refuse(message: string): DemoAnswer {
  return answerWith({ error: { code: 400, message } }, 400);
}

function nominatimResult({ name, lat, lon, country }: Airport): object {
  return {
    ...{ osm_type: 'way', category: 'aeroway', type: 'aerodrome', addresstype: 'aeroway', importance: 0.4, place_rank: 30 },
    ...{ lat: String(lat), lon: String(lon), name, display_name: `${name}, ${countries[country]}` },
    address: { aeroway: name, country: countries[country], country_code: country.toLowerCase() },
  };
}

function collectionOf(airports: readonly Airport[]): object {
  const features = airports.map(({ name, lat, lon, country }) => ({
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [lon, lat] },
    properties: {
      osm_type: 'W',
      osm_key: 'aeroway',
      osm_value: 'aerodrome',
      type: 'house',
      name,
      country: countries[country],
      countrycode: country,
    },
  }));
  return { type: 'FeatureCollection', features };
}
