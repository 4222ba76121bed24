import { foldedText, wordsOfFolded } from '../folded-text.ts';
import { CategoryData, type CategoryRow } from './category-stems.ts';
import { LanguageIndex } from './language-index.ts';

export interface CategoryHit {
  readonly category: CategoryRow;
  readonly index: number;
  /** Score from 0 to 1 with two decimals. A higher score means that the words fit better. */
  readonly score: number;
}

/** From this score, no other languages are searched. Words that are exactly a term have at least this score. */
const sureScore = 0.92;

/** Minimum score of a category whose name in another language is exactly the words. */
const otherNameScore = 0.96;

/** If the best score is at least this, all or nearly all of the words fit. In other languages, only exact names are then searched for. */
const wholeScore = 0.8;

/** If the best score is below this, no category fits all the words. Then only the main word is searched for. */
const minScore = 0.7;

/** Factors for the scores of matches in a language that the lookup does not specify: English, or any other language. */
const otherShares = { en: 0.99, other: 0.98 };

/** Two scores count as equal if they differ by less than this. */
const nearly = 0.025;

/** Returns the ID of the general category that a more specific one belongs to. For `amenity/cafe/coffee_shop`, that is `amenity/cafe`. */
function plainId([id]: CategoryRow): string {
  return id.split('/', 2).join('/');
}

const searches = new Map<string, CategorySearch>();

/** All callers in the process share one search per folder, so the data is read only once. */
export function categorySearch(folder: string): CategorySearch {
  const found = searches.get(folder) ?? new CategorySearch(new CategoryData(folder));
  searches.set(folder, found);
  return found;
}

type Languages = readonly (readonly [language: string, share: number])[];

export class CategorySearch {
  readonly data: CategoryData;
  readonly #ids: ReadonlyMap<string, number>;
  readonly #languages = new Map<string, LanguageIndex>();

  constructor(data: CategoryData) {
    this.data = data;
    this.#ids = new Map(data.categories.map(([id], index) => [id, index]));
  }

  /** The best category comes first. Accepts an ID such as `amenity/cafe`, or a tag. Searches `language` first, or English. */
  search(words: string, language?: string): CategoryHit[] {
    const exact = this.#ids.get(words.trim().replace('=', '/'));
    if (exact !== undefined) return [{ category: this.data.categories[exact] as CategoryRow, index: exact, score: 1 }];
    const first = language !== undefined && this.data.languages.includes(language) ? language : 'en';
    const languages = this.#languagesOf(words, first);
    const isGiven = first === language;
    const folded = wordsOfFolded(foldedText(words));
    const found = this.#searchIn(languages, folded, isGiven);
    // No category fits all the words, so only the main word is searched for.
    if (best(found) < minScore) this.#addHeads(found, isGiven ? languages.slice(0, 1) : languages, folded);
    for (const [index, score] of found) found.set(index, Math.min(score, this.#plainScore(found, index, score)));
    return [...found].map(([index, score]) => this.#hit(index, score)).sort(byScore);
  }

  /** Searches other languages only without a certain match, and only for exact names after a good match or if the language is given. */
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

  all(): CategoryHit[] {
    return this.data.categories.map((category, index) => ({ category, index, score: 1 }));
  }

  /** Prefers the general category if it scores nearly as high. For example, `mairie` then means any `amenity/townhall`. */
  #plainScore(found: ReadonlyMap<number, number>, index: number, score: number): number {
    const plain = found.get(this.#ids.get(plainId(this.data.categories[index] as CategoryRow)) ?? -1) ?? 0;
    return score - plain < nearly ? plain : score;
  }

  #hit(index: number, score: number): CategoryHit {
    const category = this.data.categories[index] as CategoryRow;
    // Reduces the score of a less common category. If the same words also refer to another category, the less common one then comes later.
    return { category, index, score: Math.round(score * (0.9 + 0.1 * category[2]) * 100) / 100 };
  }

  /** The first language, English, and all languages that use the script of the words. */
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

/** Keys of OpenStreetMap tags. Categories with an earlier key are more likely to be meant. */
const kindOrder = ['amenity', 'shop', 'tourism', 'leisure', 'healthcare', 'office', 'craft', 'education'];

/** Sorts by score, then the more general category first, then by the number of chains and the order of the tag keys. */
function byScore(one: CategoryHit, other: CategoryHit): number {
  const chains = other.category[3] - one.category[3];
  return other.score - one.score || depthOf(one) - depthOf(other) || chains || kindRank(one) - kindRank(other) || one.index - other.index;
}

export function depthOf({ category: [, tags] }: CategoryHit): number {
  return Object.keys(tags).length;
}

function kindRank({ category: [id] }: CategoryHit): number {
  const at = kindOrder.indexOf(id.split('/')[0] as string);
  return at < 0 ? kindOrder.length : at;
}
