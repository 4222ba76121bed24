import { describe, expect, test } from 'vitest';
import { answerOverpass } from '../../examples/servers/overpass.mjs';
import { FlowError } from '../../src/core/failure.ts';
import { onOneLine } from '../helpers/flow-problems.ts';
import { features } from '../helpers/map-features.ts';
import { type FlowOptions, runFlow, type SentRequest } from '../helpers/run-flow.ts';

const overpassAnswer = ({ method, path, body }: SentRequest) => answerOverpass({ method, path, body }, features);

const flow = (options: string) => `nodes: [{ type: places, lookup: points, ${options} }]`;
const near = 'near: { lat: "{{lat}}", lon: "{{lon}}", radius: 500m }';
const here = { lat: '52.52', lon: '13.405' };

async function run(options: string, records: readonly Record<string, unknown>[] = [here], more: FlowOptions = {}) {
  const result = await runFlow(flow(options), records, { http: overpassAnswer, ...more });
  return { ...result, queries: result.requests.map(queryOf), lookedUp: result.events.filter(({ type }) => type === 'looked-up') };
}

const queryOf = ({ body = '' }: SentRequest) => decodeURIComponent(body.slice('data='.length));

describe('the Overpass query for points', () => {
  const begin = '[out:json][timeout:60][maxsize:268435456];';
  const around = '(around:500,52.52,13.405);';
  test.each([
    ['a category', `category: amenity/cafe, ${near}`, `${begin}nwr["amenity"="cafe"]${around}out tags center 101;`],
    [
      'a category and a chain by its id',
      `category: amenity/cafe, chain: Q37158, ${near}`,
      `${begin}nwr["amenity"="cafe"]["brand:wikidata"="Q37158"]${around}out tags center 101;`,
    ],
    ['a chain by its name', `chain: Starbucks, ${near}`, `${begin}nwr["brand:wikidata"="Q37158"]${around}out tags center 101;`],
    [
      'several categories',
      `category: [amenity/cafe, amenity/pharmacy], limit: 7, ${near}`,
      `${begin}(nwr["amenity"="cafe"]${around}nwr["amenity"="pharmacy"]${around});out tags center 8;`,
    ],
    [
      'a country',
      'category: amenity/cafe, area: { country: de }',
      `${begin}area["ISO3166-1"="DE"]["admin_level"="2"]->.a;nwr["amenity"="cafe"](area.a);out tags center 101;`,
    ],
    [
      'a country by its name',
      'category: amenity/cafe, area: { country: Deutschland }',
      `${begin}area["ISO3166-1"="DE"]["admin_level"="2"]->.a;nwr["amenity"="cafe"](area.a);out tags center 101;`,
    ],
    [
      'a region',
      'category: amenity/cafe, area: { region: DE-BE }',
      `${begin}area["ISO3166-2"="DE-BE"]->.a;nwr["amenity"="cafe"](area.a);out tags center 101;`,
    ],
    [
      'a relation',
      'category: amenity/cafe, area: { osm: relation/62422 }',
      `${begin}area(3600062422)->.a;nwr["amenity"="cafe"](area.a);out tags center 101;`,
    ],
    [
      'a way',
      'category: amenity/cafe, area: { osm: way/5 }',
      `${begin}area(2400000005)->.a;nwr["amenity"="cafe"](area.a);out tags center 101;`,
    ],
    [
      'a box',
      'category: amenity/cafe, area: { bbox: [52.30, 13.0, 52.7, 13.8] }',
      `${begin}nwr["amenity"="cafe"](52.3,13,52.7,13.8);out tags center 101;`,
    ],
  ])('selects %s', async (_, options, query) => {
    const { queries, requests, failures } = await run(options);
    expect(failures).toEqual([]);
    expect(queries).toEqual([query]);
    expect(requests[0]).toMatchObject({
      method: 'POST',
      url: 'https://overpass-api.de/api/interpreter',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    });
  });

  test.each([
    ['250m', 250],
    ['5km', 5000],
    ['2mi', 3219],
  ])('converts the radius %s to a whole number of metres: %s', async (radius, metres) => {
    const { queries } = await run(`category: amenity/cafe, near: { lat: "{{lat}}", lon: "{{lon}}", radius: ${radius} }`);
    expect(queries[0]).toContain(`around:${metres},`);
  });

  test.each([
    ['a quote', 'X"];node;out;"', '"X\\"];node;out;\\""'],
    ['a backslash', 'X\\"', '"X\\\\\\""'],
  ])('cannot be manipulated by %s in a field', async (_, chain, quoted) => {
    const lookups = { find: () => ({ kind: 'lookup' as const, body: { match: true, id: null, name: chain } }) };
    const { queries } = await run(`chain: "{{chain}}", ${near}`, [{ ...here, chain }], { lookups });
    expect(queries[0]).toContain(`nwr["brand"=${quoted}](around`);
  });

  test('replaces half of a surrogate pair with the replacement character', async () => {
    const lookups = { find: () => ({ kind: 'lookup' as const, body: { match: true, id: null, name: 'a\ud800' } }) };
    const { queries } = await run(`chain: "{{chain}}", ${near}`, [{ ...here, chain: 'a\ud800' }], { lookups });
    expect(queries[0]).toContain('nwr["brand"="a\ufffd"](around');
  });

  test('is not sent if a field contains a control character', async () => {
    const { failures, requests } = await run(`chain: "{{chain}}", ${near}`, [{ ...here, chain: 'a\nb' }]);
    expect(failures).toMatchObject([{ class: 'request', message: 'expected a name without control characters, found U+000A' }]);
    expect(requests).toEqual([]);
  });
});

describe('the points that a lookup finds', () => {
  test('are added as their count and the nearest point', async () => {
    const { rows, credits, lookedUp } = await run(`category: amenity/cafe, ${near}`);
    expect(rows[0]).toMatchObject({
      points_count: expect.any(Number),
      nearest_name: expect.any(String),
      nearest_id: expect.stringMatching(/^(node|way|relation)\/\d+$/),
      nearest_distance_m: expect.any(Number),
    });
    expect(Number.isInteger((rows[0] as { nearest_distance_m: number }).nearest_distance_m)).toBe(true);
    expect(credits).toBe(1);
    expect(lookedUp).toMatchObject([{ lookup: 'points', match: true, sources: ['openstreetmap'] }]);
  });

  test("can become one record for each point, ordered by distance, with the point's tags", async () => {
    const { rows } = await run(
      `category: amenity/cafe, ${near}, map: { id: "points[].id", metres: "points[].distance_m", phone: "points[].phone" }`,
    );
    const metres = rows.map((row) => row.metres as number);
    expect(metres.length).toBeGreaterThan(10);
    expect(metres).toEqual([...metres].sort((a, b) => a - b));
    expect(Math.max(...metres)).toBeLessThanOrEqual(500);
    expect(rows.some(({ phone }) => phone === '+49 30 1')).toBe(true);
  });

  test('are ordered by id and have no distances if the search covers an area', async () => {
    const { rows } = await run('category: amenity/cafe, area: { country: DE }, map: { id: "points[].id", metres: "points[].distance_m" }', [
      {},
    ]);
    const ids = rows.map(({ id }) => String(id));
    const kinds = ['node', 'way', 'relation'];
    const places = ids.map((id) => kinds.indexOf(id.split('/')[0] as string) * 1e6 + Number(id.split('/')[1]));
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(rows.every(({ metres }) => metres === null)).toBe(true);
  });

  test('can be mapped as complete documents', async () => {
    const { rows } = await run(`category: [amenity/pharmacy, amenity/cafe], ${near}, limit: 2, map: { body: $body }`);
    const { body } = rows[0] as { body: { points: Record<string, unknown>[] } };
    expect(body).toMatchObject({ count: 2, truncated: true, attribution: expect.stringContaining('OpenStreetMap') });
    expect(Object.keys(body.points[0] as object)).toEqual(
      'id name lat lon distance_m category chain_id brand street housenumber postcode city country phone website opening_hours tags'.split(
        ' ',
      ),
    );
    expect(['amenity/pharmacy', 'amenity/cafe']).toContain(body.points[0]?.category);
  });

  test('include no nearest point if there are more than the limit', async () => {
    const { rows, lookedUp } = await run(`category: amenity/cafe, ${near}, limit: 2`);
    const nearest = { nearest_name: null, nearest_id: null, nearest_lat: null, nearest_lon: null, nearest_distance_m: null };
    expect(rows).toEqual([{ ...here, points_count: 2, ...nearest }]);
    expect(lookedUp).toMatchObject([{ match: true, cutOffAt: 2, hidesNearest: true }]);
  });

  test('include the nearest point if there are exactly as many as the limit allows', async () => {
    const all = `category: amenity/cafe, ${near}, map: { count: count, cut: truncated, nearest: nearest, first: "points[0]" }`;
    const { rows } = await run(all);
    const [{ count, nearest }] = rows as [{ count: number; nearest: { id: string } }];
    const exact = await run(`${all}, limit: ${count}`);
    expect(exact.rows).toMatchObject([{ count, cut: false, nearest, first: nearest }]);
    expect(exact.lookedUp[0]).not.toHaveProperty('cutOffAt');
    const fewer = await run(`${all}, limit: ${count - 1}`);
    expect(fewer.rows).toMatchObject([{ count: count - 1, cut: true, nearest: null }]);
  });

  test('count towards the limit even without a position, so the result is marked as cut off', async () => {
    const placed = { type: 'node', id: 2, lat: 52.52, lon: 13.405, tags: { amenity: 'cafe' } };
    const elements = [placed, { type: 'relation', id: 3, tags: { amenity: 'cafe' } }];
    const options = `category: amenity/cafe, ${near}, limit: 1, map: { count: count, cut: truncated, nearest: nearest }`;
    const { rows } = await run(options, [here], { http: () => ({ body: { elements } }) });
    expect(rows).toMatchObject([{ count: 1, cut: true, nearest: null }]);
  });

  test('include no nearest point if the search covers an area', async () => {
    const options = 'category: amenity/cafe, area: { country: DE }, map: { count: count, nearest: nearest }, limit: 2';
    const { rows, lookedUp } = await run(options, [{ a: 1 }]);
    expect(rows).toMatchObject([{ count: 2, nearest: null }]);
    expect(lookedUp).toMatchObject([{ cutOffAt: 2, hidesNearest: false }]);
  });

  test('are counted as 0 if there are none, unless no_match is "reject"', async () => {
    const far = { lat: '0', lon: '0' };
    const kept = await run(`category: amenity/cafe, ${near}`, [far]);
    expect(kept.rows).toEqual([
      { ...far, points_count: 0, nearest_name: null, nearest_id: null, nearest_lat: null, nearest_lon: null, nearest_distance_m: null },
    ]);
    const rejected = await run(`category: amenity/cafe, ${near}, no_match: reject`, [far]);
    expect(rejected.failures).toMatchObject([{ class: 'answer', message: 'no point was found' }]);
  });

  test('are not requested if the chain is unknown, which costs nothing', async () => {
    const record = { ...here, name: 'Smith & Sons Plumbing' };
    const { rows, requests, credits, lookedUp, events } = await run(`chain: "{{name}}", ${near}`, [record]);
    expect(requests).toEqual([]);
    expect(credits).toBe(0);
    expect(rows).toMatchObject([{ points_count: null, nearest_name: null }]);
    expect(lookedUp).toMatchObject([{ match: false, sources: ['name-suggestion-index'] }]);
    expect(events.some(({ type }) => type === 'call-done')).toBe(false);
    const rejected = await run(`chain: "{{name}}", ${near}, no_match: reject`, [record]);
    expect(rejected.failures).toMatchObject([{ class: 'answer', message: 'no chain has that name' }]);
    expect([rejected.credits, rejected.lookedUp]).toMatchObject([0, [{ match: false, sources: ['name-suggestion-index'] }]]);
  });

  test('are reported with the chain data as a source if the chain was specified by name', async () => {
    const { lookedUp } = await run(`chain: "{{name}}", ${near}`, [{ ...here, name: 'Star bucks' }]);
    expect(lookedUp).toMatchObject([{ match: true, sources: ['name-suggestion-index', 'openstreetmap'] }]);
  });

  test('are requested only once for a chain whose name is written in different ways', async () => {
    const names = ['Starbucks', 'STARBUCKS', 'Star bucks'];
    const { requests } = await run(
      `chain: "{{name}}", ${near}`,
      names.map((name) => ({ ...here, name })),
    );
    expect(requests).toHaveLength(1);
  });

  test("are not requested if the position or the chain's name is blank, which costs nothing", async () => {
    const { rows, requests, credits } = await run(`chain: "{{name}}", ${near}`, [
      { lat: ' ', lon: '', name: 'x' },
      { ...here, name: ' ' },
    ]);
    expect([rows.length, requests.length, credits]).toEqual([2, 0, 0]);
  });

  test.each([
    ['91', '0', 'expected a latitude from -90 to 90'],
    ['0', '-181', 'expected a longitude from -180 to 180'],
    ['52,52', '13', 'with a point and not a comma'],
    ['x', '1', 'found "x"'],
  ])('are not requested for the invalid position %s, %s: the record fails', async (lat, lon, message) => {
    const { failures, requests } = await run(`category: amenity/cafe, ${near}`, [{ lat, lon }]);
    expect(failures).toMatchObject([{ class: 'request', message: expect.stringContaining(message) }]);
    expect(requests).toEqual([]);
  });
});

describe('the public Overpass server', () => {
  test('gets one request at a time and one per second, whatever the options are', async () => {
    const records = Array.from({ length: 4 }, (_, index) => ({ lat: String(52 + index), lon: '13' }));
    const slow = (request: SentRequest) => ({ ...overpassAnswer(request), afterMs: 100 });
    const { requests } = await run(`category: amenity/cafe, ${near}, rate: 50/s, concurrency: 9`, records, {
      http: slow,
      concurrency: 20,
      intervalMs: 1,
    });
    const gaps = requests.slice(1).map(({ atMs }, index) => atMs - (requests[index]?.atMs ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1000);
    expect(requests[0]?.perDay).toEqual({ server: 'Overpass', max: 10_000 });
  });

  test('does not get a query twice, because its responses are cached', async () => {
    const { requests, credits } = await run(`category: amenity/cafe, ${near}`, [here, here, here]);
    expect([requests.length, credits]).toEqual([1, 1]);
  });

  test.each([429, 504])('gets retries 30 s, 60 s and 120 s after a %d, whatever the flow says', async (status) => {
    const http = () => ({ status, body: 'busy' });
    const { requests, failures } = await run(`category: amenity/cafe, ${near}, retry: { max: 0 }`, [here], { http });
    const times = requests.map(({ atMs }) => Math.round(atMs / 1000));
    expect(times).toEqual([0, 30, 90, 210]);
    expect(failures).toMatchObject([{ class: 'http', status }]);
  });

  test('gets no request for 30 s after it refused one, even if its Retry-After is shorter', async () => {
    const { requests } = await run(`category: amenity/cafe, ${near}`, [here], {
      http: (request, index) => (index === 0 ? { status: 429, headers: { 'retry-after': '2' } } : overpassAnswer(request)),
    });
    expect(requests.map(({ atMs }) => atMs)).toEqual([0, 30_000]);
  });

  test('is treated like any other server if the node uses a connection', async () => {
    const connection = 'connections: { own: { type: http, base_url: "http://127.0.0.1:9000/osm" } }\n';
    const records = Array.from({ length: 3 }, (_, index) => ({ lat: String(52 + index), lon: '13' }));
    const answer = (request: SentRequest) => overpassAnswer({ ...request, path: request.path.replace('/osm', '') });
    const { requests } = await runFlow(connection + flow(`category: amenity/cafe, connection: own, ${near}`), records, { http: answer });
    expect(requests.map(({ url, atMs, perDay }) => [url, atMs, perDay])).toEqual(
      records.map(() => ['http://127.0.0.1:9000/osm/api/interpreter', 0, undefined]),
    );
  });
});

test.each([
  [429, '<html><head><title>429</title></head><body>Rate <b>limit</b> &amp; more</body></html>', 'Rate limit & more'],
  [504, '<?xml version="1.0"?>\n<html><head><title>Gateway Time-out</title></head><body></body></html>', 'Gateway Time-out'],
  [500, '<style>p { color: red }</style><p>Sorry</p>', 'Sorry'],
  [503, '{"error": "a < b and c > d"}', '{"error": "a < b and c > d"}'],
])('an HTML error page with status %d is reported without its tags', async (status, body, text) => {
  const connection = 'connections: { own: { type: http, base_url: "http://127.0.0.1:9000" } }\n';
  const { failures } = await runFlow(connection + flow(`category: amenity/cafe, connection: own, ${near}`), [here], {
    http: () => ({ status, body }),
  });
  expect(failures).toMatchObject([{ class: 'http', status, message: `the server answered ${status}: ${text}` }]);
});

describe('an unusable response from an Overpass server', () => {
  const elements = features.slice(0, 1);
  test.each([
    [
      'an error page with status 400',
      { status: 400, body: '<html><head><title>x</title></head><p>Error: <b>parse</b> error &lt;1&gt;</p></html>' },
      'http',
      'the server answered 400: Error: parse error <1>',
    ],
    [
      'a runtime error of the server',
      { body: { elements, remark: 'runtime error: out of memory' } },
      'answer',
      'the server says: runtime error: out of memory',
    ],
    ['a JSON list', { body: [] }, 'answer', 'expected an object with elements'],
    ['an HTML page with status 200', { headers: { 'content-type': 'text/html' }, body: '<html>busy</html>' }, 'parse', /busy<\/html>$/],
    ['truncated', { body: '{"elements": [{"type": "no' }, 'parse', ''],
  ])('makes the record fail if it is %s', async (_, answer, kind, message) => {
    const { failures, requests } = await run(`category: amenity/cafe, ${near}`, [here], { http: () => answer });
    expect(failures).toMatchObject([{ class: kind, message: expect.stringMatching(message) }]);
    expect(requests).toHaveLength(1);
  });

  test('makes the node retry once if the query timed out on the server', async () => {
    const late = { body: { elements: [], remark: 'runtime error: Query timed out in "query" at line 1' } };
    const { rows, requests } = await run(`category: amenity/cafe, ${near}`, [here], {
      http: (request, index) => (index === 0 ? late : overpassAnswer(request)),
    });
    expect([rows.length, requests.length]).toEqual([1, 2]);
  });
});

describe('the check of a flow that looks up points', () => {
  const problems = async (options: string) => {
    try {
      await run(options);
      return [];
    } catch (error) {
      if (error instanceof FlowError) return error.problems.map(onOneLine);
      throw error;
    }
  };
  test.each([
    [`category: amenity/cafe`, 'needs near or area, found neither'],
    [`category: amenity/cafe, ${near}, area: { country: DE }`, 'needs near or area, found both'],
    [near, 'needs category, chain or both'],
    [`category: amenity/cafe, near: { lat: 52, lon: 13, radius: 5 miles }`, 'expected a distance such as 250m, 5km or 2mi'],
    [`category: amenity/cafe, near: { lat: 52, lon: 13, radius: 51km }`, 'expected a radius of 1m to 50km'],
    [`category: amenity/cafe, near: { lat: 152, lon: 13, radius: 1km }`, '1:78 expected a latitude'],
    [`category: amenity/cafe, near: { lat: "{{lat}}", lon: 213, radius: 1km }`, '1:94 expected a longitude'],
    [`category: amenity/cafe, area: { country: DE, region: DE-BE }`, 'expected one of country, region, osm and bbox'],
    [`category: amenity/cafe, area: { osm: node/1 }`, 'expected an object such as relation/62422'],
    [`category: amenity/cafe, area: { bbox: [53, 13, 52, 14] }`, 'expected south, west, north, east'],
    [`category: amenity/cafe, ${near}, limit: 10001`, '10000'],
    [`category: bank, name: x, ${near}`, '"name" is an option of lookup: chain'],
  ])('refuses the options %s', async (options, message) => {
    expect((await problems(options)).join('\n')).toContain(message);
  });

  test.each([
    [`category: 5, ${near}`, 'expected a string or a list, found 5'],
    ['category: amenity/cafe, near: { lat: 52, lon: 13 }', 'the key "radius" is missing'],
    ['category: amenity/cafe, area: { bbox: [53, 13, 52] }', 'expected south, west, north and east, found a list of 3'],
    ['category: amenity/cafe, area: { country: 5 }', 'expected a string, found 5'],
  ])('reports an invalid option, but does not also call it missing: %s', async (options, message) => {
    expect(await problems(options)).toEqual([expect.stringMatching(`^[\\d:]+ ${message}$`)]);
  });
});
