import { countryNames as namedCountries, placeKey } from '../../country-names.ts';
import type { Country, District, Region } from './places.ts';

/** A county, province or department, which may follow the town in an address. */
export interface NamedCounty {
  readonly region: Region;
  /** Empty for a traditional county that no longer exists. */
  readonly districts: readonly District[];
}

/** Counties, keyed by their names in the normalized form that `placeKey` returns. */
export type CountyNames = ReadonlyMap<string, readonly NamedCounty[]>;

/** Traditional names of counties and their abbreviations, keyed by country and region. The names are separated by bars. */
const traditional: Readonly<Record<string, string>> = {
  'GB.ENG':
    'Bedfordshire|Beds|Berkshire|Berks|Buckinghamshire|Bucks|Cambridgeshire|Cambs|Cheshire|Cleveland|Cornwall|Cumberland|Cumbria|Derbyshire|' +
    'Derbys|Devon|Dorset|Durham|Co Durham|East Sussex|E Sussex|West Sussex|W Sussex|Sussex|Essex|Gloucestershire|Glos|Greater London|' +
    'Greater Manchester|Gtr Manchester|Hampshire|Hants|Herefordshire|Hertfordshire|Herts|Humberside|Huntingdonshire|Isle of Wight|IOW|Kent|' +
    'Lancashire|Lancs|Leicestershire|Leics|Lincolnshire|Lincs|Merseyside|Middlesex|Middx|Norfolk|Northamptonshire|Northants|Northumberland|' +
    'Nottinghamshire|Notts|Oxfordshire|Oxon|Rutland|Shropshire|Salop|Somerset|Staffordshire|Staffs|Suffolk|Surrey|Tyne and Wear|Tyne & Wear|' +
    'Warwickshire|Warks|Westmorland|West Midlands|W Midlands|Wiltshire|Wilts|Worcestershire|Worcs|Yorkshire|Yorks|North Yorkshire|N Yorkshire|' +
    'North Yorks|N Yorks|South Yorkshire|S Yorkshire|South Yorks|S Yorks|West Yorkshire|W Yorkshire|West Yorks|W Yorks|East Yorkshire|' +
    'E Yorkshire|East Riding|East Riding of Yorkshire|Avon',
  'GB.SCT':
    'Aberdeenshire|Angus|Argyll|Argyllshire|Ayrshire|North Ayrshire|South Ayrshire|East Ayrshire|Banffshire|Berwickshire|Caithness|' +
    'Clackmannanshire|Dumfriesshire|Dumfries and Galloway|Dunbartonshire|East Lothian|Midlothian|West Lothian|Fife|Highland|Inverness-shire|' +
    'Kincardineshire|Kinross-shire|Kirkcudbrightshire|Lanarkshire|North Lanarkshire|South Lanarkshire|Lothian|Moray|Morayshire|Nairnshire|' +
    'Orkney|Peeblesshire|Perthshire|Perth and Kinross|Renfrewshire|Ross-shire|Roxburghshire|Scottish Borders|Selkirkshire|Shetland|' +
    'Stirlingshire|Strathclyde|Sutherland|Tayside|Wigtownshire',
  'GB.WLS':
    'Anglesey|Breconshire|Brecknockshire|Caernarfonshire|Cardiganshire|Carmarthenshire|Ceredigion|Clwyd|Denbighshire|Dyfed|Flintshire|' +
    'Glamorgan|Mid Glamorgan|South Glamorgan|West Glamorgan|Gwent|Gwynedd|Merionethshire|Monmouthshire|Montgomeryshire|Pembrokeshire|Powys|' +
    'Radnorshire',
  'GB.NIR': withPrefixes('Antrim|Armagh|Down|Fermanagh|Londonderry|Derry|Tyrone'),
  'IE.L': withPrefixes('Dublin|Laois|Longford|Offaly'),
  'IE.M': withPrefixes('Limerick|Waterford|Tipperary'),
  'IE.C': withPrefixes('Galway|Mayo'),
  'IE.U': withPrefixes('Donegal|Cavan|Monaghan'),
};

/** People on the island of Ireland write `Co Down` as well as `Down`. */
function withPrefixes(names: string): string {
  return names
    .split('|')
    .flatMap((name) => [name, `Co ${name}`, `County ${name}`])
    .join('|');
}

/** Matches words for a kind of district, such as `provincia di` or `county`. */
const kinds =
  /^(?:provincia|province|provincie|provincia autonoma|citta metropolitana|departement|county|city|borough|metropolitan borough|royal borough|prov)(?: (?:of|di|de|du|del|della|dell|la|des|d|l))* | (?:county|city)$/;

/** Maximum number of characters in the abbreviated name of a county. */
const longestShort = 6;

export function countyNames(districts: readonly District[], regions: readonly Region[]): CountyNames {
  const names = new Map<string, NamedCounty[]>();
  const add = (name: string, county: NamedCounty) => {
    const key = placeKey(name);
    const found = names.get(key);
    if (!found) names.set(key, [county]);
    else if (!found.some(({ region, districts }) => region === county.region && districts[0] === county.districts[0])) found.push(county);
  };
  for (const district of districts) {
    const county = { region: district.region, districts: [district] };
    const core = placeKey(district.name).replace(kinds, '');
    const { code: country } = district.region.country;
    for (const name of [district.name, core]) add(name, county);
    if (country === 'IE') for (const prefix of ['co', 'county']) add(`${prefix} ${core}`, county);
    if (country === 'IT') for (const name of [district.code, `prov ${district.code}`, `provincia di ${core}`]) add(name, county);
  }
  for (const [code, list] of Object.entries(traditional)) {
    const region = regions.find((other) => `${other.country.code}.${other.code}` === code);
    if (region) addTraditional(list.split('|'), region);
  }
  return names;

  /** Adds the traditional names of counties. In the list, an abbreviation follows the full name and gets the same districts. */
  function addTraditional(list: readonly string[], region: Region): void {
    let before: { readonly name: string; readonly districts: readonly District[] } = { name: '', districts: [] };
    for (const name of list) {
      const known = names.get(placeKey(name))?.find((county) => county.region === region);
      const isShort = name.length <= longestShort && before.name.length > longestShort + 1 && name.slice(0, 2) === before.name.slice(0, 2);
      if (!known) add(name, { region, districts: isShort ? before.districts : [] });
      if (!isShort) before = { name, districts: known?.districts ?? [] };
    }
  }
}

/** Countries, keyed by their names and codes in the normalized form that `placeKey` returns. */
export type CountryNames = ReadonlyMap<string, Country>;

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

/** Territories with their own GeoNames country code, keyed by country. Addresses there may name that country. */
const dependents: ReadonlySet<string> = new Set(
  'US PR GU VI AS MP, FR GP MQ GF RE PM YT BL MF WF PF NC, NL AW CW SX BQ, GB GI JE GG IM BM KY VG TC AI MS FK SH, CN HK MO, DK GL FO, FI AX, NO SJ, AU CX CC NF'
    .split(', ')
    .map((line) => line.split(' '))
    .flatMap(([state, ...lands]) => lands.map((land) => `${state} ${land}`)),
);

export function isDependent(land: Country, state: Country): boolean {
  return dependents.has(`${state.code} ${land.code}`);
}
