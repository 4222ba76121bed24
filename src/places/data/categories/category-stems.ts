import { readDataNow } from '../data.ts';
import { wordSet } from '../folded-text.ts';

/** Endings to remove, in folded form: plurals, cases, genders and trades. A stem is only compared with stems, so it need not be a word. */
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

  /** Uses no regular expressions, which would be too slow: the first lookup has to stem 100,000 words. */
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

/** Articles, prepositions and similar words in several languages. They do not help to find a category. */
const fillers = wordSet(
  `the a an of for and or in de des du la le les l d a et pour el los las del y para il lo gli di da dei della e per der die das und fur
  von zu van voor en het och for i w z na`,
);

/** Words in several languages that can be added to the name of any category, such as `shop`. */
const places = wordSet(
  `shop shops store stores office offices place places joint joints salon salons laden geschaft geschafte magasin magasins boutique
  boutiques tienda tiendas negozio negozi winkel winkels loja lojas sklep sklepy butik butiker affar affarer kauppa kaupat`,
);

/** The words from `places` that can be the end of a compound word, as in `Fahrradladen`. */
const placeEnds = [...places].filter((word) => /^(?:laden|geschaft|winkel|butik|affar|kaup)/.test(word));

/** For example, `shoe store` becomes `shoe`. If no meaningful word would be left, the words are unchanged. */
export function withoutPlaces(words: readonly string[]): readonly string[] {
  const rest = words.flatMap(withoutPlace);
  return rest.some((word) => !fillers.has(word)) ? rest : words;
}

function withoutPlace(word: string): string[] {
  if (places.has(word)) return [];
  const end = placeEnds.find((end) => word.endsWith(end) && word.length >= end.length + minBefore);
  return [end === undefined ? word : word.slice(0, -end.length)];
}

/** Minimum number of letters in a compound word before an ending such as `laden`. */
const minBefore = 3;

/** Languages in which the main word of a name comes first, as in `gare routière`. In others, it comes last, as in `bus station`. */
const headFirst = new Set(['fr', 'es', 'it', 'pt', 'ca', 'vi', 'ar', 'he']);

/** Returns the main word of a name, such as `school` in `primary school`. `words` are the words of the name or their stems. */
export function headOf(words: readonly string[], language: string): string {
  return (headFirst.has(language) ? words[0] : words.at(-1)) as string;
}

const withoutSpaces = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;

/** Matches a word that contains only letters of scripts with spaces. It is tried first, because it is fast and matches most words. */
const letters = /^[\0-\u2e7f]*$/;

/** The stems of the words that help to find a category. In scripts without spaces, each pair of adjacent letters counts as a word. */
export function stemsOf(words: readonly string[], stemmer: Stemmer): string[] {
  const telling = words.filter((word) => !fillers.has(word));
  return (telling.length > 0 ? telling : words).flatMap((word) =>
    letters.test(word) || !withoutSpaces.test(word) ? stemmer.stemOf(word) : pairsOf(word),
  );
}

function pairsOf(word: string): string[] {
  const letters = [...word];
  return letters.length < 2 ? letters : letters.slice(1).map((letter, index) => `${letters[index]}${letter}`);
}

/** Splits text such as `Gym / Fitness Center`. Adds the whole text, with and without the parts in parentheses. */
export function nameParts(name: string): string[] {
  if (!/[(/|,]/.test(name)) return name === '' ? [] : [name];
  const plain = name.replace(/\s*\([^)]*\)/g, '');
  return [...new Set([name, plain, ...plain.split(/\s*[/|,]\s*/)])].filter((part) => part !== '');
}

/** `id` is, for example, `amenity/cafe`; `tags` are OpenStreetMap tags. A higher `weight` (0 to 1) is preferred. */
export type CategoryRow = readonly [id: string, tags: Readonly<Record<string, string>>, weight: number, chains: number];

/** `aliases` are other names, and `terms` related words. 0 if the data has no words in the language. */
export type CategoryWords = readonly [name: string, aliases: readonly string[], terms: readonly string[]] | 0;

/** The words of a language are read when they are first needed, because most lookups need only English. */
export class CategoryData {
  readonly categories: readonly CategoryRow[];
  readonly languages: readonly string[];
  readonly #folder: string;
  readonly #words = new Map<string, readonly CategoryWords[]>();

  constructor(folder: string) {
    const { languages, categories } = readDataNow<{ languages: string[]; categories: CategoryRow[] }>(folder, 'categories');
    this.categories = categories;
    this.languages = languages;
    this.#folder = folder;
  }

  /** Returns the words for all categories in one language, in the same order as `categories`. */
  words(language: string): readonly CategoryWords[] {
    const known = this.#words.get(language);
    if (known) return known;
    const words = this.languages.includes(language) ? readDataNow<CategoryWords[]>(this.#folder, `categories-${language}`) : [];
    this.#words.set(language, words);
    return words;
  }
}
