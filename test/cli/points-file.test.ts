import { utimes } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { readCredits, workplace } from '../helpers/cli.ts';
import { hasTerminal, shell, unlessTerminal } from '../helpers/shell.ts';

const feature = (id: string, lon: number, name: string, more: object = {}) =>
  JSON.stringify({
    type: 'Feature',
    id,
    geometry: { type: 'Point', coordinates: [lon, 52.52] },
    properties: { amenity: 'cafe', name, ...more },
  });
const berlin = `${[feature('n1', 13.405, 'Eins'), feature('n2', 13.406, 'Zwei', { 'brand:wikidata': 'Q37158' }), feature('n3', 13.5, 'Drei')].join('\n')}\n`;
const flow = (options: string) => `nodes: [{ type: places, lookup: points, source: file, ${options} }]\n`;
const near = 'near: { lat: "{{lat}}", lon: "{{lon}}", radius: 500m }';
const rows = 'lat,lon\n52.52,13.405\n0,0\n';
const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'];

async function placeWith(options: string, file: string | undefined = berlin) {
  return workplace({ 'flow.yaml': flow(options), 'rows.csv': rows, ...(file !== undefined && { 'berlin.geojsonseq': file }) });
}

describe('a places node with source: file', () => {
  test('finds points without sending a request', async () => {
    const place = await placeWith(`file: berlin.geojsonseq, category: cafe, ${near}`);
    const { code, stderr } = await place.automate(run);
    expect([code, stderr]).toEqual([0, expect.stringContaining('data: © OpenStreetMap contributors')]);
    expect(await place.read('out.csv')).toBe(
      'lat,lon,points_count,nearest_name,nearest_id,nearest_lat,nearest_lon,nearest_distance_m\n52.52,13.405,2,Eins,node/1,52.52,13.405,0\n0,0,0,,,,,\n',
    );
  });

  test('finds the nearest point even if there are more points than it lists', async () => {
    const place = await placeWith(`file: berlin.geojsonseq, category: cafe, limit: 1, ${near}`);
    await place.write('rows.csv', 'lat,lon\n52.52,13.4059\n');
    const { stderr } = await place.automate(run);
    expect(stderr).toMatch(/^ {2}points cut off at 1: 1 record\n {2}output/m);
    expect(await place.read('out.csv')).toContain('\n52.52,13.4059,1,Zwei,node/2,52.52,13.406,7\n');
    const points = ['places', 'points', '--near', '52.52,13.4059', '--category', 'cafe', '--file', 'berlin.geojsonseq', '--limit', '1'];
    expect((await place.automate(points)).stdout).toContain('there are more than 1 point; --limit shows more');
  });

  test.each([
    ['a chain by its name', 'chain: starbucks', '1'],
    ['a chain by its id', 'chain: q37158', '1'],
    ['a category and a chain', 'category: cafe, chain: Starbucks', '1'],
    ['a name that no chain has', 'chain: Qwertz Uiopasd', ''],
    ['several categories', 'category: [pharmacy, cafe]', '3'],
  ])('finds, within a box, %s', async (_, options, count) => {
    const place = await placeWith(`file: berlin.geojsonseq, ${options}, area: { bbox: [52, 13, 53, 14] }`);
    expect((await place.automate([...run, '--limit', '1'])).code).toBe(0);
    expect(await place.read('out.csv')).toBe(`lat,lon,points_count\n52.52,13.405,${count}\n`);
  });

  test.each([
    ['missing', undefined, 'berlin.geojsonseq: expected a file, found none with this name'],
    ['broken', `${feature('n1', 1, 'a')}\n{"type":"Feat`, 'berlin.geojsonseq:2:14: expected a closing quote, found the end of the file'],
  ])('exits with 6 before the run starts if the file is %s', async (_, file, message) => {
    const place = await workplace({
      'flow.yaml': flow(`file: berlin.geojsonseq, category: cafe, ${near}`),
      'rows.csv': rows,
      ...(file !== undefined && { 'berlin.geojsonseq': file }),
    });
    const before = await place.files();
    for (const more of [[], ['--dry-run']]) {
      const { code, stderr } = await place.automate([...run, ...more]);
      expect([code, stderr]).toEqual([6, expect.stringContaining(message)]);
    }
    expect(await place.files()).toEqual(before);
  });

  test.each([
    ['in projected coordinates', '[1490000, 6890000]', '[1490000,6890000]'],
    ['at degrees that do not exist', '[500, 100]', '[500,100]'],
    ['with text instead of coordinates', '["a", 1]', '["a",1]'],
  ])('exits with 6 before the run starts if the file has a point %s', async (_, coordinates, found) => {
    const place = await placeWith(
      `file: berlin.geojsonseq, category: cafe, ${near}`,
      `${berlin}${feature('n4', 13, 'x').replace('[13,52.52]', coordinates)}\n`,
    );
    const { code, stderr } = await place.automate(run);
    const message = `berlin.geojsonseq:4: expected a longitude from -180 to 180 and a latitude from -90 to 90, found ${found}\n`;
    expect([code, stderr]).toEqual([6, expect.stringContaining(message)]);
    expect(await place.files()).not.toContain('out.csv');
  });

  test('computes the centres of areas without rounding noise', async () => {
    const corners = '{"type":"LineString","coordinates":[[13.4,52.5199999],[13.41,52.5200001]]}';
    const line = feature('w4', 13.5, 'Vier').replace(/\{"type":"Point".*?\}/, corners);
    const place = await placeWith(`file: berlin.geojsonseq, category: cafe, ${near}`, `${line}\n`);
    await place.automate([...run, '--limit', '1']);
    expect(await place.read('out.csv')).toContain(',Vier,way/4,52.52,13.405,0\n');
  });

  test('cannot be resumed if the file has changed', async () => {
    const place = await placeWith(`file: berlin.geojsonseq, category: cafe, ${near}`);
    expect((await place.automate([...run, '--max-credits', '1'])).code).toBe(5);
    await utimes(place.path('berlin.geojsonseq'), 1, 1);
    const { code, stderr } = await place.automate([...run, '--resume']);
    expect([code, stderr]).toEqual([73, expect.stringContaining('the data file berlin.geojsonseq was ')]);
  });

  test.each([
    ['category: cafe, near: { lat: 1, lon: 1, radius: 1km }', 'source: file needs the option "file"'],
    ['file: a.geojson, category: cafe, area: { country: DE }', 'with source: file, the area must be a bbox'],
    ['file: a.geojson, category: cafe, near: { lat: 1, lon: 1, radius: 1km }, connection: x', 'not a server'],
  ])('refuses the options %s', async (options, message) => {
    const place = await placeWith(options);
    const { code, stdout, stderr } = await place.automate(['validate', 'flow.yaml']);
    expect([code, stdout + stderr]).toEqual([3, expect.stringContaining(message)]);
  });

  test('looks up nothing, and spends no credits, if the chain is unknown', async () => {
    const place = await placeWith(`file: berlin.geojsonseq, chain: "{{chain}}", ${near}`);
    await place.write('rows.csv', 'lat,lon,chain\n52.52,13.405,qqqzzz\n52.52,13.405,Star bucks\n');
    const dry = await place.automate([...run, '--dry-run']);
    expect(dry.stdout).toMatch(/^actions: +1\ncredits: +1\nrequests: +the first one\n/m);
    expect(dry.stdout).toContain('chain: {"brand:wikidata":"Q37158"}');
    const { stderr } = await place.automate(run);
    expect(stderr.match(/data: \S+/g)).toEqual(['data: name-suggestion-index,', 'data: ©']);
    expect((await readCredits(place)).spent).toBe(1);
    const points = ['places', 'points', '--near', '52.52,13.405', '--file', 'berlin.geojsonseq', '--chain', 'qqqzzz'];
    expect((await place.automate(points)).code).toBe(4);
    const preview = await place.automate(['test-request', 'flow.yaml', '--in', 'rows.csv']);
    expect([preview.code, preview.stderr]).toEqual([0, 'a run sends no request for this record: no chain is called "qqqzzz"\n']);
    expect((await readCredits(place)).spent).toBe(1);
  });

  test('makes test-request show the name of the file, even with --curl', async () => {
    const place = await placeWith(`file: berlin.geojsonseq, category: cafe, ${near}`);
    const args = ['test-request', 'flow.yaml', '--in', 'rows.csv'];
    expect((await place.automate(args)).stdout).toMatch(/^a file\nlookup: points\nfile: berlin\.geojsonseq\n/);
    const { code, stderr } = await place.automate([...args, '--curl']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('is answered by the file berlin.geojsonseq, and sends nothing')]);
  });

  test('causes only a warning in validate if the file is missing', async () => {
    const place = await workplace({ 'flow.yaml': flow(`file: berlin.geojsonseq, category: cafe, ${near}`) });
    const { code, stderr } = await place.automate(['validate', 'flow.yaml']);
    expect([code, stderr]).toEqual([0, 'warning: berlin.geojsonseq: expected a file, found none with this name\n']);
  });

  test('can be tried with automate places points --file', async () => {
    const place = await workplace({ 'b.geojsonseq': berlin });
    const args = ['places', 'points', '--near', '52.52,13.405', '--category', 'cafe', '--file', 'b.geojsonseq'];
    const { code, stdout } = await place.automate([...args, '--json']);
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { count: 2, points: [{ id: 'node/1' }, { id: 'node/2', distance_m: 68 }] }]);
  });
});

test('the `file` option is refused unless `source` is "file"', async () => {
  const place = await workplace({
    'flow.yaml': 'nodes: [{ type: places, lookup: points, file: a.json, category: cafe, near: { lat: 1, lon: 1, radius: 1km } }]',
  });
  const { code, stderr } = await place.automate(['validate', 'flow.yaml']);
  expect([code, stderr]).toEqual([3, expect.stringContaining('file needs source: file')]);
});

describe.skipIf(!hasTerminal)(`a table of places${unlessTerminal}`, () => {
  const points = 'places points --near 52.52,13.405 --category cafe --file b.geojsonseq';
  const long = feature('n123456789012', 13.405, 'A name of fifty-five letters that no terminal has a line for', { 'addr:city': 'Berlin' });

  test('fits into a terminal of 60 columns without shortening ids', async () => {
    const columns = 60;
    const place = await workplace({ 'b.geojsonseq': `${long}\n` });
    for (const command of [points, 'places categories coffee shop', 'places chains target']) {
      const { stdout } = await shell(place, `script -qec 'stty cols ${columns}; node "$AUTOMATE" ${command}' /dev/null`);
      const lines = stdout
        .trimEnd()
        .split(/\r?\n/)
        .filter((line) => !line.startsWith('data:'));
      expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(columns);
      expect(stdout).toMatch(/node\/123456789012|amenity\/cafe\/coffee_shop {2}|Q1046951/);
      if (command === points) expect(stdout).toMatch(/… +0 m/);
    }
  });

  test('is not shortened if the output is a pipe', async () => {
    const place = await workplace({ 'b.geojsonseq': `${long}\n` });
    expect((await place.automate(points.split(' '))).stdout).toContain('that no terminal has a line for  0 m');
  });
});
