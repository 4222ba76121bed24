import type { ChainQuery } from '../../lookup.ts';
import type { ChainName, ChainNames } from './chain-names.ts';
import { companyWords, coreWords, isCommon, townParts, wordsBeforeBranch } from './company-words.ts';
import { isStatementLike, statementNames } from './statement-line.ts';

/** `cleaned` means that store numbers, company suffixes such as `Ltd`, accents and punctuation were left out. */
export type MatchMethod = 'exact' | 'cleaned' | 'start' | 'fuzzy';

export interface ChainHit {
  readonly name: ChainName;
  readonly method: MatchMethod;
  readonly score: number;
}

/** Scores by how a name differs from a chain's name. By default, a chain matches from 0.85. */
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

/** `other` is for an old or alternative name, and `doubtful` for a name that any company could have, unless country or category fit. */
const maxScores = { other: 0.97, doubtful: 0.84 };

/** The score of a chain is reduced by this if it has no branches in the lookup's country. */
const absence = 0.1;

/** A chain's name of at least this length, in several words or one, identifies the chain even if unknown words follow. */
const tellingLetters = { several: 9, single: 10 };

/** Minimum number of letters in a chain's name that is next to a word for its category, as in `EDEKA Supermarkt Schulze`. */
const minBesideKind = 4;

/** Any company could have a name with at most `letters` letters that at least `chains` chains have. */
const anyones = { letters: 4, chains: 3 };

export type Query = Omit<ChainQuery, 'minScore'>;

/** If the whole name is not a chain's, it is treated as a bank statement line that may contain a chain's name. */
export function searchChains(names: ChainNames, query: Query): ChainHit[] {
  if (!isStatementLike(query.name)) return searchName(names, query).all();
  const found = searchName(names, query, false);
  if (found.best < scores.longStart) addInLine(names, query, found);
  if (found.best < scores.longStart) addMistaken(names, query, found);
  return found.all();
}

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

/** Adds the chains whose names differ from the words only by spelling mistakes. Adds none if all words are words for kinds of places. */
function addMistaken(names: ChainNames, query: Query, hits: Hits, core = coreWords(companyWords(query.name))): void {
  if (!core.every((word) => names.isKind(word))) addNear(names, core, hits);
}

class Hits {
  best = 0;
  readonly #hits = new Map<number, ChainHit>();
  readonly #names: ChainNames;
  readonly #query: Query;

  constructor(names: ChainNames, query: Query) {
    this.#names = names;
    this.#query = query;
  }

  /** Keeps only the best hit of each chain. If `isSettled` is true, the score already takes the country into account. */
  add(hit: ChainHit, isSettled = false): void {
    const score = !isSettled && this.#isAbsent(hit.name.chain) ? Math.round((hit.score - absence) * 100) / 100 : hit.score;
    const before = this.#hits.get(hit.name.chain);
    if (before && (before.score > score || (before.score === score && before.name.rank <= hit.name.rank))) return;
    this.#hits.set(hit.name.chain, { ...hit, score });
    this.best = Math.max(this.best, score);
  }

  all(): ChainHit[] {
    return [...this.#hits.values()];
  }

  isThere(chain: number): boolean {
    const { country } = this.#query;
    return country !== undefined && this.#names.presence(chain, country) > 0;
  }

  /** Returns true if the chain has branches in the lookup's country or belongs to the lookup's category. */
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
  /** The words of the name without store numbers and company suffixes such as `Ltd`. */
  readonly core: readonly string[];
}

function addWhole(names: ChainNames, written: string, { words, core }: Words, hits: Hits): void {
  const lower = written.trim().toLowerCase();
  const key = core.join('');
  // If the name without its company suffix belongs to a chain, that chain scores higher than a chain whose name includes the suffix. So
  // "Carrefour S.A." means Carrefour, not "CarrefourSA".
  const isForm = core.length < words.length && names.named(key).length > 0;
  const isCut = core.length < words.length && isAnyones(names, key);
  const add = (name: ChainName, method: MatchMethod, score: number, from: readonly string[]) => {
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

/** True for a short name of several chains, none of which is worldwide. Any company could have such a name, such as `ABC Company`. */
function isAnyones(names: ChainNames, key: string): boolean {
  const found = names.named(key);
  return key.length <= anyones.letters && found.length >= anyones.chains && !found.some(({ chain }) => names.isWorldwide(chain));
}

interface NameStart {
  readonly words: readonly string[];
  readonly rest: readonly string[];
}

const withoutSpaces = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

/** Minimum number of letters of a chain's name at the beginning of a word, in a script without spaces. */
const minPart = 3;

/** The longest first words come first. In a script without spaces, a single word is divided between its letters. */
function startsOf(words: readonly string[]): NameStart[] {
  const [only = ''] = words;
  if (words.length > 1) return words.slice(1).map((_, index) => ({ words: words.slice(0, -1 - index), rest: words.slice(-1 - index) }));
  if (!withoutSpaces.test(only)) return [];
  const starts: NameStart[] = [];
  for (let at = only.length - 1; at >= minPart; at--) starts.push({ words: [only.slice(0, at)], rest: [only.slice(at)] });
  return starts;
}

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

function startScore(names: ChainNames, { chain }: ChainName, { words, rest }: NameStart, hits: Hits): number {
  const saysNothing = (word: string) => isCommon(word) || names.isWordFor(chain, word);
  // A "Springfield Mall" is a mall in the town of Springfield, not a store of the chain Springfield.
  const isPlace =
    names.isTown(words.join('')) && rest.every((word) => townParts.has(word) && !names.isWordFor(chain, word)) && !hits.isThere(chain);
  if (wordsBeforeBranch(rest).every(saysNothing)) return isPlace ? scores.shortStart : scores.commonRest;
  // "Springfield Public Library" is a library, not a store of the chain Springfield.
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

/** Categories with names such as `Supermercados Mercadona`. Elsewhere, as in `Pizzeria Napoli`, the name is of a single business. */
const afterKind = new Set(['shop/supermarket', 'amenity/fuel']);

/** For names such as `Supermercados Mercadona`. The chain must have branches in the lookup's country. */
function addAfterKind(names: ChainNames, [kind = '', ...words]: readonly string[], hits: Hits): void {
  const key = words.join('');
  if (key.length < minBesideKind) return;
  for (const name of names.named(key)) {
    const isOfKind = names.isWordFor(name.chain, kind) && names.categoriesOfBrand(name.chain).some((category) => afterKind.has(category));
    const fits = isOfKind && hits.isThere(name.chain) && !name.isOwner;
    if (fits) hits.add({ name, method: 'cleaned', score: scores.longStart });
  }
}

/** Accepts spelling mistakes. Also compares the words before common words at the end, such as `store`. */
function addNear(names: ChainNames, words: readonly string[], hits: Hits): void {
  const whole = words.join('');
  const start = words.slice(0, words.findLastIndex((word) => !isCommon(word)) + 1).join('');
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

/** Counts words with a different first letter, which people rarely mistype, so they are probably different words. */
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
