import type { UnderstoodPart } from '../../../geocode.ts';
import type { AddressText, Segment, Span, Word } from './address-text.ts';
import type { Candidate } from './candidate.ts';
import { type Postcode, postcodeFit } from './postcodes.ts';
import type { Reading } from './readings.ts';
import { plainWords } from './street-words.ts';

/** The parts of an address that were understood, and the rest. */
export interface Understanding {
  readonly matched: readonly UnderstoodPart[];
  /** The parts of the address that were not understood; null if everything was understood. */
  readonly leftOver: string | null;
}

interface Part extends Span {
  readonly as: UnderstoodPart['as'];
}

/**
 * Returns the parts of an address that were understood, such as the names of the best candidate and its areas. If there is no candidate,
 * uses the areas in the reading `known`.
 */
export function understandingOf(address: AddressText, candidate: Candidate | undefined, known: Reading | undefined): Understanding {
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
  const codes = others.filter((code) => isCode(code) && !overlaps(code, parts));
  const texts = joined([...left, ...codes], parts).map(({ start, end }) => withEnd(address.text, start, end));
  return { matched, leftOver: texts.join(', ') || null };
}

const none: readonly Postcode[] = [];

function leftWords({ before, after }: Candidate): readonly Word[] {
  return before.length === 0 ? after : [...before, ...after];
}

function namedParts({ ignored }: AddressText, candidate: Candidate | undefined, reading: Reading | undefined): Part[] {
  const parts: Part[] = [];
  if (reading) for (const { words, as } of reading.named) parts.push(spanPart(words, as));
  if (candidate && candidate.hit.length > 0) parts.push(spanPart(candidate.hit, 'place'));
  for (const { start, end } of ignored) parts.push({ start, end, as: 'ignored' });
  return parts;
}

/** Adds the postcodes that fit the candidate or the reading to the understood parts. Returns the other postcodes. */
function pushPostcodes(
  parts: Part[],
  postcodes: readonly Postcode[],
  { candidate, reading }: { readonly candidate: Candidate | undefined; readonly reading: Reading | undefined },
): readonly Postcode[] {
  const open = postcodes.filter((postcode) => !overlaps(postcode, parts));
  const fitting = open.filter((postcode) => isFitting(postcode, candidate, reading));
  for (const { start, end } of fitting) parts.push({ start, end, as: 'postcode' });
  return open.filter((postcode) => !fitting.includes(postcode));
}

/** A number with at least this many digits is more likely to be a postcode than a house number. */
const minDigits = 5;

function isCode({ isMarked, code }: Postcode): boolean {
  return isMarked || code.length >= minDigits;
}

/**
 * Returns a range of the text. If the range ends with an abbreviation, includes its full stop. If the range contains an opening bracket,
 * includes the closing one.
 */
function withEnd(text: string, start: number, end: number): string {
  const part = text.slice(start, end);
  if (text[end] !== '.' && text[end] !== ')') return part;
  const isShort = /(?:^|[^\p{L}\p{M}])\p{L}{1,3}$/u.test(part);
  if (text[end] === '.' && isShort) return `${part}.`;
  return text[end] === ')' && part.includes('(') ? `${part})` : part;
}

function spanPart(words: readonly Word[], as: Part['as']): Part {
  return { start: (words[0] as Word).start, end: (words.at(-1) as Word).end, as };
}

function overlaps({ start, end }: Span, others: readonly Span[]): boolean {
  return others.some((other) => start < other.end && other.start < end);
}

function isFitting(postcode: Postcode, candidate: Candidate | undefined, reading: Reading | undefined): boolean {
  if (candidate?.region) return postcodeFit(postcode, candidate.region, undefined) > 0;
  const country = candidate?.country ?? reading?.country ?? reading?.region?.country;
  return country !== undefined && postcode.countries.includes(country.code);
}

/**
 * Returns the range of the words in a segment that are not part of a known area or place. They are a street with its numbers, or another
 * place near the one that is meant.
 */
function otherPart({ words, numbers, hasStreet, hasNumber }: Segment, others: readonly Span[]): Part | undefined {
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
