import { placeKey } from '../../../../core/lookups/place-key.ts';
import type { Country } from '../places.ts';

/** Languages in which names of countries are known. */
const languages = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'pl', 'sv', 'cs', 'ru', 'uk', 'ja', 'ko', 'zh', 'tr', 'fi', 'el'];

/** Names that Unicode's list has in another form. */
const otherNames: Readonly<Record<string, string>> = {
  'u s': 'US',
  'u s a': 'US',
  'united states of america': 'US',
  america: 'US',
  'vereinigte staaten von amerika': 'US',
  'etats unis d amerique': 'US',
  'etats unis damerique': 'US',
  'estados unidos de america': 'US',
  eeuu: 'US',
  'ee uu': 'US',
  uk: 'GB',
  'u k': 'GB',
  'great britain': 'GB',
  britain: 'GB',
  grossbritannien: 'GB',
  'grande bretagne': 'GB',
  'gran bretana': 'GB',
  'united kingdom of great britain and northern ireland': 'GB',
  holland: 'NL',
  'the netherlands': 'NL',
  'czech republic': 'CZ',
  'ceska republika': 'CZ',
  'slovenska republika': 'SK',
  'rzeczpospolita polska': 'PL',
  'republica argentina': 'AR',
  'republica de colombia': 'CO',
  prc: 'CN',
  'p r c': 'CN',
  'p r china': 'CN',
  'pr china': 'CN',
  roc: 'TW',
  ksa: 'SA',
  'k s a': 'SA',
  'u a e': 'AE',
  'bosnia and herzegovina': 'BA',
  'bosnia herzegovina': 'BA',
  bosnia: 'BA',
  'trinidad and tobago': 'TT',
  'saint vincent': 'VC',
  'antigua and barbuda': 'AG',
  'kingdom of saudi arabia': 'SA',
  'great britain and northern ireland': 'GB',
  'gambia the': 'GM',
  'the gambia': 'GM',
  bahamas: 'BS',
  'the bahamas': 'BS',
  drc: 'CD',
  'd r congo': 'CD',
  'congo kinshasa': 'CD',
  'congo brazzaville': 'CG',
  'republic of the congo': 'CG',
  'federated states of micronesia': 'FM',
  micronesia: 'FM',
  brunei: 'BN',
  'brunei darussalam': 'BN',
  'lao pdr': 'LA',
  'syrian arab republic': 'SY',
  'republic of moldova': 'MD',
  'united republic of tanzania': 'TZ',
  'islamic republic of iran': 'IR',
  'sao tome and principe': 'ST',
  'saint kitts and nevis': 'KN',
  'vatican city': 'VA',
  'holy see': 'VA',
  'timor leste': 'TL',
  'cote divoire': 'CI',
  'guinea bissau': 'GW',
  'western samoa': 'WS',
  'state of palestine': 'PS',
  'palestinian territory': 'PS',
  'tschechische republik': 'CZ',
  turkey: 'TR',
  turkei: 'TR',
  'ivory coast': 'CI',
  burma: 'MM',
  macedonia: 'MK',
  swaziland: 'SZ',
  'cape verde': 'CV',
  'east timor': 'TL',
  'south korea': 'KR',
  'republic of korea': 'KR',
  'korea republic of': 'KR',
  'north korea': 'KP',
  'russian federation': 'RU',
  'viet nam': 'VN',
  uae: 'AE',
  'hong kong': 'HK',
  hongkong: 'HK',
  macau: 'MO',
  macao: 'MO',
  palestine: 'PS',
  congo: 'CG',
  'dr congo': 'CD',
  'democratic republic of the congo': 'CD',
  vatican: 'VA',
  'republic of ireland': 'IE',
  eire: 'IE',
  'peoples republic of china': 'CN',
  brd: 'DE',
};

/** The countries that a name or a code can mean, in the form of `placeKey`. */
export type CountryNames = ReadonlyMap<string, Country>;

/** Collects the names of countries in many languages, and their codes of two and three letters. */
export function countryNames(countries: readonly Country[]): CountryNames {
  const names = new Map<string, Country>();
  const add = (name: string | null | undefined, country: Country) => {
    const key = placeKey(name ?? '');
    if (key !== '' && !names.has(key)) names.set(key, country);
  };
  const byCode = new Map(countries.map((country) => [country.code, country]));
  for (const country of countries) for (const name of [country.code, country.code3, country.name]) add(name, country);
  for (const [name, code] of Object.entries(otherNames)) add(name, byCode.get(code) as Country);
  for (const language of languages) {
    const shown = new Intl.DisplayNames([language], { type: 'region', fallback: 'none' });
    for (const country of countries) add(shown.of(country.code), country);
  }
  for (const country of countries) add(ownName(country.code), country);
  return names;
}

const displays = new Map<string, Intl.DisplayNames>();

/** The name of a country in the language that most people there write; undefined if it is not known. */
function ownName(code: string): string | undefined {
  const { language } = new Intl.Locale(`und-${code}`).maximize();
  if (languages.includes(language)) return undefined;
  const shown = displays.get(language) ?? new Intl.DisplayNames([language], { type: 'region', fallback: 'none' });
  displays.set(language, shown);
  return shown.of(code);
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
