import { describe, expect, test } from 'vitest';
import { answerSurvey, answerWorldBank } from '../../examples/servers/census.mjs';
import type { FakeAnswer } from '../helpers/fake-answer.ts';
import { flowProblems, onOneLine } from '../helpers/flow-problems.ts';
import { type FlowOptions, runFlow, type SentRequest } from '../helpers/run-flow.ts';

const variables = 'variables: { people: B01003_001E, income: B19013_001E }';
const flow = (options: string) => `nodes: [{ type: census, ${options} }]`;

/** Responds like both servers. The real HTTP port adds the API key to the URL, but the fake port does not: it is added here. */
function answered({ method, path, auth }: SentRequest): FakeAnswer {
  const key = auth?.[0]?.type === 'api_key' ? `&${auth[0].query}=${auth[0].credential}` : '';
  return path.startsWith('/v2/') ? answerWorldBank({ method, path }) : answerSurvey({ method, path: path + key }, 'census-api-key');
}

async function run(options: string, records: readonly Record<string, unknown>[], more: FlowOptions = {}) {
  const result = await runFlow(flow(options), records, { http: answered, ...more });
  return { ...result, lookedUp: result.events.filter(({ type }) => type === 'looked-up') };
}

const us = (more = '') => `year: 2024, geoid: "{{id}}", ${variables}${more}`;
const urls = (requests: readonly SentRequest[]) => requests.map(({ url }) => decodeURIComponent(url));
const base = 'https://api.census.gov/data/2024/acs/acs5?get=NAME,B01003_001E,B19013_001E';

describe('a census node with the us-acs5 provider', () => {
  test.each([
    ['a state', '17', '&for=state:*', 1017],
    ['a state without its leading zero', '6', '&for=state:*', 1006],
    ['a county', '17031', '&for=county:*&in=state:17', 8031],
    ['a county without its leading zero', '6037', '&for=county:*&in=state:06', 7037],
    ['a tract', '17031000200', '&for=tract:*&in=state:17 county:031', 1200],
    ['a tract without its leading zero', '6037000200', '&for=tract:*&in=state:06 county:037', 1200],
    ['a block group', '170310002003', '&for=block group:*&in=state:17 county:031 tract:000200', 3003],
    ['a block', '170310002003011', '&for=block group:*&in=state:17 county:031 tract:000200', 3003],
  ])("requests all units in the area that contains %s, and uses the record's own row", async (_, id, query, people) => {
    const { rows, requests } = await run(us(), [{ id }]);
    expect(urls(requests)).toEqual([base + query]);
    expect(rows).toEqual([{ id, people, income: 40_000 + 5 * people }]);
  });

  test.each([
    ['60614', '60614'],
    ['2138', '02138'],
    ['60614-1234', '60614'],
    [' 606141234 ', '60614'],
    ['02138 - 1234', '02138'],
    ['2138-1234', '02138'],
  ])('reads the ZIP code %s as the tabulation area %s', async (id, zcta) => {
    const { rows, requests } = await run(`year: 2024, zcta: "{{id}}", ${variables}, map: [level, geoid]`, [{ id }]);
    expect(urls(requests)).toEqual([`${base}&for=zip code tabulation area:${zcta}`]);
    expect(rows).toEqual([{ id, level: 'zcta', geoid: zcta }]);
  });

  test('sends one request for a thousand records in the same county, even without the cache option', async () => {
    const records = Array.from({ length: 1000 }, (_, index) => ({ id: `17031${String(((index % 200) + 1) * 100).padStart(6, '0')}` }));
    const { rows, requests, credits, lookedUp } = await run(us(), records);
    expect([rows.length, requests.length, credits]).toEqual([1000, 1, 1]);
    expect(rows.map(({ people }) => people)).toEqual(records.map(({ id }) => 1000 + Number(id.slice(-4))));
    expect(lookedUp).toHaveLength(1000);
  });

  test('shares responses even if it uses a connection, whose authentication replaces the API key', async () => {
    const connection = 'connections: { own: { type: http, base_url: "https://own.example.com/census" } }\n';
    const http = (request: SentRequest) => answerSurvey({ method: 'GET', path: `${request.path.slice('/census'.length)}&key=x` }, 'x');
    const options = us(', connection: own');
    const { requests, credits } = await runFlow(connection + flow(options), [{ id: '17031' }, { id: '17043' }], { http });
    expect(requests.map(({ origin, path, auth }) => [origin, decodeURIComponent(path), auth])).toEqual([
      ['https://own.example.com', '/census/data/2024/acs/acs5?get=NAME,B01003_001E,B19013_001E&for=county:*&in=state:17', undefined],
    ]);
    expect(credits).toBe(1);
  });

  test('returns a document with the unit and its values', async () => {
    const { rows } = await run(us(', map: { all: $body }'), [{ id: '17031' }]);
    expect(rows[0]?.all).toEqual({
      match: true,
      name: 'Unit 17031',
      geoid: '17031',
      level: 'county',
      year: 2024,
      values: { people: 8031, income: 80_155 },
      attribution: 'This product uses the Census Bureau Data API but is not endorsed or certified by the Census Bureau.',
    });
  });

  test('replaces a code that stands for a missing number with null, and counts it as lacking', async () => {
    const { rows, lookedUp } = await run(`year: 2024, geoid: "{{id}}", variables: { income: B19013_001E, value: B25077_001E }`, [
      { id: '17031000300' },
    ]);
    expect(rows).toEqual([{ id: '17031000300', income: null, value: null }]);
    expect(lookedUp).toMatchObject([{ lookup: 'census', match: true, lacking: ['income', 'value'], sources: ['census-bureau'] }]);
  });

  test.each(['-222222222', '-333333333', '-555555555', '-666666666', '-888888888', '-999999999', null, 'N'])(
    'treats %s as a missing number',
    async (cell) => {
      const body = [
        ['NAME', 'B01003_001E', 'B19013_001E', 'state'],
        ['Illinois', '12', cell, '17'],
      ];
      const { rows } = await run(us(), [{ id: '17' }], { http: () => ({ body }) });
      expect(rows).toMatchObject([{ people: 12, income: null }]);
    },
  );

  test.each([
    ['a unit that the parent does not have', '17031999999'],
    ['a parent without units (204)', '17999000100'],
  ])('reports that there is no match for %s', async (_, id) => {
    const { rows, credits, lookedUp } = await run(us(), [{ id }]);
    expect(rows).toEqual([{ id, people: null, income: null }]);
    expect(credits).toBe(1);
    expect(lookedUp).toMatchObject([{ match: false }]);
  });

  test('fails only the record without a match if no_match is "reject"', async () => {
    const { rows, failures, requests } = await run(us(', no_match: reject'), [{ id: '17031999999' }, { id: '17031000100' }]);
    expect(rows).toMatchObject([{ people: 1100 }]);
    expect(failures).toMatchObject([{ record: 1, class: 'answer', message: 'there is no tract 17031999999 in the survey of 2024' }]);
    expect(requests).toHaveLength(1);
  });

  test.each(['170', '17031-0002', '1703100020012345', '17031A00200', '17 031'])(
    'refuses "%s" as a geographic code, without sending a request',
    async (id) => {
      const { failures, requests, credits } = await run(us(), [{ id }]);
      expect(failures).toMatchObject([{ class: 'request', message: expect.stringMatching(/^expected a code of 2 \(state\).*, found "/) }]);
      expect([requests.length, credits]).toEqual([0, 0]);
    },
  );

  test.each(['606', '6061412', '60614-12', '60614-12345', '6061A-1234', '60614+1234'])('refuses "%s" as a ZIP code', async (id) => {
    const { failures, requests } = await run(`year: 2024, zcta: "{{id}}", ${variables}`, [{ id }]);
    expect(failures).toMatchObject([{ class: 'request', message: expect.stringContaining('expected a ZIP code of 5 digits, found "') }]);
    expect(requests).toEqual([]);
  });

  test('sends no request for a blank code, at no cost', async () => {
    const { rows, requests, credits } = await run(us(), [{ id: ' ' }]);
    expect(rows).toEqual([{ id: ' ', people: null, income: null }]);
    expect([requests.length, credits]).toEqual([0, 0]);
  });

  test('can take the year and the codes from the record', async () => {
    const { rows, requests } = await run('year: "{{y}}", geoid: 17, variables: { people: "{{code}}" }', [{ y: 2023, code: 'B01003_001E' }]);
    expect(urls(requests)).toEqual(['https://api.census.gov/data/2023/acs/acs5?get=NAME,B01003_001E&for=state:*']);
    expect(rows).toMatchObject([{ people: 1017 }]);
  });

  test('requests a variable only once if two fields use it', async () => {
    const { rows, requests } = await run('year: 2024, geoid: 17, variables: { a: B01003_001E, b: B01003_001E }', [{}]);
    expect(urls(requests)[0]).toContain('?get=NAME,B01003_001E&');
    expect(rows).toEqual([{ a: 1017, b: 1017 }]);
  });
});

describe('an error response from the Census server', () => {
  test("is reported with the server's text if the status is 400 or 404", async () => {
    const { failures } = await run('year: 2024, geoid: 17, variables: { x: B99999_001E }', [{}]);
    expect(failures).toMatchObject([
      { class: 'http', status: 400, message: "the server answered 400: error: unknown variable 'B99999_001E'" },
    ]);
    expect((await run('year: 2030, geoid: 17, variables: { x: B01003_001E }', [{}])).failures).toMatchObject([
      { class: 'http', status: 404 },
    ]);
  });

  const keyPage = '<html><head><title>Invalid Key</title></head><body>A valid <em>key</em> must be included</body></html>';

  test.each<[string, FakeAnswer, string]>([
    ['a redirect', { status: 302, headers: { location: 'https://api.census.gov/data/missing_key.html' } }, ' (missing key)'],
    ['a relative redirect', { status: 301, headers: { location: '/data/invalid_key.html' } }, ' (invalid key)'],
    ['a header', { status: 200, headers: { 'X-DataWebAPI-KeyError': '1' }, body: [['NAME'], ['x']] }, ''],
    ['a page', { status: 200, headers: { 'content-type': 'text/html' }, body: keyPage }, ' (invalid key)'],
    ['a 401', { status: 401 }, ''],
  ])('ends the run without failing a record if it refuses the API key with %s', async (_, answer, reason) => {
    const { ending, requests, failures, events, credits } = await run(us(', concurrency: 1'), [{ id: '17' }, { id: '17031' }], {
      http: () => answer,
    });
    expect([ending, requests.length, failures.length, credits]).toEqual(['refused-credential', 1, 0, 0]);
    expect(events.filter(({ type }) => type === 'stopping')).toMatchObject([
      {
        reason: `the server refuses the key "census-api-key"${reason}; a key is free: https://api.census.gov/data/key_signup.html`,
      },
    ]);
  });

  test.each<[string, FakeAnswer, object]>([
    [
      'a redirect to a different server',
      { status: 302, headers: { location: 'https://evil.example.com/x' } },
      { class: 'http', status: 302 },
    ],
    ['HTML', { body: '<html><title>Request Rejected</title></html>', headers: { 'content-type': 'text/html' } }, { class: 'parse' }],
    ['JSON that is not a table', { body: { error: 'x' } }, { class: 'answer', message: 'expected a table of rows, found {"error":"x"}' }],
    ['an empty list', { body: [] }, { class: 'answer' }],
    [
      'a table without the variable',
      {
        body: [
          ['NAME', 'state'],
          ['Illinois', '17'],
        ],
      },
      { class: 'answer', message: 'the answer has no column B01003_001E' },
    ],
  ])('fails the record without a retry if it is %s', async (_, answer, failure) => {
    const { failures, requests } = await run(us(), [{ id: '17' }], { http: () => answer });
    expect(failures).toMatchObject([failure]);
    expect(requests).toHaveLength(1);
  });

  test.each<[string, FakeAnswer]>([
    ['429', { status: 429, headers: { 'retry-after': '2' } }],
    ['504', { status: 504, body: '<html>Gateway Timeout</html>' }],
    ['a body that is cut off', { body: '[["NAME","B01003_001E","B19013_001E","state"],["Illi', endedByClose: true }],
  ])('makes the node retry, at no further cost, if it is %s', async (_, answer) => {
    const http = (request: SentRequest, index: number) => (index === 0 ? answer : answered(request));
    const { rows, requests, credits } = await run(us(), [{ id: '17' }], { http });
    expect(rows).toMatchObject([{ people: 1017 }]);
    expect([requests.length, credits]).toEqual([2, 1]);
  });

  test('is not cached, and makes the node retry, if its status is 503', async () => {
    const http = (request: SentRequest, index: number) => (index === 0 ? { status: 503 } : answered(request));
    const { rows, requests, credits } = await run(us(), [{ id: '17' }], { http });
    expect(rows).toMatchObject([{ people: 1017 }]);
    expect([requests.length, credits]).toEqual([2, 1]);
  });
});

const bank = (more = '') => `provider: world-bank, country: "{{c}}", variables: { people: SP.POP.TOTL, gdp: NY.GDP.PCAP.CD }${more}`;

describe('a census node with the world-bank provider', () => {
  test('sends one request for each variable, for one credit each, and adds the newest values', async () => {
    const { rows, requests, credits, lookedUp } = await run(bank(), [{ c: 'de' }]);
    expect(rows).toEqual([{ c: 'de', people: 83510950, gdp: 54343.2 }]);
    expect(urls(requests)).toEqual([
      'https://api.worldbank.org/v2/country/DE/indicator/SP.POP.TOTL?format=json&mrnev=1',
      'https://api.worldbank.org/v2/country/DE/indicator/NY.GDP.PCAP.CD?format=json&mrnev=1',
    ]);
    expect(requests.every(({ auth }) => auth === undefined)).toBe(true);
    expect(credits).toBe(2);
    expect(lookedUp).toMatchObject([{ match: true, lacking: [], sources: ['world-bank'] }]);
  });

  test('adds the values of a specified year, and counts the missing ones', async () => {
    const { rows, requests, lookedUp } = await run(bank(', year: 2024, map: { all: $body }'), [{ c: 'DE' }]);
    expect(urls(requests)[0]).toContain('?format=json&date=2024');
    expect(rows[0]?.all).toEqual({
      match: true,
      name: 'Germany',
      geoid: null,
      level: null,
      year: 2024,
      values: { people: 83510950, gdp: null },
      attribution: 'World Bank, CC BY 4.0',
    });
    expect(lookedUp).toMatchObject([{ match: true, lacking: ['gdp'] }]);
  });

  test('leaves the year empty if the newest values are from different years', async () => {
    expect((await run(bank(', map: [year]'), [{ c: 'DE' }])).rows).toMatchObject([{ year: null }]);
  });

  test.each<[string, FakeAnswer, object]>([
    ['HTML', { body: '<html>Service Unavailable</html>', headers: { 'content-type': 'text/html' } }, { class: 'parse' }],
    ['an object', { body: { message: 'x' } }, { class: 'answer', message: 'expected a list, found {"message":"x"}' }],
    ['a redirect', { status: 302, headers: { location: 'https://evil.example.com/' } }, { class: 'http', status: 302 }],
    ['a 400', { status: 400, body: 'bad indicator' }, { class: 'http', status: 400, message: 'the server answered 400: bad indicator' }],
  ])('fails the record if the response is %s', async (_, answer, failure) => {
    const { failures, requests } = await run(bank(), [{ c: 'DE' }], { http: () => answer });
    expect(failures).toMatchObject([failure]);
    expect(requests).toHaveLength(1);
  });

  test('reports that there is no match if the response has no values', async () => {
    const { rows, lookedUp, credits } = await run(bank(), [{ c: 'AQ' }]);
    expect(rows).toEqual([{ c: 'AQ', people: null, gdp: null }]);
    expect(lookedUp).toMatchObject([{ match: false }]);
    expect(credits).toBe(2);
    const rejected = await run(bank(', no_match: reject'), [{ c: 'AQ' }]);
    expect(rejected.failures).toMatchObject([{ class: 'answer', message: 'the World Bank has no value for AQ' }]);
  });

  test('fails the record if the server refuses the request with status 200', async () => {
    const { failures } = await run('provider: world-bank, country: DE, variables: { x: SP.NOT.THERE }', [{}]);
    const message = 'the server says: Invalid value: The provided parameter value is not valid';
    expect(failures).toMatchObject([{ class: 'answer', status: 200, message }]);
  });

  test('accepts the name of a country', async () => {
    const { requests } = await run(bank(), [{ c: 'Deutschland' }]);
    expect(urls(requests)[0]).toContain('/country/DE/');
  });

  test('fails a record with an unknown country before anything is sent', async () => {
    const { failures, requests } = await run(bank(), [{ c: 'Narnia' }]);
    expect(failures).toMatchObject([{ class: 'request', message: expect.stringContaining('expected a country code such as DE') }]);
    expect(requests).toEqual([]);
  });
});

describe('a flow with a census node', () => {
  test.each([
    ['year: 2024, geoid: "{{a}}"', 'the key "variables" is missing'],
    [`geoid: "{{a}}", ${variables}`, 'us-acs5 needs a year'],
    [`year: 2024, ${variables}`, 'expected geoid or zcta'],
    [`year: 2024, geoid: 17, zcta: 60614, ${variables}`, 'expected geoid or zcta, found both'],
    [`year: 2024, geoid: 170, ${variables}`, 'expected a code of 2 (state)'],
    [`year: 2024, zcta: "606", ${variables}`, 'expected a ZIP code of 5 digits, found "606", which has 3'],
    [`year: 24, geoid: 17, ${variables}`, 'expected a year such as 2024, found "24"'],
    [`year: 2024, geoid: 17, country: US, ${variables}`, 'us-acs5 has no country; leave it out'],
    ['year: 2024, geoid: 17, variables: {}', 'expected 1 to 49 variables, found 0'],
    ['year: 2024, geoid: 17, variables: { a: income }', 'expected the code of a variable, such as B19013_001E, found "income"'],
    ['provider: world-bank, variables: { a: SP.POP.TOTL }', 'world-bank needs a country'],
    ['provider: world-bank, country: Narnia, variables: { a: SP.POP.TOTL }', 'expected a country code'],
    ['provider: world-bank, country: DE, geoid: 17, variables: { a: SP.POP.TOTL }', 'world-bank has no geoid; leave it out'],
    ['provider: world-bank, country: DE, credential: key, variables: { a: SP.POP.TOTL }', 'world-bank has no credential; leave it out'],
    ['provider: world-bank, country: DE, variables: { a: "../x" }', 'expected the code of an indicator, such as SP.POP.TOTL'],
    ['provider: us-census, country: DE, variables: { a: SP.POP.TOTL }', 'us-acs5'],
  ])('is refused if the options are %s', (options, message) => {
    const problems = flowProblems(flow(options), { header: ['a'] });
    expect(problems.map(({ message: text }) => text).join('\n')).toContain(message);
    expect(problems.every(({ line }) => line === 1)).toBe(true);
  });

  test('accepts at most 49 variables', () => {
    const many = (count: number) =>
      flow(
        `year: 2024, geoid: 17, variables: { ${Array.from({ length: count }, (_, index) => `v${index}: B01001_${String(index + 1).padStart(3, '0')}E`)} }`,
      );
    expect(flowProblems(many(49))).toEqual([]);
    expect(flowProblems(many(50)).map(onOneLine).join()).toContain('expected 1 to 49 variables, found 50');
  });
});
