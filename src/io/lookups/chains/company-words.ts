import { foldedText } from '../folded-text.ts';

/** Legal forms, as they end a company's name. Several words are written as one. */
const legalForms = new Set(
  [
    'inc incorporated ltd limited llc llp lp plc corp corporation co company cos pty pte pvt',
    'gmbh mbh ag kg kgaa ohg ek se ug eg ev gmbhco gmbhcokg cokg gmbhandcokg andcokg andco sa sas sasu sarl eurl snc',
    'spa srl srls sl slu sau scv sab cv sadecv sadeCV bv nv vof oy oyj ab as asa aps kft zrt nyrt doo dd ad ood eood sro',
    'spzoo spzook zoo spj ooo oao zao ооо оао зао пао тов kk tbk berhad bhd sdnbhd ltda eireli genossenschaft lda sti ltdsti na nationalassociation',
  ]
    .join(' ')
    .toLowerCase()
    .split(' '),
);

/** Words that follow the name of any chain: they say nothing about which chain it is. */
const commonWords = new Set(
  [
    'the a of and by at in national store stores shop shops outlet outlets branch filiale filialen niederlassung location franchise',
    'market markt mkt marche mercado super superstore hyper express city center centre retail warehouse whse wholesale official online group gruppe groupe holding holdings',
    'international global worldwide deutschland germany france italia italy espana spain uk usa us america canada austria osterreich',
    'schweiz suisse switzerland nederland polska portugal mexico brasil japan china australia india ireland belgium belgique',
    'airport station mall plaza downtown no nr number num restaurant restaurants ristorante restaurante services service',
    'tienda tiendas magasin negozio sucursal loja warenhandel dienstleistung dienstleistungs vertriebs handels handelsgesellschaft',
    'stiftung cash carry agence agencia agenzia drivethru drive thru delivery old fashioned foods brands enterprises operations',
  ]
    .join(' ')
    .split(' '),
);

/** Words that also follow the name of a town. */
export const townParts: ReadonlySet<string> = new Set('city center centre airport station mall plaza downtown'.split(' '));

/** Words between the name of a chain and the name of a branch: `Filiale`. */
const branchWords = new Set('fil filiale suc sucursal succ succursale zweigstelle geschaftsstelle oddzial oddz sube subesi'.split(' '));

/** Legal forms of languages that write them without a space at either end of a name; alone they mean `(株)`. */
const joinedForm = '株式会社|有限会社|合同会社|股份有限公司|有限责任公司|有限公司|주식회사|유한회사';
const joinedForms = new RegExp(`^(?:${joinedForm}|[株有주]$)|(?:${joinedForm})$`, 'gu');

/** A store's number, or the name of a branch: `渋谷店`, `강남점`. */
const branchName = /^\d+[a-z]?$|.[店점]$/u;

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
  let core = words[0] === 'the' && words.length > 1 ? words.slice(1) : withoutJoinedForms(words);
  for (let shorter = withoutEnd(core); shorter.length < core.length; shorter = withoutEnd(core)) core = shorter;
  return core;
}

function withoutJoinedForms(words: readonly string[]): readonly string[] {
  if (words.every((word) => word < '\u3000')) return words;
  const rest = words.map((word) => word.replace(joinedForms, '')).filter((word) => word !== '');
  return rest.length > 0 ? rest : words;
}

function withoutEnd(words: readonly string[]): readonly string[] {
  if (words.length < 2) return words;
  if (branchName.test(words.at(-1) as string)) return words.slice(0, -1);
  // The longest form first: `gmbh & co. kg` before `kg`.
  for (let count = Math.min(5, words.length - 1); count > 0; count--) {
    if (legalForms.has(words.slice(-count).join(''))) return words.slice(0, -count);
  }
  return words;
}

/** True for a word that says nothing about which chain it is: a number, a legal form, `store`. */
export function isCommon(word: string): boolean {
  return commonWords.has(word) || legalForms.has(word) || /\d|.[店점]$/u.test(word);
}

/** True for a word that follows the name of any chain: `store`. */
export function isPlainCommon(word: string): boolean {
  return commonWords.has(word);
}

/** The words before a word such as `Filiale`, after which the name of a branch follows. */
export function wordsBeforeBranch(words: readonly string[]): readonly string[] {
  const at = words.findIndex((word) => branchWords.has(word));
  return at < 0 ? words : words.slice(0, at);
}
