import { describe, expect, test } from 'vitest';
import type { Request } from '../../examples/servers/answers.mjs';
import { addressesOf, answerGeocoder, answerLine } from '../../examples/servers/geocoder.mjs';
import { answerNominatim, answerPhoton } from '../../examples/servers/openstreetmap.mjs';
import { answeringServer, type ServerAnswer } from '../helpers/answering-server.ts';
import { readCredits, workplace } from '../helpers/cli.ts';

const rows = 'street,city,zip\n100 Main St,Chicago,60614\n1 Nowhere Rd,Chicago,60614\n5 Main St,,60605\n';
const parts = 'address: { street: "{{street}}", city: "{{city}}", state: IL, postcode: "{{zip}}" }';

const answers = { 'census-us': answerGeocoder, nominatim: answerNominatim, photon: answerPhoton };

type Provider = keyof typeof answers;

/** Provides a response in place of the provider's usual one. */
type Other = (request: Request, index: number) => ServerAnswer | undefined;

/** Starts a server on loopback that responds like the provider. */
function geocodeServer(provider: Provider, other?: Other) {
  return answeringServer((request, index) => other?.(request, index) ?? answers[provider](request));
}

/** Creates a workplace with a flow that geocodes with a server on loopback. */
async function placeOf(provider: Provider, options: string, other?: Other) {
  const server = await geocodeServer(provider, other);
  const place = await workplace({
    'flow.yaml': `connections: { own: { type: http, base_url: "${server.origin}" } }\nnodes: [{ type: geocode, provider: ${provider}, connection: own, ${options} }]\n`,
    'rows.csv': rows,
  });
  return { server, ...place };
}

const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'];

describe('a run that geocodes with the server of a connection', () => {
  test('sends one request for a batch, and shows matches and the data source (census-us)', async () => {
    const { server, automate, read } = await placeOf('census-us', `${parts}, batch: 1000, geographies: true`);
    const { code, stderr } = await automate([...run, '--summary', 'summary.json']);
    expect({ code, requests: server.requests.length }).toEqual({ code: 0, requests: 1 });
    expect(
      await read('out.csv'),
    ).toBe(`street,city,zip,geocode_lat,geocode_lon,geocode_name,geocode_region,geocode_country,geocode_level,geocode_doubt,fips_county,fips_tract,fips_block
100 Main St,Chicago,60614,41.9,-87.6,"100 MAIN ST, CHICAGO, IL, 60600",Illinois,US,house,,17031,17031839100,170318391001100
1 Nowhere Rd,Chicago,60614,,,,,,,,,,
5 Main St,,60605,,,,,,,ambiguous,,,
`);
    expect(stderr).toContain('\n  geocode: matched 1 of 3, ambiguous: 1, such as "5 Main St, IL, 60605"\n');
    expect(stderr).toMatch(/\n {2}data: This product uses the Census Bureau Data API .*\n$/);
    expect(JSON.parse(await read('summary.json'))).toMatchObject({
      lookups: [{ lookup: 'geocode', matched: 1, of: 3, ambiguous: 1 }],
      attributions: [{ source: 'census-bureau' }],
    });
  });

  test('recovers from a failure, an incomplete response and a truncated response (census-us)', async () => {
    const short = (asked: Request, index: number): ServerAnswer | undefined => {
      const lines = (addressesOf(asked) ?? []).map((row) => answerLine(row, 'locations'));
      return [{ status: 504, body: 'gateway timeout' }, { body: lines[0] ?? '' }, { body: lines.join('').slice(0, -9) }][index];
    };
    const { server, automate } = await placeOf('census-us', `${parts}, batch: 1000, retry: { backoff: 1ms }`, short);
    const { code, stderr } = await automate(run);
    expect(stderr).toContain('done: 3 read, 3 written, 0 failed');
    expect(server.requests.map((request) => addressesOf(request)?.map(([number]) => number))).toEqual([
      ['1', '2', '3'],
      ['1', '2', '3'],
      ['2', '3'],
      ['3'],
    ]);
    expect(code).toBe(0);
  });

  test('names OpenStreetMap as the source, and caches responses for the next run (nominatim)', async () => {
    const { server, automate, read } = await placeOf(
      'nominatim',
      'address: "{{street}}, {{city}}", cache: 1d, map: { level: level, town: city }',
    );
    const { code, stderr } = await automate(run);
    expect(code).toBe(0);
    expect(stderr).toContain('\n  data: © OpenStreetMap contributors, ODbL 1.0, https://www.openstreetmap.org/copyright\n');
    expect((await read('out.csv')).split('\n')[1]).toBe('100 Main St,Chicago,60614,house,Chicago');
    expect((await automate([...run, '--force'])).code).toBe(0);
    expect(server.requests).toHaveLength(3);
  });

  test('does not cache an HTML page that the server sends with status 200 (photon)', async () => {
    const { server, automate, read } = await placeOf('photon', 'address: "{{street}}", cache: 1d', (_, index) =>
      index < 3 ? { body: '<html>down</html>', headers: { 'content-type': 'text/html' } } : undefined,
    );
    expect((await automate(run)).code).toBe(4);
    expect(await read('out.errors.csv')).toContain('expected JSON, found text/html: <html>down</html>');
    expect((await automate([...run, '--force'])).code).toBe(0);
    expect(server.requests).toHaveLength(6);
  });
});

describe('a flow that geocodes with a server', () => {
  test('can be tried with test-request, which sends a batch of one record', async () => {
    const { automate, server } = await placeOf('census-us', `${parts}, batch: 1000`);
    const { code, stdout } = await automate(['test-request', 'flow.yaml', '--in', 'rows.csv']);
    expect(code).toBe(0);
    expect(stdout).toContain('/geocoder/locations/addressbatch\n');
    expect(stdout).toContain('"1","100 Main St","Chicago","IL","60614"');
    expect(stdout).toMatch(/\nname +string +"100 MAIN ST, CHICAGO, IL, 60600"\n/);
    expect(server.requests).toHaveLength(1);
  });

  test('is planned with one credit for each batch in a dry run', async () => {
    const { automate, server } = await placeOf('census-us', `${parts}, batch: 2`);
    const { code, stdout, stderr } = await automate(['run', 'flow.yaml', '--in', 'rows.csv', '--dry-run']);
    expect(code).toBe(0);
    expect(stdout + stderr).toContain('credits:   2 at least, 2 expected');
    expect(server.requests).toHaveLength(0);
  });

  test('is valid, and `automate nodes` explains its options', async () => {
    const { automate } = await placeOf('photon', 'point: { lat: 1, lon: 2 }');
    expect((await automate(['validate', 'flow.yaml'])).code).toBe(0);
    const { stdout } = await automate(['nodes', 'geocode']);
    for (const option of ['geographies', 'batch', 'benchmark', 'vintage']) expect(stdout).toContain(option);
  });

  test('fails a record with coordinates that are out of range, and sends no request for it', async () => {
    const here = await placeOf('nominatim', 'point: { lat: "{{zip}}", lon: "{{street}}" }');
    const { code } = await here.automate(run);
    expect({ code, requests: here.server.requests }).toEqual({ code: 4, requests: [] });
    expect(await readCredits(here)).toMatchObject({ spent: 0 });
  });
});

describe('automate geocode --provider', () => {
  /** Creates a workplace with a saved connection to a server. */
  async function connected(origin: string) {
    const place = await workplace();
    await place.automate(['connections', 'add', 'http', 'own', '--base-url', origin, '--auth', 'none']);
    return place;
  }

  test("sends one request to the connection's server, and costs one credit", async () => {
    const here = await connected((await geocodeServer('census-us')).origin);
    const { code, stdout } = await here.automate(['geocode', '100 Main St, Chicago', '--provider', 'census-us', '--connection', 'own']);
    expect(code).toBe(0);
    expect(stdout).toBe(`house        100 MAIN ST, CHICAGO, IL, 60600
part of      CHICAGO
region       Illinois (IL)
country      United States of America (US)
coordinates  41.9, -87.6

data: This product uses the Census Bureau Data API but is not endorsed or certified by the Census Bureau.
`);
    expect(await readCredits(here)).toMatchObject({ spent: 1 });
  });

  test.each([
    ['nominatim', ['--point', '41.9,-87.6']],
    ['photon', ['100 Main St, Chicago', '--country', 'us']],
  ] as const)('prints the result of %s as JSON with --json', async (provider, words) => {
    const here = await connected((await geocodeServer(provider)).origin);
    const { stdout } = await here.automate(['geocode', ...words, '--provider', provider, '--connection', 'own', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ match: true, level: 'house', housenumber: '100', region: 'Illinois', country_code: 'US' });
  });

  test('exits with 4 if nothing is found or the server refuses the request', async () => {
    const here = await connected(
      (await geocodeServer('photon', (_, index) => (index === 0 ? undefined : { status: 400, body: 'no' }))).origin,
    );
    const asked = ['geocode', '1 Nowhere Rd', '--provider', 'photon', '--connection', 'own'];
    expect(await here.automate(asked)).toMatchObject({ code: 4, stdout: '', stderr: 'no place fits "1 Nowhere Rd"\n' });
    expect(await here.automate(asked)).toMatchObject({ code: 4, stdout: '', stderr: 'failed: http: the server answered 400: no\n' });
  });

  test.each([
    [['--provider', 'google'], 2, 'expected embedded, census-us, nominatim or photon, found "google"'],
    [['--connection', 'own'], 2, 'provider: embedded uses data on this machine, not a server'],
    [['--provider', 'photon', '--connection', 'other'], 7, 'no connection "other"; available: own'],
    [['--provider', 'census-us', '--country', 'DE'], 2, 'census-us only has addresses in the USA'],
  ])('refuses the arguments %j with exit code %i, without spending credits', async (words, exitCode, message) => {
    const server = await geocodeServer('photon');
    const here = await connected(server.origin);
    const { code, stderr } = await here.automate(['geocode', 'Paris', ...words]);
    expect({ code, requests: server.requests.length }).toEqual({ code: exitCode, requests: 0 });
    expect(stderr).toContain(`automate: ${message}`);
  });
});
