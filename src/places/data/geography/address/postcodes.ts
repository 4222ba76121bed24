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
  4: 'AT AU BE BG CH CY DK GE HU LI LU MK NL NO NZ PH SI TN ZA AR BD AM AL PY LV MD VE CV GL HT ET'.split(' '),
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

/** US states by ZIP code, in ascending order. Before each state are the first three digits of the lowest ZIP code in its range. */
const zipAreas =
  '005 NY 006 PR 010 MA 028 RI 030 NH 039 ME 050 VT 060 CT 070 NJ 100 NY 150 PA 197 DE 200 DC 201 VA 202 DC 206 MD 220 VA 247 WV 270 NC ' +
  '290 SC 300 GA 320 FL 350 AL 370 TN 386 MS 398 GA 400 KY 430 OH 460 IN 480 MI 500 IA 530 WI 550 MN 570 SD 580 ND 590 MT 600 IL 630 MO ' +
  '660 KS 680 NE 700 LA 716 AR 730 OK 733 TX 734 OK 750 TX 800 CO 820 WY 832 ID 840 UT 850 AZ 870 NM 885 TX 889 NV 900 CA 967 HI 969 GU ' +
  '970 OR 980 WA 995 AK';

/** GeoNames codes of regions, keyed by country and by the beginning of their postcodes. Bars separate several codes. */
const regionStarts: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  CA: {
    ...{ A: '05', B: '07', C: '09', E: '04', G: '10', H: '10', J: '10', K: '08', L: '08', M: '08', N: '08', P: '08', R: '03' },
    ...{ S: '11', T: '01', V: '02', X: '13|14', Y: '12' },
  },
  AU: { 0: '01|03', 1: '02', 2: '02|01', 3: '07', 4: '04', 5: '05', 6: '08', 7: '06' },
  DE: {
    ...{ '01': '13', '02': '13', '03': '11|13', '04': '13', '06': '14', '07': '15', '08': '13', '09': '13', 1: '11|12', 10: '16' },
    ...{ 12: '16|11', 13: '16', 17: '12', 18: '12', 19: '12', 2: '10|06|04', 20: '04', 22: '04|10', 26: '06', 27: '06|03', 28: '03' },
    ...{ 29: '06|14', 3: '06', 32: '07', 33: '07', 34: '05', 35: '05', 36: '05|15', 37: '06|15', 39: '14', 4: '07', 48: '07|06' },
    ...{ 49: '06|07', 5: '07', 54: '08', 55: '08', 56: '08', 6: '05', 66: '09|08', 67: '08', 68: '01|05', 69: '01|05', 7: '01', 8: '02' },
    ...{ 88: '01|02', 89: '01|02', 9: '02', 97: '02|01', 98: '15', 99: '15' },
  },
};

/** GeoNames codes of the Spanish provinces, in the order of the first two digits of their postcodes (01 to 52). */
const spanishProvinces =
  'VI AB A AL AV BA PM B BU CC CA CS CR CO C CU GI GR GU SS H HU J LE L LO LU M MA MU NA OR O P GC PO SA TF S SG SE SO T TE TO V VA BI ZA Z';

/** Country codes of French territories, keyed by the first three digits of their postcodes. */
const frenchTerritories: Readonly<Record<string, string>> = {
  ...{ 971: 'GP', 972: 'MQ', 973: 'GF', 974: 'RE', 975: 'PM', 976: 'YT', 977: 'BL', 978: 'MF', 980: 'MC', 986: 'WF', 987: 'PF', 988: 'NC' },
};

/** A part of an address that looks like a postcode. */
export interface Postcode {
  /** Index of the first character in the address. `end` is the index after the last character. */
  readonly start: number;
  readonly end: number;
  readonly code: string;
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

const zips = zipAreas.split(' ');
const provinces = spanishProvinces.split(' ');

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
