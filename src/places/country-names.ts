// This file imports nothing, because the script that builds the embedded data uses it, too. Both then normalize names in the same way.

const languages = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'pl', 'sv', 'cs', 'ru', 'uk', 'ja', 'ko', 'zh', 'tr', 'fi', 'el', 'da', 'no'];

const codes: ReadonlyMap<string, string> = new Map(
  [
    'ANDAD AREAE AFGAF ATGAG AIAAI ALBAL ARMAM AGOAO ATAAQ ARGAR ASMAS AUTAT AUSAU ABWAW ALAAX AZEAZ BIHBA BRBBB BGDBD BELBE BFABF',
    'BGRBG BHRBH BDIBI BENBJ BLMBL BMUBM BRNBN BOLBO BESBQ BRABR BHSBS BTNBT BVTBV BWABW BLRBY BLZBZ CANCA CCKCC CODCD CAFCF COGCG',
    'CHECH CIVCI COKCK CHLCL CMRCM CHNCN COLCO CRICR CUBCU CPVCV CUWCW CXRCX CYPCY CZECZ DEUDE DJIDJ DNKDK DMADM DOMDO DZADZ ECUEC',
    'ESTEE EGYEG ESHEH ERIER ESPES ETHET FINFI FJIFJ FLKFK FSMFM FROFO FRAFR GABGA GBRGB GRDGD GEOGE GUFGF GGYGG GHAGH GIBGI GRLGL',
    'GMBGM GINGN GLPGP GNQGQ GRCGR SGSGS GTMGT GUMGU GNBGW GUYGY HKGHK HMDHM HNDHN HRVHR HTIHT HUNHU IDNID IRLIE ISRIL IMNIM INDIN',
    'IOTIO IRQIQ IRNIR ISLIS ITAIT JEYJE JAMJM JORJO JPNJP KENKE KGZKG KHMKH KIRKI COMKM KNAKN PRKKP KORKR KWTKW CYMKY KAZKZ LAOLA',
    'LBNLB LCALC LIELI LKALK LBRLR LSOLS LTULT LUXLU LVALV LBYLY MARMA MCOMC MDAMD MNEME MAFMF MDGMG MHLMH MKDMK MLIML MMRMM MNGMN',
    'MACMO MNPMP MTQMQ MRTMR MSRMS MLTMT MUSMU MDVMV MWIMW MEXMX MYSMY MOZMZ NAMNA NCLNC NERNE NFKNF NGANG NICNI NLDNL NORNO NPLNP',
    'NRUNR NIUNU NZLNZ OMNOM PANPA PERPE PYFPF PNGPG PHLPH PAKPK POLPL SPMPM PCNPN PRIPR PSEPS PRTPT PLWPW PRYPY QATQA REURE ROURO',
    'SRBRS RUSRU RWARW SAUSA SLBSB SYCSC SDNSD SWESE SGPSG SHNSH SVNSI SJMSJ SVKSK SLESL SMRSM SENSN SOMSO SURSR SSDSS STPST SLVSV',
    'SXMSX SYRSY SWZSZ TCATC TCDTD ATFTF TGOTG THATH TJKTJ TKLTK TLSTL TKMTM TUNTN TONTO TURTR TTOTT TUVTV TWNTW TZATZ UKRUA UGAUG',
    'UMIUM USAUS URYUY UZBUZ VATVA VCTVC VENVE VGBVG VIRVI VNMVN VUTVU WLFWF WSMWS XKXXK YEMYE MYTYT ZAFZA ZMBZM ZWEZW',
  ]
    .join(' ')
    .split(' ')
    .map((pair) => [pair.slice(0, 3).toLowerCase(), pair.slice(3)]),
);

/** Country names that differ from the names in Unicode's list, in the normalized form of `placeKey`. A bar separates several names. */
const otherNames = [
  'AE u a e|uae, AG antigua and barbuda, AR republica argentina|argentine republic, BA bosnia and herzegovina|bosnia herzegovina|bosnia',
  'BN brunei|brunei darussalam, BQ bonaire sint eustatius and saba|bonaire saint eustatius and saba, BS bahamas|the bahamas',
  'CD dr congo|d r congo|drc|congo kinshasa|democratic republic of the congo|democratic congo',
  'CG congo|congo brazzaville|republic of the congo, CH swiss confederation, CI ivory coast|cote divoire',
  'CN prc|p r c|p r china|pr china|peoples republic of china, CO republica de colombia, CV cape verde, CY republic of cyprus',
  'CZ czech republic|ceska republika|tschechische republik|republique tcheque|republica checa, DE brd, DK kingdom of denmark',
  'FK falkland islands malvinas|falkland islands the malvinas, FM federated states of micronesia|micronesia, FR french republic',
  'GA gabonese republic',
  'GB uk|u k|great britain|britain|grossbritannien|grande bretagne|gran bretana|great britain and northern ireland|united kingdom of great britain and northern ireland',
  'GG bailiwick of guernsey, GM gambia the|the gambia, GR hellenic republic',
  'GS south georgia and south sandwich islands|south georgia and the south sandwich islands, GW guinea bissau, HK hong kong|hongkong',
  'HM heard island and mcdonald islands, IE republic of ireland|eire, IR islamic republic of iran, IT italian republic',
  'JE bailiwick of jersey, KG kyrgyz republic, KN saint kitts and nevis, KP north korea|democratic korea',
  'KR south korea|republic of korea|korea republic of|korea, LA lao pdr|lao, LB lebanese republic, LY libyan arab jamahiriya',
  'MD republic of moldova|moldavia, MF saint martin french part, MK macedonia|mazedonien|macedoine, MM burma, MO macau|macao',
  'MX united mexican states, NL holland|the netherlands|kingdom of the netherlands, PL rzeczpospolita polska, PN pitcairn',
  'PM saint pierre and miquelon',
  'PS palestine|state of palestine|palestinian territory|palestinian territory occupied|occupied palestinian territory',
  'PT portuguese republic, RU russian federation, RW rwandese republic|rwandan republic, SA ksa|k s a|kingdom of saudi arabia',
  'SH saint helena ascension and tristan da cunha, SJ svalbard and jan mayen, SK slovenska republika|slovak republic',
  'ST sao tome and principe, SX sint maarten dutch part, SY syrian arab republic, SZ swaziland, TC turks and caicos islands',
  'TG togolese republic, TL timor leste|east timor, TR turkey|turkei|turquie|turquia, TT trinidad and tobago',
  'TW roc|taiwan province of china|chinese taipei, TZ united republic of tanzania, UM united states minor outlying islands',
  'US u s|u s a|united states of america|america|vereinigte staaten von amerika|etats unis d amerique|etats unis damerique|estados unidos de america|eeuu|ee uu',
  'UY eastern republic of uruguay|oriental republic of uruguay',
  'VA vatican|vatican city|holy see|holy see vatican city state|vatican city state, VC saint vincent|saint vincent and the grenadines',
  'VG virgin islands british, VI united states virgin islands|virgin islands us|virgin islands u s|virgin islands of the united states',
  'VN viet nam, WF wallis and futuna, WS western samoa',
]
  .flatMap((line) => line.split(', '))
  .map((name) => [name.slice(0, 2), name.slice(3).split('|')] as const);

/** Countries that are part of another country, in the normalized form of `placeKey`. In an address, they are treated as regions. */
const innerCountries: ReadonlySet<string> = new Set(['england', 'scotland', 'wales', 'northern ireland']);

/** The Norwegian name of the Isle of Man. It is not recognized, because "man" is an ordinary word and also a town elsewhere. */
const otherWord = 'man';

let names: ReadonlyMap<string, string> | undefined;

/** The ISO 3166-1 alpha-2 code for a code of two or three letters, or for a country's name in many languages. */
export function countryNamed(text: string): string | undefined {
  const code = countryCode(text);
  if (code !== undefined || isNoValue(text)) return code;
  const key = placeKey(text);
  return innerCountries.has(key) ? 'GB' : (countryNames().get(key) ?? formalCountry(key));
}

const government =
  '(?:republic|rep|kingdom|states?|sts|commonwealth|principality|grand duchy|sultanate|union|federation|fed|federal|federative|federated|' +
  'democratic|dem|peoples?|islamic|arab|plurinational|bolivarian|socialist|independent|united|hashemite|co operative)';

/** The forms of a state before and after the name of its country, and the remarks after it in lists of the UN, ISO and the World Bank. */
const formalForms = [
  new RegExp(`^(?:the )?(?<form>(?:${government} (?:of the )?)+)of (?:the )?(?<country>.+)$`),
  new RegExp(`^(?<country>.+?) (?:the )?(?<form>(?:${government} )+)of(?: the)?$`),
  new RegExp(`^(?<country>.+?) (?<form>(?:${government} )*(?:republic|rep|sts))(?: the)?$`),
  /^(?<form>the) (?<country>.+)$/,
  /^(?<country>.+?) (?<form>the|rb|fyr|the former yugoslav republic of|sar(?: china)?|special administrative region(?: of china)?)$/,
];

/** The last words of `formalForms`. */
export const formalEnds = ['republic', 'rep', 'sts', 'of', 'the', 'rb', 'fyr', 'sar', 'china'];

const formalLast: ReadonlySet<string> = new Set(formalEnds);

const longestFormal = 80;

/** The code for a name such as `republic of korea` or `iran islamic republic of`, in the normalized form of `placeKey`. */
export function formalCountry(key: string): string | undefined {
  // Most names of places are excluded without a regular expression.
  const mayBeFormal = key.includes(' of ') || key.startsWith('the ') || formalLast.has(key.slice(key.lastIndexOf(' ') + 1));
  if (!mayBeFormal || key.length > longestFormal) return undefined;
  const known = countryNames();
  for (const form of formalForms) {
    const found = form.exec(key)?.groups;
    if (!found) continue;
    const country = (found.country as string).replace(/ the$/, '');
    // The two Koreas and the two Congos differ only in this word.
    const isDemocratic = /\bdem/.test(found.form as string);
    const code = (isDemocratic ? known.get(`democratic ${country}`) : undefined) ?? known.get(country);
    if (code && country.length > 2) return code;
  }
  return undefined;
}

/** Returns the alpha-2 codes of all countries, keyed by name (in the normalized form of `placeKey`) and by three-letter code. */
export function countryNames(): ReadonlyMap<string, string> {
  names ??= collectedNames();
  return names;
}

/** Codes of the UN (M49) for the world, its continents and their parts. */
const continents =
  '001 002 003 005 009 011 013 014 015 017 018 019 021 029 030 034 035 039 053 054 057 061 142 143 145 150 151 154 155 419 EU';

/** True for the name of a continent or a part of it, such as `asia`, in the normalized form of `placeKey`. */
export function isContinent(key: string): boolean {
  continentNames ??= new Set(
    languages.flatMap((language) => continents.split(' ').map((code) => placeKey(displayNames(language).of(code) ?? ''))),
  );
  return continentNames.has(key);
}

let continentNames: ReadonlySet<string> | undefined;

/** True for a country's name in English or in the lists of the UN and ISO. */
export function isEnglishCountry(key: string): boolean {
  englishNames ??= new Set([
    ...otherNames.flatMap(([, others]) => others),
    ...[...codes.values()].map((code) => placeKey(displayNames('en').of(code) ?? '')),
  ]);
  return englishNames.has(key);
}

let englishNames: ReadonlySet<string> | undefined;

function collectedNames(): ReadonlyMap<string, string> {
  const found = new Map(codes);
  const add = (name = '', code: string) => {
    const key = placeKey(name);
    if (key !== '' && key !== otherWord && !found.has(key)) found.set(key, code);
  };
  for (const [code, others] of otherNames) for (const name of others) add(name, code);
  for (const language of languages) {
    const shown = displayNames(language);
    for (const code of codes.values()) add(shown.of(code), code);
  }
  for (const code of codes.values()) add(ownName(code), code);
  return found;
}

const displays = new Map<string, Intl.DisplayNames>();

function displayNames(language: string): Intl.DisplayNames {
  const known = displays.get(language);
  if (known) return known;
  const made = new Intl.DisplayNames([language], { type: 'region', fallback: 'none' });
  displays.set(language, made);
  return made;
}

/** Returns a country's name in its main language; undefined if that is one of `languages`, whose names are included anyway. */
function ownName(code: string): string | undefined {
  const { language } = new Intl.Locale(`und-${code}`).maximize();
  return languages.includes(language) ? undefined : displayNames(language).of(code);
}

const blanks = new Set([
  ...['', 'none', 'null', 'nil', 'na', 'n/a', 'n.a.', 'n.a', 'unknown', 'undefined', 'nan', '#n/a', 'tbd', 'tba', 'empty', 'missing'],
  ...['not available', 'not applicable', 'not provided', 'not known', 'no address', 'same as above', 'see above', 'as above'],
  ...['keine angabe', 'k.a.', 'unbekannt', 'inconnu', 'desconocido', 's/n'],
]);

const longest = 20;

/** True for text that means "no value": `None`, `null`, `n/a` and the like. */
export function isNoValue(text: string): boolean {
  return text.length <= longest && blanks.has(text.trim().toLowerCase());
}

export function isBlank(text: string): boolean {
  return isNoValue(text) || !/[\p{L}\p{N}]/u.test(text);
}

/** The country codes of ISO 3166-1 alpha-2, XK for Kosovo, and UN. */
const alpha2Codes = new Set([...codes.values(), 'UN']);

/** Returns the text in upper case if it is a country code, otherwise undefined. UK is read as GB. */
export function countryCode(text: string): string | undefined {
  const code = text.trim().toUpperCase();
  if (code === 'UK') return 'GB';
  return alpha2Codes.has(code) ? code : undefined;
}

export function noCountry(text: string): string {
  return `expected a country code such as DE, or a name such as Germany, found "${text.trim().slice(0, 40)}"`;
}

const letters: Readonly<Record<string, string>> = { ß: 'ss', ø: 'o', đ: 'd', ł: 'l', æ: 'ae', œ: 'oe', ı: 'i', þ: 'th', ð: 'd' };

const words: Readonly<Record<string, string>> = { st: 'saint', ste: 'sainte', ft: 'fort', mt: 'mount' };

/** The form in which names of places are compared: lower case, no accents or punctuation, and `st` expanded to `saint`. */
export function placeKey(name: string): string {
  const plain = isAscii(name) ? name.toLowerCase() : withoutAccents(name);
  return plain
    .replace(/['`’‘ʻʼ´]/g, '')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .replace(/\b(?:ste?|[fm]t)\b/g, (word) => words[word] as string);
}

function isAscii(text: string): boolean {
  return /^[\0-\x7f]*$/.test(text);
}

function withoutAccents(name: string): string {
  const lower = name
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase();
  return lower.replace(/[ßøđłæœıþð]/g, (letter) => letters[letter] as string).normalize('NFC');
}
