import type { IncomingHttpHeaders } from 'node:http';
import { parse } from 'csv-parse/sync';
import type { FakeAnswer } from './fake-answer.ts';
import { type HttpServer, httpServer } from './http-server.ts';

/** What of a request the servers look at. */
export interface Asked {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<IncomingHttpHeaders>;
  readonly body?: string | undefined;
}

/** A house as the servers know it. */
interface House {
  readonly number: number;
  readonly city: string;
  readonly lat: number;
  readonly lon: number;
}

/** 200 houses of Main Street in Chicago, 100 to 299; and number 5, which is also in Evanston. */
const houses: readonly House[] = [
  ...Array.from({ length: 200 }, (_, index) => ({ number: index + 100, city: 'Chicago', lat: 41.9, lon: -(87_600 + index) / 1000 })),
  { number: 5, city: 'Chicago', lat: 41.95, lon: -87.65 },
  { number: 5, city: 'Evanston', lat: 42.04, lon: -87.68 },
];

const housesAt = (text: string) => houses.filter(({ number }) => new RegExp(`^${number} Main St\\b`, 'i').test(text));
const matched = ({ number, city }: House) => `${number} MAIN ST, ${city.toUpperCase()}, IL, 606${String(number % 100).padStart(2, '0')}`;
const blockOf = ({ number }: House) => `170318391001${String(number).padStart(3, '0')}`;

const refused = (...errors: string[]): FakeAnswer => ({ status: 400, body: { errors, status: '400' } });

/** The query, if it has these names only, in any order. */
function queryOf(path: string, required: readonly string[], optional: readonly string[] = []): URLSearchParams | undefined {
  const { searchParams } = new URL(path, 'http://127.0.0.1');
  const names = [...searchParams.keys()];
  const isWhole = required.every((name) => (searchParams.get(name) ?? '') !== '') && new Set(names).size === names.length;
  return isWhole && names.every((name) => required.includes(name) || optional.includes(name)) ? searchParams : undefined;
}

function geographies(block: string): object {
  return {
    States: [{ GEOID: block.slice(0, 2), STUSAB: 'IL', BASENAME: 'Illinois', NAME: 'Illinois' }],
    Counties: [{ GEOID: block.slice(0, 5), BASENAME: 'Cook', NAME: 'Cook County' }],
    'Census Tracts': [{ GEOID: block.slice(0, 11), BASENAME: '8391', NAME: 'Census Tract 8391' }],
    'Census Block Groups': [{ GEOID: block.slice(0, 12), NAME: 'Block Group 1' }],
    '2020 Census Blocks': [{ GEOID: block, NAME: 'Block 1001' }],
  };
}

function matchOf(house: House, kind: string): object {
  return {
    tigerLine: { side: 'L', tigerLineId: '112055185' },
    coordinates: { x: house.lon, y: house.lat },
    addressComponents: {
      zip: '60614',
      streetName: 'MAIN',
      city: house.city.toUpperCase(),
      state: 'IL',
      fromAddress: '1',
      toAddress: '299',
    },
    matchedAddress: matched(house),
    ...(kind === 'geographies' && { geographies: geographies(blockOf(house)) }),
  };
}

/** Answers as geocoding.geo.census.gov does: it takes only requests of the documented forms. */
export function censusGeocoder(asked: Asked): FakeAnswer {
  const [, kind = '', how = ''] = /^\/geocoder\/(locations|geographies)\/(\w+)(?:\?|$)/.exec(asked.path) ?? [];
  if (how === 'addressbatch') return batchAnswer(asked, kind);
  const required = { onelineaddress: ['address'], address: ['street'], coordinates: ['x', 'y'] }[how];
  if (asked.method !== 'GET' || !required) return { status: 404, body: '<html><title>404</title></html>' };
  const data = ['benchmark', 'format', ...(kind === 'geographies' ? ['vintage'] : [])];
  const query = queryOf(asked.path, [...required, ...data], how === 'address' ? ['city', 'state', 'zip'] : []);
  if (!query) return refused(`wrong parameters: ${asked.path}`);
  if (query.get('format') !== 'json' || !/^Public_AR_\w+$/.test(query.get('benchmark') ?? ''))
    return refused('Invalid benchmark in request');
  if (how === 'coordinates') {
    if (kind !== 'geographies') return refused('no such search');
    const isThere = Number(query.get('y')) > 40 && Number(query.get('y')) < 43 && Number(query.get('x')) < -80;
    return { body: { result: { geographies: isThere ? geographies('170318391001009') : {}, input: {} } } };
  }
  if (how === 'address' && !query.get('zip') && !(query.get('city') && query.get('state')))
    return refused('Specify a zip or city and state');
  const found = housesAt(query.get('address') ?? query.get('street') ?? '').filter(
    ({ city }) => !query.get('city') || city === query.get('city'),
  );
  return { body: { result: { input: {}, addressMatches: found.map((house) => matchOf(house, kind)) } } };
}

/** The parts of a form with a file (RFC 7578), by name; absent for a wrong one. */
export function formOf({ headers, body = '' }: Asked): Readonly<Record<string, string>> | undefined {
  const [, boundary] = /^multipart\/form-data; boundary=([\w-]{1,70})$/.exec(headers['content-type'] ?? '') ?? [];
  const parts = body.split(`--${boundary}`);
  if (!boundary || parts.shift() !== '' || parts.pop() !== '--\r\n') return undefined;
  const form: Record<string, string> = {};
  for (const part of parts) {
    const [, name = '', file, type, text] =
      /^\r\nContent-Disposition: form-data; name="(\w+)"(; filename="[\w.]+")?(\r\nContent-Type: text\/csv)?\r\n\r\n([\s\S]*)\r\n$/.exec(
        part,
      ) ?? [];
    if (text === undefined || (file === undefined) !== (type === undefined) || name in form) return undefined;
    form[name] = text;
  }
  return form;
}

/** The addresses of a batch; absent for a wrong form. */
export function addressesOf(asked: Asked): string[][] | undefined {
  const form = formOf(asked);
  if (!form?.addressFile || !/^Public_AR_\w+$/.test(form.benchmark ?? '') || !form.vintage || Object.keys(form).length !== 3)
    return undefined;
  const rows: string[][] = parse(form.addressFile);
  const isUnique = new Set(rows.map(([number]) => number)).size === rows.length;
  return isUnique && rows.every((row) => row.length === 5 && /^\d+$/.test(row[0] as string)) ? rows : undefined;
}

/** The line of the answer to one address. */
export function answerLine([number, street = '', city = '', state, zip]: readonly string[], kind: string): string {
  const sent = `${street}, ${city}, ${state}, ${zip}`;
  const [house, ...others] = housesAt(street).filter((one) => !city || one.city === city);
  const quoted = (cells: readonly (string | undefined)[]) => `${cells.map((cell) => `"${cell?.replaceAll('"', '""')}"`).join(',')}\n`;
  if (!house) return quoted([number, sent, 'No_Match']);
  if (others.length > 0) return quoted([number, sent, 'Tie']);
  const block = blockOf(house);
  const units = kind === 'geographies' ? [block.slice(0, 2), block.slice(2, 5), block.slice(5, 11), block.slice(11)] : [];
  return quoted([number, sent, 'Match', 'Exact', matched(house), `${house.lon},${house.lat}`, '112055185', 'L', ...units]);
}

/** Answers a batch in reverse order. */
function batchAnswer(asked: Asked, kind: string): FakeAnswer {
  const rows = addressesOf(asked);
  if (asked.method !== 'POST' || !rows || rows.length > 10_000) return refused('the form is not as it has to be');
  const body = rows
    .reverse()
    .map((row) => answerLine(row, kind))
    .join('');
  return { body, headers: { 'content-type': 'text/csv;charset=UTF-8' } };
}

const address = (house: House) => ({
  house_number: String(house.number),
  road: 'Main Street',
  city: house.city,
  county: 'Cook County',
  state: 'Illinois',
  'ISO3166-2-lvl4': 'US-IL',
  postcode: '60614',
  country: 'United States',
  country_code: 'us',
});

const osm = { licence: 'Data © OpenStreetMap contributors, ODbL 1.0. http://osm.org/copyright', osm_type: 'node', osm_id: 1 };

const resultOf = (house: House) => ({
  ...osm,
  ...{ lat: String(house.lat), lon: house.lon.toFixed(7), category: 'place', type: 'house', addresstype: 'place', place_rank: 30 },
  ...{ importance: 0.00007, name: '', display_name: `${house.number}, Main Street, ${house.city}`, address: address(house) },
});

/** A town, as Nominatim describes it. */
const town = (
  name: string,
  [lat, lon]: readonly [number, number],
  state: string,
  [code, country]: readonly [string, string],
  importance: number,
) => ({
  ...osm,
  ...{
    lat: String(lat),
    lon: String(lon),
    category: 'boundary',
    type: 'administrative',
    addresstype: 'city',
    place_rank: 16,
    importance,
    name,
  },
  ...{ display_name: `${name}, ${state}`, address: { city: name, state, country, country_code: code } },
});

const usa = ['us', 'United States'] as const;
const towns = [
  town('Springfield', [37.2153, -93.2983], 'Missouri', usa, 0.56),
  town('Springfield', [39.799, -89.644], 'Illinois', usa, 0.55),
  town('Paris', [48.8589, 2.32], 'Ile-de-France', ['fr', 'France'], 0.88),
  town('Paris', [33.6617, -95.5555], 'Texas', usa, 0.49),
];

const wrong = (message: string): FakeAnswer => ({ status: 400, body: { error: { code: 400, message } } });

/** Answers as Nominatim does: it takes only requests of the documented forms. */
export function nominatimAnswer({ method, path, headers }: Asked): FakeAnswer {
  const format = ['format', 'addressdetails'];
  const search = path.startsWith('/search?') ? queryOf(path, ['q', 'limit', ...format], ['countrycodes']) : undefined;
  const reverse = path.startsWith('/reverse?') ? queryOf(path, ['lat', 'lon', ...format]) : undefined;
  const query = search ?? reverse;
  if (method !== 'GET' || !query) return wrong(`wrong parameters: ${path}`);
  if (query.get('format') !== 'jsonv2' || query.get('addressdetails') !== '1' || !headers['accept-language']) return wrong('wrong format');
  if (reverse) {
    const [lat, lon] = [Number(query.get('lat')), Number(query.get('lon'))];
    const [house] = houses;
    return { body: Math.abs(lat - 41.9) < 0.5 && Math.abs(lon + 87.6) < 5 ? resultOf(house as House) : { error: 'Unable to geocode' } };
  }
  if (query.get('limit') !== '5') return wrong('limit');
  const codes = query.get('countrycodes')?.split(',');
  if (codes?.some((code) => !/^[a-z]{2}$/.test(code))) return wrong('countrycodes');
  const q = query.get('q') ?? '';
  const found = [...housesAt(q).map(resultOf), ...towns.filter(({ name }) => q.startsWith(name))];
  return { body: found.filter(({ address }) => !codes || codes.includes(address.country_code)).slice(0, 5) };
}

const feature = (properties: object, lat: number, lon: number) => ({
  type: 'Feature',
  geometry: { type: 'Point', coordinates: [lon, lat] },
  properties: { osm_type: 'N', osm_id: 1, osm_key: 'place', osm_value: 'x', ...properties },
});

const illinois = { country: 'United States', countrycode: 'US', state: 'Illinois', county: 'Cook', postcode: '60614' };

/** Answers as Photon does: it takes only requests of the documented forms. */
export function photonAnswer({ method, path }: Asked): FakeAnswer {
  const search = path.startsWith('/api?') ? queryOf(path, ['q', 'limit']) : undefined;
  const reverse = path.startsWith('/reverse?') ? queryOf(path, ['lat', 'lon']) : undefined;
  if (method !== 'GET' || (!search && !reverse)) return { status: 400, body: { message: `wrong parameters: ${path}` } };
  const houseOf = ({ number, city, lat, lon }: House) =>
    feature({ type: 'house', housenumber: String(number), street: 'Main Street', city, ...illinois }, lat, lon);
  if (reverse) {
    const isNear = Math.abs(Number(reverse.get('lat')) - 41.9) < 5;
    return { body: { type: 'FeatureCollection', features: isNear ? [houseOf(houses[0] as House)] : [] } };
  }
  const q = search?.get('q') ?? '';
  const found = towns
    .filter(({ name }) => q.startsWith(name))
    .map(({ name, lat, lon, address: { state, country, country_code: code } }) =>
      feature({ type: 'city', name, state, country, countrycode: code.toUpperCase() }, Number(lat), Number(lon)),
    );
  return { body: { type: 'FeatureCollection', features: [...housesAt(q).map(houseOf), ...found].slice(0, 5) } };
}

const answers = { 'census-us': censusGeocoder, nominatim: nominatimAnswer, photon: photonAnswer };

/** A provider that is played. */
export type GeocodeProvider = keyof typeof answers;

/** A server on loopback that answers as a provider does. `more`: answers that it gives instead. */
export function geocodeServer(
  provider: GeocodeProvider,
  more?: (asked: Asked, index: number) => FakeAnswer | undefined,
): Promise<HttpServer> {
  let index = 0;
  return httpServer((request, response) => {
    const { status = 200, headers, body = '' } = more?.(request, index++) ?? answers[provider](request);
    const isText = typeof body === 'string';
    response
      .writeHead(status, { 'content-type': isText ? 'text/html' : 'application/json', ...headers })
      .end(isText ? body : JSON.stringify(body));
  });
}
