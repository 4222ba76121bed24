import { editDistance } from '../../../../core/text/suggest.ts';
import { placeKey } from '../../../country-names.ts';
import type { Names } from '../names.ts';
import type { PlaceTable, Region } from '../places.ts';
import { isEastAsian, type Segment, type Word } from './address-text.ts';
import { keyOf } from './readings.ts';
import { type Hit, hitsOf, type PlaceSearch } from './search.ts';
import { plainWords, streetArticles } from './street-words.ts';

/** Uses the last segment with the name of any place. The segments before it are streets and houses. */
export function townsIn(search: PlaceSearch): Hit[] {
  const segments = search.reading.rest.toReversed();
  const last = lastNamed(search, segments);
  if (last) return isUnsupported(search) ? compared(last.hits, last.before, search) : last.hits;
  for (const segment of segments) {
    const hits = segment.words.some(({ key }) => isEastAsian(key)) ? unspacedHits(search, segment.words.flatMap(unspacedNames)) : [];
    if (hits.length > 0) return hits;
  }
  const open = segments.find(({ town }) => town.length > 0);
  return open ? partHits(search, open) : [];
}

/** Returns true if the address contains no country, region or number. Nothing then shows which segment is the place. */
function isUnsupported({ reading, hasNumbers }: PlaceSearch): boolean {
  return reading.used === 0 && !hasNumbers && !reading.isCity;
}

/** The segments begin at the end of the address, so `before` contains the earlier segments. */
function lastNamed(search: PlaceSearch, segments: readonly Segment[]) {
  for (const [index, segment] of segments.entries()) {
    const hits = wholeHits(search, segment);
    if (hits.length > 0) return { hits, before: segments.slice(index + 1) };
  }
  return undefined;
}

function wholeHits(search: PlaceSearch, { words, town, hasHouse }: Segment): Hit[] {
  // `5 London Road` is not a place, but `Federal Way` is a town.
  const whole = hasHouse ? [] : hitsOf(search, words, true);
  if (whole.length > 0) return whole;
  const inTown = town.length > 0 && town.length < words.length ? hitsOf(search, town, true) : [];
  if (inTown.length > 0) return inTown;
  const spelled = spelledHits(search, town);
  if (spelled.length > 0) return spelled;
  const plain = withoutPlain(town);
  return plain.length > 0 && plain.length < town.length ? hitsOf(search, plain, true) : [];
}

/** Removes words such as `Greater` or `Cedex` at both ends. Also removes a single letter for a district, as in `København K`. */
function withoutPlain(words: readonly Word[]): readonly Word[] {
  const isPlain = (word: Word | undefined) => word !== undefined && (plainWords.has(word.key) || word.key.length === 1);
  let [start, end] = [0, words.length];
  while (isPlain(words[start])) start++;
  while (end > start && isPlain(words[end - 1])) end--;
  return words.slice(start, end);
}

/** A place in an earlier segment is preferred if a place in the last segment has at most this share of its inhabitants. */
const rivalShare = 0.1;

/** Prefers far larger places in an earlier segment and another region: `Barcelona, Cat` does not mean Çat in Turkey. */
function compared(last: Hit[], before: readonly Segment[], search: PlaceSearch): Hit[] {
  const earlier = lastNamed(search, before)?.hits ?? [];
  if (earlier.length === 0) return last;
  const { places } = search;
  const weightOf = (hits: readonly Hit[]) =>
    Math.max(...hits.map(({ place, isOwnName }) => places.population(place) * (isOwnName ? 1 : rivalShare)));
  const largest = last.find((hit) => weightOf([hit]) === weightOf(last));
  if (!largest || earlier.some(({ place }) => places.region(place) === places.region(largest.place))) return last;
  const ratio = weightOf(earlier) / weightOf(last);
  return ratio >= 1 / rivalShare ? earlier : last;
}

/** Maximum pieces in one name. For example, 四日市市 is cut into two pieces, because it contains 市 (city) twice. */
const longestCut = 3;

/** Matches the endings of Korean names that mean special city, metropolitan city, province, city, county or district. */
const koreanEnd = /(?<=..)(?:특별시|광역시|특별자치시|특별자치도|도|시|군|구)$/;

/** Cuts text without spaces after the name of a country, and after characters that mean province, town or district. */
function unspacedNames(word: Word): Word[] {
  const korean = word.key.normalize('NFC').replace(koreanEnd, '');
  if (/\p{Script=Hangul}/u.test(word.key)) return [{ ...word, key: korean }];
  const parts = word.key.match(/^(?:日本|中国|中國)|.+?(?:[都道府県县縣市区區町村省]|$)/gu) ?? [];
  let start = word.start;
  return parts.map((key) => {
    const part = { key, start, end: Math.min(word.end, start + key.length) };
    start = part.end;
    return part;
  });
}

/** Uses the first name in the data, or a later name in the same region, because it is more precise. */
function unspacedHits(search: PlaceSearch, names: readonly Word[]): Hit[] {
  const { places } = search;
  for (let start = 0; start < names.length; start++) {
    for (let end = Math.min(names.length, start + longestCut); end > start; end--) {
      const words = names.slice(start, end);
      const hits = hitsOf(search, words, true, words.map(({ key }) => key).join(''));
      if (hits.length === 0) continue;
      const isNear = (finer: Hit) => hits.some(({ place }) => places.region(place) === places.region(finer.place));
      const finer = unspacedHits(search, names.slice(end)).filter(isNear);
      return finer.length > 0 ? finer : hits;
    }
  }
  return [];
}

/** Returns the places whose name is abbreviated in the segment, as in `Freiburg i. Br.`, `Pt. Elizabeth` and `NYC`. */
function spelledHits(search: PlaceSearch, words: readonly Word[]): Hit[] {
  return spellings(
    words.map(({ key }) => key),
    search.names,
  ).flatMap((key) => hitsOf(search, words, true, key));
}

/** Returns the places whose name is at the end or beginning of a segment, as in `Hauptstraße Berlin` and `Berlin Mitte`. */
function partHits(search: PlaceSearch, { words, town, hasStreet }: Segment): Hit[] {
  const all = town.length > 0 ? town : words;
  for (let count = all.length - 1; count > 0; count--) {
    const before = all.slice(0, -count);
    if (before.every(({ key }) => streetArticles.has(key)) && hasStreet) continue;
    const hits = [...hitsOf(search, all.slice(-count), false), ...firstHits(search, all, count)];
    if (hits.length > 0) return hits;
  }
  return [];
}

/** The words after the name must be a part of the place. */
function firstHits(search: PlaceSearch, words: readonly Word[], count: number): Hit[] {
  const hits = hitsOf(search, words.slice(0, count), false);
  if (hits.length === 0) return hits;
  const { places } = search;
  const inner = hitsOf(search, words.slice(count), false);
  return hits.filter(({ place }) => inner.some((part) => isNear(places, part.place, place)));
}

/** Maximum distance, in degrees of latitude, between a town and a part of the town or a neighbouring town. */
const nearDegrees = 0.4;

export function isNear(places: PlaceTable, one: number, other: number): boolean {
  if (places.region(one) !== places.region(other)) return false;
  const [north, east] = [places.lat(one) - places.lat(other), places.lon(one) - places.lon(other)];
  return Math.abs(north) < nearDegrees && Math.abs(east) * Math.cos((places.lat(one) * Math.PI) / 180) < nearDegrees;
}

export function namesPlaceIn(search: PlaceSearch, words: readonly Word[], isThere: (place: number) => boolean): boolean {
  const namesakes = search.find(keyOf(words));
  if (!namesakes) return false;
  for (let place = namesakes.first; place < namesakes.first + namesakes.count; place++) if (isThere(place)) return true;
  return namesakes.others.some(isThere);
}

/** Minimum length of a name in which one spelling mistake is accepted, and minimum length for two mistakes. */
const [minLength, minForTwo] = [5, 7];

/** Minimum population of a misspelled place if the address contains its region, and if it contains only the country. */
const [leastInRegion, leastInCountry] = [5000, 20_000];

/** Minimum population of a place whose name contains two spelling mistakes. */
const leastForTwo = 20_000;

interface KnownName {
  readonly key: string;
  readonly place: number;
  readonly population: number;
}

/** Accepts one or two mistakes if the address also contains the place's region or country. */
export class Misspellings {
  readonly #places: PlaceTable;
  /** The places in each region, indexed by the region's number. Undefined until the first search. */
  #byRegion: number[][] | undefined;
  readonly #names = new Map<Region, KnownName[]>();

  constructor(places: PlaceTable) {
    this.#places = places;
  }

  /** For the last segment that may be a town; none if it is the exact name of a place in the same country. */
  hits(search: PlaceSearch): Hit[] {
    const { reading } = search;
    const words = reading.rest.findLast(({ town }) => town.length > 0)?.town.filter(({ key }) => !plainWords.has(key)) ?? [];
    const key = words.length > 0 ? keyOf(words) : '';
    if (key.length < minLength) return [];
    const country = reading.region?.country ?? reading.country;
    if (!country || namesPlaceIn(search, words, (place) => this.#places.region(place).country === country)) return [];
    const regions = reading.region ? [reading.region] : this.#places.regions.filter((region) => region.country === country);
    const least = reading.region ? leastInRegion : leastInCountry;
    return this.#nearest(key, regions, least).map((place) => ({ place, isOwnName: true, words, isWhole: true, isNear: true }));
  }

  #nearest(key: string, regions: readonly Region[], least: number): number[] {
    let most = key.length >= minForTwo ? 2 : 1;
    let found: number[] = [];
    for (const region of regions) {
      for (const { key: name, place, population } of this.#namesIn(region)) {
        if (name[0] !== key[0] || Math.abs(name.length - key.length) > most || population < least) continue;
        const distance = editDistance(name, key);
        if (distance > most || (distance > 1 && population < leastForTwo)) continue;
        if (distance < most) found = [];
        most = distance;
        found.push(place);
      }
    }
    return found;
  }

  #namesIn(region: Region): KnownName[] {
    const known = this.#names.get(region);
    if (known) return known;
    this.#byRegion ??= this.#placesByRegion();
    const names = (this.#byRegion[region.number] ?? []).map((place) => {
      return { key: placeKey(this.#places.name(place)), place, population: this.#places.population(place) };
    });
    this.#names.set(region, names);
    return names;
  }

  #placesByRegion(): number[][] {
    const byRegion: number[][] = this.#places.regions.map(() => []);
    for (let place = 0; place < this.#places.count; place++) {
      if (this.#places.population(place) >= leastInRegion) byRegion[this.#places.region(place).number]?.push(place);
    }
    return byRegion;
  }
}

/** Names by their short forms. All are in the normalized form that `placeKey` returns. */
const namesIn = (text: string) => new Map(text.split(', ').map((pair) => pair.split(': ') as [string, string]));

const nicknames = namesIn(
  'nyc: new york city, n y c: new york city, new york n y: new york city, palikir: palikir national government center, ' +
    'philly: philadelphia, vegas: las vegas, frisco: san francisco, sfo: san francisco, washington d c: washington, ' +
    'washington dc: washington, hcmc: ho chi minh city, tp hcm: ho chi minh city, tp ho chi minh: ho chi minh city, cdmx: mexico city, ' +
    'ciudad de mexico cdmx: mexico city, bsas: buenos aires, bs as: buenos aires, caba: buenos aires, jozi: johannesburg, ' +
    'joburg: johannesburg, jburg: johannesburg, spb: saint petersburg, спб: saint petersburg, мск: moscow, clermont fd: clermont ferrand, ' +
    'a coruna: la coruna, bsl: basel',
);

const abbreviations = namesIn(
  'n: north new, s: san south santa sao saint sankt santo sant, e: east, w: west, no: north, so: south, pt: port point, ' +
    'pto: puerto porto, pte: puente pointe, sta: santa, sto: santo, sn: san, gt: great, gr: grand gross, hts: heights, hgts: heights, ' +
    'spgs: springs, spg: spring, bch: beach, cty: city, ctr: center, jct: junction, vly: valley, twp: township, pk: park, hbr: harbor, ' +
    'is: island, isl: island, lk: lake, cd: ciudad, bad: bad, gral: general, cnel: coronel, gdor: gobernador, ste: sainte, b: bad, ' +
    'kgl: koniglich',
);

const longestAbbreviation = 4;

/** Maximum number of letters in an abbreviation that is the beginning of a word, as in `i. Br.` */
const longestBeginning = 3;

/** Maximum number of names with which an abbreviated name is compared. */
const maxCompared = 400;

function spellings(words: readonly string[], names: Names): readonly string[] {
  const nickname = nicknames.get(words.length === 1 ? (words[0] as string) : words.join(' '));
  if (nickname) return [nickname];
  if (words.length < 2 || !words.some((word) => word.length <= longestAbbreviation)) return none;
  const spelled = words.flatMap((word, index) => {
    const wholes = abbreviations.get(word)?.split(' ') ?? none;
    return wholes.map((whole) => words.with(index, whole).join(' ')).filter((name) => names.find(name));
  });
  return spelled.length > 0 ? spelled : begunBy(words, names);
}

const none: readonly string[] = [];

/** The first word must be complete; other words may be beginnings: `freiburg i br` matches `freiburg im breisgau`. */
function begunBy(words: readonly string[], names: Names): string[] {
  const [first = '', second = ''] = words;
  if (first.length <= longestBeginning || !words.some((word, index) => index > 0 && word.length <= longestBeginning)) return [];
  const found: string[] = [];
  for (const name of names.startingWith(`${first} ${second}`, maxCompared)) {
    const whole = name.split(' ');
    const isBegun = (word: string, index: number) =>
      whole[index] === word || (word.length <= longestBeginning && whole[index]?.startsWith(word));
    if (whole.length === words.length && words.every(isBegun)) found.push(name);
  }
  return found;
}
