import { placeKey } from '../../../../core/lookups/place-key.ts';
import { type CountryNames, isDependent } from '../area-names/country-names.ts';
import type { County, CountyNames } from '../area-names/county-names.ts';
import { kindWords, type RegionNames, withoutKind } from '../area-names/region-names.ts';
import type { Country, Region } from '../places.ts';
import type { AddressText, PartTexts, Segment, Word } from './address-text.ts';

/** Words of an address that name something. */
export interface Named {
  readonly words: readonly Word[];
  readonly as: 'place' | 'region' | 'county' | 'country';
}

/** One way to read an address: the country, the region and the county that it names, and the words that are left. */
export interface Reading {
  /** The country; undefined if the address names none. */
  readonly country: Country | undefined;
  readonly region: Region | undefined;
  readonly county: County | undefined;
  /** The segments that are left; those without words are left out. */
  readonly rest: readonly Segment[];
  /** The names of country, region and county. */
  readonly named: readonly Named[];
  /** Words in these names. */
  readonly used: number;
  /** True if `rest` is the part of an address that holds its town. */
  readonly isCity: boolean;
}

/** The names that addresses are read with. */
export interface AddressNames {
  readonly countries: CountryNames;
  readonly regions: RegionNames;
  readonly counties: CountyNames;
  /** The last words of all these names. */
  readonly lastWords: ReadonlySet<string>;
}

/** Collects the last words of names, and the words for kinds of regions. */
export function lastWordsOf(...names: readonly ReadonlyMap<string, unknown>[]): ReadonlySet<string> {
  const words = new Set(kindWords);
  for (const map of names) for (const name of map.keys()) words.add(name.slice(name.lastIndexOf(' ') + 1));
  return words;
}

/** Maximum of words in the name of a country or region. */
const longestName = 7;

/** Shortest name of a country that may stand first. */
const minFirstCountry = 4;

/** All ways to read an address of one line. In the first reading no word names a country, region or county. */
export function textReadings({ segments }: AddressText, names: AddressNames): Reading[] {
  return withAreas({ ...nothingNamed, rest: segments }, names);
}

const nothingNamed = { country: undefined, region: undefined, county: undefined, named: [], used: 0, isCity: false } as const;

function withAreas(plain: Reading, names: AddressNames): Reading[] {
  if (!mayNameArea(plain.rest, names)) return [plain];
  const countries = [plain, ...withCountry(plain, names), ...withFirstCountry(plain, names)];
  const regions = [...countries, ...countries.flatMap((reading) => withRegion(reading, names))];
  return [...regions, ...regions.flatMap((reading) => withCounty(reading, names))];
}

/** False if neither the end nor the beginning can name a country, region or county, as in most texts. */
function mayNameArea(rest: readonly Segment[], { lastWords }: AddressNames): boolean {
  const isLast = (segment: Segment | undefined) => segment !== undefined && lastWords.has((segment.words.at(-1) as Word).key);
  return isLast(rest.at(-1)) || (rest.length > 1 && isLast(rest[0]));
}

function withCountry(reading: Reading, names: AddressNames): Reading[] {
  const end = endNamed(reading.rest, names, (name) => names.countries.get(name));
  if (!end) return [];
  const country = end.found;
  const found = { ...reading, country, rest: end.before, named: [{ words: end.words, as: 'country' as const }], used: end.words.length };
  // `San Juan, Puerto Rico, USA`
  const inner = endNamed(found.rest, names, (name) => names.countries.get(name));
  if (!inner || !isDependent(inner.found, country)) return [found];
  const named = [{ words: inner.words, as: 'country' as const }, ...found.named];
  return [found, { ...found, country: inner.found, rest: inner.before, named, used: found.used + inner.words.length }];
}

/** `Россия, Москва, ул. Ленина 5` */
function withFirstCountry(reading: Reading, { countries, lastWords }: AddressNames): Reading[] {
  const [first] = reading.rest;
  if (!first || reading.rest.length < 2 || !lastWords.has((first.words.at(-1) as Word).key)) return [];
  const name = keyOf(first.words);
  const country = name.length < minFirstCountry ? undefined : countries.get(name);
  return country
    ? [{ ...reading, country, rest: reading.rest.slice(1), named: [{ words: first.words, as: 'country' }], used: first.words.length }]
    : [];
}

function withRegion(reading: Reading, names: AddressNames): Reading[] {
  const { regions } = names;
  const { country, named, used } = reading;
  const end = endNamed(reading.rest, names, (name) => {
    const known = regions.get(name) ?? (name.includes(' ') ? regions.get(withoutKind(name)) : undefined);
    const found = known?.filter((region) => !country || region.country === country) ?? [];
    return found.length > 0 ? found : undefined;
  });
  return (end?.found ?? []).map((region) => {
    const { words, before } = end as End<Region[]>;
    return { ...reading, country, region, rest: before, named: [{ words, as: 'region' as const }, ...named], used: used + words.length };
  });
}

/** A county stands after a town, and never alone. */
function withCounty(reading: Reading, names: AddressNames): Reading[] {
  const { counties } = names;
  const { country, region, named, used } = reading;
  const end = endNamed(reading.rest, names, (name) => {
    const found = counties
      .get(name)
      ?.filter((county) => (!country || county.region.country === country) && (!region || county.region === region));
    return found && found.length > 0 ? found : undefined;
  });
  if (!end || end.before.length === 0) return [];
  const { words, before } = end;
  return end.found.map((county) => {
    return {
      ...reading,
      ...{ country: county.region.country, region: county.region, county, rest: before },
      ...{ named: [{ words, as: 'county' as const }, ...named], used: used + words.length },
    };
  });
}

interface End<Found> {
  readonly found: Found;
  readonly before: readonly Segment[];
  readonly words: readonly Word[];
}

/** The longest name at the end of the last segment, and the segments without it. */
function endNamed<Found>(
  rest: readonly Segment[],
  { lastWords }: AddressNames,
  find: (name: string) => Found | undefined,
): End<Found> | undefined {
  const last = rest.at(-1);
  if (!last) return undefined;
  const { words } = last;
  // Most texts end with no such name.
  if (!lastWords.has((words.at(-1) as Word).key)) return undefined;
  const tails = tailsOf(words);
  for (let count = tails.length; count > 0; count--) {
    const found = find(tails[count - 1] as string);
    if (found === undefined) continue;
    const end = words.slice(-count);
    const before = rest.slice(0, -1);
    if (count < words.length)
      before.push({ ...last, words: words.slice(0, -count), town: last.town.filter((word) => !end.includes(word)) });
    return { found, before, words: end };
  }
  return undefined;
}

const knownTails = new WeakMap<readonly Word[], readonly string[]>();

/** The last word, the last two words and so on. All readings of an address ask for them. */
function tailsOf(words: readonly Word[]): readonly string[] {
  if (words.length === 1) return [(words[0] as Word).key];
  const known = knownTails.get(words);
  if (known) return known;
  const tails: string[] = [];
  for (let count = 1; count <= Math.min(words.length, longestName); count++) {
    const { key } = words.at(-count) as Word;
    tails.push(count === 1 ? key : `${key} ${tails.at(-1)}`);
  }
  knownTails.set(words, tails);
  return tails;
}

/** The words in the form of `placeKey`. */
export function keyOf(words: readonly Word[]): string {
  return words.length === 1 ? (words[0] as Word).key : words.map(({ key }) => key).join(' ');
}

/** All ways to read an address in parts. An unknown country leaves no reading: a place in another country would be wrong. An unknown region is ignored. */
export function partReadings({ text, parts }: PartTexts, names: AddressNames): Reading[] {
  const { city, state, country, street } = parts;
  const isThere = (part: AddressText) => placeKey(part.text) !== '';
  const [countryWords, stateWords] = [country, state].map(({ segments }) => segments.flatMap(({ words }) => words)) as [Word[], Word[]];
  const land = names.countries.get(keyOf(countryWords));
  // A street without a town says nothing about the place.
  if ((isThere(country) && !land) || (!isThere(city) && isThere(street)) || text === '') return [];
  const named: Named[] = land ? [{ words: countryWords, as: 'country' }] : [];
  const plain: Reading = {
    ...nothingNamed,
    country: land,
    rest: city.segments,
    named,
    used: land ? countryWords.length : 0,
    isCity: isThere(city),
  };
  const inState = isThere(state) ? stateReadings(plain, stateWords, names) : [];
  if (inState.length > 0) return inState;
  // Without parts for them, the town's part may name the country or the region, too.
  return land ? [plain, ...withRegion(plain, names), ...withCounty(plain, names)] : withAreas(plain, names);
}

function stateReadings(plain: Reading, words: readonly Word[], names: AddressNames): Reading[] {
  const { country, named, used } = plain;
  const more = (as: 'region' | 'county') => ({ named: [{ words, as }, ...named], used: used + words.length });
  const isThere = (region: Region) => !country || region.country === country;
  const regions = names.regions.get(keyOf(words))?.filter(isThere) ?? [];
  const counties = names.counties.get(keyOf(words))?.filter(({ region }) => isThere(region)) ?? [];
  return [
    ...regions.map((region) => ({ ...plain, region, ...more('region') })),
    ...counties.map((county) => ({ ...plain, county, region: county.region, country: county.region.country, ...more('county') })),
  ];
}
