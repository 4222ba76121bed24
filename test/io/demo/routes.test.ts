import { describe, expect, onTestFinished, test } from 'vitest';
import { createDemoApi } from '../../../src/io/demo/api.ts';

async function ask(path: string, body?: unknown) {
  const api = await createDemoApi();
  onTestFinished(api.close);
  const init = body === undefined ? {} : { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) };
  const response = await fetch(api.origin + path, init);
  const text = await response.text();
  return { status: response.status, text, json: () => JSON.parse(text) };
}

const survey = (query: string) => ask(`/data/2024/acs/acs5?${query}`);

describe('the census of the demo API', () => {
  test.each([
    ['for=state:*', ['state'], 4],
    ['for=county:*&in=state:17', ['state', 'county'], 1],
    ['for=tract:*&in=state:17%20county:031', ['state', 'county', 'tract'], 3],
    ['for=block+group:*&in=state:17+county:031+tract:839100', ['state', 'county', 'tract', 'block group'], 3],
    ['for=zip%20code%20tabulation%20area:60614', ['zip code tabulation area'], 1],
  ])('answers %s with a row for each unit', async (query, columns, rows) => {
    const table = (await survey(`get=NAME,B01003_001E&${query}`)).json();
    expect(table[0]).toEqual(['NAME', 'B01003_001E', ...columns]);
    expect(table).toHaveLength(rows + 1);
    for (const row of table.slice(1)) expect(row[1]).toMatch(/^\d+$/);
  });

  test('has the same figures in every run, and a code where there is none', async () => {
    const query = 'get=NAME,B19013_001E&for=tract:*&in=state:11%20county:001';
    expect((await survey(query)).text).toBe((await survey(query)).text);
    expect((await survey(query)).json().at(-1)).toEqual(['Unit 11001980000', '-666666666', '11', '001', '980000']);
  });

  test('answers 204 where there are no units', async () => {
    expect(await survey('get=NAME&for=tract:*&in=state:17%20county:999')).toMatchObject({ status: 204, text: '' });
  });

  test.each([
    ['get=NAME,X&for=state:*', "error: unknown variable 'X'"],
    ['for=state:*', "error: unknown variable ''"],
    ['get=NAME&for=tract:*&in=state:17', 'error: unknown/unsupported geography hierarchy'],
    ['get=NAME&for=tract:839100&in=state:17%20county:031', 'error: unknown/unsupported geography hierarchy'],
    ['get=NAME&for=county:*&in=province:17', 'error: unknown/unsupported geography hierarchy'],
  ])('refuses %s', async (query, text) => {
    expect(await survey(query)).toMatchObject({ status: 400, text });
  });
});

const geocode = (path: string) => ask(`/geocoder/${path}&format=json`);
const data = 'benchmark=Public_AR_Current&vintage=Current_Current';

describe('the geocoder of the demo API', () => {
  test.each([
    `geographies/onelineaddress?address=233%20South%20Wacker%20Drive,%20Chicago&${data}`,
    `geographies/address?street=233%20S%20Wacker%20Dr&zip=60606&${data}`,
  ])('finds a house and its tract with %s', async (path) => {
    const { addressMatches } = (await geocode(path)).json().result;
    expect(addressMatches).toMatchObject([
      {
        matchedAddress: '233 S WACKER DR, CHICAGO, IL, 60606',
        coordinates: { x: -87.63591, y: 41.87888 },
        geographies: { 'Census Tracts': [{ GEOID: '17031839100' }], '2020 Census Blocks': [{ GEOID: '170318391001000' }] },
      },
    ]);
  });

  test('gives no geographies for a location, and finds no other house', async () => {
    const [match] = (await geocode('locations/address?street=350%205th%20Ave&city=New%20York&benchmark=x')).json().result.addressMatches;
    expect(match).not.toHaveProperty('geographies');
    expect((await geocode(`locations/address?street=351%205th%20Ave&city=New%20York&${data}`)).json().result.addressMatches).toEqual([]);
  });

  test('finds the tract of a point', async () => {
    const at = async (x: number, y: number) => (await geocode(`geographies/coordinates?x=${x}&y=${y}&${data}`)).json().result.geographies;
    expect(await at(-73.986, 40.748)).toMatchObject({ Counties: [{ GEOID: '36061' }] });
    expect(await at(0, 0)).toEqual({});
  });

  test('refuses a query without what it needs', async () => {
    const { status, json } = await geocode('geographies/address?street=1&benchmark=x');
    expect([status, json().errors]).toEqual([400, ['vintage cannot be empty']]);
    expect((await ask(`/geocoder/geographies/coordinates?x=1&y=1&${data}`)).status).toBe(400);
  });
});

const indicator = (path: string) => ask(`/v2/country/${path}`);

describe('the World Bank of the demo API', () => {
  test('answers the newest value, or that of a year', async () => {
    const [, [newest]] = (await indicator('DE/indicator/SP.POP.TOTL?format=json&mrnev=1')).json();
    expect(newest).toMatchObject({ country: { id: 'DE', value: 'Germany' }, date: '2024', value: expect.any(Number) });
    const [, [earlier]] = (await indicator('DE/indicator/SP.POP.TOTL?format=json&date=1990')).json();
    expect(earlier).toMatchObject({ date: '1990', value: null });
  });

  test('refuses an unknown indicator with status 200, and knows no Antarctica', async () => {
    const unknown = await indicator('DE/indicator/X.Y?format=json&mrnev=1');
    expect([unknown.status, unknown.json()[0].message[0].key]).toEqual([200, 'Invalid value']);
    expect((await indicator('AQ/indicator/SP.POP.TOTL?format=json&mrnev=1')).json()[1]).toBeNull();
    expect((await indicator('DE/indicator/SP.POP.TOTL')).status).toBe(400);
  });
});

const chat = (body: unknown) => ask('/v1/chat/completions', body);

describe('the language model of the demo API', () => {
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
  const answerTo = async (content: string) => JSON.parse((await chat(question(content))).json().choices[0].message.content);

  test('fits the schema of the question, by its words', async () => {
    expect(await answerTo('A refund of 12 please! Now.')).toEqual({
      topic: 'billing',
      size: 12,
      tags: [],
      is: true,
      text: 'A refund of 12 please!',
    });
    expect(await answerTo('Hello')).toEqual({ topic: 'other', size: null, tags: [], is: false, text: 'Hello' });
  });

  test('answers a sentence without a schema, and counts tokens', async () => {
    const { choices, usage } = (await chat({ model: 'm', messages: [{ role: 'user', content: 'Hi there. Bye.' }] })).json();
    expect([choices[0].message.content, choices[0].finish_reason, usage.completion_tokens]).toEqual(['Hi there.', 'stop', 3]);
  });

  test.each(['{', '[]', { model: 'm' }, { messages: [] }])('refuses %j', async (body) => {
    const { status, json } = await chat(body);
    expect([status, json().error.type]).toEqual([400, 'invalid_request_error']);
  });
});
