import type { Stemmer } from './category-stems.ts';

/** Articles, prepositions and similar words in several languages. They do not help to find a category. */
const fillers = new Set(
  'the a an of for and or in de des du la le les l d a et pour el los las del y para il lo gli di da dei della e per der die das und fur von zu van voor en het och for i w z na'.split(
    ' ',
  ),
);

/** Words in several languages that can be added to the name of any category, such as `shop`. */
const places = new Set(
  'shop shops store stores office offices place places joint joints salon salons laden geschaft geschafte magasin magasins boutique boutiques tienda tiendas negozio negozi winkel winkels loja lojas sklep sklepy butik butiker affar affarer kauppa kaupat'.split(
    ' ',
  ),
);

/** The words from `places` that can be the end of a compound word, as in `Fahrradladen`. */
const placeEnds = [...places].filter((word) => /^(?:laden|geschaft|winkel|butik|affar|kaup)/.test(word));

/**
 * Removes words that can be added to the name of any category, so `shoe store` becomes `shoe`. If this would leave no meaningful word,
 * returns the words unchanged.
 */
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

/** Letters of scripts in which there are no spaces between words. */
const withoutSpaces = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;

/** Matches a word that contains only letters of scripts with spaces. It is tried first, because it is fast and matches most words. */
const letters = /^[\0-\u2e7f]*$/;

/**
 * Returns the stems of the words that help to find a category. In scripts without spaces, each pair of adjacent letters counts as a word.
 */
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

/**
 * Splits text that contains several names, such as `Gym / Fitness Center`. Also returns the whole text, once with and once without the
 * parts in parentheses.
 */
export function nameParts(name: string): string[] {
  if (!/[(/|,]/.test(name)) return name === '' ? [] : [name];
  const plain = name.replace(/\s*\([^)]*\)/g, '');
  return [...new Set([name, plain, ...plain.split(/\s*[/|,]\s*/)])].filter((part) => part !== '');
}
