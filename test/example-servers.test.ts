import { describe, expect, test } from 'vitest';
import { answer } from '../examples/servers/answers.mjs';
import { startExampleServer } from './helpers/example-server.ts';

/** Sends a request. Returns the response, parsed as JSON if possible. */
function ask(path: string, body?: unknown) {
  const method = body === undefined ? 'GET' : 'POST';
  const given = answer({
    method,
    path,
    headers: { 'accept-language': 'en' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  // biome-ignore lint/suspicious/noExplicitAny: each test knows the form of its response.
  return { status: given.status ?? 200, body: (given.body ?? '') as any };
}

test('start.mjs prints its address, and the example servers respond there', async () => {
  const origin = await startExampleServer('servers/start.mjs');
  const found = await fetch(`${origin}/v2/country/DE/indicator/SP.POP.TOTL?format=json&mrnev=1`);
  expect([found.status, (await found.json())[1][0].date]).toEqual([200, '2024']);
  const chat = await fetch(`${origin}/v1/chat/completions`, { method: 'POST', body: '{' });
  expect([chat.status, chat.headers.get('content-type')]).toEqual([400, 'application/json']);
  const nothing = await fetch(`${origin}/data/1`);
  expect([nothing.status, nothing.headers.get('content-type')]).toEqual([404, 'text/html']);
  expect((await fetch(`${origin}/x`)).status).toBe(404);
});

const survey = (query: string) => ask(`/data/2024/acs/acs5?${query}`);

describe('the example server for the Census survey', () => {
  test.each([
    ['for=state:*', ['state'], 6],
    ['for=county:*&in=state:17', ['state', 'county'], 2],
    ['for=tract:*&in=state:17%20county:031', ['state', 'county', 'tract'], 203],
    ['for=block+group:*&in=state:17+county:031+tract:839100', ['state', 'county', 'tract', 'block group'], 3],
    ['for=zip%20code%20tabulation%20area:60614', ['zip code tabulation area'], 1],
  ])('responds to the query %s with one row for each unit', (query, columns, rows) => {
    const table = survey(`get=NAME,B01003_001E&${query}`).body;
    expect(table[0]).toEqual(['NAME', 'B01003_001E', ...columns]);
    expect(table).toHaveLength(rows + 1);
    for (const row of table.slice(1)) expect(row[1]).toMatch(/^\d+$/);
  });

  test("responds with the Census Bureau's special code for a figure that does not exist", () => {
    expect(survey('get=NAME,B19013_001E&for=tract:*&in=state:11%20county:001').body.at(-1)).toEqual([
      'Unit 11001980000',
      '-666666666',
      '11',
      '001',
      '980000',
    ]);
  });

  test('responds with status 204 for an area without units', () => {
    expect(survey('get=NAME&for=tract:*&in=state:17%20county:999')).toEqual({ status: 204, body: '' });
  });

  test.each([
    ['get=NAME,X&for=state:*', "error: unknown variable 'X'"],
    ['for=state:*', "error: unknown variable ''"],
    ['get=NAME&for=tract:*&in=state:17', 'error: unknown/unsupported geography hierarchy'],
    ['get=NAME&for=tract:839100&in=state:17%20county:031', 'error: unknown/unsupported geography hierarchy'],
    ['get=NAME&for=county:*&in=province:17', 'error: unknown/unsupported geography hierarchy'],
    ['get=NAME&for=state:*&of=x', 'error: of is not expected'],
    ['get=NAME&get=NAME&for=state:*', 'error: get is not expected'],
  ])('refuses the query %s', (query, body) => {
    expect(survey(query)).toEqual({ status: 400, body });
  });
});

const geocode = (path: string) => ask(`/geocoder/${path}&format=json`);
const data = 'benchmark=Public_AR_Current&vintage=Current_Current';

describe('the example server for the Census geocoder', () => {
  test.each([
    `geographies/onelineaddress?address=233%20South%20Wacker%20Drive,%20Chicago&${data}`,
    `geographies/address?street=233%20S%20Wacker%20Dr&zip=60606&${data}`,
  ])('finds a house and its census tract for the request %s', (path) => {
    expect(geocode(path).body.result.addressMatches).toMatchObject([
      {
        matchedAddress: '233 S WACKER DR, CHICAGO, IL, 60606',
        coordinates: { x: -87.63591, y: 41.87888 },
        geographies: { 'Census Tracts': [{ GEOID: '17031839100' }], '2020 Census Blocks': [{ GEOID: '170318391001000' }] },
      },
    ]);
  });

  test('returns no geographies if only locations are requested, and finds no unknown house', () => {
    const matches = (street: string) =>
      geocode(`locations/address?street=${street}&city=New%20York&state=NY&benchmark=Public_AR_Current`).body.result.addressMatches;
    expect(matches('350%205th%20Ave')).toEqual([expect.not.objectContaining({ geographies: expect.anything() })]);
    expect(matches('351%205th%20Ave')).toEqual([]);
  });

  test('finds the census tract of a point near a house', () => {
    const at = (x: number, y: number) => geocode(`geographies/coordinates?x=${x}&y=${y}&${data}`).body.result.geographies;
    expect(at(-73.986, 40.748)).toMatchObject({ Counties: [{ GEOID: '36061' }] });
    expect(at(0, 0)).toEqual({});
  });

  test('refuses a query with a missing parameter', () => {
    const refused = (path: string) => expect(geocode(path)).toMatchObject({ status: 400 });
    expect(geocode('geographies/address?street=1&zip=1&benchmark=Public_AR_Current').body.errors).toEqual(['vintage cannot be empty']);
    refused('locations/address?street=1&zip=1&benchmark=x');
    refused(`geographies/address?street=1&${data}`);
    refused(`geographies/onelineaddress?address=1&more=1&${data}`);
    expect(ask(`/geocoder/geographies/coordinates?x=1&y=1&${data}`).status).toBe(400);
    expect(ask('/geocoder/locations/addressbatch', 'no form').status).toBe(400);
  });
});

describe('the example servers for OpenStreetMap', () => {
  const format = 'format=jsonv2&addressdetails=1';

  test.each([
    [`/reverse?lat=41.9&lon=-87.6&${format}`, { display_name: '100, Main Street, Chicago' }],
    ['/reverse?lat=41.9&lon=-87.6', { type: 'FeatureCollection' }],
    ['/api?q=Paris&limit=5', { features: [{ properties: { state: 'Ile-de-France' } }, { properties: { state: 'Texas' } }] }],
    [`/search?q=Xyzzy&limit=5&${format}`, []],
  ])('respond to the request %s', (path, body) => {
    expect(ask(path)).toMatchObject({ status: 200, body });
  });

  test.each([
    `/search?q=Paris&limit=5&format=json&addressdetails=1`,
    `/search?limit=5&${format}`,
    `/reverse?lat=1&${format}`,
    '/api?q=Paris',
    '/api/interpreter',
  ])('refuse the request %s', (path) => {
    expect(ask(path).status).toBe(400);
  });
});

const indicator = (path: string) => ask(`/v2/country/${path}`);

describe('the example server for the World Bank', () => {
  test('responds with the newest value, or with the value of the requested year', () => {
    const [, [newest]] = indicator('DE/indicator/NY.GDP.PCAP.CD?format=json&mrnev=1').body;
    expect(newest).toMatchObject({ country: { id: 'DE', value: 'Germany' }, date: '2023', value: 54343.2 });
    const [, [earlier]] = indicator('DE/indicator/SP.POP.TOTL?format=json&date=1990').body;
    expect(earlier).toMatchObject({ date: '1990', value: null });
  });

  test('refuses an unknown indicator with status 200, and has no data for Antarctica', () => {
    const unknown = indicator('DE/indicator/X.Y?format=json&mrnev=1');
    expect([unknown.status, unknown.body[0].message[0].key]).toEqual([200, 'Invalid value']);
    expect(indicator('AQ/indicator/SP.POP.TOTL?format=json&mrnev=1').body[1]).toBeNull();
    expect(indicator('DE/indicator/SP.POP.TOTL').status).toBe(400);
  });
});

const chat = (body: unknown) => ask('/v1/chat/completions', body);

describe('the example server for a language model', () => {
  const properties = {
    topic: { type: 'string', enum: ['billing', 'other'] },
    size: { type: ['integer', 'null'] },
    tags: { type: 'array' },
    is: { type: 'boolean' },
    text: { type: 'string' },
  };
  const question = (content: string) => ({
    model: 'm',
    messages: [{ role: 'user', content }],
    response_format: { type: 'json_schema', json_schema: { schema: { properties } } },
  });
  const answerTo = (content: string) => JSON.parse(chat(question(content)).body.choices[0].message.content);

  test("answers with JSON that matches the prompt's schema and depends on the words in the prompt", () => {
    expect(answerTo('A refund of 12 please! Now.')).toEqual({
      topic: 'billing',
      size: 12,
      tags: [],
      is: true,
      text: 'A refund of 12 please!',
    });
    expect(answerTo('Hello')).toEqual({ topic: 'other', size: null, tags: [], is: false, text: 'Hello' });
  });

  test('answers with a sentence if the prompt has no schema, and reports the number of tokens', () => {
    const { choices, usage } = chat({ model: 'm', messages: [{ role: 'user', content: 'Hi there. Bye.' }] }).body;
    expect([choices[0].message.content, choices[0].finish_reason, usage.completion_tokens]).toEqual(['Hi there.', 'stop', 3]);
  });

  test.each(['{', '[]', { model: 'm' }, { messages: [] }])('refuses the body %j', (request) => {
    const { status, body } = chat(request);
    expect([status, body.error.type]).toEqual([400, 'invalid_request_error']);
  });
});
