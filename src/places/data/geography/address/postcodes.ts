import { countryCode } from '../../../country-names.ts';
import type { District, Region } from '../places.ts';

interface PostcodeForm {
  /** The pattern, which is applied to text in capital letters. */
  readonly form: RegExp;
  /** ISO 3166-1 alpha-2 codes of the countries. */
  readonly countries: readonly string[];
}

// The patterns are from Unicode CLDR 26 (postalCodeData.xml, which later versions do not contain) and the Universal Postal Union.

/** Patterns for postcodes with letters, spaces or dashes. They match hardly any house numbers. */
const markedForms: readonly PostcodeForm[] = [
  { form: /\b[A-Z]{1,2}\d[A-Z\d]? ?\d[ABD-HJLNP-UW-Z]{2}\b/g, countries: ['GB', 'GG', 'JE', 'IM', 'GI'] },
  { form: /\b[ABCEGHJ-NPRSTVXY]\d[ABCEGHJ-NPRSTV-Z] ?\d[ABCEGHJ-NPRSTV-Z]\d\b/g, countries: ['CA'] },
  { form: /\b[AC-FHKNPRTV-Y]\d[\dW] ?[\dAC-FHKNPRTV-Y]{4}\b/g, countries: ['IE'] },
  { form: /\b[ABCDEFGHJKLMNPQRSTUVWXYZ]\d{4}[A-Z]{3}\b/g, countries: ['AR'] },
  { form: /\b[1-9]\d{3} ?(?!SA|SD|SS|NE|NW|SE|SW|ST|EL|LA|DE)[A-Z]{2}\b/g, countries: ['NL'] },
  { form: /\b\d{5}-\d{4}\b/g, countries: ['US', 'PR', 'GU', 'VI'] },
  { form: /\b\d{5}-\d{3}\b/g, countries: ['BR'] },
  { form: /\b\d{4}-\d{3}\b/g, countries: ['PT'] },
  { form: /(?:〒\s*|\b)\d{3}-\d{4}(?!\d)/g, countries: ['JP'] },
  { form: /\b\d{2}-\d{3}\b(?!-)/g, countries: ['PL'] },
  { form: /\b\d{3} \d{2}\b(?! ?\d)/g, countries: ['SE', 'CZ', 'SK', 'GR'] },
  { form: /\b[1-8]\d{2} \d{3}\b/g, countries: ['IN'] },
  { form: /\bAD\d{3}\b/g, countries: ['AD'] },
  { form: /\bKY\d-\d{4}\b/g, countries: ['KY'] },
];

/** Countries, keyed by the number of digits in their postcodes. */
const digitForms: Readonly<Record<number, readonly string[]>> = {
  4: 'AT AU BE BG CH CY DK GE HU LI LU MK NL NO NZ PH SI TN ZA AR BD AM AL PY LV MD VE CV GL HT ET PT PA SV MZ AF'.split(' '),
  5: (
    'US PR GU VI DE FR IT ES MX TR FI UA MY TH ID EE HR RS BA ME PE KR SA EG PK MA DZ LK VN CU DO GT CR HN NI UY KE ZM SN KW JO IQ ' +
    'LA KH MM NP TW MC SM VA LT LY SD GR CZ SK SE IL RE GP MQ GF YT PM PF NC WF AX BN MN'
  ).split(' '),
  6: 'CN IN RU SG KZ RO BY KG UZ TJ TM CO EC NG TT MN VN KH'.split(' '),
  7: ['IL', 'JP', 'CL'],
  8: ['BR'],
};

/** Countries, keyed by the letters that may be written before their postcodes, as in `D-10115`. */
const prefixes: Readonly<Record<string, string>> = {
  ...{ D: 'DE', DE: 'DE', A: 'AT', AT: 'AT', CH: 'CH', F: 'FR', FR: 'FR', I: 'IT', IT: 'IT', B: 'BE', BE: 'BE', L: 'LU', LU: 'LU' },
  ...{ NL: 'NL', DK: 'DK', S: 'SE', SE: 'SE', N: 'NO', NO: 'NO', FI: 'FI', FIN: 'FI', SF: 'FI', CZ: 'CZ', SK: 'SK', SI: 'SI', SLO: 'SI' },
  ...{ HR: 'HR', H: 'HU', HU: 'HU', RO: 'RO', BG: 'BG', PL: 'PL', P: 'PT', PT: 'PT', E: 'ES', ES: 'ES', GR: 'GR', EE: 'EE', EST: 'EE' },
  ...{ LT: 'LT', LV: 'LV', MD: 'MD', UA: 'UA', TR: 'TR', RS: 'RS', BA: 'BA', BIH: 'BA', MK: 'MK', ME: 'ME', AZ: 'AZ', FL: 'LI', FO: 'FO' },
};

/** The first letters of postcodes in the United Kingdom, keyed by the GeoNames code of the nation that they belong to, such as Scotland. */
const britishAreas: Readonly<Record<string, string>> = {
  ENG:
    'AL B BA BB BD BH BL BN BR BS CA CB CH CM CO CR CT CV CW DA DE DH DL DN DT DY E EC EN EX FY GL GU HA HD HG HP HR HU HX IG IP KT L LA ' +
    'LE LN LS LU M ME MK N NE NG NN NR NW OL OX PE PL PO PR RG RH RM S SE SG SK SL SM SN SO SP SR SS ST SW SY TA TF TN TQ TR TS TW UB W ' +
    'WA WC WD WF WN WR WS WV YO',
  SCT: 'AB DD DG EH FK G HS IV KA KW KY ML PA PH TD ZE',
  WLS: 'CF LD LL NP SA',
  NIR: 'BT',
};

/** GeoNames codes of regions, each after the beginning of its lowest postcode, in ascending order. Bars separate several regions. */
const regionRanges: Readonly<Record<string, string>> = {
  US:
    '005 NY 006 PR 010 MA 028 RI 030 NH 039 ME 050 VT 060 CT 070 NJ 100 NY 150 PA 197 DE 200 DC 201 VA 202 DC 206 MD 220 VA 247 WV 270 NC ' +
    '290 SC 300 GA 320 FL 350 AL 370 TN 386 MS 398 GA 400 KY 430 OH 460 IN 480 MI 500 IA 530 WI 550 MN 570 SD 580 ND 590 MT 600 IL 630 MO ' +
    '660 KS 680 NE 700 LA 716 AR 730 OK 733 TX 734 OK 750 TX 800 CO 820 WY 832 ID 840 UT 850 AZ 870 NM 885 TX 889 NV 900 CA 967 HI 969 GU ' +
    '970 OR 980 WA 995 AK',
  DE:
    '01 13|11 03 11|13 04 13|15|11|14 06 14|15|13 07 15|13 08 13|15 10 16 12 16|11 14 11|16 15 11 16 11|12 17 12|11 18 12 19 12|11 20 04 ' +
    '21 04|06|10 22 04|10 23 10|12 24 10 26 06 27 06|03 28 03|06 29 06|14 30 06 32 07 33 07 34 05|06|07 35 05 36 05|15 37 06|15|05|07 ' +
    '38 06|14 39 14 40 07 48 07|06 49 06|07 50 07 53 07|08 54 08 57 07|08 58 07 60 05 63 05|02 64 05 65 05|08 66 09|08 67 08 68 01|05 ' +
    '70 01 80 02 88 01|02 90 02 96 02|15 97 02|01 98 15',
  IT:
    '00 07 05 18 07 14 10 12 11 19 12 12 16 08 20 09 28 12 29 05 30 20 33 06 35 20 38 17 40 05 45 20 46 09 47 05 50 16 60 10 64 01 70 13 ' +
    '75 02 76 13 80 04 85 02 86 11 87 03 90 15',
  MX:
    '00 09 20 01 21 02 23 03 24 04 25 07 28 08 29 05 31 06 34 10 36 11 39 12 42 13 44 14 50 15 58 16 62 17 63 18 64 19 68 20 72 21 76 22 ' +
    '77 23 78 24 80 25 83 26 86 27 87 28 90 29 91 30 97 31 98 32',
  GR:
    '10 ESYE31 20 ESYE25 25 ESYE23 28 ESYE22 30 ESYE23 31 ESYE22 32 ESYE24 37 ESYE14 44 ESYE21 49 ESYE22 50 ESYE13 54 ESYE12 64 ESYE11 ' +
    '70 ESYE43 80 ESYE31 81 ESYE41 84 ESYE42',
};

/** GeoNames codes of regions, keyed by country and by the beginning of their postcodes. Bars separate several codes. */
const regionStarts: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  CA: {
    ...{ A: '05', B: '07', C: '09', E: '04', G: '10', H: '10', J: '10', K: '08', L: '08', M: '08', N: '08', P: '08', R: '03' },
    ...{ S: '11', T: '01', V: '02', X: '13|14', Y: '12' },
  },
  AU: { 0: '01|03', 1: '02', 2: '02|01', 3: '07', 4: '04', 5: '05', 6: '08', 7: '06' },
};

/** First digits in small countries with their neighbour's postcodes, and in regions whose largest towns have namesakes in the USA. */
const starts: ReadonlyMap<string, RegExp> = new Map(
  'GU 969, LI 94, MC 980, PR 00[679], SM 4789, VA 0012, VI 008, CR.08 1, CU.02 1, EG.06 21, EG.11 11, PE.LMA 15, PE.15 15, SA.05 4[12], SA.10 1[1-9], UA.12 0[1-6], UA.17 6[5-8]'
    .split(', ')
    .map((start) => start.split(' ') as [string, string])
    .map(([area, pattern]) => [area, new RegExp(`^${pattern}`)]),
);

/** GeoNames codes of the Spanish provinces, in the order of the first two digits of their postcodes (01 to 52). */
const spanishProvinces =
  'VI AB A AL AV BA PM B BU CC CA CS CR CO C CU GI GR GU SS H HU J LE L LO LU M MA MU NA OR O P GC PO SA TF S SG SE SO T TE TO V VA BI ZA Z';

/** Country codes of French territories, keyed by the first three digits of their postcodes. */
const frenchTerritories: Readonly<Record<string, string>> = {
  ...{ 971: 'GP', 972: 'MQ', 973: 'GF', 974: 'RE', 975: 'PM', 976: 'YT', 977: 'BL', 978: 'MF', 980: 'MC', 986: 'WF', 987: 'PF', 988: 'NC' },
};

/** A part of an address. `end` is the index after its last character. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export function overlaps({ start, end }: Span, others: readonly Span[]): boolean {
  return others.some((other) => start < other.end && other.start < end);
}

/** A part of an address that looks like a postcode. */
export interface Postcode extends Span {
  readonly code: string;
  readonly countries: readonly string[];
  /** True if the postcode cannot be a house number, because it contains letters, spaces or dashes. */
  readonly isMarked: boolean;
  /** True if letters before the postcode specify the country, as in `D-10115`. */
  readonly namesCountry: boolean;
}

const withPostcodes: ReadonlySet<string> = new Set([
  ...markedForms.flatMap(({ countries }) => countries),
  ...Object.values(digitForms).flat(),
]);

/** A number with fewer digits is more likely to be a house number. */
export const minDigits = 5;

export function isSurelyCode({ isMarked, code }: Postcode): boolean {
  return isMarked || code.length >= minDigits;
}

/** False for countries without postcodes, such as the United Arab Emirates. */
export function hasPostcodes(country: string): boolean {
  return withPostcodes.has(country);
}

export function postcodesIn(text: string): Postcode[] {
  if (!codeHint.test(text)) return [];
  // For \b, letters with accents are not letters, but an underscore is.
  const capitals = text.toUpperCase().replace(accented, '_');
  // A few letters, such as ß, become longer in capitals, which would make the positions wrong.
  if (capitals.length !== text.length) return [];
  const found: Postcode[] = [];
  const add = (postcode: Postcode) => {
    if (!overlaps(postcode, found)) found.push(postcode);
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

const accented = /(?![\0-\x7f])\p{L}/gu;

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
  for (const match of capitals.matchAll(/\b([A-Z]{1,3})[ ]?-[ ]?(\d{2,7}(?:[ -]\d{2,4})?)\b/g)) {
    const code = (match[2] as string).replace(/[ -]/, '');
    const country = prefixes[match[1] as string] ?? countryOfPrefix(match[1] as string, code);
    if (country) yield { ...spanOf(match), code, countries: territories(country, code), isMarked: true, namesCountry: true };
  }
}

/** Undefined for the codes of US states, which also come before postcodes, as in `CA-90210`. */
function countryOfPrefix(letters: string, { length }: string): string | undefined {
  const country = letters.length === 2 && !ranges.get('US')?.includes(letters) ? countryCode(letters) : undefined;
  const hasForm = country === 'BR' || country === 'JP' || (country !== undefined && digitForms[length]?.includes(country));
  return hasForm ? country : undefined;
}

/** Recognizes Jersey, Guernsey, the Isle of Man and Gibraltar by their first letters. */
function ownersOf(code: string, countries: readonly string[]): readonly string[] {
  const own = /^(?:GY|JE|IM|GX)/.exec(code)?.[0];
  if (countries[0] !== 'GB') return countries;
  if (own) return [{ GY: 'GG', JE: 'JE', IM: 'IM', GX: 'GI' }[own] as string];
  return nationOf(/^[A-Z]+/.exec(code)?.[0] ?? '') ? ['GB'] : [];
}

/** Recognizes a French territory by its first three digits. */
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

const provinces = spanishProvinces.split(' ');

/** The beginnings of postcodes in ascending order, each followed by its regions, keyed by country. */
const ranges = new Map(Object.entries(regionRanges).map(([country, written]) => [country, written.split(' ')]));

function regionsOfRange(code: string, range: readonly string[]): string | undefined {
  const start = code.slice(0, range[0]?.length);
  let regions: string | undefined;
  for (let index = 0; index < range.length && (range[index] as string) <= start; index += 2) regions = range[index + 1];
  return regions;
}

/** 0: another country's postcode. 1: of the place's country, but another region. 2: of the place's country. 3: of the place's region, too. */
export type PostcodeFit = 0 | 1 | 2 | 3;

export function postcodeFit({ code, countries }: Postcode, region: Region, district: District | undefined): PostcodeFit {
  if (!countries.includes(region.country.code)) return 0;
  const isThere = isInRegion(code, region, district);
  return isThere === undefined ? 2 : isThere ? 3 : 1;
}

function isInRegion(code: string, region: Region, district: District | undefined): boolean | undefined {
  const country = region.country.code;
  const range = ranges.get(country);
  if (range) return regionsOfRange(code, range)?.split('|').includes(region.code) ?? false;
  if (country === 'GB') return nationOf(/^[A-Z]+/.exec(code)?.[0] ?? '') === region.code;
  if (country === 'FR') return district && isInDepartment(code, district.code);
  if (country === 'ES') return district && provinces[Number(code.slice(0, 2)) - 1] === district.code;
  if (frenchTerritoryCodes.has(country)) return frenchTerritories[code.slice(0, 3)] === country;
  const start = starts.get(country) ?? starts.get(`${country}.${region.code}`);
  if (start) return start.test(code);
  return regionStarts[country]?.[code.slice(0, 1)]?.split('|').includes(region.code);
}

const frenchTerritoryCodes: ReadonlySet<string> = new Set(Object.values(frenchTerritories));

/** Paris has few of the numbers that begin with its department, and Corsica's two departments share theirs. */
function isInDepartment(code: string, department: string): boolean {
  if (code.startsWith('20')) return /^2[AB]/.test(department);
  return code.startsWith(department === '75' ? '750' : department.slice(0, 2)) || (department === '75' && code.startsWith('751'));
}
