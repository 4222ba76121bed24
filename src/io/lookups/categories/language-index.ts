import { foldedText, wordsOfFolded } from '../folded-text.ts';
import { NearKeys } from '../near-keys.ts';
import type { CategoryWords } from './category-data.ts';
import { Stemmer } from './category-stems.ts';
import { headOf, nameParts, stemsOf, withoutPlaces } from './category-text.ts';

/**
 * Scores of a text that is a name, the value of the tag, another name or a term of a category: letter by letter, and by the stems of its words.
 * A text without the words for any place (`clothing` of `clothing store`) and the main word of some names (`gare`) count as terms.
 */
const scores = { name: [1, 0.96], value: [0.99, 0.95], alias: [0.98, 0.95], term: [0.93, 0.9] } as const;

/** Maximum of categories that share a main word. A main word of more categories says nothing. */
const maxHeads = 12;

/** Maximum of categories that a main word names: a school is `amenity/school` and `education/school`. */
const maxNamed = 2;

/** Taken off the score of a term for each further category that has it, and the maximum. */
const shared = { each: 0.01, most: 0.06 };

/** Shares of a score: of words without the words for any place, and of the main word alone. */
const shares = { withoutPlaces: 0.97, head: 0.8 };

/** Highest score where only some words fit. */
const partScore = 0.84;

/** Weight of a word of a term; a word of a name has 1. */
const termWeight = 0.85;

/** Share of the score of a word in which there is a mistake. */
const mistakenShare = 0.92;

type TextKind = keyof typeof scores;

/** Shortest part of a compound word. */
const minPart = 4;

/** A text of a category. */
interface CategoryText {
  readonly category: number;
  readonly text: string;
  readonly kind: TextKind;
}

/** The words of one language for all categories. Categories are given by their index. */
export class LanguageIndex {
  /** By the letters of a text, with scores. */
  readonly #letters = new Index();
  /** By the stems of a text in the order of the alphabet, with scores. */
  readonly #texts = new Index();
  /** By stem, with weights. */
  readonly #stems = new Index();
  /** By the stem of a name's main word. */
  readonly #heads = new Index();
  readonly #size: number;
  readonly #language: string;
  readonly #stemmer: Stemmer;
  #near: NearKeys | undefined;

  /** `ids`: of the categories; undefined in languages other than English. */
  constructor(words: readonly CategoryWords[], language: string, ids: readonly string[] = []) {
    this.#size = words.length;
    this.#language = language;
    this.#stemmer = new Stemmer(language);
    const texts = words.flatMap((entry, category) => textsOf(entry, category, ids[category]));
    // All texts are folded at once: folding each alone would take twice the time.
    const folded = foldedText(texts.map(({ text }) => text).join('\n')).split('\n');
    for (const [index, { category, kind }] of texts.entries()) this.#add(category, wordsOfFolded(folded[index] as string), kind);
  }

  /** The categories that words may mean, with their scores. `words`: folded, here and below. */
  search(words: readonly string[]): Map<number, number> {
    const found = this.#search(words);
    const rest = withoutPlaces(words);
    if (rest.length < words.length) raise(found, this.#search(rest), shares.withoutPlaces);
    return found;
  }

  /** The categories with a text of these very words. */
  searchTexts(words: readonly string[]): ReadonlyMap<number, number> {
    return this.#letters.get(words.join(''));
  }

  #search(words: readonly string[]): Map<number, number> {
    const stems = stemsOf(words, this.#stemmer);
    const found = this.#byParts(stems);
    raise(found, this.#byText(words, stems));
    const heads = this.#heads.get(stems.length === 1 ? (stems[0] as string) : '');
    if (heads.size <= maxHeads) raise(found, heads);
    return found;
  }

  /** The categories whose name is the main word of several alone: `school` of `primary school`. Undefined for a word that names several kinds, and says nothing: `station`. */
  searchHead(words: readonly string[]): Map<number, number> | undefined {
    const found = new Map<number, number>();
    if (words.length < 2) return found;
    const head = [headOf(words, this.#language)];
    const named = [...this.#byText(head, stemsOf(head, this.#stemmer))].filter(([, score]) => score >= scores.value[1]);
    raise(found, named, shares.head);
    return named.length <= maxNamed ? found : undefined;
  }

  /** The categories with a text of these words. A term that many categories have says less. */
  #byText(words: readonly string[], stems: readonly string[]): Map<number, number> {
    const found = new Map<number, number>();
    for (const texts of [this.#letters.get(words.join('')), this.#texts.get(stemKey(stems))]) {
      const terms = [...texts.values()].filter(isTermScore).length;
      const less = Math.min(shared.most, shared.each * (terms - 1));
      for (const [category, score] of texts) raise(found, [[category, isTermScore(score) ? score - less : score]]);
    }
    return found;
  }

  #add(category: number, words: readonly string[], kind: TextKind): void {
    if (words.length === 0) return;
    const stems = stemsOf(words, this.#stemmer);
    this.#addText(category, { words, stems }, scores[kind]);
    for (const stem of stems) this.#stems.add(stem, category, kind === 'term' ? termWeight : 1);
    if (kind === 'term') return;
    if (stems.length > 1) this.#heads.add(headOf(stems, this.#language), category, scores.term[0]);
    const rest = withoutPlaces(words);
    if (rest.length < words.length) this.#addText(category, { words: rest, stems: stemsOf(rest, this.#stemmer) }, scores.term);
  }

  #addText(
    category: number,
    { words, stems }: Record<'words' | 'stems', readonly string[]>,
    [exact, stemmed]: readonly [number, number],
  ): void {
    this.#letters.add(words.join(''), category, exact);
    this.#texts.add(stemKey(stems), category, stemmed);
  }

  /** The categories with some of the stems: rare ones count more. */
  #byParts(stems: readonly string[]): Map<number, number> {
    const known = stems.flatMap((stem) => this.#knownStems(stem));
    const whole = known.reduce((sum, { stem }) => sum + this.#rarity(stem), 0);
    const sums = new Map<number, number>();
    for (const { stem, share } of known) {
      const most = (share * this.#rarity(stem) * partScore) / whole;
      for (const [category, weight] of this.#stems.get(stem)) sums.set(category, (sums.get(category) ?? 0) + weight * most);
    }
    return sums;
  }

  /** The known stems that a stem may mean: itself, the parts of a compound, or a stem that differs by a mistake. `share`: of the score. */
  #knownStems(stem: string): { readonly stem: string; readonly share: number }[] {
    if (this.#stems.has(stem)) return [{ stem, share: 1 }];
    for (let at = minPart; at <= stem.length - minPart; at++) {
      const [first = '', rest] = [stemsOf([stem.slice(0, at)], this.#stemmer)[0], stem.slice(at)];
      if (this.#stems.has(first) && this.#stems.has(rest)) return [first, rest].map((stem) => ({ stem, share: 1 }));
    }
    this.#near ??= new NearKeys(this.#stems.keys());
    const near = [...this.#near.near(stem)].sort(([, a], [, b]) => a - b)[0];
    return [near ? { stem: near[0], share: mistakenShare } : { stem, share: 1 }];
  }

  #rarity(stem: string): number {
    return Math.log(1 + this.#size / Math.max(1, this.#stems.get(stem).size));
  }
}

function isTermScore(score: number): boolean {
  return (scores.term as readonly number[]).includes(score);
}

/** Raises the scores in the first map to a share of the scores in the second. */
function raise(found: Map<number, number>, others: Iterable<readonly [category: number, score: number]>, share = 1): void {
  for (const [category, score] of others) found.set(category, Math.max(score * share, found.get(category) ?? 0));
}

function textsOf(entry: CategoryWords, category: number, id: string | undefined): CategoryText[] {
  // The last part of a finer category's id is a name only if it is more than one word: `coffee_shop`, but not `city`.
  const value = /^[^/]+\/(?:([^/]+)$|.*\/([^/]+_[^/]+)$)/
    .exec(id ?? '')
    ?.slice(1)
    .find(Boolean);
  const [name, aliases, terms] = entry === 0 ? [undefined, [], []] : entry;
  return [
    ...(name === undefined ? [] : nameParts(name).map((text) => ({ category, text, kind: text === name ? 'name' : 'alias' }) as const)),
    ...(value === undefined ? [] : [{ category, text: value.replaceAll('_', ' '), kind: 'value' } as const]),
    ...aliases.flatMap(nameParts).map((text) => ({ category, text, kind: 'alias' }) as const),
    ...terms.map((text) => ({ category, text, kind: 'term' }) as const),
  ];
}

function stemKey(stems: readonly string[]): string {
  return stems.length === 1 ? (stems[0] as string) : [...stems].sort().join(' ');
}

/** Categories by key, each with a number from 0 to 1. The highest number of a category counts. */
class Index {
  /** Category and number in one: there are 100,000 of them in all languages, and each would take an object of its own. */
  readonly #entries = new Map<string, number | number[]>();

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  keys(): Iterable<string> {
    return this.#entries.keys();
  }

  get(key: string): Map<number, number> {
    const found = new Map<number, number>();
    const entries = this.#entries.get(key);
    for (const entry of entries === undefined ? [] : [entries].flat()) {
      const category = Math.floor(entry / 1000);
      found.set(category, Math.max(found.get(category) ?? 0, (entry % 1000) / 100));
    }
    return found;
  }

  add(key: string, category: number, value: number): void {
    const entry = category * 1000 + Math.round(value * 100);
    const found = this.#entries.get(key);
    if (found === undefined) this.#entries.set(key, entry);
    else if (typeof found !== 'number') found.push(entry);
    else if (found !== entry) this.#entries.set(key, [found, entry]);
  }
}
