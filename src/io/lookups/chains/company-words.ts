import { foldedText } from '../folded-text.ts';

/** Legal forms, as they end a company's name. Several words are written as one. */
const legalForms = new Set(
  [
    'inc incorporated ltd limited llc llp lp plc corp corporation co company cos pty pte pvt',
    'gmbh mbh ag kg kgaa ohg ek se ug eg ev gmbhco gmbhcokg cokg gmbhandcokg andcokg andco sa sas sasu sarl eurl snc',
    'spa srl srls sl slu sau scv sab cv sadecv sadeCV bv nv vof oy oyj ab as asa aps kft zrt nyrt doo dd ad ood eood sro',
    'spzoo spzook zoo spj ooo oao zao ооо оао зао пао тов kk tbk berhad bhd sdnbhd ltda eireli lda sti ltdsti',
    '株式会社 有限会社 有限公司 股份有限公司 주식회사',
  ]
    .join(' ')
    .toLowerCase()
    .split(' '),
);

/** Words that follow the name of any chain: they say nothing about which one it is. */
const commonWords = new Set(
  [
    'the a of and by at in store stores shop shops outlet outlets branch filiale filialen niederlassung location franchise',
    'market markt mkt marche mercado super hyper express city center centre retail warehouse whse wholesale official online group gruppe groupe holding holdings',
    'international global worldwide deutschland germany france italia italy espana spain uk usa us america canada austria osterreich',
    'schweiz suisse switzerland nederland polska portugal mexico brasil japan china australia india ireland belgium belgique',
    'airport station mall plaza downtown no nr number num restaurant restaurants ristorante restaurante services service',
    'tienda tiendas magasin negozio sucursal loja warenhandel dienstleistung dienstleistungs vertriebs handels handelsgesellschaft',
    'stiftung drivethru drive thru delivery old fashioned foods brands enterprises operations',
  ]
    .join(' ')
    .split(' '),
);

/** The words of a company's name: folded, with `and` for its signs, and single letters joined: `S.A.` is `sa`. */
export function companyWords(name: string): string[] {
  const words =
    foldedText(name)
      .replace(/['’‘`´]/g, '')
      .replace(/[&+]/g, ' and ')
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return words.map((word) => (word === 'und' || word === 'et' ? 'and' : word));
}

/** The name without legal forms and the numbers of stores at its end, and without an article at its beginning. */
export function coreWords(words: readonly string[]): readonly string[] {
  let core = words[0] === 'the' && words.length > 1 ? words.slice(1) : words;
  for (let shorter = withoutEnd(core); shorter.length < core.length; shorter = withoutEnd(core)) core = shorter;
  return core;
}

function withoutEnd(words: readonly string[]): readonly string[] {
  if (words.length < 2) return words;
  if (/^\d+[a-z]?$/.test(words.at(-1) as string)) return words.slice(0, -1);
  // The longest form first: `gmbh & co. kg` before `kg`.
  for (let count = Math.min(5, words.length - 1); count > 0; count--) {
    if (legalForms.has(words.slice(-count).join(''))) return words.slice(0, -count);
  }
  return words;
}

/** True for a word that says nothing about which chain it is: a number, a legal form, `store`. */
export function isCommon(word: string): boolean {
  return commonWords.has(word) || legalForms.has(word) || /\d/.test(word);
}
