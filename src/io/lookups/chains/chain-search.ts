import type { ChainName, ChainNames } from './chain-names.ts';
import { companyWords, coreWords, isCommon } from './company-words.ts';

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
const scores = { punctuation: 0.98, core: 0.95, form: 0.94, commonRest: 0.92, longStart: 0.87, shortStart: 0.7 };

/** Letters from which on the beginning of a name says which chain it is, whatever follows: of several words, and of a single one. */
const tellingLetters = { several: 9, single: 10 };

/** The chains that a name may mean, each once, with its best score. */
export function searchChains(names: ChainNames, written: string): Hit[] {
  const words = companyWords(written);
  const core = coreWords(words);
  const hits = new Hits();
  const lower = written.trim().toLowerCase();
  // A legal form that makes another name belongs to the company: "Carrefour S.A." is not "CarrefourSA".
  const isForm = core.length < words.length && names.named(core.join('')).length > 0;
  for (const name of names.named(words.join(''))) {
    const isExact = name.text.toLowerCase() === lower;
    hits.add({ name, method: isExact ? 'exact' : 'cleaned', score: isExact ? 1 : isForm ? scores.form : scores.punctuation });
  }
  for (const key of new Set([core.join(''), `the${core.join('')}`])) {
    for (const name of names.named(key)) hits.add({ name, method: 'cleaned', score: scores.core });
  }
  if (hits.best < scores.core) addStarts(names, core, hits);
  if (hits.best < scores.commonRest) addNear(names, core, hits);
  return hits.all();
}

/** The best hit of each chain. */
class Hits {
  best = 0;
  readonly #hits = new Map<number, Hit>();

  add(hit: Hit): void {
    const before = this.#hits.get(hit.name.chain);
    if (before && (before.score > hit.score || (before.score === hit.score && before.name.rank <= hit.name.rank))) return;
    this.#hits.set(hit.name.chain, hit);
    this.best = Math.max(this.best, hit.score);
  }

  all(): Hit[] {
    return [...this.#hits.values()];
  }
}

/** Adds the chains with whose name the words begin. The longest name counts. */
function addStarts(names: ChainNames, words: readonly string[], hits: Hits): void {
  for (let count = words.length - 1; count > 0; count--) {
    const key = words.slice(0, count).join('');
    const found = names.named(key);
    if (found.length === 0 && !names.named(`the${key}`).length) continue;
    const rest = words.slice(count);
    for (const name of found.length > 0 ? found : names.named(`the${key}`)) {
      hits.add({ name, method: 'start', score: startScore(names, name, { key, count, rest }) });
    }
    if (hits.best >= scores.longStart) return;
  }
}

interface Start {
  readonly key: string;
  /** Words of the name. */
  readonly count: number;
  /** The words after it. */
  readonly rest: readonly string[];
}

function startScore(names: ChainNames, { chain }: ChainName, { key, count, rest }: Start): number {
  if (rest.every((word) => isCommon(word) || names.isWordFor(chain, word))) return scores.commonRest;
  const isTelling = key.length >= (count > 1 ? tellingLetters.several : tellingLetters.single);
  return isTelling ? scores.longStart : scores.shortStart;
}

/** Adds the chains whose names differ by a mistake in writing: of the whole name, and of its beginning where common words follow. */
function addNear(names: ChainNames, words: readonly string[], hits: Hits): void {
  const whole = words.join('');
  const start = words.slice(0, lastTelling(words) + 1).join('');
  for (const key of new Set([whole, start])) {
    for (const [found, mistakes] of names.near(key)) {
      const likeness = 1 - (mistakes + initialMistakes(words, key, found)) / Math.max(key.length, found.length);
      for (const name of names.named(found)) hits.add({ name, method: 'fuzzy', score: Math.round(likeness * 100) / 100 });
    }
  }
}

/** Counts other letters at the beginning of words: people rarely mistake the first letter, so it is another word. */
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
