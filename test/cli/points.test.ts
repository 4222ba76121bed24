import { describe, expect, test } from 'vitest';
import { answerOverpass } from '../../examples/servers/overpass.mjs';
import { answeringServer } from '../helpers/answering-server.ts';
import { readCredits, workplace } from '../helpers/cli.ts';
import { features } from '../helpers/map-features.ts';

const overpass = () => answeringServer((request) => answerOverpass(request, features));

async function place() {
  const { origin } = await overpass();
  const made = await workplace();
  await made.automate(['connections', 'add', 'http', 'osm', '--base-url', origin, '--auth', 'none']);
  return { ...made, origin };
}

describe('automate places points', () => {
  const points = ['places', 'points', '--connection', 'osm', '--near', '52.52,13.405'];

  test('prints a table, JSON or GeoJSON, and costs one credit', async () => {
    const { automate } = await place();
    const table = await automate([...points, '--category', 'cafe', '--limit', '3']);
    expect(table.code, table.stderr).toBe(0);
    expect(table.stdout).toMatch(/^name +distance +category +address +id\n/);
    expect(table.stdout).toContain('there are more than 3 points, and nearer points might be missing; --limit shows more');
    expect(table.stdout).toContain('data: © OpenStreetMap contributors');
    const json = JSON.parse((await automate([...points, '--chain', 'starbucks', '--json'])).stdout);
    expect(json.points[0]).toMatchObject({ chain_id: 'Q37158', brand: 'Starbucks' });
    const geo = JSON.parse((await automate([...points, '--category', 'cafe', '--geojson'])).stdout);
    expect(geo).toMatchObject({
      type: 'FeatureCollection',
      attribution: expect.stringContaining('OpenStreetMap'),
      features: expect.arrayContaining([
        expect.objectContaining({ type: 'Feature', geometry: { type: 'Point', coordinates: [expect.any(Number), expect.any(Number)] } }),
      ]),
    });
    expect(JSON.parse((await automate(['credits', '--json'])).stdout)).toMatchObject({ spent: 3 });
  });

  test.each([
    [['--category', 'cafe', '--near', '0,0'], 4, 'no point of the category "cafe" within 1 km of 0,0'],
    [['--chain', 'Smith & Sons Plumbing'], 4, 'no chain is called "Smith & Sons Plumbing"'],
    [['--category', 'xyzzy'], 2, 'no category is called "xyzzy"'],
    [['--category', 'cafe', '--near', '52,5'], 4, ''],
    [['--category', 'cafe', '--near', '91,5'], 2, 'expected a latitude'],
    [['--category', 'cafe', '--radius', '80km'], 2, 'at most 50km|1m to 50km'],
    [[], 2, 'needs category, chain or both'],
  ])('exits with a clear message if the arguments are %s', async (args, code, message) => {
    const { automate } = await place();
    const result = await automate([...points, ...args]);
    expect([result.code, result.stdout]).toEqual([code, '']);
    expect(result.stderr).toMatch(new RegExp(message));
  });
});

test('a run that looks up points counts truncated results in its summary', async () => {
  const { origin } = await overpass();
  const { write, read, automate } = await workplace();
  await write(
    'flow.yaml',
    `connections: { osm: { type: http, base_url: "${origin}" } }
nodes: [{ type: places, lookup: points, connection: osm, category: cafe, limit: 2, near: { lat: "{{lat}}", lon: "{{lon}}", radius: 500m } }]`,
  );
  await write('rows.csv', 'lat,lon\n52.52,13.405\n0,0\n');
  const { stderr, code } = await automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--summary', 'sum.json']);
  expect(code).toBe(0);
  expect(stderr).toContain('points: matched 1 of 2');
  expect(stderr).toContain(
    '  points cut off at 2: 1 record\n    for some of them, the nearest point is not known; raise limit, or search a smaller radius\n',
  );
  expect(JSON.parse(await read('sum.json')).lookups).toMatchObject([{ cut_off: 1, cut_off_at: 2, nearest_unknown: 1 }]);
  expect(await read('out.csv')).toContain('\n52.52,13.405,2,,,,,\n');
  expect(stderr).toContain('data: © OpenStreetMap contributors, ODbL 1.0');
});

test('a run over more than 1,000 records warns if it looks up points on the public server', async () => {
  const { origin } = await overpass();
  const { write, automate } = await workplace();
  const flow = (more: string) =>
    `connections: { osm: { type: http, base_url: "${origin}" } }
nodes: [{ type: places, lookup: points, ${more} category: cafe, near: { lat: "{{lat}}", lon: "{{lon}}", radius: 500m } }]`;
  await write('public.yaml', flow(''));
  await write('own.yaml', flow('connection: osm,'));
  // Nothing is sent, because no record contains coordinates.
  await write('rows.csv', `lat,lon\n${',\n'.repeat(1001)}`);
  const saidBy = async (name: string) => (await automate(['run', name, '--in', 'rows.csv', '--out', `${name}.csv`])).stderr;
  expect((await saidBy('public.yaml')).match(/more than 1,000 records might be sent to the public Overpass server/g)).toHaveLength(1);
  expect(await saidBy('own.yaml')).not.toContain('public');
});

describe("the request for a chain's points", () => {
  const flow = (origin: string) => `connections: { osm: { type: http, base_url: "${origin}" } }
nodes: [{ type: places, lookup: points, connection: osm, chain: "{{chain}}", near: { lat: 52.52, lon: 13.405, radius: 500m } }]`;
  const sent = '["brand:wikidata"="Q38076"]';

  async function asked(...args: string[]) {
    const server = await overpass();
    const here = await workplace({ 'flow.yaml': flow(server.origin), 'rows.csv': 'chain\nMc Donalds\nqqqzzz\n' });
    const [command = '', ...more] = args;
    const result = await here.automate([command, 'flow.yaml', '--in', 'rows.csv', ...more]);
    return { ...result, requests: server.requests.length, spent: (await readCredits(here)).spent };
  }

  test.each([
    [['test-request'], 1],
    [['test-request', '--curl'], 0],
    [['test-request', '--no-send'], 0],
    [['run', '--out', 'out.csv', '--dry-run'], 0],
  ])('is shown by %j exactly as a run sends it', async (args, requests) => {
    const result = await asked(...args);
    expect([result.code, result.requests, result.spent]).toEqual([0, requests, requests]);
    expect(decodeURIComponent(result.stdout)).toContain(sent);
    expect(result.stdout).not.toContain('Donalds');
  });

  test("is not sent if no chain has the record's name", async () => {
    const preview = await asked('test-request', '--record', '2');
    expect(preview).toMatchObject({ code: 0, stdout: '', requests: 0, spent: 0 });
    expect(preview.stderr).toContain('a run sends no request for this record: no chain is called "qqqzzz"\n');
    expect((await asked('run', '--out', 'out.csv', '--dry-run')).stdout).toMatch(/^actions: +1\n/m);
  });
});

test('a test request for points costs nothing if the daily limit refuses it', async () => {
  const here = await workplace({
    'flow.yaml': 'nodes: [{ type: places, lookup: points, category: cafe, near: { lat: 52.52, lon: 13.405, radius: 500m } }]',
  });
  await here.automate(['credits', 'limit', '100']);
  const day = new Date().toISOString().slice(0, 10);
  await here.write('.automate/public-servers.json', JSON.stringify({ day, counts: { Overpass: 10_000 } }));
  const { code, stderr } = await here.automate(['test-request', 'flow.yaml']);
  expect([code, stderr]).toEqual([5, expect.stringContaining('the public Overpass server accepts 10,000 requests a day')]);
  expect((await readCredits(here)).spent).toBe(0);
});
