import { foldedText, wordsOfFolded } from '../folded-text.ts';
import { CategoryData, type CategoryRow } from './category-data.ts';
import { LanguageIndex } from './language-index.ts';

/** A category that words may mean. */
export interface CategoryHit {
  readonly category: CategoryRow;
  /** Index of the category in the data. */
  readonly index: number;
  /** 0 to 1, two decimals. */
  readonly score: number;
}

/** Score from which on no other language is searched: the score of a term, letter by letter. */
const sureScore = 0.92;

/** Score of a name, letter by letter, in another language. */
const otherNameScore = 0.96;

/** Score in the first language or English from which on only names in other languages count: of all words, or nearly all. */
const wholeScore = 0.8;

/** Score below which nothing fits. */
const minScore = 0.7;

/** Shares of a score in English, and in the other languages. */
const otherShares = { en: 0.99, other: 0.98 };

/** Scores that differ by less are nearly equal. */
const nearly = 0.025;

/** The id of the plain category of a category: `amenity/cafe` of `amenity/cafe/coffee_shop`. */
function plainId([id]: CategoryRow): string {
  return id.split('/', 2).join('/');
}

const searches = new Map<string, CategorySearch>();

/** The search in a folder of embedded data: one in a process, since it reads what it needs once. */
export function categorySearch(folder: string): CategorySearch {
  const found = searches.get(folder) ?? new CategorySearch(new CategoryData(folder));
  searches.set(folder, found);
  return found;
}

/** Languages with the shares of their scores. */
type Languages = readonly (readonly [language: string, share: number])[];

/** Finds categories by words in any language. */
export class CategorySearch {
  readonly data: CategoryData;
  readonly #ids: ReadonlyMap<string, number>;
  readonly #languages = new Map<string, LanguageIndex>();

  constructor(data: CategoryData) {
    this.data = data;
    this.#ids = new Map(data.categories.map(([id], index) => [id, index]));
  }

  /** The category of an id such as `amenity/cafe`, also as a tag: `amenity=cafe`. */
  byId(text: string): CategoryHit | undefined {
    const index = this.#ids.get(text.trim().replace('=', '/'));
    return index === undefined ? undefined : { category: this.data.categories[index] as CategoryRow, index, score: 1 };
  }

  /** The categories that words may mean, best first. `language`: searched first; undefined for English. */
  search(words: string, language?: string): CategoryHit[] {
    const exact = this.byId(words);
    if (exact) return [exact];
    const first = language !== undefined && this.data.languages.includes(language) ? language : 'en';
    const languages = this.#languagesOf(words, first);
    const isGiven = first === language;
    const folded = wordsOfFolded(foldedText(words));
    const found = this.#searchIn(languages, folded, isGiven);
    // Nothing fits, so the main word decides alone.
    if (best(found) < minScore) this.#addHeads(found, isGiven ? languages.slice(0, 1) : languages, folded);
    for (const [index, score] of found) found.set(index, Math.min(score, this.#plainScore(found, index, score)));
    return [...found].map(([index, score]) => this.#hit(index, score)).sort(byScore);
  }

  /** Searches the given language and English, and others if neither is sure. If one of these fits, or the language was given, only names in other languages count. */
  #searchIn(languages: Languages, words: readonly string[], isGiven: boolean): Map<number, number> {
    const found = new Map<number, number>();
    const [own, others] = [false, true].map((isOther) => languages.filter(([, share]) => (share === otherShares.other) === isOther));
    for (const [name, share] of own ?? []) if (best(found) < sureScore) addScores(found, this.#indexOf(name).search(words), share);
    const score = best(found);
    if (score >= sureScore) return found;
    const isFitting = score >= wholeScore || isGiven;
    for (const [name, share] of others ?? []) {
      const most = best(found);
      if (most >= otherNameScore) break;
      const index = this.#indexOf(name);
      if (isFitting || most >= sureScore) addScores(found, index.searchTexts(words), share, otherNameScore);
      else addScores(found, index.search(words), share);
    }
    return found;
  }

  #addHeads(found: Map<number, number>, languages: Languages, words: readonly string[]): void {
    for (const [name, share] of languages) {
      const heads = this.#indexOf(name).searchHead(words);
      if (!heads) return;
      addScores(found, heads, share);
    }
  }

  /** All categories, in the order of their ids. */
  all(): CategoryHit[] {
    return this.data.categories.map((category, index) => ({ category, index, score: 1 }));
  }

  /** The score of the plain category of a finer one if the words fit it nearly as well: `mairie` is any `amenity/townhall`. Else the score itself. */
  #plainScore(found: ReadonlyMap<number, number>, index: number, score: number): number {
    const plain = found.get(this.#ids.get(plainId(this.data.categories[index] as CategoryRow)) ?? -1) ?? 0;
    return score - plain < nearly ? plain : score;
  }

  #hit(index: number, score: number): CategoryHit {
    const category = this.data.categories[index] as CategoryRow;
    // Of categories with equal words, the less likely come later.
    return { category, index, score: Math.round(score * (0.9 + 0.1 * category[2]) * 100) / 100 };
  }

  /** The languages that words may be in, with the shares of their scores: the given language, English, then languages with these letters. */
  #languagesOf(words: string, first: string): Languages {
    const others = this.data.languages.filter((other) => other !== first && other !== 'en' && isWrittenAs(other, words));
    const english = first === 'en' ? [] : [['en', otherShares.en] satisfies [string, number]];
    return [[first, 1], ...english, ...others.map((other): [string, number] => [other, otherShares.other])];
  }

  #indexOf(language: string): LanguageIndex {
    const known = this.#languages.get(language);
    if (known) return known;
    const ids = language === 'en' ? this.data.categories.map(([id]) => id) : [];
    const index = new LanguageIndex(this.data.words(language), language, ids);
    this.#languages.set(language, index);
    return index;
  }
}

/** The letters of languages that are not written in Latin ones. */
const scripts: Readonly<Record<string, RegExp>> = {
  ar: /\p{Script=Arabic}/u,
  el: /\p{Script=Greek}/u,
  he: /\p{Script=Hebrew}/u,
  ja: /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u,
  ko: /\p{Script=Hangul}/u,
  ru: /\p{Script=Cyrillic}/u,
  uk: /\p{Script=Cyrillic}/u,
  zh: /\p{Script=Han}/u,
};

/** True if words are written in the letters of a language. */
function isWrittenAs(language: string, words: string): boolean {
  return (scripts[language] ?? /\p{Script=Latin}/u).test(words);
}

function addScores(found: Map<number, number>, scores: ReadonlyMap<number, number>, share: number, least = 0): void {
  for (const [index, score] of scores)
    if (score * share > (found.get(index) ?? 0) && score * share >= least) found.set(index, score * share);
}

function best(found: ReadonlyMap<number, number>): number {
  let best = 0;
  for (const score of found.values()) best = Math.max(best, score);
  return best;
}

/** Kinds of places that people mean more often come first. */
const kindOrder = ['amenity', 'shop', 'tourism', 'leisure', 'healthcare', 'office', 'craft', 'education'];

/** Of equal scores, the plainer category comes first, then the one with more chains, then the more common kind. */
function byScore(one: CategoryHit, other: CategoryHit): number {
  const chains = other.category[3] - one.category[3];
  return other.score - one.score || depthOf(one) - depthOf(other) || chains || kindRank(one) - kindRank(other) || one.index - other.index;
}

function depthOf({ category: [, tags] }: CategoryHit): number {
  return Object.keys(tags).length;
}

function kindRank({ category: [id] }: CategoryHit): number {
  const at = kindOrder.indexOf(id.split('/')[0] as string);
  return at < 0 ? kindOrder.length : at;
}
