import { countryCode } from './country.ts';
import { placeKey } from './place-key.ts';

/** Languages in which names of countries are known. */
const languages = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'pl', 'sv', 'cs', 'ru', 'uk', 'ja', 'ko', 'zh', 'tr', 'fi', 'el', 'da', 'no'];

/** ISO 3166-1 alpha-3, each with its alpha-2. */
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

/** Names that Unicode's list has in another form, in the form of `placeKey`. */
const otherNames: Readonly<Record<string, string>> = {
  US: 'u s|u s a|united states of america|america|vereinigte staaten von amerika|etats unis d amerique|etats unis damerique|estados unidos de america|eeuu|ee uu',
  GB: 'u k|great britain|britain|england|scotland|wales|northern ireland|grossbritannien|grande bretagne|gran bretana',
  NL: 'holland|the netherlands',
  CZ: 'czech republic|tschechische republik|republique tcheque|republica checa',
  TR: 'turkey|turkei|turquie|turquia',
  CI: 'ivory coast',
  MM: 'burma',
  MK: 'macedonia|mazedonien|macedoine',
  KR: 'south korea|republic of korea|korea republic of|korea',
  KP: 'north korea',
  RU: 'russian federation',
  VN: 'viet nam',
  AE: 'uae|u a e',
  HK: 'hong kong|hongkong',
  MO: 'macau|macao',
  CD: 'dr congo|democratic republic of the congo',
  IE: 'republic of ireland|eire',
  CN: 'peoples republic of china',
  DE: 'brd',
  MD: 'moldavia',
};

let names: ReadonlyMap<string, string> | undefined;

/** The ISO 3166-1 alpha-2 code of a country by a code of two or three letters, or by its name in one of 20 languages; undefined for any other text. */
export function countryNamed(text: string): string | undefined {
  const code = countryCode(text);
  if (code !== undefined) return code;
  const key = placeKey(text);
  if (key === '') return undefined;
  names ??= collectedNames();
  return codes.get(key) ?? names.get(key);
}

function collectedNames(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const language of languages) {
    const shown = new Intl.DisplayNames([language], { type: 'region', fallback: 'none' });
    for (const code of codes.values()) {
      const key = placeKey(shown.of(code) ?? '');
      if (key !== '' && !found.has(key)) found.set(key, code);
    }
  }
  for (const [code, others] of Object.entries(otherNames)) for (const name of others.split('|')) found.set(name, code);
  return found;
}
