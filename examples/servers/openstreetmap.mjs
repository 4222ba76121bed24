import { mainStreet } from './geocoder.mjs';
import { readQuery } from './query.mjs';

/** @typedef {import('./answers.mjs').Request} Request */
/** @typedef {import('./answers.mjs').Answer} Answer */

const osm = { licence: 'Data © OpenStreetMap contributors, ODbL 1.0. http://osm.org/copyright', osm_type: 'node', osm_id: 1 };

/** The houses whose number and street a text begins with. */
function housesAt(text) {
  return mainStreet.filter(({ number }) => new RegExp(`^${number} Main St(?:reet)?\\b`, 'i').test(text));
}

/** A house, as Nominatim describes it. */
function resultOf({ number, city, lat, lon }) {
  const county = { city, county: 'Cook County', state: 'Illinois', 'ISO3166-2-lvl4': 'US-IL', postcode: '60614' };
  return {
    ...osm,
    ...{ lat: String(lat), lon: lon.toFixed(7), category: 'place', type: 'house', addresstype: 'place', place_rank: 30 },
    ...{ importance: 0.00007, name: '', display_name: `${number}, Main Street, ${city}` },
    address: { house_number: String(number), road: 'Main Street', ...county, country: 'United States', country_code: 'us' },
  };
}

const usa = ['us', 'United States'];

/** The towns that are found, as Nominatim describes them. */
const towns = [
  town('Springfield', [37.2153, -93.2983], 'Missouri', usa, 0.56),
  town('Springfield', [39.799, -89.644], 'Illinois', usa, 0.55),
  town('Paris', [48.8589, 2.32], 'Ile-de-France', ['fr', 'France'], 0.88),
  town('Paris', [33.6617, -95.5555], 'Texas', usa, 0.49),
];

function town(name, [lat, lon], state, [code, country], importance) {
  return {
    ...osm,
    ...{ lat: String(lat), lon: String(lon), category: 'boundary', type: 'administrative', addresstype: 'city', place_rank: 16 },
    ...{ importance, name, display_name: `${name}, ${state}`, address: { city: name, state, country, country_code: code } },
  };
}

/**
 * Answers as Nominatim does, to requests of the documented forms only.
 * @param {Request} request
 * @returns {Answer}
 */
export function answerNominatim({ method, path, headers }) {
  const isReverse = path.startsWith('/reverse?');
  const { query, errors } = readQuery(
    path,
    [...(isReverse ? ['lat', 'lon'] : ['q', 'limit']), 'format', 'addressdetails'],
    isReverse ? [] : ['countrycodes'],
  );
  if (method !== 'GET' || errors.length > 0) return refuse(`${path}: ${errors.join(', ')}`);
  if (query.get('format') !== 'jsonv2' || query.get('addressdetails') !== '1') return refuse('expected format=jsonv2&addressdetails=1');
  if (!headers?.['accept-language']) return refuse('expected Accept-Language');
  if (isReverse) {
    const isNear = Math.abs(Number(query.get('lat')) - 41.9) < 0.5 && Math.abs(Number(query.get('lon')) + 87.6) < 5;
    return { body: isNear ? resultOf(mainStreet[0]) : { error: 'Unable to geocode' } };
  }
  const codes = query.get('countrycodes')?.split(',');
  if (query.get('limit') !== '5' || codes?.some((code) => !/^[a-z]{2}$/.test(code)))
    return refuse('expected limit=5 and codes of countries');
  const text = query.get('q');
  const found = [...housesAt(text).map(resultOf), ...towns.filter(({ name }) => text.startsWith(name))];
  return { body: found.filter(({ address }) => !codes || codes.includes(address.country_code)).slice(0, 5) };
}

function refuse(message) {
  return { status: 400, body: { error: { code: 400, message } } };
}

/**
 * Answers as Photon does, to requests of the documented forms only.
 * @param {Request} request
 * @returns {Answer}
 */
export function answerPhoton({ method, path }) {
  const isReverse = path.startsWith('/reverse?');
  const { query, errors } = readQuery(path, isReverse ? ['lat', 'lon'] : ['q', 'limit'], [], isReverse ? [] : ['countrycode']);
  if (method !== 'GET' || errors.length > 0) return { status: 400, body: { message: `${path}: ${errors.join(', ')}` } };
  if (isReverse) return collectionOf(Math.abs(Number(query.get('lat')) - 41.9) < 5 ? [houseFeature(mainStreet[0])] : []);
  const text = query.get('q');
  const codes = query.getAll('countrycode').map((code) => code.toUpperCase());
  const found = [...housesAt(text).map(houseFeature), ...towns.filter(({ name }) => text.startsWith(name)).map(townFeature)];
  return collectionOf(found.filter(({ properties }) => codes.length === 0 || codes.includes(properties.countrycode)).slice(0, 5));
}

function collectionOf(features) {
  return { body: { type: 'FeatureCollection', features } };
}

function houseFeature({ number, city, lat, lon }) {
  const illinois = { country: 'United States', countrycode: 'US', state: 'Illinois', county: 'Cook', postcode: '60614' };
  return feature({ type: 'house', housenumber: String(number), street: 'Main Street', city, ...illinois }, lat, lon);
}

function townFeature({ name, lat, lon, address: { state, country, country_code: code } }) {
  return feature({ type: 'city', name, state, country, countrycode: code.toUpperCase() }, Number(lat), Number(lon));
}

function feature(properties, lat, lon) {
  return {
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [lon, lat] },
    properties: { osm_type: 'N', osm_id: 1, osm_key: 'place', osm_value: 'x', ...properties },
  };
}
