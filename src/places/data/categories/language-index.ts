import { foldedText, NearKeys, wordsOfFolded } from '../folded-text.ts';
import { type CategoryWords, headOf, nameParts, Stemmer, stemsOf, withoutPlaces } from './category-stems.ts';

/** For an exact match, and for a match of the stems. `value` is the tag's. The main word of a name is a term, too. */
const scores = { name: [1, 0.96], value: [0.99, 0.95], alias: [0.98, 0.94], term: [0.93, 0.9] } as const;

/** Maximum number of categories whose names have the same main word. If there are more, the main word is not used to find a category. */
const maxHeads = 12;

/** If the main word is the whole name of more categories than this, none of them is found. */
const maxNamed = 2;

/** If several categories have the same term, its score is reduced by `each` for every other category, but at most by `most`. */
const shared = { each: 0.01, most: 0.06 };

/** Factors for scores: `withoutPlaces` if words such as `shop` were left out, and `head` if only the main word fits. */
const shares = { withoutPlaces: 0.95, head: 0.8 };

/** Maximum score of a category if only some of the words fit. */
const partScore = 0.84;

/** The weight of a word in a name is 1. */
const termWeight = 0.85;

/** Factor by which the score of a misspelled word is multiplied. */
const mistakenShare = 0.92;

type TextKind = keyof typeof scores;

/** Minimum number of letters in each of the two parts of a compound word. */
const minPart = 4;

interface CategoryText {
  readonly category: number;
  readonly text: string;
  readonly kind: TextKind;
}

export class LanguageIndex {
  /** Categories and scores, keyed by the letters of their names and terms, without spaces. */
  readonly #letters = new Index();
  /** Categories and scores, keyed by the stems of a name or term, which are in alphabetical order. */
  readonly #texts = new Index();
  /** Categories and weights, keyed by each single stem of their names and terms. */
  readonly #stems = new Index();
  /** Categories and scores, keyed by the stem of the main word of their names. */
  readonly #heads = new Index();
  readonly #size: number;
  readonly #language: string;
  readonly #stemmer: Stemmer;
  #near: NearKeys | undefined;

  /** `ids` are the category IDs for English, because tag values such as `coffee_shop` are English words; empty for other languages. */
  constructor(words: readonly CategoryWords[], language: string, ids: readonly string[] = []) {
    this.#size = words.length;
    this.#language = language;
    this.#stemmer = new Stemmer(language);
    const texts = words.flatMap((entry, category) => textsOf(entry, category, ids[category]));
    // All names and terms are folded (to lower case, without accents) as one string. Folding each of them separately takes twice as long.
    const folded = foldedText(texts.map(({ text }) => text).join('\n')).split('\n');
    for (const [index, { category, kind }] of texts.entries()) this.#add(category, wordsOfFolded(folded[index] as string), kind);
  }

  /** In all methods of this class, the words must be folded (lower case, without accents). */
  search(words: readonly string[]): Map<number, number> {
    const found = this.#search(words);
    const rest = withoutPlaces(words);
    if (rest.length < words.length) raise(found, this.#search(rest), shares.withoutPlaces);
    return found;
  }

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

  /** Categories whose whole name is the main word. Undefined if too many categories have that name, as for `station`. */
  searchHead(words: readonly string[]): Map<number, number> | undefined {
    const found = new Map<number, number>();
    if (words.length < 2) return found;
    const head = [headOf(words, this.#language)];
    const named = [...this.#byText(head, stemsOf(head, this.#stemmer))].filter(([, score]) => score >= scores.value[1]);
    raise(found, named, shares.head);
    return named.length <= maxNamed ? found : undefined;
  }

  /** Finds the same words or the same stems. Scores are reduced if several categories have the same term. */
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

  /** Rare stems have a greater influence on the score. */
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

  /** The stem itself, the two parts of a compound word, or the most similar stem. `share` is the factor for the score. */
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

/** Multiplies the scores in `others` by `share` and adds them to `found`. If a category is already in `found`, the higher score is kept. */
function raise(found: Map<number, number>, others: Iterable<readonly [category: number, score: number]>, share = 1): void {
  for (const [category, score] of others) found.set(category, Math.max(score * share, found.get(category) ?? 0));
}

function textsOf(entry: CategoryWords, category: number, id: string | undefined): CategoryText[] {
  // The last part of a category's ID is used as a name. In the ID of a specific category, it must consist of several words, such as
  // `coffee_shop`. A single word, such as `city`, is not used.
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

/** If a category was added several times for the same key, the highest number is used. */
class Index {
  /** Each number contains a category and its score or weight. Objects would take too much memory: there are about 100,000 entries. */
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
