import type { District, Region } from '../places.ts';
import {
  britishAreas,
  digitForms,
  frenchTerritories,
  markedForms,
  prefixes,
  regionStarts,
  spanishProvinces,
  zipAreas,
} from './postcode-forms.ts';

/** A part of an address that looks like a postcode. */
export interface Postcode {
  /** Index of the first character in the address. `end` is the index after the last character. */
  readonly start: number;
  readonly end: number;
  readonly code: string;
  /** Codes of the countries whose postcodes look like this one. */
  readonly countries: readonly string[];
  /** True if the postcode cannot be a house number, because it contains letters, spaces or dashes. */
  readonly isMarked: boolean;
  /** True if letters before the postcode specify the country, as in `D-10115`. */
  readonly namesCountry: boolean;
}

/** Finds all parts of an address that look like postcodes. Parts that consist only of digits may also be house numbers. */
export function postcodesIn(text: string): Postcode[] {
  if (!codeHint.test(text)) return [];
  const capitals = text.toUpperCase();
  // A few letters, such as ß, become longer in capitals, which would make the positions wrong.
  if (capitals.length !== text.length) return [];
  const found: Postcode[] = [];
  const add = (postcode: Postcode) => {
    if (!found.some(({ start, end }) => postcode.start < end && start < postcode.end)) found.push(postcode);
  };
  const hasMarks = markHint.test(capitals);
  if (hasMarks) for (const postcode of prefixedIn(capitals)) add(postcode);
  for (const { form, countries } of hasMarks ? markedForms : []) {
    for (const match of capitals.matchAll(form)) add({ ...spanOf(match), countries: ownersOf(match[0], countries), ...marked });
  }
  for (const match of capitals.matchAll(/(?<![\d\p{L}.#/-])\d{4,8}(?![\d\p{L}/-])/gu)) {
    const countries = digitForms[match[0].length];
    if (countries) add({ ...spanOf(match), countries: digitCountries(match[0], countries), isMarked: false, namesCountry: false });
  }
  if (!hasMarks) return found;
  for (const match of capitals.matchAll(/\b([A-Z]{1,2})\d[A-Z\d]?(?=\s*(?:$|,))/g)) {
    if (nationOf(match[1] as string)) add({ ...spanOf(match), countries: ['GB'], ...marked });
  }
  return found;
}

/** Matches text that may contain a postcode: text with four digits in a row, or with letters, spaces or dashes next to digits. */
const codeHint = /\d{4}|[A-Za-z]\d|\d[A-Za-z]|\d[ -]\d|[A-Za-z] ?- ?\d/;

/** Matches text that may contain a postcode with letters, spaces or dashes. */
const markHint = /[A-Z]\d|\d[A-Z]|\d[ -]\d|[A-Z] ?- ?\d|\d{4} [A-Z]{2}\b/;

const marked = { isMarked: true, namesCountry: false };

function spanOf(match: RegExpMatchArray) {
  const start = match.index ?? 0;
  return { start, end: start + match[0].length, code: match[0].replace(/[^A-Z\d]/g, '') };
}

function* prefixedIn(capitals: string): Generator<Postcode> {
  for (const match of capitals.matchAll(/\b([A-Z]{1,3})[ ]?-[ ]?(\d{3,6}(?: \d{2,3})?)\b/g)) {
    const country = prefixes[match[1] as string];
    const code = (match[2] as string).replace(' ', '');
    if (country) yield { ...spanOf(match), code, countries: territories(country, code), isMarked: true, namesCountry: true };
  }
}

/**
 * Returns the countries of a postcode with letters, spaces or dashes. Postcodes of Jersey, Guernsey, the Isle of Man and Gibraltar are
 * recognized by their first letters.
 */
function ownersOf(code: string, countries: readonly string[]): readonly string[] {
  const own = /^(?:GY|JE|IM|GX)/.exec(code)?.[0];
  if (countries[0] !== 'GB') return countries;
  if (own) return [{ GY: 'GG', JE: 'JE', IM: 'IM', GX: 'GI' }[own] as string];
  return nationOf(/^[A-Z]+/.exec(code)?.[0] ?? '') ? ['GB'] : [];
}

/** Returns the countries of a postcode that consists of digits. A French territory's postcode is recognized by its first three digits. */
function digitCountries(code: string, countries: readonly string[]): readonly string[] {
  if (code.length !== 5) return countries;
  const territory = frenchTerritories[code.slice(0, 3)];
  if (territory) return ['FR', territory, ...countries.filter((country) => country !== 'FR')];
  return countries;
}

function territories(country: string, code: string): readonly string[] {
  const territory = country === 'FR' ? frenchTerritories[code.slice(0, 3)] : undefined;
  return territory ? [country, territory] : [country];
}

const nations = new Map(Object.entries(britishAreas).flatMap(([nation, areas]) => areas.split(' ').map((area) => [area, nation] as const)));

function nationOf(area: string): string | undefined {
  return nations.get(area);
}

const zips = zipAreas.split(' ');
const provinces = spanishProvinces.split(' ');

/** Returns the code of the US state that a ZIP code belongs to. */
function stateOfZip(code: string): string | undefined {
  let state: string | undefined;
  for (let index = 0; index < zips.length && (zips[index] as string) <= code.slice(0, 3); index += 2) state = zips[index + 1];
  return state;
}

/**
 * Returns how well a place fits a postcode: 0 if it does not fit, 1 if only its country fits, and 2 if its region or district fits, too.
 */
export function postcodeFit({ code, countries }: Postcode, region: Region, district: District | undefined): 0 | 1 | 2 {
  const country = region.country.code;
  if (!countries.includes(country)) return 0;
  return isInRegion(code, region, district) ? 2 : 1;
}

function isInRegion(code: string, region: Region, district: District | undefined): boolean {
  const country = region.country.code;
  if (country === 'US') return stateOfZip(code) === region.code;
  if (country === 'GB') return nationOf(/^[A-Z]+/.exec(code)?.[0] ?? '') === region.code;
  if (country === 'FR')
    return district !== undefined && (code.startsWith('20') ? /^2[AB]/ : new RegExp(`^${code.slice(0, 2)}`)).test(district.code);
  if (country === 'ES') return district !== undefined && provinces[Number(code.slice(0, 2)) - 1] === district.code;
  if (frenchTerritories[code.slice(0, 3)] === country) return true;
  const starts = regionStarts[country];
  const regions = starts?.[code.slice(0, 2)] ?? starts?.[code.slice(0, 1)];
  return regions?.split('|').includes(region.code) ?? false;
}
