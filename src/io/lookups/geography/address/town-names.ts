import type { Places } from '../places.ts';
import type { Segment, Word } from './address-text.ts';
import { isEastAsian } from './address-text.ts';
import type { Hit } from './candidate.ts';
import { keyOf } from './readings.ts';
import { hitsOf, type Search } from './search.ts';
import { spellings } from './spellings.ts';
import { plainWords, streetArticles } from './street-words.ts';

/** The places that an address can mean by one reading: those of the last segment with a place's name. Segments before it are streets and houses. */
export function townsIn(search: Search): Hit[] {
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

/** True if nothing says which segment names the place: no region, no country, no house number. */
function isUnsupported({ reading, hasNumbers }: Search): boolean {
  return reading.used === 0 && !hasNumbers && !reading.isCity;
}

/** The places named by the first of some segments that is a place's name, and the segments after it. */
function lastNamed(search: Search, segments: readonly Segment[]) {
  for (const [index, segment] of segments.entries()) {
    const hits = wholeHits(search, segment);
    if (hits.length > 0) return { hits, before: segments.slice(index + 1) };
  }
  return undefined;
}

/** Places whose name is the whole segment, but for its street and words such as `Greater`. */
function wholeHits(search: Search, { words, town, hasHouse }: Segment): Hit[] {
  // `5 London Road` is none, `Federal Way` is.
  const whole = hasHouse ? [] : hitsOf(search, words, true);
  if (whole.length > 0) return whole;
  const inTown = town.length > 0 && town.length < words.length ? hitsOf(search, town, true) : [];
  if (inTown.length > 0) return inTown;
  const spelled = spelledHits(search, town);
  if (spelled.length > 0) return spelled;
  const plain = withoutPlain(town);
  return plain.length > 0 && plain.length < town.length ? hitsOf(search, plain, true) : [];
}

/** The words without `Greater`, `Cedex`, and the letter of a district: `København K`. */
function withoutPlain(words: readonly Word[]): readonly Word[] {
  const isPlain = (word: Word | undefined) => word !== undefined && (plainWords.has(word.key) || word.key.length === 1);
  let [start, end] = [0, words.length];
  while (isPlain(words[start])) start++;
  while (end > start && isPlain(words[end - 1])) end--;
  return words.slice(start, end);
}

/** Share of the other's inhabitants from which on a place of another segment counts. */
const rivalShare = 0.1;

/** The places of the last segment, or far larger places of an earlier segment in another region: `Barcelona, Cat` is not Çat in Turkey. */
function compared(last: Hit[], before: readonly Segment[], search: Search): Hit[] {
  const earlier = lastNamed(search, before)?.hits ?? [];
  if (earlier.length === 0) return last;
  const { places } = search.gazetteer;
  const weightOf = (hits: readonly Hit[]) =>
    Math.max(...hits.map(({ place, isOwnName }) => places.population(place) * (isOwnName ? 1 : rivalShare)));
  const largest = last.find((hit) => weightOf([hit]) === weightOf(last));
  if (!largest || earlier.some(({ place }) => places.region(place) === places.region(largest.place))) return last;
  const ratio = weightOf(earlier) / weightOf(last);
  return ratio >= 1 / rivalShare ? earlier : last;
}

/** Maximum of cuts in a name: 市川市 has one within. */
const longestCut = 3;

/** The ends of Korean names: special city, metropolitan city, province, city, county, district. */
const koreanEnd = /(?<=..)(?:특별시|광역시|특별자치시|특별자치도|도|시|군|구)$/;

/** The parts of a word without spaces that can be names: a country, then names that each end with the word for a province, a town or a district. */
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

/** The places that the first of these names means; the places of a later name if they are in the same region. */
function unspacedHits(search: Search, names: readonly Word[]): Hit[] {
  const { places } = search.gazetteer;
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

/** Places whose name a segment abbreviates: `Freiburg i. Br.`, `Pt. Elizabeth`, `NYC`. */
function spelledHits(search: Search, words: readonly Word[]): Hit[] {
  return spellings(
    words.map(({ key }) => key),
    search.gazetteer.names,
  ).flatMap((key) => hitsOf(search, words, true, key));
}

/** The places that the last words of a segment name, else its first words: `Hauptstraße Berlin`, `Berlin Mitte`. */
function partHits(search: Search, { words, town, hasStreet }: Segment): Hit[] {
  const all = town.length > 0 ? town : words;
  for (let count = all.length - 1; count > 0; count--) {
    const before = all.slice(0, -count);
    if (before.every(({ key }) => streetArticles.has(key)) && hasStreet) continue;
    const hits = [...hitsOf(search, all.slice(-count), false), ...firstHits(search, all, count)];
    if (hits.length > 0) return hits;
  }
  return [];
}

/** First words name a place only if the words after them name a part of it. */
function firstHits(search: Search, words: readonly Word[], count: number): Hit[] {
  const hits = hitsOf(search, words.slice(0, count), false);
  if (hits.length === 0) return hits;
  const { places } = search.gazetteer;
  const inner = hitsOf(search, words.slice(count), false);
  return hits.filter(({ place }) => inner.some((part) => isNear(places, part.place, place)));
}

/** Degrees within which a place may be a part of a town, or a town beside it. */
const nearDegrees = 0.4;

/** True if two places of one region lie near each other. */
export function isNear(places: Places, one: number, other: number): boolean {
  if (places.region(one) !== places.region(other)) return false;
  const [north, east] = [places.lat(one) - places.lat(other), places.lon(one) - places.lon(other)];
  return Math.abs(north) < nearDegrees && Math.abs(east) * Math.cos((places.lat(one) * Math.PI) / 180) < nearDegrees;
}

/** True if a segment names a place of a region. */
export function namesPlaceIn(search: Search, words: readonly Word[], isThere: (place: number) => boolean): boolean {
  const namesakes = search.find(keyOf(words));
  if (!namesakes) return false;
  for (let place = namesakes.first; place < namesakes.first + namesakes.count; place++) if (isThere(place)) return true;
  return namesakes.others.some(isThere);
}
