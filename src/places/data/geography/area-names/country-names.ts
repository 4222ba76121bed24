import { countryNames as namedCountries } from '../../../country-names.ts';
import { placeKey } from '../../../place-key.ts';
import type { Country } from '../places.ts';

/** Countries, keyed by their names and codes in the normalized form that `placeKey` returns. */
export type CountryNames = ReadonlyMap<string, Country>;

/** Collects the names of countries in many languages, and their two-letter and three-letter codes. */
export function countryNames(countries: readonly Country[]): CountryNames {
  const found = new Map<string, Country>();
  const byCode = new Map(countries.map((country) => [country.code, country]));
  for (const country of countries) found.set(placeKey(country.code), country);
  for (const [name, code] of namedCountries()) {
    const country = byCode.get(code);
    if (country && !found.has(name)) found.set(name, country);
  }
  return found;
}

/**
 * Territories with their own country code in GeoNames, keyed by the country that they belong to. Addresses in a territory may contain the
 * name of that country.
 */
const dependents: Readonly<Record<string, readonly string[]>> = {
  US: ['PR', 'GU', 'VI', 'AS', 'MP'],
  FR: ['GP', 'MQ', 'GF', 'RE', 'PM', 'YT', 'BL', 'MF', 'WF', 'PF', 'NC'],
  NL: ['AW', 'CW', 'SX', 'BQ'],
  GB: ['GI', 'JE', 'GG', 'IM', 'BM', 'KY', 'VG', 'TC', 'AI', 'MS', 'FK', 'SH'],
  CN: ['HK', 'MO'],
  DK: ['GL', 'FO'],
  FI: ['AX'],
  NO: ['SJ'],
  AU: ['CX', 'CC', 'NF'],
};

/** Returns true if `land` is a territory that belongs to `state`, although it has its own country code. */
export function isDependent(land: Country, state: Country): boolean {
  return dependents[state.code]?.includes(land.code) ?? false;
}
