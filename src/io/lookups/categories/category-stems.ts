/**
 * Endings by language, folded: of plurals, cases and genders, and of trades: `slagerij` and `slager` have one stem. A
 * stem is only compared with other stems of the language, so what matters is that all forms of a word lose the same letters.
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

/** Fewest letters of a stem. */
const minLetters = 3;

/** Two vowels that are written as one in the plural: `apotheek`, `apotheken`. */
const dutchVowels = /([aeou])\1(?=[^aeiou]$)/;

/** Takes the endings of a language off words. */
export class Stemmer {
  /** Endings by their last letter, the longest first. */
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

  /** A word without the endings of plurals, cases and genders. There are 100,000 words at the first look-up: hence no patterns. */
  stemOf(word: string): string {
    let stem = word;
    for (let shorter = this.#withoutEnd(stem); shorter.length < stem.length; shorter = this.#withoutEnd(stem)) stem = shorter;
    return this.#isDutch ? stem.replace(dutchVowels, '$1') : stem;
  }

  /** The word without its longest ending, else with one letter where it ends in two alike. */
  #withoutEnd(word: string): string {
    const { length } = word;
    if (length <= minLetters) return word;
    const last = word.charAt(length - 1);
    const ending = this.#endings.get(last)?.find((end) => length - end.length >= minLetters && word.endsWith(end));
    if (ending !== undefined) return word.slice(0, length - ending.length);
    return last === word.charAt(length - 2) ? word.slice(0, -1) : word;
  }
}
