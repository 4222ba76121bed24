import { placeKey } from '../../../country-names.ts';
import type { Country, PlaceTable, Region } from '../places.ts';
import { isEastAsian, type Segment, type Word } from './address-text.ts';
import { hasPostcodes, isSurelyCode, minDigits, overlaps, type Postcode, type PostcodeFit, postcodeFit } from './postcodes.ts';
import { type AddressReading, keyOf } from './readings.ts';
import type { Hit, PlaceSearch } from './search.ts';
import { isVague, plainWords } from './street-words.ts';
import { isNear, namesPlaceIn } from './town-names.ts';

export interface Candidate {
  readonly level: 'place' | 'region' | 'country';
  readonly place: number;
  /** The name of the region or country; undefined for a place, whose name is in the data. */
  readonly name: string | undefined;
  /** The region itself, or the region that contains the place; undefined for a country. */
  readonly region: Region | undefined;
  readonly country: Country;
  readonly population: number;
  /** The number of inhabitants, reduced if the address does not contain the main name of the place. */
  readonly weight: number;
  readonly reading: AddressReading;
  readonly hit: readonly Word[];
  /** Number of words in the address that are the name of the candidate, or of a country, region or county that contains the candidate. */
  readonly words: number;
  readonly score: number;
  readonly isNear: boolean;
  readonly fit: PostcodeFit;
  /** The unexplained words before the place's name. `after` contains the unexplained words after the name. */
  readonly before: readonly Word[];
  readonly after: readonly Word[];
  /** True if there is also evidence against the place. The result is then marked as ambiguous. */
  readonly isDoubtful: boolean;
}

/** Minimum population if the name is only part of a segment, and the only other evidence is a country or a postcode's pattern. */
const leastAmongWords = 15_000;

/** Minimum population if the name is next to unexplained words, as in `Eiffel Tower, Paris`, without other evidence. */
const leastAlone = 500_000;

/** Minimum population next to unexplained words if the text contains numbers, and so is more likely to be an address. */
const leastWithNumbers = 50_000;

/** Maximum number of characters between a town and a postcode that is next to it. */
const besideGap = 3;

/** Factor for the number of inhabitants of a place if the address contains a different name instead of its main name. */
const otherNameWeight = 0.1;

/** Splits the places that were found in an address into accepted and rejected ones. The evidence for and against each place decides. */
export function judged(search: PlaceSearch, hits: readonly Hit[]): { readonly accepted: Candidate[]; readonly rejected: Candidate[] } {
  const accepted: Candidate[] = [];
  const rejected: Candidate[] = [];
  const { places, reading } = search;
  for (const hit of hits) {
    const { place, isOwnName, words, isNear = false } = hit;
    const region = places.region(place);
    const population = places.population(place);
    const fit = fitOf(search, place, words);
    const { before, after } = leftOf(search, hit);
    const evidence = { fit, before, after, population };
    const verdict = verdictOn(evidence, hit, search);
    (verdict === 'no' ? rejected : accepted).push({
      level: 'place',
      place,
      name: undefined,
      region,
      country: region.country,
      population,
      weight: population * (isOwnName ? 1 : otherNameWeight),
      reading,
      hit: words,
      words: reading.used + words.length,
      score: scoreOf(hit, evidence, search),
      isNear,
      fit,
      before,
      after,
      isDoubtful: verdict === 'doubtful',
    });
  }
  return { accepted, rejected };
}

type Evidence = Pick<Candidate, 'fit' | 'before' | 'after' | 'population'>;

type Verdict = 'yes' | 'doubtful' | 'no';

function verdictOn(evidence: Evidence, hit: Hit, search: PlaceSearch): Verdict {
  const { after, fit, population } = evidence;
  const { reading } = search;
  if (isContradicted(fit, search) || namesElsewhere(after, search)) return 'no';
  if (isVagueAlone(search, hit.words, population)) return 'no';
  const isSupported = reading.used > 0 || search.isLimited || fit > 0;
  if (hit.isNear || isAgainst(fit, hit, search)) return 'doubtful';
  if (!hit.isWhole && isAmongWords(evidence, search) && (!isSupported || population < leastAmongWords)) return 'no';
  if (isSupported || reading.isCity) return after.length > 0 ? 'doubtful' : 'yes';
  return unsupportedVerdict(evidence, search);
}

function isAmongWords({ before, after, fit }: Evidence, { reading }: PlaceSearch): boolean {
  return before.length + after.length > 0 && reading.region === undefined && fit !== 3;
}

/** Minimum population of a place whose name also is a word such as `home`, if nothing else supports the place. */
const leastVague = 100_000;

export function isVagueAlone({ reading, isLimited, postcodes }: PlaceSearch, words: readonly Word[], population: number): boolean {
  if (population >= leastVague || isLimited || postcodes.length > 0 || reading.country || reading.county) return false;
  return (!reading.region || reading.rest.length === 0) && isVague(keyOf(words));
}

/** For a name without other evidence. A large city is accepted even with unexplained words on one side of its name. */
function unsupportedVerdict({ before, after, population }: Evidence, { hasNumbers }: PlaceSearch): Verdict {
  if (before.length + after.length === 0) return 'yes';
  const isOneSided = before.length === 0 || after.length === 0;
  return isOneSided && population >= (hasNumbers ? leastWithNumbers : leastAlone) ? 'doubtful' : 'no';
}

/** True if letters before a postcode specify another country, or if it fits only other countries and only the name supports the place. */
function isContradicted(fit: Candidate['fit'], { postcodes, reading }: PlaceSearch): boolean {
  if (fit > 0 || postcodes.length === 0) return false;
  return postcodes.some(({ namesCountry }) => namesCountry) || (reading.used === 0 && !reading.isCity && postcodes.some(isTelling));
}

/** Maximum number of characters in the code of a country or region. */
const longestCode = 3;

/** True if the words are a country or region without the place, as in `Paris, France` for a Paris in the USA. */
function namesElsewhere(after: readonly Word[], { addressNames }: PlaceSearch): boolean {
  if (after.length === 0) return false;
  const key = keyOf(after);
  return addressNames.countries.has(key) || (key.length > longestCode && addressNames.regions.has(key));
}

function isTelling({ isMarked, countries, start, end }: Postcode): boolean {
  return isMarked && countries.length === 1 && end - start >= 6;
}

/** `words` are the place's name in the address. */
export function fitOf({ postcodes, places }: PlaceSearch, place: number, words: readonly Word[]): PostcodeFit {
  let best: PostcodeFit = 0;
  for (const postcode of postcodes) {
    if (best === 3) break;
    if (!isSurelyCode(postcode) && !isBeside(postcode, words)) continue;
    const fit = postcodeFit(postcode, places.region(place), places.district(place));
    if (fit > best) best = fit;
  }
  return best;
}

/** True if nothing but the name supports the place, and the number next to it is a postcode of another region or country. */
function isAgainst(fit: PostcodeFit, { words, place }: Hit, { reading, isLimited, postcodes, places }: PlaceSearch): boolean {
  if (fit > 1 || postcodes.length === 0 || reading.used > 0 || isLimited) return false;
  const isOther = (postcode: Postcode) => postcode.code.length >= minDigits && !/^0+$/.test(postcode.code) && isBeside(postcode, words);
  return postcodes.some(isOther) && hasPostcodes(places.region(place).country.code);
}

function isBeside({ start, end }: Postcode, words: readonly Word[]): boolean {
  const [first, last] = [words[0], words.at(-1)];
  if (!first || !last) return false;
  return (end <= first.start && first.start - end <= besideGap) || (start >= last.end && start - last.end <= besideGap);
}

/** Returns the unexplained words of a reading. They are not the name of the place, of a street, or of another place nearby. */
function leftOf(search: PlaceSearch, hit: Hit): Pick<Candidate, 'before' | 'after'> {
  const { words } = hit;
  const { rest } = search.reading;
  if (rest.length === 1 && (rest[0] as Segment).words.length === words.length) return nothingLeft;
  const left = rest.flatMap((segment) => unexplained(search, segment, hit));
  if (left.length === 0) return nothingLeft;
  const end = (words.at(-1) as Word).end;
  return { before: left.filter(({ start }) => start < end), after: left.filter(({ start }) => start >= end) };
}

const nothingLeft = { before: [], after: [] };

function unexplained(search: PlaceSearch, segment: Segment, { words: hit, place }: Hit): readonly Word[] {
  const { words, town, hasNumber, hasStreet } = segment;
  // In scripts without spaces, a name can be a part of a word.
  const isHere = words.some((word) => overlaps(word, hit));
  const left = (hasStreet && words.length > 0 && (hasNumber || isHere || town.length < words.length) ? town : words).filter(
    (word) => !plainWords.has(word.key) && word.key.length > 1 && !overlaps(word, hit),
  );
  // In Chinese, Japanese and Korean addresses, the words after the town are the street.
  if (left.length === 0 || (isHere && left.every(({ key, start }) => isEastAsian(key) && start >= (hit[0] as Word).start))) return [];
  if (namesPlaceIn(search, left, (other) => isNear(search.places, other, place))) return [];
  // Words in a segment with a number are a street and its house number, unless they are the name of a place.
  return !isHere && hasNumber && !namesPlaceIn(search, words, () => true) ? [] : left;
}

/** `near`: a misspelled name. `before`, `after`: unexplained words. `otherCode`: a postcode that fits only other places. */
const shares = { otherName: 0.9, part: 0.9, near: 0.6, before: 0.9, after: 0.7, otherCode: 0.8 };

function scoreOf({ isOwnName, isWhole, isNear }: Hit, { before, after, fit }: Evidence, { postcodes }: PlaceSearch): number {
  const nameScore = (isOwnName ? 1 : shares.otherName) * (isWhole ? 1 : shares.part) * (isNear ? shares.near : 1);
  const isElsewhere = fit === 0 && postcodes.some(isSurelyCode);
  const share = (before.length > 0 ? shares.before : 1) * (after.length > 0 ? shares.after : 1) * (isElsewhere ? shares.otherCode : 1);
  return nameScore * share;
}

/** A capital with the name of its region or country stands for the area if it has at least this share of the inhabitants. */
const wholeShare = 0.8;

/** For an address with only a region or country. Has the coordinates of the capital, or is the capital if it is nearly the whole area. */
export function areaCandidate(reading: AddressReading, places: PlaceTable, fitOf?: (place: number) => PostcodeFit): Candidate | undefined {
  const area = reading.region ?? reading.country;
  if (!area) return undefined;
  const { seat: place, population } = area;
  const town = places.name(place);
  const name = area.name ?? area.code;
  const isNamed = reading.region ? placeKey(name).includes(placeKey(town)) : placeKey(name) === placeKey(town);
  const isTown = isNamed && places.population(place) >= wholeShare * population;
  return {
    level: isTown ? 'place' : reading.region ? 'region' : 'country',
    place,
    name: isTown ? undefined : name,
    region: isTown ? places.region(place) : reading.region,
    country: reading.region?.country ?? (reading.country as Country),
    population: isTown ? places.population(place) : population,
    weight: population,
    reading,
    hit: [],
    words: reading.used,
    score: 1,
    isNear: false,
    fit: isTown && fitOf ? fitOf(place) : 0,
    before: [],
    after: [],
    isDoubtful: false,
  };
}
