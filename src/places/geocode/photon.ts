import { excerpt } from '../../core/answer/response.ts';
import { Failure } from '../../core/failure.ts';
import { isObject, type JsonObject, jsonOf, type Value } from '../../core/value/value.ts';
import { queryText } from '../lookup/server-requests.ts';
import { addressText } from '../lookup.ts';
import { type FoundPlace, geocodeDocument, isElsewhere, type Level, placesFor, pointIn, textIn } from './document.ts';
import type { GeocodeProvider } from './question.ts';

/** The provider for Photon, which searches OpenStreetMap. https://github.com/komoot/photon/blob/master/docs/api-v1.md */
export const photon: GeocodeProvider = {
  source: 'openstreetmap',
  server: 'https://photon.komoot.io',
  perDay: { server: 'Photon', max: 10_000 },
  timeoutMs: 30_000,
  // Without this header, each name would be in the language of its place.
  headers: { 'Accept-Language': 'en' },
  paths: () => (question) => {
    if ('address' in question) {
      const { address, country = [] } = question;
      const search = queryText({ q: addressText(address), limit: '5' });
      return `/api?${[search, ...country.map((code) => queryText({ countrycode: code }))].join('&')}`;
    }
    return `/reverse?${queryText({ lat: String(question.lat), lon: String(question.lon) })}`;
  },
  document(body, question) {
    const found = placesFor(featuresOf(body).map(photonPlace), question);
    const [first, ...others] = found;
    // Photon's responses do not state the sizes of towns, so it is unknown which of several towns with the same name is usually meant. Only
    // a house or street can therefore be called ambiguous.
    const isExact = first?.level === 'house' || first?.level === 'street';
    const isAmbiguous = 'address' in question && isExact && others.some((other) => isElsewhere(first, other));
    return geocodeDocument(found, question, 'openstreetmap', isAmbiguous);
  },
};

function featuresOf(body: Value): JsonObject[] {
  if (isObject(body) && Array.isArray(body.features)) return body.features.filter(isObject);
  throw new Failure('answer', `expected a list of features, found ${excerpt(jsonOf(body))}`);
}

const levels: Readonly<Record<string, Level>> = {
  house: 'house',
  street: 'street',
  country: 'country',
  state: 'region',
  county: 'region',
};

function photonPlace({ geometry, properties }: JsonObject): FoundPlace {
  const [lon, lat] = isObject(geometry) && Array.isArray(geometry.coordinates) ? geometry.coordinates : [];
  const about = isObject(properties) ? properties : {};
  const type = textIn(about, 'type') ?? '';
  // In a response about a town, the town's name is in `name` instead of `city`.
  const all: JsonObject = { [type]: about.name ?? null, ...about };
  const housenumber = textIn(about, 'housenumber');
  const street = textIn(all, 'street');
  return {
    ...pointIn(lat, lon),
    ...{ level: levels[type] ?? 'place', housenumber, street },
    name: textIn(about, 'name') ?? [housenumber, street].filter(Boolean).join(' '),
    postcode: textIn(about, 'postcode'),
    city: textIn(all, 'city'),
    county: textIn(all, 'county'),
    region: textIn(all, 'state'),
    country: textIn(all, 'country'),
    countryCode: textIn(about, 'countrycode')?.toUpperCase(),
  };
}
