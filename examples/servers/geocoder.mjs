import { readQuery } from './query.mjs';

/** @typedef {import('./answers.mjs').Request} Request */
/** @typedef {import('./answers.mjs').Answer} Answer */

/** The houses of an invented Main Street: 100 to 299 in Chicago, and number 5, which is in Chicago and in Evanston. */
export const mainStreet = [
  ...Array.from({ length: 200 }, (_, index) => ({ number: index + 100, city: 'Chicago', lat: 41.9, lon: -(87_600 + index) / 1000 })),
  { number: 5, city: 'Chicago', lat: 41.95, lon: -87.65 },
  { number: 5, city: 'Evanston', lat: 42.04, lon: -87.68 },
];

/** The houses that are found: four real ones, and Main Street. The tracts of the real ones are real, too. */
const houses = [
  house('PENNSYLVANIA', '1600 PENNSYLVANIA AVE NW, WASHINGTON, DC, 20500', [-77.03654, 38.89767], '110019800001000'),
  house('WACKER', '233 S WACKER DR, CHICAGO, IL, 60606', [-87.63591, 41.87888], '170318391001000'),
  house('5TH', '350 5TH AVE, NEW YORK, NY, 10118', [-73.98566, 40.74844], '360610076001000'),
  house('SILVER HILL', '4600 SILVER HILL RD, WASHINGTON, DC, 20233', [-76.92744, 38.84599], '240338024051000'),
  ...mainStreet.map(({ number, city, lat, lon }) => {
    const zip = `606${String(number % 100).padStart(2, '0')}`;
    return house(
      'MAIN ST',
      `${number} MAIN ST, ${city.toUpperCase()}, IL, ${zip}`,
      [lon, lat],
      `170318391001${String(number).padStart(3, '0')}`,
    );
  }),
];

/** `street`: the words that tell the street from others. `block`: the code of the census block. */
function house(street, address, [lon, lat], block) {
  const [line, city, state, zip] = address.split(', ');
  return { street, address, number: line.split(' ')[0], city, state, zip, lon, lat, block };
}

/** The houses that a street with its number fits, in a city if one is named. */
function housesAt(line, city = '') {
  const upper = line.toUpperCase();
  return houses.filter(
    (one) => upper.startsWith(`${one.number} `) && upper.includes(one.street) && (city === '' || one.city === city.toUpperCase()),
  );
}

/**
 * Answers as the geocoder of the US census does, to requests of the documented forms only.
 * @param {Request} request
 * @returns {Answer}
 */
export function answerGeocoder(request) {
  const { method, path } = request;
  const [, kind = '', how = ''] = /^\/geocoder\/(locations|geographies)\/(\w+)(?:\?|$)/.exec(path) ?? [];
  if (how === 'addressbatch') return answerBatch(request, kind);
  const own = { onelineaddress: ['address'], address: ['street'], coordinates: ['x', 'y'] }[how];
  if (method !== 'GET' || !own) return { status: 404, headers: { 'content-type': 'text/html' }, body: '<html><title>404</title></html>' };
  const required = [...own, 'benchmark', 'format', ...(kind === 'geographies' ? ['vintage'] : [])];
  const { query, errors } = readQuery(path, required, how === 'address' ? ['city', 'state', 'zip'] : []);
  const [benchmark, city, zip] = ['benchmark', 'city', 'zip'].map((name) => query.get(name) ?? '');
  if (errors.length === 0 && !/^Public_AR_\w+$/.test(benchmark)) errors.push('Invalid benchmark in request');
  if (errors.length === 0 && query.get('format') !== 'json') errors.push('expected format=json');
  if (how === 'address' && !zip && !(city && query.get('state'))) errors.push('Specify a zip or city and state');
  if (errors.length > 0) return refuse(errors);
  if (how === 'coordinates')
    return { body: { result: { input: {}, geographies: unitsAround(Number(query.get('x')), Number(query.get('y'))) } } };
  const addressMatches = housesAt(query.get('address') ?? query.get('street'), city).map((one) => matchOf(one, kind));
  return { body: { result: { input: {}, addressMatches } } };
}

function refuse(errors) {
  return { status: 400, body: { errors, status: '400' } };
}

function matchOf(found, kind) {
  const { address, lon, lat, zip, street, city, state, block } = found;
  return {
    matchedAddress: address,
    coordinates: { x: lon, y: lat },
    tigerLine: { side: 'L', tigerLineId: '76355984' },
    addressComponents: { zip, streetName: street, city, state },
    ...(kind === 'geographies' && { geographies: unitsOf(block) }),
  };
}

/** The units around a point within about 1 km of a house; none elsewhere. */
function unitsAround(x, y) {
  const distance = ({ lon, lat }) => Math.hypot(lon - x, lat - y);
  const nearest = houses.reduce((one, other) => (distance(other) < distance(one) ? other : one));
  return distance(nearest) < 0.01 ? unitsOf(nearest.block) : {};
}

const states = { 11: ['DC', 'District of Columbia'], 17: ['IL', 'Illinois'], 24: ['MD', 'Maryland'], 36: ['NY', 'New York'] };
const counties = { 11001: 'District of Columbia', 17031: 'Cook', 24033: "Prince George's", 36061: 'New York' };

function unitsOf(block) {
  const [STUSAB, state] = states[block.slice(0, 2)];
  const county = counties[block.slice(0, 5)];
  const tract = String(Number(block.slice(5, 11)) / 100);
  return {
    States: [{ GEOID: block.slice(0, 2), STUSAB, BASENAME: state, NAME: state }],
    Counties: [{ GEOID: block.slice(0, 5), BASENAME: county, NAME: `${county} County` }],
    'Census Tracts': [{ GEOID: block.slice(0, 11), BASENAME: tract, NAME: `Census Tract ${tract}` }],
    'Census Block Groups': [{ GEOID: block.slice(0, 12), NAME: `Block Group ${block[11]}` }],
    '2020 Census Blocks': [{ GEOID: block, NAME: `Block ${block.slice(11)}` }],
  };
}

/** Answers a form with a file of addresses: a CSV in the reverse order. */
function answerBatch(request, kind) {
  const rows = addressesOf(request);
  if (request.method !== 'POST' || !rows || rows.length > 10_000)
    return refuse(['expected a form with addressFile, benchmark and vintage']);
  const lines = rows.reverse().map((row) => answerLine(row, kind));
  return { headers: { 'content-type': 'text/csv;charset=UTF-8' }, body: lines.join('') };
}

/**
 * The addresses of a batch; undefined for a wrong form.
 * @param {Request} request
 * @returns {string[][] | undefined}
 */
export function addressesOf(request) {
  const form = formOf(request);
  if (!form?.addressFile || !/^Public_AR_\w+$/.test(form.benchmark) || !form.vintage || Object.keys(form).length !== 3) return undefined;
  const lines = form.addressFile.trimEnd().split('\n');
  const rows = lines.map((line) => [...line.matchAll(/"((?:[^"]|"")*)"/g)].map(([, cell]) => cell.replaceAll('""', '"')));
  const isUnique = new Set(rows.map(([number]) => number)).size === rows.length;
  return isUnique && rows.every((row) => row.length === 5 && /^\d+$/.test(row[0])) ? rows : undefined;
}

/**
 * The parts of a form with a file (RFC 7578), by name; undefined for a wrong form.
 * @param {Request} request
 */
function formOf({ headers, body = '' }) {
  const [, boundary] = /^multipart\/form-data; boundary=([\w-]{1,70})$/.exec(headers?.['content-type'] ?? '') ?? [];
  const parts = body.split(`--${boundary}`);
  if (!boundary || parts.shift() !== '' || parts.pop() !== '--\r\n') return undefined;
  const form = {};
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

/**
 * The line of a batch's answer to one address.
 * @param {readonly string[]} row its number and the parts of the address
 * @param {string} kind `locations` or `geographies`
 */
export function answerLine([number, street = '', city = '', state, zip], kind) {
  const sent = `${street}, ${city}, ${state}, ${zip}`;
  const [found, ...others] = housesAt(street, city);
  if (!found) return quoted([number, sent, 'No_Match']);
  if (others.length > 0) return quoted([number, sent, 'Tie']);
  const { address, lon, lat, block } = found;
  const units = kind === 'geographies' ? [block.slice(0, 2), block.slice(2, 5), block.slice(5, 11), block.slice(11)] : [];
  return quoted([number, sent, 'Match', 'Exact', address, `${lon},${lat}`, '76355984', 'L', ...units]);
}

function quoted(cells) {
  return `${cells.map((cell) => `"${cell?.replaceAll('"', '""')}"`).join(',')}\n`;
}
