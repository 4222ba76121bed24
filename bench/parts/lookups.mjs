import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { measure } from '../child.mjs';
import { automateEnv, binary } from '../contestants.mjs';
import { figure, median, printTable } from '../table.mjs';

const rounds = 3;

const scriptName = 'script: nearest place, country';

/** The towns around which the random points lie. */
const towns = [
  { name: 'Berlin', country: 'Germany', lat: 52.52, lon: 13.4 },
  { name: 'Paris', country: 'France', lat: 48.85, lon: 2.35 },
  { name: 'New York', country: 'NY', lat: 40.71, lon: -74.01 },
  { name: 'Los Angeles', country: 'CA 90012, USA', lat: 34.05, lon: -118.24 },
  { name: 'São Paulo', country: 'Brasil', lat: -23.55, lon: -46.64 },
  { name: 'München', country: 'Deutschland', lat: 48.14, lon: 11.58 },
  { name: 'London', country: 'UK', lat: 51.51, lon: -0.13 },
  { name: 'Mumbai', country: 'India', lat: 19.07, lon: 72.88 },
];

/** Maximum distance in degrees between a town and a point near it. */
const spread = 2;

/** Flows that each add six fields to a record. */
const flows = {
  set: '{ type: set, fields: { a: "{{id}}", b: "{{lat}}", c: "{{lon}}", d: "{{address}}", e: here, f: there } }',
  'places, a chain': '{ type: places, lookup: chain, name: "{{company}}" }',
  'places, a category': '{ type: places, lookup: category, words: "{{kind}}" }',
  'geocode, a point': '{ type: geocode, point: { lat: "{{lat}}", lon: "{{lon}}" } }',
  'geocode, an address': '{ type: geocode, address: "{{address}}" }',
};

/** A script that uses the packages from which the data for `geocode` is built, and whether these packages are installed. */
const script = fileURLToPath(new URL('../peers/nearest-script.mjs', import.meta.url));
const hasPackages = existsSync(new URL('../../.config/data/node_modules', import.meta.url));

/** Company names as people write them, and words for kinds of places. */
const companies = [
  "MCDONALD'S #",
  'Starbuks ',
  'REWE Markt GmbH ',
  'Wal-Mart Supercenter ',
  "Joe's Diner ",
  'Acme Widgets Ltd ',
  '7 eleven ',
  'Carrefour City ',
];
const kinds = ['coffee shop', 'Apotheke', 'supermarché', 'gas station', 'ferretería', 'Bäckerei', 'pharmacies', 'hotel'];

/** Measures records per second and memory of lookups in embedded data, and compares them with a flow that only sets fields. */
export async function lookups({ node, folder, quick, withAutomate }) {
  if (!withAutomate) return console.log('\nLookups: left out, automate cannot run');
  if (!hasPackages) console.log(`\n${scriptName}: left out, "npm run data" installs its packages`);
  const records = quick ? 50_000 : 200_000;
  const [input, output, flow] = [`${folder}/lookups.csv`, `${folder}/lookups.out.csv`, `${folder}/lookups.yaml`];
  writeFileSync(input, pointsText(records));
  const measured = Object.fromEntries([...Object.keys(flows), ...(hasPackages ? [scriptName] : [])].map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, step] of Object.entries(flows)) {
      writeFileSync(flow, `nodes: [${step}]\n`);
      measured[name].push(
        await measure([node, binary, 'run', flow, '--in', input, '--out', output, '--quiet'], { env: automateEnv(folder) }),
      );
      rmSync(output);
    }
    if (!hasPackages) continue;
    measured[scriptName].push(await measure([node, script, input, output]));
    rmSync(output);
  }
  const middle = (all, figureOf) => median(all.map(figureOf));
  const results = Object.entries(measured).map(([name, all]) => ({
    name,
    perSecond: records / middle(all, ({ seconds }) => seconds),
    cpuUs: (middle(all, ({ cpuSeconds }) => cpuSeconds) * 1e6) / records,
    peakMb: middle(all, ({ peakMb }) => peakMb),
  }));
  print(results, records);
  return { records, rounds, results };
}

/** Returns CSV text with random points and addresses, which are the same in every run. */
function pointsText(records) {
  let seed = 1;
  const random = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed / 2 ** 31;
  };
  const lines = Array.from({ length: records }, (_, id) => {
    const { name, country, lat, lon } = towns[id % towns.length];
    const near = (degrees) => (degrees + spread * (2 * random() - 1)).toFixed(5);
    const [company, kind] = [companies[id % companies.length] + (id % 5000), kinds[id % kinds.length]];
    return `${id},${near(lat)},${near(lon)},"${id % 200} Main Street, ${name}, ${country}",${company},${kind}\n`;
  });
  return `id,lat,lon,address,company,kind\n${lines.join('')}`;
}

function print(results, records) {
  const [{ perSecond: basis, peakMb: basisMb }] = results;
  printTable(
    `Lookups in embedded data: ${figure(records)} records, median of ${rounds} runs in turns`,
    ['', 'records/s', 'x', 'CPU us each', 'peak MB', 'more MB'],
    results.map(({ name, perSecond, cpuUs, peakMb }) => [
      name,
      figure(perSecond),
      figure(perSecond / basis, 2),
      figure(cpuUs, 1),
      figure(peakMb),
      figure(peakMb === undefined ? undefined : peakMb - basisMb),
    ]),
  );
}
