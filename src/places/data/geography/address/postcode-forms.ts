/** A pattern for postcodes, and the countries whose postcodes match it. */
export interface PostcodeForm {
  /** The pattern, which is applied to text in capital letters. */
  readonly form: RegExp;
  /** ISO 3166-1 alpha-2 codes of the countries. */
  readonly countries: readonly string[];
}

// The patterns are from Unicode CLDR 26 (postalCodeData.xml, which later versions do not contain) and the Universal Postal Union.

/** Patterns for postcodes with letters, spaces or dashes. They match hardly any house numbers. */
export const markedForms: readonly PostcodeForm[] = [
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
export const digitForms: Readonly<Record<number, readonly string[]>> = {
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
export const prefixes: Readonly<Record<string, string>> = {
  ...{ D: 'DE', DE: 'DE', A: 'AT', AT: 'AT', CH: 'CH', F: 'FR', FR: 'FR', I: 'IT', IT: 'IT', B: 'BE', BE: 'BE', L: 'LU', LU: 'LU' },
  ...{ NL: 'NL', DK: 'DK', S: 'SE', SE: 'SE', N: 'NO', NO: 'NO', FI: 'FI', FIN: 'FI', SF: 'FI', CZ: 'CZ', SK: 'SK', SI: 'SI', SLO: 'SI' },
  ...{ HR: 'HR', H: 'HU', HU: 'HU', RO: 'RO', BG: 'BG', PL: 'PL', P: 'PT', PT: 'PT', E: 'ES', ES: 'ES', GR: 'GR', EE: 'EE', EST: 'EE' },
  ...{ LT: 'LT', LV: 'LV', MD: 'MD', UA: 'UA', TR: 'TR', RS: 'RS', BA: 'BA', BIH: 'BA', MK: 'MK', ME: 'ME', AZ: 'AZ', FL: 'LI', FO: 'FO' },
};

/** The first letters of postcodes in the United Kingdom, keyed by the GeoNames code of the nation that they belong to, such as Scotland. */
export const britishAreas: Readonly<Record<string, string>> = {
  ENG:
    'AL B BA BB BD BH BL BN BR BS CA CB CH CM CO CR CT CV CW DA DE DH DL DN DT DY E EC EN EX FY GL GU HA HD HG HP HR HU HX IG IP KT L LA ' +
    'LE LN LS LU M ME MK N NE NG NN NR NW OL OX PE PL PO PR RG RH RM S SE SG SK SL SM SN SO SP SR SS ST SW SY TA TF TN TQ TR TS TW UB W ' +
    'WA WC WD WF WN WR WS WV YO',
  SCT: 'AB DD DG EH FK G HS IV KA KW KY ML PA PH TD ZE',
  WLS: 'CF LD LL NP SA',
  NIR: 'BT',
};

/** US states by ZIP code, in ascending order. Before each state are the first three digits of the lowest ZIP code in its range. */
export const zipAreas =
  '005 NY 006 PR 010 MA 028 RI 030 NH 039 ME 050 VT 060 CT 070 NJ 100 NY 150 PA 197 DE 200 DC 201 VA 202 DC 206 MD 220 VA 247 WV 270 NC ' +
  '290 SC 300 GA 320 FL 350 AL 370 TN 386 MS 398 GA 400 KY 430 OH 460 IN 480 MI 500 IA 530 WI 550 MN 570 SD 580 ND 590 MT 600 IL 630 MO ' +
  '660 KS 680 NE 700 LA 716 AR 730 OK 733 TX 734 OK 750 TX 800 CO 820 WY 832 ID 840 UT 850 AZ 870 NM 885 TX 889 NV 900 CA 967 HI 969 GU ' +
  '970 OR 980 WA 995 AK';

/**
 * GeoNames codes of regions, keyed by country and by the beginning of their postcodes. If several regions have the same beginning, their
 * codes are separated by bars.
 */
export const regionStarts: Readonly<Record<string, Readonly<Record<string, string>>>> = {
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
export const spanishProvinces =
  'VI AB A AL AV BA PM B BU CC CA CS CR CO C CU GI GR GU SS H HU J LE L LO LU M MA MU NA OR O P GC PO SA TF S SG SE SO T TE TO V VA BI ZA Z';

/** Country codes of French territories, keyed by the first three digits of their postcodes. */
export const frenchTerritories: Readonly<Record<string, string>> = {
  ...{ 971: 'GP', 972: 'MQ', 973: 'GF', 974: 'RE', 975: 'PM', 976: 'YT', 977: 'BL', 978: 'MF', 980: 'MC', 986: 'WF', 987: 'PF', 988: 'NC' },
};
