import { isEnglishCountry, placeKey } from '../../../country-names.ts';
import type { UnderstoodPart } from '../../../lookup.ts';
import type { AddressText, Segment, Word } from './address-text.ts';
import type { Candidate } from './judge.ts';
import { isSurelyCode, overlaps, type Postcode, postcodeFit, type Span } from './postcodes.ts';
import { type AddressReading, keyOf } from './readings.ts';
import { plainWords } from './street-words.ts';

export interface Understanding {
  readonly matched: UnderstoodPart[];
  /** Null if everything was understood. */
  readonly leftOver: string | null;
}

interface AddressPart extends Span {
  readonly as: UnderstoodPart['as'];
}

/** If there is no candidate, uses the areas in the reading `known`. */
export function understandingOf(address: AddressText, candidate: Candidate | undefined, known: AddressReading | undefined): Understanding {
  const reading = candidate?.reading ?? known;
  const parts = namedParts(address, candidate, reading);
  const left = candidate ? leftWords(candidate) : (reading?.rest ?? address.segments).flatMap(({ town }) => town);
  const others = address.postcodes.length > 0 ? pushPostcodes(parts, address.postcodes, { candidate, reading }) : none;
  const taken = left.length > 0 ? [...parts, ...left] : parts;
  for (const segment of address.segments) {
    const part = otherPart(segment, taken);
    if (part) parts.push(part);
  }
  if (parts.length > 1) parts.sort((a, b) => a.start - b.start);
  const matched = parts.map(({ start, end, as }) => ({ text: withEnd(address.text, start, end), as }));
  if (left.length + others.length === 0) return { matched, leftOver: null };
  const codes = others.filter((code) => isSurelyCode(code) && !overlaps(code, parts));
  const texts = joined([...left, ...codes], parts).map(({ start, end }) => withEnd(address.text, start, end));
  return { matched, leftOver: texts.join(', ') || null };
}

const none: readonly Postcode[] = [];

function leftWords({ before, after }: Candidate): readonly Word[] {
  return before.length === 0 ? after : [...before, ...after];
}

function namedParts({ ignored }: AddressText, candidate: Candidate | undefined, reading: AddressReading | undefined): AddressPart[] {
  const parts: AddressPart[] = [];
  if (reading) for (const { words, as } of reading.named) parts.push(spanPart(words, as));
  if (candidate && candidate.hit.length > 0) parts.push(spanPart(candidate.hit, 'place'));
  for (const { start, end } of ignored) parts.push({ start, end, as: 'ignored' });
  return parts;
}

function pushPostcodes(
  parts: AddressPart[],
  postcodes: readonly Postcode[],
  { candidate, reading }: { readonly candidate: Candidate | undefined; readonly reading: AddressReading | undefined },
): readonly Postcode[] {
  const open = postcodes.filter((postcode) => !overlaps(postcode, parts));
  const fitting = open.filter((postcode) => isFitting(postcode, candidate, reading));
  for (const { start, end } of fitting) parts.push({ start, end, as: 'postcode' });
  return open.filter((postcode) => !fitting.includes(postcode));
}

/** Includes the full stop of an abbreviation at the end, and a closing bracket. */
function withEnd(text: string, start: number, end: number): string {
  const part = text.slice(start, end);
  if (text[end] !== '.' && text[end] !== ')') return part;
  const isShort = /(?:^|[^\p{L}\p{M}])\p{L}{1,3}$/u.test(part);
  if (text[end] === '.' && isShort) return `${part}.`;
  return text[end] === ')' && part.includes('(') ? `${part})` : part;
}

function spanPart(words: readonly Word[], as: AddressPart['as']): AddressPart {
  return { start: (words[0] as Word).start, end: (words.at(-1) as Word).end, as };
}

function isFitting(postcode: Postcode, candidate: Candidate | undefined, reading: AddressReading | undefined): boolean {
  if (candidate?.region) return postcodeFit(postcode, candidate.region, undefined) > 0;
  const country = candidate?.country ?? reading?.country ?? reading?.region?.country;
  return country !== undefined && postcode.countries.includes(country.code);
}

/** A street with its numbers, or another place near the one that is meant. */
function otherPart({ words, numbers, hasStreet, hasNumber }: Segment, others: readonly Span[]): AddressPart | undefined {
  const isOther = (word: Span) => !overlaps(word, others);
  const own = words.filter((word) => isOther(word) && (hasStreet || (word.key.length > 1 && !plainWords.has(word.key))));
  if (own.length === 0) return undefined;
  const all = [...own, ...numbers.filter(isOther)].sort((a, b) => a.start - b.start);
  return { start: (all[0] as Span).start, end: (all.at(-1) as Span).end, as: hasStreet || hasNumber ? 'street' : 'place' };
}

/** Joins adjacent words into ranges of the text. */
function joined(words: readonly Span[], others: readonly Span[]): Span[] {
  const spans: { start: number; end: number }[] = [];
  for (const { start, end } of words.toSorted((a, b) => a.start - b.start)) {
    const last = spans.at(-1);
    if (last && start - last.end <= 2 && !overlaps({ start: last.end, end: start }, others)) last.end = Math.max(last.end, end);
    else spans.push({ start, end });
  }
  return spans;
}

/** The candidates for an address, with the best first. */
export interface Meaning {
  readonly candidates: readonly Candidate[];
  readonly isAmbiguous: boolean;
}

/** If a town has the same name as its region, the town is meant if it has at least this share of the region's inhabitants. */
const townShare = 0.1;

/** A town with the name of its country is meant from this share of the country's inhabitants, which only city states reach. */
const cityStateShare = 0.5;

/** Replaces `townShare` and `cityStateShare` if an address in parts names a town. It excludes only villages with the name of a country. */
const cityShare = 0.005;

/** The result is ambiguous if another candidate has at least this share of the best candidate's inhabitants. */
const rivalShare = 0.1;

/**
 * The likelihood that an address in a place has a number that looks like a postcode, for each value of `PostcodeFit`. The postcodes of a
 * place are few of its country's, so the country alone is weak evidence. A four-digit number may also be a year or a house number.
 */
const likelihoods = { long: [0.002, 0.005, 0.05, 1], short: [0.05, 0.05, 0.3, 1] } as const;

/** Only few people write a ZIP code before the name of a town in the USA. */
const zipFirst = 0.2;

/** If the number is a postcode of a village with at least this share of the result's inhabitants, the result is ambiguous. */
const villageShare = 0.002;

/** The candidates that explain the most words and fit the postcodes best, sorted by number of inhabitants. */
export function meaningOf(found: readonly Candidate[], hasCountry: boolean, postcodes: readonly Postcode[]): Meaning {
  const [only] = found;
  if (only && found.length === 1) return { candidates: found, isAmbiguous: only.isDoubtful };
  const words = found.reduce((most, candidate) => Math.max(most, candidate.words), 0);
  const fitting = found.filter((candidate) => candidate.words === words);
  const towns = fitting.filter(({ level }) => level === 'place');
  const areas = fitting.filter(
    (area) => area.level !== 'place' && !towns.some((town) => isMeantFor(town, area, hasCountry) || hasCode(town, area, postcodes)),
  );
  const isRegionNamed = areas.some(({ level, reading }) => level === 'region' && (hasCountry || reading.country));
  const sorted = unique((isRegionNamed ? areas : [...areas, ...towns]).sort((a, b) => b.weight - a.weight));
  const land = postcodes.length === 0 ? fitting.find(isOwnCountry)?.country : undefined;
  const candidates = byPostcode(
    land ? sorted.toSorted((a, b) => Number(b.country === land) - Number(a.country === land)) : sorted,
    postcodes,
  );
  const [first, ...others] = candidates;
  if (!first) return { candidates: [], isAmbiguous: false };
  const best = first.candidate;
  const isElsewhere = ({ region, country }: Candidate) => (best.level === 'country' ? country !== best.country : region !== best.region);
  const isRival = ({ candidate, weight }: Weighed) =>
    isElsewhere(candidate) && (weight >= rivalShare * first.weight || (postcodes.length > 0 && isContested(best, candidate, postcodes)));
  return { candidates: candidates.map(({ candidate }) => candidate), isAmbiguous: best.isDoubtful || others.some(isRival) };
}

/** True if the whole address is the English name of a country, as in lists of countries. There, `Georgia` is no state of the USA. */
function isOwnCountry({ hit, reading: { region, named, isCity } }: Candidate): boolean {
  const [name] = named;
  return hit.length === 0 && !isCity && !region && named.length === 1 && name?.as === 'country' && isEnglishCountry(keyOf(name.words));
}

/** True for most capitals, for a town with a large share of the inhabitants, and if the address contains the town's region. */
export function isMeantFor(town: Candidate, area: Candidate, hasCountry = false): boolean {
  const { level, region, country, population, reading } = area;
  if (town.level !== 'place') return false;
  if (town.reading.region) return true;
  if (town.reading.isCity) return (town.country === country && reading.country !== undefined) || town.weight >= cityShare * population;
  if (town.country !== country) return false;
  if (level === 'country') return town.population >= cityStateShare * population || isCapitalMeant(town, area, hasCountry);
  if (town.region !== region) return town.place === country.seat || town.weight >= townShare * population;
  // In the data, a town in the region may have a longer name, such as New York City.
  const isLarge = town.population >= townShare * population;
  return isLarge || town.place === country.seat || (town.place === region?.largest && town.weight === town.population);
}

/** True if the lookup specifies the country, or if the name is not the country's English name. */
function isCapitalMeant(town: Candidate, { country, name }: Candidate, hasCountry: boolean): boolean {
  return town.place === country.seat && town.weight === town.population && (hasCountry || keyOf(town.hit) !== placeKey(name ?? ''));
}

/** With a postcode, the town is meant, because a whole region or country has none. */
function hasCode(town: Candidate, { level, region, country }: Candidate, postcodes: readonly Postcode[]): boolean {
  if (postcodes.length === 0) return false;
  return level === 'region' ? town.region === region : town.country === country && town.fit > 1;
}

interface Weighed {
  readonly candidate: Candidate;
  /** The candidate's own weight multiplied by the likelihood of the postcode there. */
  readonly weight: number;
}

/** Sorts the candidates by weight. A postcode with letters or dashes excludes places in other countries. */
function byPostcode(candidates: readonly Candidate[], postcodes: readonly Postcode[]): Weighed[] {
  if (!candidates.some(({ fit }) => fit > 0)) return candidates.map((candidate) => ({ candidate, weight: candidate.weight }));
  const isSure = postcodes.some(({ isMarked }) => isMarked);
  const shares = postcodes.some(isSurelyCode) ? likelihoods.long : likelihoods.short;
  const possible = isSure ? candidates.filter(({ fit }) => fit > 0) : candidates;
  const weightOf = ({ weight, fit, country, hit }: Candidate) =>
    weight * shares[fit] * (country.code === 'US' && !isSure && isFirst(postcodes, hit) ? zipFirst : 1);
  return possible.map((candidate) => ({ candidate, weight: weightOf(candidate) })).sort((a, b) => b.weight - a.weight);
}

function isFirst(postcodes: readonly Postcode[], [first]: Candidate['hit']): boolean {
  return first !== undefined && postcodes.some(({ end, code }) => end <= first.start && code.length === 5);
}

/** A number that may not be a postcode is weak evidence for a village and against a large town of the same name. */
function isContested(best: Candidate, other: Candidate, postcodes: readonly Postcode[]): boolean {
  if (postcodes.some(({ isMarked }) => isMarked)) return false;
  if (best.country !== other.country && best.weight < rivalShare * other.weight) return true;
  return other.fit === 3 && (best.fit < 3 || other.weight >= villageShare * best.weight);
}

/** Removes duplicate candidates. Different readings of an address can lead to the same place. */
function unique(candidates: readonly Candidate[]): Candidate[] {
  if (candidates.length < 2) return [...candidates];
  const seen = new Set<number>();
  return candidates.filter(({ level, place }) => {
    const key = 3 * place + (level === 'place' ? 0 : level === 'region' ? 1 : 2);
    const isNew = !seen.has(key);
    seen.add(key);
    return isNew;
  });
}
