import { formalCountry, formalEnds, placeKey } from '../../../country-names.ts';
import { type CountryNames, type CountyNames, isDependent, type NamedCounty } from '../county-names.ts';
import type { Country, Region } from '../places.ts';
import { kindWords, type RegionNames, withoutKind } from '../region-names.ts';
import type { AddressText, PartTexts, Segment, Word } from './address-text.ts';

export interface Named {
  readonly words: readonly Word[];
  readonly as: 'place' | 'region' | 'county' | 'country';
}

/** One way to read an address. It contains the country, the region and the county that some words are read as, and the remaining words. */
export interface AddressReading {
  readonly country: Country | undefined;
  readonly region: Region | undefined;
  readonly county: NamedCounty | undefined;
  /** The segments with the remaining words. */
  readonly rest: readonly Segment[];
  readonly named: readonly Named[];
  /** Number of words that belong to the names in `named`. */
  readonly used: number;
  /** True if the address consists of separate parts and has a part for the town. That part is then `rest`. */
  readonly isCity: boolean;
}

export interface AddressNames {
  readonly countries: CountryNames;
  readonly regions: RegionNames;
  readonly counties: CountyNames;
  /** For a quick check: text with a different last word does not end with an area. */
  readonly lastWords: ReadonlySet<string>;
}

export function lastWordsOf(...names: readonly ReadonlyMap<string, unknown>[]): ReadonlySet<string> {
  const words = new Set([...kindWords, ...formalEnds]);
  for (const map of names) for (const name of map.keys()) words.add(name.slice(name.lastIndexOf(' ') + 1));
  return words;
}

/** Maximum number of words in the name of a country or region. */
const longestName = 10;

/** Minimum number of characters in the name of a country at the beginning of an address. */
const minFirstCountry = 4;

/** In the first reading, no word is a country, region or county. */
export function textReadings({ segments }: AddressText, names: AddressNames): AddressReading[] {
  return withAreas({ ...nothingNamed, rest: segments }, names);
}

const nothingNamed = { country: undefined, region: undefined, county: undefined, named: [], used: 0, isCity: false } as const;

function withAreas(plain: AddressReading, names: AddressNames): AddressReading[] {
  if (!mayNameArea(plain.rest, names)) return [plain];
  const countries = [plain, ...withCountry(plain, names), ...withFirstCountry(plain, names)];
  const regions = [...countries, ...countries.flatMap((reading) => withRegion(reading, names))];
  return [...regions, ...regions.flatMap((reading) => withCounty(reading, names))];
}

/** False if an address certainly contains no area at its beginning or end. This quick check excludes most addresses. */
function mayNameArea(rest: readonly Segment[], { lastWords }: AddressNames): boolean {
  const isLast = (segment: Segment | undefined) => segment !== undefined && lastWords.has((segment.words.at(-1) as Word).key);
  return isLast(rest.at(-1)) || (rest.length > 1 && isLast(rest[0]));
}

function withCountry(reading: AddressReading, names: AddressNames): AddressReading[] {
  const end = joinedCountry(reading.rest, names) ?? endNamed(reading.rest, names, (name) => countryIn(names, name));
  if (!end) return [];
  const country = end.found;
  const found = { ...reading, country, rest: end.before, named: [{ words: end.words, as: 'country' as const }], used: end.words.length };
  // Finds a territory that is written before the country that it belongs to, as in `San Juan, Puerto Rico, USA`.
  const inner = endNamed(found.rest, names, (name) => names.countries.get(name));
  if (!inner || !isDependent(inner.found, country)) return [found];
  const named = [{ words: inner.words, as: 'country' as const }, ...found.named];
  return [found, { ...found, country: inner.found, rest: inner.before, named, used: found.used + inner.words.length }];
}

function countryIn({ countries }: AddressNames, name: string): Country | undefined {
  const known = countries.get(name);
  if (known || !name.includes(' ')) return known;
  const code = formalCountry(name);
  return code === undefined ? undefined : countries.get(placeKey(code));
}

const lastJoined: ReadonlySet<string> = new Set([...formalEnds, 'cunha', 'saba', 'british', 's', 'us', 'occupied']);

/** For a country whose name contains a comma, as in `Korea, Republic of`. */
function joinedCountry(rest: readonly Segment[], names: AddressNames): End<Country> | undefined {
  const [before, last] = [rest.at(-2), rest.at(-1)];
  if (!before || !last || !lastJoined.has((last.words.at(-1) as Word).key)) return undefined;
  const joined = { ...last, words: [...before.words, ...last.words], town: [...before.town, ...last.town] };
  const end = endNamed([...rest.slice(0, -2), joined], names, (name) => countryIn(names, name));
  return end && end.words.length > last.words.length ? end : undefined;
}

/** For an address such as `Россия, Москва, ул. Ленина 5`. Empty if the first segment is not a country. */
function withFirstCountry(reading: AddressReading, { countries, lastWords }: AddressNames): AddressReading[] {
  const [first] = reading.rest;
  if (!first || reading.rest.length < 2 || !lastWords.has((first.words.at(-1) as Word).key)) return [];
  const name = keyOf(first.words);
  const country = name.length < minFirstCountry ? undefined : countries.get(name);
  return country
    ? [{ ...reading, country, rest: reading.rest.slice(1), named: [{ words: first.words, as: 'country' }], used: first.words.length }]
    : [];
}

function withRegion(reading: AddressReading, names: AddressNames): AddressReading[] {
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

/** A county must follow other words, such as a town. */
function withCounty(reading: AddressReading, names: AddressNames): AddressReading[] {
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

function endNamed<Found>(
  rest: readonly Segment[],
  { lastWords }: AddressNames,
  find: (name: string) => Found | undefined,
): End<Found> | undefined {
  const last = rest.at(-1);
  if (!last) return undefined;
  const { words } = last;
  // Most addresses do not end with the name of an area.
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

/** Returns the last word, the last two words, and so on. The results are kept, because several readings contain the same words. */
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

/** Joins words into one name in the normalized form that `placeKey` returns. */
export function keyOf(words: readonly Word[]): string {
  return words.length === 1 ? (words[0] as Word).key : words.map(({ key }) => key).join(' ');
}

/** None if the country is unknown, because a place elsewhere would be wrong. An unknown region is ignored. */
export function partReadings({ text, parts }: PartTexts, names: AddressNames): AddressReading[] {
  const { city, state, country, street } = parts;
  const isThere = (part: AddressText) => placeKey(part.text) !== '';
  const [countryWords, stateWords] = [country, state].map(({ segments }) => segments.flatMap(({ words }) => words)) as [Word[], Word[]];
  const land = countryIn(names, keyOf(countryWords));
  // A street without a town is not enough to find a place.
  if ((isThere(country) && !land) || (!isThere(city) && isThere(street)) || text === '') return [];
  const named: Named[] = land ? [{ words: countryWords, as: 'country' }] : [];
  const plain: AddressReading = {
    ...nothingNamed,
    country: land,
    rest: city.segments,
    named,
    used: land ? countryWords.length : 0,
    isCity: isThere(city),
  };
  const inState = isThere(state) ? stateReadings(plain, stateWords, names) : [];
  if (inState.length > 0) return inState;
  // If the address has no part for the country or the region, the part for the town may contain their names.
  return land ? [plain, ...withRegion(plain, names), ...withCounty(plain, names)] : withAreas(plain, names);
}

function stateReadings(plain: AddressReading, words: readonly Word[], names: AddressNames): AddressReading[] {
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
