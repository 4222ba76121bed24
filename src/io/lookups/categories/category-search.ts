import type { CategoryData, CategoryRow } from './category-data.ts';
import { LanguageIndex } from './language-index.ts';

/** A category that words may mean. */
export interface CategoryHit {
  readonly category: CategoryRow;
  /** Its index. */
  readonly index: number;
  /** 0 to 1, two decimals. */
  readonly score: number;
}

/** Score from which on no other language is looked into. */
const sureScore = 0.9;

/** Shares of a score in English, and in the other languages. */
const otherShares = { en: 0.99, other: 0.98 };

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

  /** The categories that words may mean, best first. `language`: looked into first; absent for English. */
  search(words: string, language = 'en'): CategoryHit[] {
    const exact = this.byId(words);
    if (exact) return [exact];
    const found = new Map<number, number>();
    const first = this.data.words.has(language) ? language : 'en';
    this.#add(found, first, words, 1);
    if (first !== 'en' && best(found) < sureScore) this.#add(found, 'en', words, otherShares.en);
    for (const other of this.data.words.keys()) {
      if (best(found) >= sureScore) break;
      if (other !== first && other !== 'en' && isWrittenAs(other, words)) this.#add(found, other, words, otherShares.other);
    }
    return [...found].map(([index, score]) => this.#hit(index, score)).sort(byScore);
  }

  /** All categories, in the order of their ids. */
  all(): CategoryHit[] {
    return this.data.categories.map((category, index) => ({ category, index, score: 1 }));
  }

  #hit(index: number, score: number): CategoryHit {
    const category = this.data.categories[index] as CategoryRow;
    // Less likely categories with the same words come later.
    return { category, index, score: Math.round(score * (0.9 + 0.1 * category[2]) * 100) / 100 };
  }

  #add(found: Map<number, number>, language: string, words: string, share: number): void {
    for (const [index, score] of this.#indexOf(language).search(words)) {
      if (score * share > (found.get(index) ?? 0)) found.set(index, score * share);
    }
  }

  #indexOf(language: string): LanguageIndex {
    const known = this.#languages.get(language);
    if (known) return known;
    const ids = language === 'en' ? this.data.categories.map(([id]) => id) : [];
    const index = new LanguageIndex(this.data.words.get(language) ?? [], ids);
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

/** True if words have letters of a language. Latin words in others are in English, too. */
function isWrittenAs(language: string, words: string): boolean {
  return (scripts[language] ?? /\p{Script=Latin}/u).test(words);
}

function best(found: ReadonlyMap<number, number>): number {
  let best = 0;
  for (const score of found.values()) best = Math.max(best, score);
  return best;
}

/** Kinds of places that people mean more often come first. */
const kindOrder = ['amenity', 'shop', 'tourism', 'leisure', 'healthcare', 'office', 'craft', 'education'];

/** Of equal scores, the plainer and more usual category comes first. */
function byScore(one: CategoryHit, other: CategoryHit): number {
  return other.score - one.score || depthOf(one) - depthOf(other) || kindRank(one) - kindRank(other) || one.index - other.index;
}

function depthOf({ category: [, tags] }: CategoryHit): number {
  return Object.keys(tags).length;
}

function kindRank({ category: [id] }: CategoryHit): number {
  const at = kindOrder.indexOf(id.split('/')[0] as string);
  return at < 0 ? kindOrder.length : at;
}
