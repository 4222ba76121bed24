import type { AddressParts } from '../../../core/lookups/geocode.ts';
import { placeKey } from '../../../core/lookups/place-key.ts';
import type { CountryNames } from './country-names.ts';
import type { Country, Region } from './places.ts';
import type { RegionNames } from './region-names.ts';

/** One way to read an address: the country and the region that it names, and the words that are left. */
export interface Reading {
  readonly country: Country | undefined;
  /** The country; undefined if the address names none. */
  readonly region: Region | undefined;
  /** The words between commas, in the form of `placeKey`; parts without words are left out. */
  readonly rest: readonly (readonly string[])[];
  /** Words that name the country and the region. */
  readonly used: number;
}

/** The names that addresses are read with. */
export interface AddressNames {
  readonly countries: CountryNames;
  readonly regions: RegionNames;
}

/** Maximum of words in the name of a country or region. */
const longestName = 7;

/** All ways to read an address. In the first reading no word names a country or region. */
export function readingsOf(address: string | AddressParts, names: AddressNames): Reading[] {
  return typeof address === 'string' ? textReadings(address, names) : partReadings(address, names);
}

function textReadings(text: string, names: AddressNames): Reading[] {
  const rest = segmentsOf(text);
  const plain: Reading = { country: undefined, region: undefined, rest, used: 0 };
  const countries = [plain, ...withCountry(plain, names)];
  return [...countries, ...countries.flatMap((reading) => withRegion(reading, names))];
}

/** The parts of a text between commas. Words with digits are house numbers and postcodes. */
function segmentsOf(text: string): string[][] {
  const segments = text.split(/[,;|、，\t\r\n]|\s[-–—/]\s/).map((segment) => addressWords(segment).flatMap(withoutNumber));
  return segments.filter((words) => words.length > 0);
}

/** The word; nothing if it has digits. In a script without spaces the text before them: `渋谷区道玄坂1`. */
function withoutNumber(word: string): string[] {
  if (!/\d/.test(word)) return [word];
  return isUnspaced(word) ? (word.match(/^\d*\D+/)?.map((start) => start.replace(/^\d+/, '')) ?? []) : [];
}

/** True for text in a script that sets no spaces between words: Chinese and Japanese. */
export function isUnspaced(text: string): boolean {
  return /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text);
}

function addressWords(text: string): string[] {
  const key = placeKey(text);
  return key === '' ? [] : key.split(' ');
}

function withCountry(reading: Reading, { countries }: AddressNames): Reading[] {
  const end = endNamed(reading.rest, (name) => countries.get(name));
  return end ? [{ ...reading, country: end.found, rest: end.before, used: end.count }] : [];
}

function withRegion(reading: Reading, { regions }: AddressNames): Reading[] {
  const { country, used } = reading;
  const end = endNamed(reading.rest, (name) => {
    const found = regions.get(name)?.filter((region) => !country || region.country === country) ?? [];
    return found.length > 0 ? found : undefined;
  });
  return (end?.found ?? []).map((region) => ({ country, region, rest: end?.before ?? [], used: used + (end?.count ?? 0) }));
}

/** The longest name at the end of the last part, and the parts without it. */
function endNamed<Found>(rest: Reading['rest'], find: (name: string) => Found | undefined) {
  const last = rest.at(-1) ?? [];
  for (let count = Math.min(last.length, longestName); count > 0; count--) {
    const found = find(last.slice(-count).join(' '));
    if (found === undefined) continue;
    const before = [...rest.slice(0, -1), last.slice(0, -count)].filter((words) => words.length > 0);
    return { found, before, count };
  }
  return undefined;
}

/** An unknown country leaves no reading: a place in another country would be wrong. An unknown region is ignored. */
function partReadings({ city = '', state = '', country = '', street = '' }: AddressParts, names: AddressNames): Reading[] {
  const named = names.countries.get(placeKey(country));
  if (placeKey(country) !== '' && !named) return [];
  const used = named ? addressWords(country).length : 0;
  const regions = (names.regions.get(placeKey(state)) ?? []).filter((region) => !named || region.country === named);
  // A street without a town says nothing about the place.
  const rest = city.trim() === '' && street.trim() !== '' ? [['']] : segmentsOf(city);
  const plain: Reading = { country: named, region: undefined, rest, used };
  if (regions.length > 0) return regions.map((region) => ({ ...plain, region, used: used + addressWords(state).length }));
  // Without parts for them, the town's part may name the country or the region, too.
  return [plain, ...(named ? [] : withCountry(plain, names)), ...withRegion(plain, names)];
}
