import { placeKey } from '../../country-names.ts';
import type { Region } from './places.ts';

/** Regions, keyed by their names and codes in the normalized form that `placeKey` returns. */
export type RegionNames = ReadonlyMap<string, readonly Region[]>;

/** Local names, traditional abbreviations and common codes, separated by bars, keyed by country and GeoNames code. */
const otherNames: Readonly<Record<string, string>> = {
  US:
    'AL Ala, AR Ark, AZ Ariz, CA Calif|Cal, CO Colo, CT Conn, DC Washington DC, DE Del, FL Fla, ID Ida, IL Ill, IN Ind, KS Kan|Kans, ' +
    'MA Mass, MI Mich, MN Minn, MS Miss, MT Mont, NC N. Car, ND N. Dak, NE Neb|Nebr, NM N. Mex, NV Nev, OK Okla, OR Ore|Oreg, ' +
    'PA Penn|Penna, SC S. Car, SD S. Dak, TN Tenn, TX Tex, WA Wash, WI Wis|Wisc, WV W. Va, WY Wyo',
  CA: '01 AB, 02 BC, 03 MB, 04 NB, 05 NL|Newfoundland|Labrador, 07 NS, 08 ON|Ont, 09 PE|PEI, 10 QC|PQ, 11 SK, 12 YT, 13 NT|NWT, 14 NU',
  AU: '01 ACT, 02 NSW, 03 NT, 04 QLD, 05 SA, 06 TAS, 07 VIC, 08 WA',
  BR:
    '01 AC, 02 AL, 03 AP, 04 AM, 05 BA, 06 CE, 07 DF|Distrito Federal, 08 ES, 11 MS, 13 MA, 14 MT, 15 MG, 16 PA, 17 PB, 18 PR, 20 PI, ' +
    '21 RJ, 22 RN, 23 RS, 24 RO, 25 RR, 26 SC, 27 SP, 28 SE, 29 GO, 30 PE, 31 TO',
  DE:
    '01 Baden-Wuerttemberg, 02 Bayern, 05 Hessen, 06 Niedersachsen, 07 Nordrhein-Westfalen|NRW, 08 Rhineland-Palatinate, 13 Sachsen, ' +
    '14 Sachsen-Anhalt, 15 Thüringen',
  AT: '02 Kärnten, 03 Niederösterreich, 04 Oberösterreich, 06 Steiermark, 07 Tirol, 09 Wien',
  CH: 'BS Basel-Stadt, GE Genève|Genf, GR Graubünden, LU Luzern, SG Sankt Gallen, VD Waadt, VS Wallis, ZH Zürich',
  FR: '27 Burgundy-Franche-Comté, 28 Normandie, 53 Bretagne, 75 Nouvelle-Aquitaine, 94 Corse',
  ES:
    '07 Illes Balears|Islas Baleares, 29 Comunidad de Madrid, 31 Región de Murcia, 32 Navarra, 51 Andalucía, 52 Aragón, ' +
    '53 Canarias|Islas Canarias, 54 Castilla-La Mancha, 55 Castilla y León, 56 Cataluña|Catalunya, 59 País Vasco|Euskadi, ' +
    '60 Comunitat Valenciana|Comunidad Valenciana',
  IT: "09 Lombardia, 10 Marche, 12 Piemonte, 13 Puglia, 14 Sardegna, 15 Sicilia, 16 Toscana, 19 Valle d'Aosta",
  NL: '06 Noord-Brabant, 07 Noord-Holland, 11 Zuid-Holland',
  IN:
    '02 AP, 07 DL|NCT, 09 GJ, 10 HR, 11 HP, 13 KL, 16 MH, 19 KA, 21 OD|Orissa, 23 PB, 24 RJ, 25 TN, 28 WB, 33 GA, 34 BR, 35 MP, 36 UP, ' +
    '37 CG|Chattisgarh, 38 JH, 39 UK, 40 TS|TG',
  PH: 'NCR Metro Manila',
  ZA: '02 KZN, 05 EC, 06 GP, 11 WC',
  GB: 'NIR N. Ireland|N Ireland|NI|Ulster, SCT Alba, WLS Cymru',
  MX: '02 BC, 06 Chih, 14 Jal, 15 Estado de México, 19 NL',
};

export const kindWords = 'land state province voivodeship oblast krai kray region district governorate prefecture county republic'.split(
  ' ',
);

const kinds = new RegExp(`\\b(?:(?:state|province|region) of|${kindWords.join('|')})\\b`, 'g');

/** Removes the word for the kind of region from a name, so `minsk region` becomes `minsk`. */
export function withoutKind(key: string): string {
  return key.replace(kinds, '').trim();
}

const others = new Map(
  Object.entries(otherNames).flatMap(([country, regions]) =>
    regions
      .split(', ')
      .map((region) => region.split(/ (.*)/))
      .map(([code, names]) => [`${country}.${code}`, names?.split('|')] as const),
  ),
);

export function regionNames(regions: readonly Region[]): RegionNames {
  const names = new Map<string, Region[]>();
  const add = (name: string, region: Region) => {
    const key = placeKey(name);
    // Also adds the letters of a code as separate words, because `N.Y.` in an address is split into two words.
    if (/^[A-Z]{2,3}$/.test(name)) add([...name].join(' '), region);
    const found = names.get(key);
    if (!found) names.set(key, [region]);
    else if (!found.includes(region)) found.push(region);
  };
  for (const region of regions) {
    if (region.name === null) continue;
    add(region.name, region);
    const core = withoutKind(placeKey(region.name));
    if (core !== '') add(core, region);
    if (/^[A-Z]{2,3}$/.test(region.code)) add(region.code, region);
    for (const name of others.get(`${region.country.code}.${region.code}`) ?? []) add(name, region);
  }
  return names;
}
