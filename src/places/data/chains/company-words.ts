import { readData } from '../data.ts';
import { foldedText, wordSet, wordsOfFolded } from '../folded-text.ts';

/** A suffix of several words is joined into one word. */
const legalForms = wordSet(
  `inc incorporated ltd limited llc llp lp plc corp corporation co company cos pty pte pvt gmbh mbh ag kg kgaa ohg ek se ug eg ev gmbhco
  gmbhcokg cokg gmbhandcokg andcokg andco sa sas sasu sarl eurl snc spa srl srls sl slu sau scv sab cv sadecv sadecv bv nv vof oy oyj ab
  as asa aps kft zrt nyrt doo dd ad ood eood sro spzoo spzook zoo spj ooo oao zao ооо оао зао пао тов kk tbk berhad bhd sdnbhd ltda
  eireli genossenschaft lda sti ltdsti na nationalassociation`,
);

/** Words that may be in any chain's name or follow it. They do not help to identify a chain. */
export const commonWords: ReadonlySet<string> = wordSet(
  `the a of and by at in national store stores shop shops outlet outlets branch filiale filialen niederlassung location franchise market
  markt mkt marche mercado super superstore hyper express city center centre retail warehouse whse wholesale official online group
  gruppe groupe holding holdings international global worldwide deutschland germany france italia italy espana spain uk usa us america
  canada austria osterreich schweiz suisse switzerland nederland polska portugal mexico brasil japan china australia india ireland
  belgium belgique airport station mall plaza downtown no nr number num restaurant restaurants ristorante restaurante services service
  tienda tiendas magasin negozio sucursal loja warenhandel dienstleistung dienstleistungs vertriebs handels handelsgesellschaft stiftung
  cash carry agence agencia agenzia drivethru drive thru delivery old fashioned foods brands enterprises operations`,
);

/** Words that may follow the name of a town, as in `Springfield Mall`, but also the name of a chain. */
export const townParts: ReadonlySet<string> = wordSet('city center centre airport station mall plaza downtown');

/** Words between the name of a chain and the name of a branch, such as `Filiale`. */
const branchWords = wordSet('fil filiale suc sucursal succ succursale zweigstelle geschaftsstelle oddzial oddz sube subesi');

/** East Asian words for legal forms. They are written without a space at the start or the end of a company's name. */
const joinedForm = '株式会社|有限会社|合同会社|股份有限公司|有限责任公司|有限公司|주식회사|유한회사';
const joinedForms = new RegExp(`^(?:${joinedForm}|[株有주]$)|(?:${joinedForm})$`, 'gu');

/** Matches a store number or an East Asian word for a branch, such as `渋谷店` or `강남점`. */
const branchName = /^\d+[a-z]?$|.[店점]$/u;

/** Splits the name of a company into words in lower case without accents. Replaces `&`, `+`, `und` and `et` with `and`. */
export function companyWords(name: string): string[] {
  const words = wordsOfFolded(foldedText(name).replace(/[&+]/g, ' and '));
  return words.map((word) => (word === 'und' || word === 'et' ? 'and' : word));
}

/** Removes company suffixes, such as `Ltd`, and store numbers from the end of a name, and `the` from its beginning. */
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
  // The longest suffix is tried first, so `gmbh & co. kg` is removed as a whole, not only `kg`.
  for (let count = Math.min(5, words.length - 1); count > 0; count--) {
    if (legalForms.has(words.slice(-count).join(''))) return words.slice(0, -count);
  }
  return words;
}

/** Words that end the name of a company, so that other words after it do not belong to the name. */
export const companyEnds: ReadonlySet<string> = wordSet('gmbh mbh kg ohg inc llc ltd limited plc corp bv nv sarl sas spa srl oyj');

/** True for a word with a number, a company suffix, or a common word such as `store`. */
export function isCommon(word: string): boolean {
  return commonWords.has(word) || legalForms.has(word) || /\d|.[店점]$/u.test(word);
}

/** Returns the words before a word such as `Filiale`, which the name of a branch follows. */
export function wordsBeforeBranch(words: readonly string[]): readonly string[] {
  const at = words.findIndex((word) => branchWords.has(word));
  return at < 0 ? words : words.slice(0, at);
}

export type ChainRow = readonly [
  name: string,
  id: string | null,
  /** Indexes of the chain's categories, such as fast food, with the main category first. */
  categories: readonly number[],
  /** Codes of the countries in which the chain has branches, separated by spaces. The code 001 stands for a worldwide chain. */
  countries: string,
  /** Codes of the countries in which a worldwide chain has no branches. */
  except: string,
  /** Further current names of the chain: names in other languages and names of its divisions. */
  ownNames: readonly string[],
  /** Old, short, official and alternative names of the chain. */
  otherNames: readonly string[],
  /** Further brands of the chain. They have the same Wikidata ID but different names. */
  brands?: readonly BrandRow[],
];

/** One of several brands of a chain. Its elements have the same meaning as in `ChainRow`. */
export type BrandRow = readonly [
  name: string,
  categories: readonly number[],
  countries: string,
  ownNames: readonly string[],
  otherNames: readonly string[],
];

/** The content of the file with all chains, which the data build creates. */
export interface ChainData {
  readonly date: string;
  /** The tags of the chains' categories, such as `amenity/fast_food`. */
  readonly categories: readonly string[];
  /** The words for each category in several languages, separated by spaces. */
  readonly words: readonly string[];
  /** Words in several languages for kinds of places, such as `museum`, separated by spaces. */
  readonly kindWords: string;
  /** Names of chains that are also names of towns, separated by spaces. Only the letters and digits of each name are listed. */
  readonly towns: string;
  readonly chains: readonly ChainRow[];
}

export function readChains(folder: string): Promise<ChainData> {
  return readData(folder, 'chains');
}
