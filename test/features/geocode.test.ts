import { describe, expect, test } from 'vitest';
import { flowProblems, onOneLine, planFor, shown } from '../helpers/flow-problems.ts';
import { type FlowOptions, runFlow } from '../helpers/run-flow.ts';

const flow = (options: string) => `nodes: [{ type: geocode, ${options} }]`;

const found = {
  geocode_lat: 33.66094,
  geocode_lon: -95.55551,
  geocode_name: 'Paris',
  geocode_region: 'Texas',
  geocode_country: 'US',
  geocode_level: 'place',
  geocode_doubt: null,
};
const nothing = Object.fromEntries(Object.keys(found).map((field) => [field, null]));

async function run(options: string, records: readonly object[], more: FlowOptions = {}) {
  const result = await runFlow(
    flow(options),
    records.map((record) => ({ ...record })),
    more,
  );
  return { ...result, lookedUp: result.events.filter(({ type }) => type === 'looked-up') };
}

describe('a geocode node with an address and embedded data', () => {
  test('adds the default fields for one credit, and sends nothing', async () => {
    const { rows, credits, requests } = await run('address: "{{a}}"', [{ a: 'Paris, TX' }]);
    expect(rows).toEqual([{ a: 'Paris, TX', ...found }]);
    expect({ credits, requests }).toEqual({ credits: 1, requests: [] });
  });

  test('accepts an address in parts', async () => {
    const address = 'address: { street: "{{street}}", city: "{{city}}", state: TX, postcode: 75460, country: "{{country}}" }';
    const { rows } = await run(`${address}, map: [name, level]`, [{ street: '5 Main St', city: 'Paris', country: 'USA' }]);
    expect(rows).toMatchObject([{ name: 'Paris', level: 'place' }]);
  });

  test('can map any path of the result document', async () => {
    const { rows } = await run('address: "{{a}}", map: { who: "candidates[0].region_code", is: ambiguous }', [{ a: 'Springfield, IL' }]);
    expect(rows).toEqual([{ a: 'Springfield, IL', who: 'IL', is: false }]);
  });

  test('can expand the record into one row for each candidate place', async () => {
    const { rows } = await run('address: Paris, country: [US], map: { state: "candidates[].region_code" }', [{ n: 1 }]);
    expect(rows.map(({ state }) => state)).toEqual(['TX', 'TN', 'KY', 'IL', 'ME']);
  });

  test.each([
    ['"{{a}}"', { a: '  ' }],
    ['"{{a}}, {{b}} {{c}}"', { a: '', b: null, c: '\t' }],
    ['"{{a}}, USA"', { a: '' }],
    ['{ city: "{{a}}", country: USA }', { a: ' ' }],
    ['"{{a}}, {{b}} {{c}}"', { a: 'None', b: 'n/a', c: 'NULL' }],
  ])('looks nothing up, at no cost, if %s is blank for the record', async (address, record) => {
    const { rows, credits, lookedUp } = await run(`address: ${address}`, [record]);
    expect(rows).toEqual([{ ...record, ...nothing }]);
    expect({ credits, lookedUp }).toEqual({ credits: 0, lookedUp: [] });
  });

  test('leaves the fields empty if nothing is found, for one credit', async () => {
    const { rows, failures, credits } = await run('address: "{{a}}"', [{ a: 'Xyzzy, TX' }]);
    expect({ rows, failures, credits }).toEqual({ rows: [{ a: 'Xyzzy, TX', ...nothing }], failures: [], credits: 1 });
  });

  test('fails a record without a match if no_match is "reject"', async () => {
    const { failures } = await run('address: "{{a}}, {{b}}", no_match: reject', [{ a: 'Xyzzy', b: 'TX' }]);
    expect(failures).toMatchObject([{ class: 'answer', message: 'no place fits "Xyzzy, TX"', attempts: 1 }]);
  });

  test('counts ambiguous matches, and reports the name of an ambiguous place', async () => {
    const { lookedUp } = await run('address: "{{a}}"', [{ a: 'Springfield' }, { a: 'Paris' }]);
    expect(lookedUp).toMatchObject([{ lookup: 'geocode', match: true, ambiguous: 'Springfield', sources: ['geonames'] }, { match: true }]);
    expect(lookedUp[1]).not.toHaveProperty('ambiguous');
  });

  test('searches only in the countries that the record names', async () => {
    const { rows } = await run('address: Paris, country: ["{{c}}", "{{d}}"], map: [country_code]', [
      { c: 'us', d: '' },
      { c: ' ', d: '' },
      { c: 'UK', d: 'ca' },
    ]);
    expect(rows.map((row) => row.country_code)).toEqual(['US', 'FR', 'CA']);
  });

  test.each([['United States'], ['USA'], ['Estados Unidos'], ['アメリカ合衆国']])('searches only in the country %s', async (land) => {
    const { rows } = await run('address: Paris, country: "{{land}}", map: [country_code]', [{ land }]);
    expect(rows).toMatchObject([{ country_code: 'US' }]);
  });

  test('searches in all countries if the record has no country', async () => {
    const { rows } = await run('address: Paris, country: "{{land}}", map: [country_code]', [{ land: 'n/a' }]);
    expect(rows).toMatchObject([{ country_code: 'FR' }]);
  });

  test('fails a record at no cost if its country is unknown or its address is too long', async () => {
    const { failures, credits } = await run('address: "{{a}}", country: "{{c}}"', [
      { a: 'Paris', c: 'Narnia' },
      { a: 'x'.repeat(10_240), c: '' },
    ]);
    expect(failures).toMatchObject([
      { class: 'request', message: 'expected a country code such as DE, or a name such as Germany, found "Narnia"' },
      { class: 'request', message: 'expected a text of at most 500 characters, found 10,240 characters' },
    ]);
    expect(credits).toBe(0);
  });
});

describe('a geocode node with a point and embedded data', () => {
  const point = 'point: { lat: "{{lat}}", lon: "{{lon}}" }';

  test('finds the nearest place, and in the USA also the county', async () => {
    const { rows, credits } = await run(`${point}, map: { name: name, city: city, fips: fips.county, county: county, m: distance_m }`, [
      { lat: ' 40.758 ', lon: -73.9855 },
    ]);
    expect(rows).toMatchObject([{ name: "Hell's Kitchen", city: 'New York City', fips: '36061', county: 'New York', m: 898 }]);
    expect(credits).toBe(1);
  });

  test('accepts coordinates as numbers', async () => {
    const { rows } = await run('point: { lat: 48.8584, lon: 2.2945 }, map: [country_code]', [{ n: 1 }]);
    expect(rows).toEqual([{ n: 1, country_code: 'FR' }]);
  });

  test('searches only within max_distance', async () => {
    const options = `${point}, no_match: reject`;
    const { failures } = await run(options, [{ lat: 0, lon: -150 }]);
    expect(failures).toMatchObject([{ class: 'answer', message: 'no place within 100 km of 0, -150' }]);
    expect((await run(`${options}, max_distance: 900km`, [{ lat: 0, lon: -150 }])).failures).toEqual([]);
  });

  test('fails records with invalid coordinates, at no cost', async () => {
    const { rows, failures, credits } = await run(point, [
      { lat: '91', lon: '0' },
      { lat: '52,5', lon: '13,4' },
      { lat: '', lon: '13.4' },
      { lat: '', lon: ' ' },
    ]);
    const latitude = 'expected a latitude from -90 to 90 in decimal degrees';
    expect(failures.map(({ class: kind, message }) => [kind, message])).toEqual([
      ['request', `${latitude}, found "91"`],
      ['request', `${latitude}, with a point and not a comma, found "52,5"`],
      ['request', `${latitude}, found ""`],
    ]);
    expect(rows).toEqual([{ lat: '', lon: ' ', ...nothing }]);
    expect(credits).toBe(0);
  });
});

describe('the check of a geocode node with embedded data', () => {
  test.each([
    ['country: US', '1:9 expected an address or a point'],
    ['address: a, point: { lat: 1, lon: 2 }', '1:9 expected an address or a point, found both'],
    ['address: a, country: XX', '1:47 expected a country code such as DE, or a name such as Germany, found "XX"'],
    ['address: a, country: [US, XX]', '1:52 expected a country code such as DE, or a name such as Germany, found "XX"'],
    ['address: a, provider: google', '1:48 expected embedded, census-us, nominatim or photon, found "google"'],
    ['address: { town: a }', '1:37 unknown key "town"; expected one of street, city, state, postcode, country'],
    ['point: { lat: 1, lon: [2] }', '1:48 expected text with {{field}}, or decimal degrees, found a list'],
    ['point: { lat: 1, lon: 2 }, max_distance: far', '1:67 expected a distance such as 250m, 5km or 2mi, found "far"'],
    ['address: a, max_distance: 5km', '1:52 max_distance works only with point, which finds the nearest place'],
  ])('refuses the options %s', (options, ...problems) => {
    expect(flowProblems(flow(options)).map(onOneLine)).toEqual(problems);
  });

  test('refuses a connection, because no server is used', () => {
    const text = `connections: { own: { type: http, base_url: "https://example.com" } }\n${flow('address: a, connection: own')}`;
    expect(flowProblems(text).map(shown)).toEqual([
      `2:50 provider: embedded uses data on this machine, not a server
nodes: [{ type: geocode, address: a, connection: own }]
                                                 ^^^`,
    ]);
  });

  test('warns about options that have no effect', () => {
    const messages = (options: string) =>
      planFor(flow(options))
        .warnings()
        .map(({ message }) => message);
    expect(messages('address: a, cache: 1d')).toEqual(['provider: embedded uses data on this machine: cache has no effect']);
    expect(messages('address: a')).toEqual([]);
  });
});
