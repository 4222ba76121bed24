import { describe, expect, test } from 'vitest';
import type { Request } from '../../examples/servers/answers.mjs';
import { answerGeocoder } from '../../examples/servers/geocoder.mjs';
import { answerNominatim, answerPhoton } from '../../examples/servers/openstreetmap.mjs';
import type { FakeAnswer } from '../helpers/fake-answer.ts';
import { flowProblems, onOneLine } from '../helpers/flow-problems.ts';
import { type FlowOptions, runFlow, type SentRequest } from '../helpers/run-flow.ts';

const flow = (options: string) => `nodes: [{ type: geocode, ${options} }]`;

type Answerer = (asked: Request) => FakeAnswer;

const lowered = ({ method, path, headers, body }: SentRequest): Request => ({
  ...{ method, path, body },
  headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
});

async function run(answer: Answerer, options: string, records: readonly Record<string, unknown>[], more: FlowOptions = {}) {
  const result = await runFlow(flow(options), records, { http: (request) => answer(lowered(request)), ...more });
  return { ...result, lookedUp: result.events.filter(({ type }) => type === 'looked-up') };
}

const point = 'point: { lat: "{{lat}}", lon: "{{lon}}" }';
const html: FakeAnswer = { body: '<html><body>Down for maintenance</body></html>', headers: { 'content-type': 'text/html' } };

describe('the census-us geocoding provider', () => {
  const census = (options: string, records: readonly Record<string, unknown>[], more: FlowOptions = {}) =>
    run(answerGeocoder, `provider: census-us, ${options}`, records, more);
  const base = 'https://geocoding.geo.census.gov/geocoder';

  test('sends an address as one line, and adds the default fields', async () => {
    const { rows, requests, credits } = await census('address: "{{a}}"', [{ a: '100 Main St, Chicago, IL' }]);
    expect(requests.map(({ url }) => url)).toEqual([
      `${base}/locations/onelineaddress?address=100%20Main%20St,%20Chicago,%20IL&benchmark=Public_AR_Current&format=json`,
    ]);
    expect(rows).toEqual([
      {
        a: '100 Main St, Chicago, IL',
        ...{ geocode_lat: 41.9, geocode_lon: -87.6, geocode_name: '100 MAIN ST, CHICAGO, IL, 60600' },
        ...{ geocode_region: 'Illinois', geocode_country: 'US', geocode_level: 'house', geocode_doubt: null },
      },
    ]);
    expect(credits).toBe(1);
  });

  test('sends the parts of an address as separate parameters, and omits empty parts', async () => {
    const address = 'address: { street: "{{s}}", city: "{{c}}", state: IL, postcode: "{{z}}", country: USA }';
    const { requests } = await census(address, [
      { s: '101 Main St', c: 'Chicago', z: '60601' },
      { s: '102 Main St', c: 'Chicago', z: '' },
    ]);
    const end = 'benchmark=Public_AR_Current&format=json';
    expect(requests.map(({ url }) => url)).toEqual([
      `${base}/locations/address?street=101%20Main%20St&city=Chicago&state=IL&zip=60601&${end}`,
      `${base}/locations/address?street=102%20Main%20St&city=Chicago&state=IL&${end}`,
    ]);
  });

  test('adds the census codes down to the block if the geographies option is set', async () => {
    const { rows, requests } = await census('address: "{{a}}", geographies: true', [{ a: '109 Main St' }]);
    expect(requests[0]?.path).toContain(
      '/geographies/onelineaddress?address=109%20Main%20St&benchmark=Public_AR_Current&vintage=Current_Current',
    );
    expect(rows).toMatchObject([{ fips_county: '17031', fips_tract: '17031839100', fips_block: '170318391001109' }]);
  });

  test('puts everything known about the address into the result document ($body)', async () => {
    const { rows } = await census('address: "{{a}}", geographies: true, map: { all: $body }', [{ a: '100 Main St' }]);
    expect(rows[0]?.all).toEqual({
      ...{ match: true, lat: 41.9, lon: -87.6, level: 'house', name: '100 MAIN ST, CHICAGO, IL, 60600' },
      ...{ street: 'MAIN ST', housenumber: '100', postcode: '60600', city: 'CHICAGO', county: 'Cook' },
      ...{ region: 'Illinois', region_code: 'IL', country: 'United States of America', country_code: 'US' },
      ...{ population: null, distance_m: null, score: null, ambiguous: false, doubt: null },
      matched: [],
      left_over: null,
      fips: { state: '17', county: '17031', tract: '17031839100', block: '170318391001100' },
      candidates: [
        { name: '100 MAIN ST, CHICAGO, IL, 60600', region_code: 'IL', country_code: 'US', lat: 41.9, lon: -87.6, population: null },
      ],
      attribution: 'This product uses the Census Bureau Data API but is not endorsed or certified by the Census Bureau.',
    });
  });

  test('uses the first of several matches, and marks the result as ambiguous', async () => {
    const { rows, lookedUp } = await census('address: "{{a}}", map: { city: city, two: "candidates[1].name", x: ambiguous, why: doubt }', [
      { a: '5 Main St, IL' },
    ]);
    expect(rows).toMatchObject([{ city: 'CHICAGO', two: '5 MAIN ST, EVANSTON, IL, 60605', x: true, why: 'ambiguous' }]);
    expect(lookedUp).toMatchObject([{ match: true, ambiguous: '5 MAIN ST, CHICAGO, IL, 60605', sources: ['census-bureau'] }]);
  });

  test('finds the geographic units that contain a point (reverse geocoding)', async () => {
    const { rows, requests } = await census(`${point}, geographies: true`, [{ lat: '41.9', lon: ' -87.65' }]);
    const data = 'benchmark=Public_AR_Current&vintage=Current_Current';
    expect(requests.map(({ url }) => url)).toEqual([`${base}/geographies/coordinates?x=-87.65&y=41.9&${data}&format=json`]);
    expect(rows).toMatchObject([
      { geocode_lat: 41.9, geocode_lon: -87.65, geocode_region: 'Illinois', geocode_level: 'house', fips_block: '170318391001150' },
    ]);
  });

  test('leaves the fields empty without a match, or fails the record if no_match is "reject"', async () => {
    const { rows, credits } = await census('address: "{{a}}", map: [lat]', [{ a: '1 Nowhere Rd' }]);
    expect({ rows, credits }).toEqual({ rows: [{ a: '1 Nowhere Rd', lat: null }], credits: 1 });
    const rejected = await census(`${point}, no_match: reject`, [{ lat: 0, lon: -150 }]);
    expect(rejected.failures).toMatchObject([{ class: 'answer', message: expect.stringContaining('of 0, -150') }]);
  });

  test('sends no request without a street or valid coordinates, or for a country other than the USA', async () => {
    const none = (result: { requests: readonly unknown[]; credits: number }) =>
      expect({ requests: result.requests, credits: result.credits }).toEqual({ requests: [], credits: 0 });
    const parts = await census('address: { street: "{{s}}", city: "{{c}}" }', [{ s: ' ', c: 'Chicago' }]);
    expect(parts.failures).toMatchObject([
      { class: 'request', message: 'expected a street, because census-us finds only houses, found none' },
    ]);
    none(parts);
    const points = await census(point, [
      { lat: '91', lon: '0' },
      { lat: '41,9', lon: '-87,6' },
    ]);
    expect(points.failures.map(({ class: kind }) => kind)).toEqual(['request', 'request']);
    none(points);
    const abroad = await census('address: "{{a}}", country: "{{c}}", map: [lat]', [
      { a: 'Berlin', c: 'DE' },
      { a: 'Berlin', c: 'Narnia' },
    ]);
    expect(abroad.rows).toEqual([{ a: 'Berlin', c: 'DE', lat: null }]);
    expect(abroad.failures).toMatchObject([{ class: 'request', message: expect.stringContaining('found "Narnia"') }]);
    none(abroad);
  });

  test('sends at most 4 requests at the same time', async () => {
    const records = Array.from({ length: 40 }, (_, index) => ({ a: `${100 + index} Main St` }));
    const { waitedMs } = await census('address: "{{a}}"', records, {
      http: (request) => ({ ...answerGeocoder(lowered(request)), afterMs: 1000 }),
    });
    expect(waitedMs).toBe(10_000);
  });

  test('accepts the benchmark and vintage options, even with values from records', async () => {
    const { requests } = await census('address: "{{a}}", geographies: true, benchmark: "Public_AR_{{b}}", vintage: Census2020_Census2020', [
      { a: '100 Main St', b: 'Census2020' },
    ]);
    expect(requests[0]?.path).toContain('benchmark=Public_AR_Census2020&vintage=Census2020_Census2020');
  });
});

describe('the nominatim geocoding provider', () => {
  const nominatim = (options: string, records: readonly Record<string, unknown>[], more: FlowOptions = {}) =>
    run(answerNominatim, `provider: nominatim, ${options}`, records, more);

  test('searches only in the countries that the record names', async () => {
    const { rows, requests } = await nominatim('address: "{{a}}", country: [US, "{{c}}"]', [{ a: 'Paris', c: 'ca' }]);
    expect(requests.map(({ url }) => url)).toEqual([
      'https://nominatim.openstreetmap.org/search?q=Paris&format=jsonv2&addressdetails=1&limit=5&countrycodes=us,ca',
    ]);
    expect(rows).toMatchObject([{ geocode_name: 'Paris', geocode_region: 'Texas', geocode_country: 'US', geocode_level: 'place' }]);
  });

  test('sends the parts of an address as one line', async () => {
    const address = 'address: { city: "{{c}}", street: 100 Main St, state: IL, country: USA }';
    const { rows, requests } = await nominatim(`${address}, map: { all: $body }`, [{ c: 'Chicago' }]);
    expect(requests[0]?.path).toContain('q=100%20Main%20St,%20Chicago,%20IL,%20USA&');
    expect(rows[0]?.all).toMatchObject({
      ...{ match: true, lat: 41.9, lon: -87.6, level: 'house', street: 'Main Street', housenumber: '100', postcode: '60614' },
      ...{ city: 'Chicago', county: 'Cook County', region: 'Illinois', region_code: 'IL', country: 'United States', country_code: 'US' },
      attribution: '© OpenStreetMap contributors, ODbL 1.0, https://www.openstreetmap.org/copyright',
    });
  });

  test('adds the distance in reverse geocoding, and searches only within max_distance', async () => {
    const { rows, requests } = await nominatim(`${point}, map: [housenumber, distance_m]`, [{ lat: 41.9, lon: -87.61 }]);
    expect(requests[0]?.url).toBe('https://nominatim.openstreetmap.org/reverse?lat=41.9&lon=-87.61&format=jsonv2&addressdetails=1');
    expect(rows).toMatchObject([{ housenumber: '100', distance_m: 828 }]);
    const near = await nominatim(`${point}, map: [lat], max_distance: 500m`, [{ lat: 41.9, lon: -87.61 }]);
    expect(near.rows).toMatchObject([{ lat: null }]);
  });

  test.each([
    [{ lat: 0, lon: -150 }, 'Unable to geocode'],
    [{ lat: 41.9, lon: -87.6, c: 'CA' }, 'another country'],
  ])('reports no match for the record %j (reason: %s)', async (record, _) => {
    const { rows, lookedUp } = await nominatim(`${point}, country: "{{c}}", map: { m: match }`, [{ c: '', ...record }]);
    expect(rows).toMatchObject([{ m: false }]);
    expect(lookedUp).toMatchObject([{ match: false, sources: ['openstreetmap'] }]);
  });

  test('marks a result as ambiguous if a second place is equally important', async () => {
    const { rows } = await nominatim('address: "{{a}}", map: [ambiguous]', [{ a: 'Springfield' }, { a: 'Paris' }]);
    expect(rows.map(({ ambiguous }) => ambiguous)).toEqual([true, false]);
  });

  test.each([
    ['house', 'house'],
    ['building', 'house'],
    ['shop', 'house'],
    ['amenity', 'house'],
    ['road', 'street'],
    ['postcode', 'postcode'],
    ['state', 'region'],
    ['county', 'region'],
    ['region', 'region'],
    ['country', 'country'],
    ['village', 'place'],
    ['suburb', 'place'],
  ])('converts the addresstype %s to the level %s', async (addresstype, level) => {
    const http = () => ({ body: [{ lat: '1', lon: '2', name: 'x', addresstype, address: {} }] });
    expect((await nominatim('address: "{{a}}", map: [level]', [{ a: 'x' }], { http })).rows).toMatchObject([{ level }]);
  });
});

describe('the photon geocoding provider', () => {
  const photon = (options: string, records: readonly Record<string, unknown>[], more: FlowOptions = {}) =>
    run(answerPhoton, `provider: photon, ${options}`, records, more);

  test('searches for the address, and adds the default fields', async () => {
    const { rows, requests } = await photon('address: "{{a}}"', [{ a: '120 Main St' }]);
    expect(requests.map(({ url }) => url)).toEqual(['https://photon.komoot.io/api?q=120%20Main%20St&limit=5']);
    expect(rows).toMatchObject([
      { geocode_lat: 41.9, geocode_lon: -87.62, geocode_name: '120 Main Street', geocode_region: 'Illinois', geocode_level: 'house' },
    ]);
  });

  test("searches all the record's countries with one request, and ignores results in other countries", async () => {
    const towns = ['FR', 'US', 'US', 'US', 'US', 'CA', 'DK'].map((countrycode, index) => ({
      geometry: { coordinates: [index, 50] },
      properties: { type: 'city', name: 'Paris', countrycode },
    }));
    const asked = (path: string) => new URL(path, 'http://localhost').searchParams.getAll('countrycode');
    const http = ({ path }: SentRequest) => {
      const features = towns.filter(({ properties }) => asked(path).includes(properties.countrycode));
      return { body: { features: path.includes('=DK') ? towns : features.slice(0, 5) } };
    };
    const records = ['CA', 'ca, dk'].map((c) => ({ a: 'Paris', c: c.slice(0, 2), d: c.slice(4) }));
    const { rows, requests, credits } = await photon('address: "{{a}}", country: ["{{c}}", "{{d}}"], map: [country_code]', records, {
      http,
    });
    expect(requests.map(({ path }) => path)).toEqual([
      '/api?q=Paris&limit=5&countrycode=CA',
      '/api?q=Paris&limit=5&countrycode=CA&countrycode=DK',
    ]);
    expect([rows.map((row) => row.country_code), credits]).toEqual([['CA', 'CA'], 2]);
  });

  test("sends no country in reverse geocoding, and ignores results outside the record's countries", async () => {
    const options = `${point}, country: "{{c}}", map: [match]`;
    const records = ['US', 'CA'].map((c) => ({ lat: 41.9, lon: -87.6, c }));
    const { rows, requests } = await photon(options, records);
    expect(new Set(requests.map(({ path }) => path))).toEqual(new Set(['/reverse?lat=41.9&lon=-87.6']));
    expect(rows.map(({ match }) => match)).toEqual([true, false]);
  });

  test("uses the first result that is in one of the record's countries", async () => {
    const { rows } = await photon('address: "{{a}}", country: "{{c}}"', [
      { a: 'Paris', c: 'US' },
      { a: 'Paris', c: '' },
      { a: 'Paris', c: 'IT' },
    ]);
    expect(rows.map(({ geocode_region }) => geocode_region)).toEqual(['Texas', 'Ile-de-France', null]);
  });

  test('finds the place at a point (reverse geocoding)', async () => {
    const { rows, requests } = await photon(`${point}, map: [housenumber, distance_m, city]`, [{ lat: 41.9, lon: -87.6 }]);
    expect(requests[0]?.url).toBe('https://photon.komoot.io/reverse?lat=41.9&lon=-87.6');
    expect(rows).toMatchObject([{ housenumber: '100', distance_m: 0, city: 'Chicago' }]);
    expect((await photon(`${point}, map: [match]`, [{ lat: 0, lon: -87.6 }])).rows).toMatchObject([{ match: false }]);
  });

  test.each([
    ['house', 'house'],
    ['street', 'street'],
    ['country', 'country'],
    ['state', 'region'],
    ['county', 'region'],
    ['city', 'place'],
    ['district', 'place'],
    ['locality', 'place'],
    ['other', 'place'],
  ])('converts the type %s to the level %s', async (type, level) => {
    const features = [{ geometry: { coordinates: [2, 1] }, properties: { type, name: 'x' } }];
    const { rows } = await photon('address: "{{a}}", map: [level]', [{ a: 'x' }], { http: () => ({ body: { features } }) });
    expect(rows).toMatchObject([{ level }]);
  });
});

describe.each([
  ['nominatim', answerNominatim],
  ['photon', answerPhoton],
] as const)('the public %s geocoding server', (provider, answer) => {
  const records = Array.from({ length: 4 }, (_, index) => ({ a: `${100 + index} Main St` }));

  test.each([
    ['', {}],
    [', rate: 100/s, concurrency: 50', { concurrency: 50, intervalMs: 1 }],
  ])('gets one request at a time and one per second, whatever the options are ("%s")', async (options, more) => {
    const { requests } = await run(answer, `provider: ${provider}, address: "{{a}}"${options}`, records, {
      ...more,
      http: (request) => ({ ...answer(lowered(request)), afterMs: 1500 }),
    });
    const times = requests.map(({ atMs }) => atMs);
    expect(times).toEqual([0, 1500, 3000, 4500]);
    const quick = await run(answer, `provider: ${provider}, address: "{{a}}"${options}`, records, more);
    expect(quick.requests.map(({ atMs }) => atMs)).toEqual([0, 1000, 2000, 3000]);
  });

  test('gets no request for 30 s after it refused one, even if its Retry-After is shorter', async () => {
    const { requests } = await run(answer, `provider: ${provider}, address: "{{a}}"`, records.slice(0, 1), {
      http: (request, index) => (index === 0 ? { status: 429, headers: { 'retry-after': '2' } } : answer(lowered(request))),
    });
    expect(requests.map(({ atMs }) => atMs)).toEqual([0, 30_000]);
  });

  test('gets no second request for the same address within 30 days', async () => {
    const { requests, credits } = await run(answer, `provider: ${provider}, address: 100 Main St, cache: 1ms`, [
      { n: 1 },
      { n: 2 },
      { n: 3 },
    ]);
    expect({ requests: requests.length, credits }).toEqual({ requests: 1, credits: 1 });
  });

  test('has limits that do not apply if the node uses a connection', async () => {
    const connection = 'connections: { own: { type: http, base_url: "https://own.example.com" } }\n';
    const { requests } = await runFlow(connection + flow(`provider: ${provider}, connection: own, address: "{{a}}"`), records, {
      http: (request) => answer(lowered(request)),
    });
    expect(requests.map(({ atMs }) => atMs)).toEqual([0, 0, 0, 0]);
  });
});

describe.each([
  ['census-us', answerGeocoder],
  ['nominatim', answerNominatim],
  ['photon', answerPhoton],
] as const)('a geocode node with a %s server', (provider, answer) => {
  const ask = (http: FlowOptions['http'], options = 'address: "{{a}}"') =>
    run(answer, `provider: ${provider}, ${options}`, [{ a: '100 Main St', lat: 41.9, lon: -87.6 }], { http });

  test('fails the record with the class "parse" if the server sends HTML with status 200', async () => {
    const { failures } = await ask(() => html);
    expect(failures).toMatchObject([{ class: 'parse', message: expect.stringContaining('<html><body>Down for maintenance') }]);
  });

  test.each(['address: "{{a}}"', point])(
    'fails the record with the class "answer" if the JSON has an unexpected form (the node has %s)',
    async (options) => {
      for (const body of [{}, [1], { result: 1 }, { features: [{}] }, [{ lat: 'x', lon: '' }], 7]) {
        const { failures, rows } = await ask(() => ({ body }), options);
        if (failures.length > 0) expect(failures).toMatchObject([{ class: 'answer' }]);
        else expect(rows).toMatchObject([{ geocode_lat: null }]);
      }
    },
  );

  test('waits for as long as a 429 requires before the next request', async () => {
    let refused = 0;
    const { failures, credits, waitedMs } = await run(
      (asked) => (refused++ === 0 ? { status: 429, headers: { 'retry-after': '40' } } : answer(asked)),
      `provider: ${provider}, address: "{{a}}"`,
      [{ a: '100 Main St' }],
    );
    expect({ failures, credits }).toEqual({ failures: [], credits: 1 });
    expect(waitedMs).toBeGreaterThanOrEqual(40_000);
  });

  test("quotes the server's message in the failure if the server refuses a request", async () => {
    const { failures } = await ask(() => ({ status: 400, body: { errors: ['Address cannot be empty'] } }));
    expect(failures).toMatchObject([{ class: 'http', status: 400, message: expect.stringContaining('Address cannot be empty') }]);
  });

  test("can use a connection, whose path comes before the provider's path", async () => {
    const connection = 'connections: { own: { type: http, base_url: "https://own.example.com/geo", headers: { X-Own: yes } } }\n';
    const http = (request: SentRequest) => answer({ ...lowered(request), path: request.path.replace(/^\/geo/, '') });
    const { requests, failures } = await runFlow(
      connection + flow(`provider: ${provider}, connection: own, address: "{{a}}"`),
      [{ a: '100 Main St' }],
      { http },
    );
    expect(failures).toEqual([]);
    expect(requests[0]).toMatchObject({
      origin: 'https://own.example.com',
      path: expect.stringMatching(/^\/geo\//),
      headers: { 'X-Own': 'yes' },
    });
  });
});

describe('the check of a geocode node with a server', () => {
  test.each([
    ['provider: photon, address: a, geographies: true', '1:69 photon has no geographies; leave it out'],
    ['address: a, batch: 5', '1:45 embedded has no batch; leave it out'],
    ['provider: nominatim, address: a, vintage: x', '1:68 nominatim has no vintage; leave it out'],
    ['provider: census-us, point: { lat: 1, lon: 2 }, max_distance: 1km', '1:88 census-us has no max_distance; leave it out'],
    ['provider: census-us, address: a, country: DE', '1:68 census-us only has addresses in the USA'],
    ['provider: census-us, address: a, country: Germany', '1:68 census-us only has addresses in the USA'],
    ['provider: census-us, address: a, benchmark: a b', '1:70 expected a name such as Public_AR_Current, found "a b"'],
    [
      'provider: census-us, address: a, batch: 5',
      '1:66 a batch needs the address in parts, such as address: { street: "{{street}}", postcode: "{{zip}}" }',
    ],
    ['provider: census-us, point: { lat: 1, lon: 2 }, batch: 5', '1:81 a batch works only with address, not with point; leave out batch'],
    ['provider: census-us, address: { street: a }, batch: 10001', '1:78 expected at most 10000, found 10001'],
    [
      'provider: census-us, address: { street: a }, batch: 5, cache: 1d',
      '1:88 the same batch is rarely sent twice, so its answer is not cached; leave out cache or batch',
    ],
  ])('refuses the options %s', (options, problem) => {
    expect(flowProblems(flow(options)).map(onOneLine)).toEqual([problem]);
  });
});
