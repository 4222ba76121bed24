import type { Temporal as TemporalApi } from 'temporal-polyfill';
import { inQuotes } from '../answer/response.ts';
import { didYouMean } from '../text/suggest.ts';
import { remembered } from './remembered.ts';

/** The library for dates and time zones. It is loaded only for flows that read or write dates. */
let library: typeof TemporalApi | undefined;

/** Must be called before a flow with `date.parse` or `date.format` is compiled. */
export async function loadDates(): Promise<void> {
  library ??= (await import('temporal-polyfill')).Temporal;
}

function temporal(): typeof TemporalApi {
  if (library) return library;
  throw new Error('the library for dates is not loaded');
}

/** The parts of a time that a text states. `half` is 0 before noon and 1 after it, `weekday` is 1 for Monday, and `offset` is in minutes. */
type Said = 'year' | 'month' | 'day' | 'hour' | 'hour12' | 'half' | 'minute' | 'second' | 'millisecond' | 'weekday' | 'offset';

type LocalTime = TemporalApi.ZonedDateTime;

/** Letters of a pattern (Unicode Technical Standard 35, Date Field Symbols), and the text that they stand for. */
interface Letters {
  readonly says: Said;
  /** A regular expression for the text. */
  readonly form: string;
  read(text: string): number;
  write(time: LocalTime): string;
}

const months = 'January February March April May June July August September October November December'.split(' ');
const weekdays = 'Monday Tuesday Wednesday Thursday Friday Saturday Sunday'.split(' ');
const halves = ['AM', 'PM'];
const short = (names: readonly string[]) => names.map((name) => name.slice(0, 3));

function digits(says: Said, count: number, partOf: (time: LocalTime) => number): Letters {
  return {
    says,
    form: count === 1 ? '\\d\\d?' : `\\d{${count}}`,
    read: Number,
    write: (time) => String(partOf(time)).padStart(count, '0'),
  };
}

/** `first` is the number of the first name. */
function named(says: Said, names: readonly string[], first: number, partOf: (time: LocalTime) => number): Letters {
  const lower = names.map((name) => name.toLowerCase());
  return {
    says,
    form: names.join('|'),
    read: (text) => lower.indexOf(text.toLowerCase()) + first,
    write: (time) => names[partOf(time) - first] as string,
  };
}

const hour12Of = ({ hour }: LocalTime) => hour % 12 || 12;

/** Years of two digits are from 1950 to 2049. */
const firstOfCentury = 50;

const allLetters: Readonly<Record<string, Letters>> = {
  yyyy: digits('year', 4, ({ year }) => year),
  yy: { ...digits('year', 2, ({ year }) => year % 100), read: (text) => Number(text) + (Number(text) < firstOfCentury ? 2000 : 1900) },
  MMMM: named('month', months, 1, ({ month }) => month),
  MMM: named('month', short(months), 1, ({ month }) => month),
  MM: digits('month', 2, ({ month }) => month),
  M: digits('month', 1, ({ month }) => month),
  dd: digits('day', 2, ({ day }) => day),
  d: digits('day', 1, ({ day }) => day),
  EEEE: named('weekday', weekdays, 1, ({ dayOfWeek }) => dayOfWeek),
  EEE: named('weekday', short(weekdays), 1, ({ dayOfWeek }) => dayOfWeek),
  HH: digits('hour', 2, ({ hour }) => hour),
  H: digits('hour', 1, ({ hour }) => hour),
  hh: digits('hour12', 2, hour12Of),
  h: digits('hour12', 1, hour12Of),
  a: named('half', halves, 0, ({ hour }) => Math.floor(hour / 12)),
  mm: digits('minute', 2, ({ minute }) => minute),
  ss: digits('second', 2, ({ second }) => second),
  SSS: digits('millisecond', 3, ({ millisecond }) => millisecond),
  XXX: { says: 'offset', form: 'Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d', read: offsetMinutes, write: offsetText },
};

const lettersAdvice = `the letters are ${Object.keys(allLetters).join(' ')}; other text stands between apostrophes, as in yyyy-MM-dd'T'HH:mm`;

function offsetMinutes(text: string): number {
  if (text === 'Z') return 0;
  const [hours, minutes] = text.slice(1).split(':').map(Number) as [number, number];
  return (hours * 60 + minutes) * (text.startsWith('-') ? -1 : 1);
}

/** Offsets before about 1900 have seconds, which the form `+01:00` cannot show. */
function offsetText({ offsetNanoseconds }: LocalTime): string {
  const minutes = Math.round(offsetNanoseconds / 60e9);
  return minutes === 0 ? 'Z' : writtenOffset(minutes);
}

function writtenOffset(minutes: number): string {
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60].map((part) => String(part).padStart(2, '0'));
  return `${minutes < 0 ? '-' : '+'}${hours}:${rest}`;
}

interface DatePattern {
  readonly parts: readonly (Letters | string)[];
  readonly form: RegExp;
  /** The reason why the pattern cannot read a date; undefined if it can. */
  readonly unreadable: string | undefined;
}

const compilePattern = remembered((pattern: string): DatePattern => {
  const parts = partsOf(pattern);
  const form = new RegExp(`^${parts.map((part) => (typeof part === 'string' ? literalForm(part) : `(${part.form})`)).join('')}$`, 'i');
  return { parts, form, unreadable: unreadable(parts.flatMap((part) => (typeof part === 'string' ? [] : part.says))) };
});

const token = /''|'(?<quoted>(?:[^']|'')*)'|(?<letters>([A-Za-z])\3*)|(?<other>[^A-Za-z']+)/y;

function partsOf(pattern: string): (Letters | string)[] {
  const parts: (Letters | string)[] = [];
  for (let at = 0; at < pattern.length; at = token.lastIndex) {
    token.lastIndex = at;
    const groups = token.exec(pattern)?.groups;
    if (!groups) throw patternError(pattern, 'an apostrophe is not closed');
    const { quoted, letters, other } = groups;
    if (letters !== undefined) parts.push(lettersOf(letters, pattern));
    else parts.push(other ?? quoted?.replaceAll("''", "'") ?? "'");
  }
  if (!parts.some((part) => typeof part !== 'string')) throw patternError(pattern, 'it has no letters');
  return parts;
}

/** Letters of other languages, such as YYYY-MM-DD. */
const otherLetters: Readonly<Record<string, string>> = {
  YYYY: 'yyyy',
  YY: 'yy',
  DD: 'dd',
  D: 'd',
  A: 'a',
  S: 'SSS',
  Z: 'XXX',
  ZZ: 'XXX',
  X: 'XXX',
};

function lettersOf(letters: string, pattern: string): Letters {
  if (Object.hasOwn(allLetters, letters)) return allLetters[letters] as Letters;
  const other = Object.hasOwn(otherLetters, letters) ? `; did you mean ${otherLetters[letters]}?` : '';
  throw patternError(pattern, `"${letters}" stands for nothing${other}`);
}

function patternError(pattern: string, reason: string): Error {
  return new Error(`expected a pattern such as dd.MM.yyyy, found ${inQuotes(pattern)}: ${reason}\n${lettersAdvice}`);
}

/** Some programs write a no-break space where a pattern has a space, for example before PM. */
function literalForm(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&').replaceAll(' ', '[ \\u00a0\\u202f]');
}

function unreadable(said: readonly Said[]): string | undefined {
  const has = (part: Said) => said.includes(part);
  if (!has('year')) return 'it has no year (yyyy)';
  if (has('day') && !has('month')) return `it has a day, but no month (MM${has('minute') ? '; mm are minutes' : ''})`;
  if (has('hour12') && !has('half')) return 'hh is from 1 to 12, so it needs AM or PM (a); HH is from 0 to 23';
  if (has('half') && !has('hour12')) return 'AM or PM (a) needs an hour from 1 to 12 (hh or h)';
  return undefined;
}

/** Throws an Error if `date.parse` cannot read dates with this pattern. */
export function readablePattern(pattern: string): DatePattern {
  const made = compilePattern(pattern);
  if (made.unreadable === undefined) return made;
  throw new Error(`date.parse cannot read a date of the form ${inQuotes(pattern)}: ${made.unreadable}`);
}

/** Throws an Error if the pattern is invalid. */
export function writablePattern(pattern: string): DatePattern {
  return compilePattern(pattern);
}

/** Throws an Error for an unknown time zone. */
export function checkZone(zone: string): void {
  // The library would also read a zone out of a date.
  if (isZone(zone) && !/^\d/.test(zone)) return;
  const near = didYouMean(zone, Intl.supportedValuesOf('timeZone'));
  throw new Error(`expected a time zone such as Europe/Berlin, found ${inQuotes(zone)}${near}`);
}

function isZone(zone: string): boolean {
  try {
    return temporal().Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(zone) !== undefined;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** Throws an Error if the text is not a date of this form. */
export function parseDate(text: string, pattern: string, zone = 'UTC'): Date {
  const { parts, form } = readablePattern(pattern);
  checkZone(zone);
  const said = saidIn(form.exec(text), parts);
  const time = said && timeOf(said, zone);
  if (time === undefined) throw new Error(`date.parse: ${inQuotes(text)} is no date of the form ${pattern}`);
  return new Date(time.epochMilliseconds);
}

/** Undefined if the text says the same thing twice and differently. */
function saidIn(found: RegExpExecArray | null, parts: DatePattern['parts']): Map<Said, number> | undefined {
  if (!found) return undefined;
  const said = new Map<Said, number>();
  for (const [index, { says, read }] of parts.filter((part) => typeof part !== 'string').entries()) {
    const value = read(found[index + 1] as string);
    if ((said.get(says) ?? value) !== value) return undefined;
    said.set(says, value);
  }
  return said;
}

/** Undefined for a time that does not exist, such as 31 February. */
function timeOf(said: ReadonlyMap<Said, number>, zone: string): LocalTime | undefined {
  const of = (part: Said, otherwise: number) => said.get(part) ?? otherwise;
  const hour12 = of('hour12', 12);
  const year = of('year', 0);
  if (hour12 < 1 || hour12 > 12 || year < 1) return undefined;
  const fields = {
    year,
    month: of('month', 1),
    day: of('day', 1),
    hour: of('hour', (hour12 % 12) + 12 * of('half', 0)),
    minute: of('minute', 0),
    second: of('second', 0),
    millisecond: of('millisecond', 0),
  };
  const offset = said.get('offset');
  try {
    const local = temporal().PlainDateTime.from(fields, { overflow: 'reject' });
    if (of('weekday', local.dayOfWeek) !== local.dayOfWeek) return undefined;
    // An hour that a change of the clock leaves out is moved forward, and of an hour that occurs twice, the first is meant.
    return local.toZonedDateTime(offset === undefined ? zone : writtenOffset(offset), { disambiguation: 'compatible' });
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

export function formatDate(time: Date, pattern: string, zone = 'UTC'): string {
  const { parts } = compilePattern(pattern);
  checkZone(zone);
  const local = temporal().Instant.fromEpochMilliseconds(time.getTime()).toZonedDateTimeISO(zone);
  return parts.map((part) => (typeof part === 'string' ? part : part.write(local))).join('');
}
