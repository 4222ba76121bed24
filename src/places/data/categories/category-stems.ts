/**
 * Word endings to remove in each language, in folded form (lower case, without accents). Most of them mark plurals, cases or genders.
 * Others mark trades, so that `slagerij` (butcher's shop) and `slager` (butcher) have the same stem. A stem need not be a word, because it
 * is only compared with other stems of the same language.
 */
const endings: Readonly<Record<string, string>> = {
  en: 's ie y e',
  de: 'e en er ern n s in um is ei',
  fr: 's x e i al aux au',
  es: 's a e i o',
  it: 'a e i o he hi er ier',
  pt: 's a e i o m ns al el il ol ul ais eis ois uis is',
  nl: 's n e en z um ij',
  pl: 'a e i o u y um ow',
  sv: 'a e n r ar er or um',
  cs: 'a e i o u y um',
  ru: 'а е и о у ы э ю я ь',
  uk: 'а е и і о у ю я є ь',
  ko: '들',
  tr: 'i u si su ler lar leri lari',
  fi: 'a e i o u y t',
  el: 'α ε η ι ο υ ω ς',
  da: 'e r er um',
  no: 'a e r er um',
  hu: 'k ok ek ak a e',
  hr: 'a e i o u',
  ca: 's a e i o',
  ar: 'ات ة',
  he: 'ים ות ה',
};

/** Minimum number of letters that must be left in a stem. */
const minLetters = 3;

/** A double vowel that becomes single in the Dutch plural, as in `apotheek` and `apotheken`. */
const dutchVowels = /([aeou])\1(?=[^aeiou]$)/;

/** Removes the endings of one language from words, so that different forms of a word have the same stem. */
export class Stemmer {
  /** The endings, keyed by their last letter. In each list, the longest ending is the first. */
  readonly #endings = new Map<string, string[]>();
  readonly #isDutch: boolean;

  constructor(language: string) {
    this.#isDutch = language === 'nl';
    const own = endings[language]?.split(' ') ?? [];
    for (const ending of own.sort((one, other) => other.length - one.length)) {
      const last = ending.charAt(ending.length - 1);
      this.#endings.set(last, [...(this.#endings.get(last) ?? []), ending]);
    }
  }

  /**
   * Returns the stem of a word. Endings are found without regular expressions, which would be too slow: the first lookup has to stem
   * 100,000 words.
   */
  stemOf(word: string): string {
    let stem = word;
    for (let shorter = this.#withoutEnd(stem); shorter.length < stem.length; shorter = this.#withoutEnd(stem)) stem = shorter;
    return this.#isDutch ? stem.replace(dutchVowels, '$1') : stem;
  }

  /** Removes the longest ending of a word. If the word has no known ending, but ends in a double letter, removes one of the two letters. */
  #withoutEnd(word: string): string {
    const { length } = word;
    if (length <= minLetters) return word;
    const last = word.charAt(length - 1);
    const ending = this.#endings.get(last)?.find((end) => length - end.length >= minLetters && word.endsWith(end));
    if (ending !== undefined) return word.slice(0, length - ending.length);
    return last === word.charAt(length - 2) ? word.slice(0, -1) : word;
  }
}
