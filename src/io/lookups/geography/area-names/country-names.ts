import { countryNames as namedCountries } from '../../../../core/lookups/country-names.ts';
import { placeKey } from '../../../../core/lookups/place-key.ts';
import type { Country } from '../places.ts';

/** The countries that a name or a code can mean, in the form of `placeKey`. */
export type CountryNames = ReadonlyMap<string, Country>;

/** Collects the names of countries in many languages, and their codes of two and three letters. */
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

/** Countries of GeoNames whose addresses may name the state that they belong to. */
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

/** True if a land belongs to a state, with a code of its own. */
export function isDependent(land: Country, state: Country): boolean {
  return dependents[state.code]?.includes(land.code) ?? false;
}
