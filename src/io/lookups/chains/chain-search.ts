import type { ChainQuery } from '../../../core/lookups/chain.ts';
import type { ChainName, ChainNames } from './chain-names.ts';
import { companyWords, coreWords, isCommon, townParts, wordsBeforeBranch } from './company-words.ts';
import { isStatementLike, statementNames } from './statement-line.ts';

/** The way a name was found. `cleaned`: after store numbers, legal forms, accents and punctuation went. */
export type Method = 'exact' | 'cleaned' | 'start' | 'fuzzy';

/** A chain that a name may mean. */
export interface Hit {
  readonly name: ChainName;
  readonly method: Method;
  /** 0 to 1. */
  readonly score: number;
}

/** Scores by what differs. The least that counts as a match by default is 0.85. */
const scores = {
  punctuation: 0.98,
  core: 0.95,
  form: 0.94,
  commonRest: 0.92,
  inLine: 0.92,
  shortened: 0.9,
  longStart: 0.87,
  shortStart: 0.7,
};

/** Highest scores: of an old or other name, and of a name that says too little without its country or category. */
const maxScores = { other: 0.97, doubtful: 0.84 };

/** Taken off the score of a chain that is not in the country. */
const absence = 0.1;

/** Letters from which on the beginning of a name decides, whatever follows: for several words, and for a single word. */
const tellingLetters = { several: 9, single: 10 };

/** Fewest letters of a name beside a word for its kind of places: `EDEKA Supermarkt Schulze`. */
const minBesideKind = 4;

/** A name with at most this many letters that at least this many chains have may belong to any company. */
const anyones = { letters: 4, chains: 3 };

type Query = Omit<ChainQuery, 'minScore'>;

/** The chains that a name may mean, each once, with its best score. A name that fits none may be a line of a bank statement with a name in it. */
export function searchChains(names: ChainNames, query: Query): Hit[] {
  if (!isStatementLike(query.name)) return searchName(names, query).all();
  const found = searchName(names, query, false);
  if (found.best < scores.longStart) addInLine(names, query, found);
  if (found.best < scores.longStart) addMistaken(names, query, found);
  return found.all();
}

/** Adds the chains whose name is in a line of a bank statement. */
function addInLine(names: ChainNames, query: Query, hits: Hits): void {
  for (const { text, mayBeTown, country } of statementNames(query.name, (words) => names.isAnyTown(words))) {
    const words = companyWords(text);
    if (words.every((word) => names.isKind(word)) || (mayBeTown && names.isAnyTown(words))) continue;
    const there = searchName(names, { ...query, name: text, country: query.country ?? country });
    const isElsewhere = there.best < scores.longStart && query.country === undefined && country !== undefined;
    const found = isElsewhere ? searchName(names, { ...query, name: text }) : there;
    for (const hit of found.all())
      hits.add({ ...hit, method: hit.method === 'fuzzy' ? 'fuzzy' : 'cleaned', score: Math.min(hit.score, scores.inLine) }, true);
    if (hits.best >= scores.longStart) return;
  }
}

function searchName(names: ChainNames, query: Query, withMistakes = true): Hits {
  const words = companyWords(query.name);
  const core = coreWords(words);
  const hits = new Hits(names, query);
  addWhole(names, query.name, { words, core }, hits);
  if (hits.best < scores.core) addStarts(names, core, hits);
  if (hits.best < scores.longStart) addAfterKind(names, core, hits);
  if (withMistakes && hits.best < scores.commonRest) addMistaken(names, query, hits, core);
  return hits;
}

/** Adds the chains whose names differ by a spelling mistake, unless the name consists of words for kinds of places. */
function addMistaken(names: ChainNames, query: Query, hits: Hits, core = coreWords(companyWords(query.name))): void {
  if (!core.every((word) => names.isKind(word))) addNear(names, core, hits);
}

/** The best hit of each chain. */
class Hits {
  best = 0;
  readonly #hits = new Map<number, Hit>();
  readonly #names: ChainNames;
  readonly #query: Query;

  constructor(names: ChainNames, query: Query) {
    this.#names = names;
    this.#query = query;
  }

  /** `isSettled`: the score takes the country into account already. */
  add(hit: Hit, isSettled = false): void {
    const score = !isSettled && this.#isAbsent(hit.name.chain) ? Math.round((hit.score - absence) * 100) / 100 : hit.score;
    const before = this.#hits.get(hit.name.chain);
    if (before && (before.score > score || (before.score === score && before.name.rank <= hit.name.rank))) return;
    this.#hits.set(hit.name.chain, { ...hit, score });
    this.best = Math.max(this.best, score);
  }

  all(): Hit[] {
    return [...this.#hits.values()];
  }

  /** True if the chain is in the country. */
  isThere(chain: number): boolean {
    const { country } = this.#query;
    return country !== undefined && this.#names.presence(chain, country) > 0;
  }

  /** True if the chain is in the country or has the category. */
  isSupported(chain: number): boolean {
    const { category } = this.#query;
    return this.isThere(chain) || (category !== undefined && this.#names.categoriesOfBrand(chain).includes(category));
  }

  #isAbsent(chain: number): boolean {
    return this.#query.country !== undefined && !this.isThere(chain);
  }
}

interface Words {
  readonly words: readonly string[];
  /** The words without store numbers and legal forms. */
  readonly core: readonly string[];
}

/** Adds the chains that have the whole name. */
function addWhole(names: ChainNames, written: string, { words, core }: Words, hits: Hits): void {
  const lower = written.trim().toLowerCase();
  const key = core.join('');
  // A legal form that makes another name belongs to the company: "Carrefour S.A." is not "CarrefourSA".
  const isForm = core.length < words.length && names.named(key).length > 0;
  const isCut = core.length < words.length && isAnyones(names, key);
  const add = (name: ChainName, method: Method, score: number, from: readonly string[]) => {
    const isDoubtful = (isCut || (from.length === 1 && names.isKind(key))) && !hits.isSupported(name.chain);
    const most = isDoubtful ? maxScores.doubtful : name.rank === 2 ? maxScores.other : 1;
    hits.add({ name, method, score: Math.min(most, score) });
  };
  for (const name of names.named(words.join(''))) {
    if (name.text.toLowerCase() === lower) add(name, 'exact', 1, words);
    else add(name, 'cleaned', isForm ? scores.form : scores.punctuation, words);
  }
  for (const one of new Set([key, `the${key}`])) for (const name of names.named(one)) add(name, 'cleaned', scores.core, core);
  if (hits.best === 0) for (const name of names.shortenedName(key)) add(name, 'cleaned', scores.shortened, core);
}

/** True for a short name that several chains have, but no worldwide chain: `ABC Company` may be any company. */
function isAnyones(names: ChainNames, key: string): boolean {
  const found = names.named(key);
  return key.length <= anyones.letters && found.length >= anyones.chains && !found.some(({ chain }) => names.isWorldwide(chain));
}

/** The beginning of a name that may be that of a chain. */
interface Start {
  readonly words: readonly string[];
  /** The words after the beginning. */
  readonly rest: readonly string[];
}

/** Letters of scripts that are written without spaces. */
const withoutSpaces = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

/** Fewest letters of a name that a word begins with. */
const minPart = 3;

/** The beginnings of a name, the longest first: of words, and of the letters of a word in a script without spaces. */
function startsOf(words: readonly string[]): Start[] {
  const [only = ''] = words;
  if (words.length > 1) return words.slice(1).map((_, index) => ({ words: words.slice(0, -1 - index), rest: words.slice(-1 - index) }));
  if (!withoutSpaces.test(only)) return [];
  const starts: Start[] = [];
  for (let at = only.length - 1; at >= minPart; at--) starts.push({ words: [only.slice(0, at)], rest: [only.slice(at)] });
  return starts;
}

/** Adds the chains with whose name the words begin. The longest name counts. */
function addStarts(names: ChainNames, words: readonly string[], hits: Hits): void {
  for (const start of startsOf(words)) {
    const key = start.words.join('');
    const found = names.named(key).filter(({ isOwner }) => !isOwner);
    for (const name of found.length > 0 ? found : names.named(`the${key}`)) {
      hits.add({ name, method: 'start', score: startScore(names, name, start, hits) });
    }
    if (hits.best >= scores.longStart) return;
  }
}

function startScore(names: ChainNames, { chain }: ChainName, { words, rest }: Start, hits: Hits): number {
  const saysNothing = (word: string) => isCommon(word) || names.isWordFor(chain, word);
  // A "Springfield Mall" is in the town.
  const isPlace =
    names.isTown(words.join('')) && rest.every((word) => townParts.has(word) && !names.isWordFor(chain, word)) && !hits.isThere(chain);
  if (wordsBeforeBranch(rest).every(saysNothing)) return isPlace ? scores.shortStart : scores.commonRest;
  // "Springfield Public Library" is not a shop of Springfield.
  if (rest.some((word) => names.isKind(word) && !saysNothing(word))) return scores.shortStart;
  if (isTelling(names, words)) return scores.longStart;
  const isOfKind = names.isWordFor(chain, rest[0] as string) && words.join('').length >= minBesideKind;
  return isOfKind && hits.isThere(chain) ? scores.longStart : scores.shortStart;
}

function isTelling(names: ChainNames, words: readonly string[]): boolean {
  const { length } = words.join('');
  if (words.length > 1) return length >= tellingLetters.several && !words.every((word) => names.isKind(word));
  return length >= tellingLetters.single && !names.isTown(words[0] as string);
}

/** Kinds of places whose word often comes before the name of a single place: a `Pizzeria Napoli` need not belong to a chain. */
const afterKind = new Set(['shop/supermarket', 'amenity/fuel']);

/** Adds the chains of the country whose name follows a word for their kind: `Supermercados Mercadona`. */
function addAfterKind(names: ChainNames, [kind = '', ...words]: readonly string[], hits: Hits): void {
  const key = words.join('');
  if (key.length < minBesideKind) return;
  for (const name of names.named(key)) {
    const isOfKind = names.isWordFor(name.chain, kind) && names.categoriesOfBrand(name.chain).some((category) => afterKind.has(category));
    const fits = isOfKind && hits.isThere(name.chain) && !name.isOwner;
    if (fits) hits.add({ name, method: 'cleaned', score: scores.longStart });
  }
}

/** Adds the chains whose names differ by a spelling mistake: in the whole name, or in its beginning if common words follow. */
function addNear(names: ChainNames, words: readonly string[], hits: Hits): void {
  const whole = words.join('');
  const start = words.slice(0, lastTelling(words) + 1).join('');
  for (const key of new Set([whole, start])) {
    for (const [found, mistakes] of names.near(key)) {
      if (mistakes === 0) continue;
      const likeness = 1 - (mistakes + initialMistakes(words, key, found)) / Math.max(key.length, found.length);
      for (const name of names.named(found)) {
        if (key === whole || !name.isOwner) hits.add({ name, method: 'fuzzy', score: Math.round(likeness * 100) / 100 });
      }
    }
  }
}

/** Counts words that begin with another letter: people rarely mistype a first letter, so it is another word. */
function initialMistakes(words: readonly string[], key: string, found: string): number {
  if (key.length !== found.length) return key.charAt(0) === found.charAt(0) ? 0 : 1;
  let at = 0;
  let mistakes = 0;
  for (const word of words) {
    if (at < key.length && key.charAt(at) !== found.charAt(at)) mistakes++;
    at += word.length;
  }
  return mistakes;
}

function lastTelling(words: readonly string[]): number {
  return words.findLastIndex((word) => !isCommon(word));
}
