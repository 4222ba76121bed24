import { isEastAsian, type Segment, type Word } from './address-text.ts';
import { type Candidate, type Hit, nameScore, placeCandidate } from './candidate.ts';
import { type Postcode, postcodeFit } from './postcodes.ts';
import { keyOf } from './readings.ts';
import type { Search } from './search.ts';
import { plainWords } from './street-words.ts';
import { isNear, namesPlaceIn } from './town-names.ts';

/** Least inhabitants of a place that only some words of a segment name, if a country or the form of a postcode is all that supports it. */
const leastAmongWords = 15_000;

/** Least inhabitants of a place that stands beside words that nothing explains, and has no other support: `Eiffel Tower, Paris`. */
const leastAlone = 500_000;

/** The same in a text with numbers, which is rather an address. */
const leastWithNumbers = 50_000;

/** Digits from which on a number has the form of a postcode wherever it stands. A shorter one must stand beside the town. */
const minDigits = 5;

/** Characters between a town and the postcode beside it. */
const besideGap = 3;

/** Words that nothing explains, and the place or places to which that applies. */
interface Rest {
  readonly before: readonly Word[];
  readonly after: readonly Word[];
}

/** Judges places that an address names: drops those with too little support, and notes what speaks for and against the others. */
export function judged(search: Search, hits: readonly Hit[]): { readonly accepted: Candidate[]; readonly rejected: Candidate[] } {
  const accepted: Candidate[] = [];
  const rejected: Candidate[] = [];
  const { places } = search.gazetteer;
  for (const hit of hits) {
    const fit = fitOf(search, hit);
    const { before, after } = leftOf(search, hit);
    const evidence = { fit, before, after, population: places.population(hit.place) };
    const verdict = verdictOn(evidence, hit, search);
    const score = nameScore(hit) * scoreShare(evidence, search);
    const judgement = { fit, before, after, isDoubtful: verdict === 'doubtful', score };
    (verdict === 'no' ? rejected : accepted).push(placeCandidate(places, hit, search.reading, judgement));
  }
  return { accepted, rejected };
}

type Evidence = Pick<Candidate, 'fit' | 'before' | 'after' | 'population'>;

type Verdict = 'yes' | 'doubtful' | 'no';

function verdictOn(evidence: Evidence, hit: Hit, search: Search): Verdict {
  const { before, after, fit, population } = evidence;
  const { reading } = search;
  if (isContradicted(fit, search) || namesElsewhere(after, search)) return 'no';
  const isSupported = reading.used > 0 || search.isLimited || fit > 0;
  const isSure = reading.region !== undefined || fit === 2;
  if (hit.isNear) return 'doubtful';
  if (!hit.isWhole && !isSure && before.length + after.length > 0 && (!isSupported || population < leastAmongWords)) return 'no';
  if (isSupported || reading.isCity) return after.length > 0 ? 'doubtful' : 'yes';
  return unsupportedVerdict(evidence, search);
}

/** The verdict on a place that only its name supports: a large city may have unknown words on one side. */
function unsupportedVerdict({ before, after, population }: Evidence, { hasNumbers }: Search): Verdict {
  if (before.length + after.length === 0) return 'yes';
  const isOneSided = before.length === 0 || after.length === 0;
  return isOneSided && population >= (hasNumbers ? leastWithNumbers : leastAlone) ? 'doubtful' : 'no';
}

/** True if the text has a postcode of another country, and nothing but the name speaks for the place. */
function isContradicted(fit: Candidate['fit'], { postcodes, reading }: Search): boolean {
  if (fit > 0 || postcodes.length === 0) return false;
  return postcodes.some(({ namesCountry }) => namesCountry) || (reading.used === 0 && !reading.isCity && postcodes.some(isTelling));
}

/** Longest name that may be a code. */
const longestCode = 3;

/** True if a country or region stands after the place, and it is none of the place's: `Paris, France` in the USA. */
function namesElsewhere(after: readonly Word[], { gazetteer: { addressNames } }: Search): boolean {
  if (after.length === 0) return false;
  const key = keyOf(after);
  return addressNames.countries.has(key) || (key.length > longestCode && addressNames.regions.has(key));
}

function isTelling({ isMarked, countries, start, end }: Postcode): boolean {
  return isMarked && countries.length === 1 && end - start >= 6;
}

function fitOf({ postcodes, gazetteer: { places } }: Search, { place, words }: Hit): 0 | 1 | 2 {
  let best: 0 | 1 | 2 = 0;
  for (const postcode of postcodes) {
    if (best === 2) break;
    if (!postcode.isMarked && postcode.code.length < minDigits && !isBeside(postcode, words)) continue;
    const fit = postcodeFit(postcode, places.region(place), places.district(place));
    if (fit > best) best = fit;
  }
  return best;
}

function isBeside({ start, end }: Postcode, words: readonly Word[]): boolean {
  const [first, last] = [words[0], words.at(-1)];
  if (!first || !last) return false;
  return (end <= first.start && first.start - end <= besideGap) || (start >= last.end && start - last.end <= besideGap);
}

/** The words of a reading that neither the place nor a street nor another place nearby explains. */
function leftOf(search: Search, hit: Hit): Rest {
  const { words } = hit;
  const { rest } = search.reading;
  if (rest.length === 1 && (rest[0] as Segment).words.length === words.length) return nothingLeft;
  const left = rest.flatMap((segment) => unexplained(search, segment, hit));
  if (left.length === 0) return nothingLeft;
  const end = (words.at(-1) as Word).end;
  return { before: left.filter(({ start }) => start < end), after: left.filter(({ start }) => start >= end) };
}

const nothingLeft: Rest = { before: [], after: [] };

function unexplained(search: Search, segment: Segment, { words: hit, place }: Hit): readonly Word[] {
  const { words, town, hasNumber, hasStreet } = segment;
  const isHere = words.some((word) => hit.includes(word)) || (words.length > 0 && overlapsHit(words, hit));
  const left = (hasStreet && words.length > 0 && (hasNumber || isHere || town.length < words.length) ? town : words).filter(
    ({ key, start, end }) => !plainWords.has(key) && key.length > 1 && !hit.some((word) => word.start < end && start < word.end),
  );
  // What follows the town in Chinese, Japanese and Korean is a street.
  if (left.length === 0 || (isHere && left.every(({ key, start }) => isEastAsian(key) && start >= (hit[0] as Word).start))) return [];
  if (namesPlaceIn(search, left, (other) => isNear(search.gazetteer.places, other, place))) return [];
  // Words with a number are a street and a house, unless they name a place elsewhere.
  return !isHere && hasNumber && !namesPlaceIn(search, words, () => true) ? [] : left;
}

/** True if a name is a part of a word, as in scripts without spaces. */
function overlapsHit(words: readonly Word[], hit: readonly Word[]): boolean {
  return hit.some(({ start, end }) => words.some((word) => word.start < end && start < word.end));
}

/** Shares of the score that words without an explanation and postcodes of other places leave. */
const [withBefore, withAfter, withOtherCode] = [0.9, 0.7, 0.8];

function scoreShare({ before, after, fit }: Evidence, { postcodes }: Search): number {
  const isElsewhere = fit === 0 && postcodes.some(({ isMarked, code }) => isMarked || code.length >= minDigits);
  return (before.length > 0 ? withBefore : 1) * (after.length > 0 ? withAfter : 1) * (isElsewhere ? withOtherCode : 1);
}
