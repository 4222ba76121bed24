import type { Stemmer } from './category-stems.ts';

/** Words that say nothing about a category, in several languages. */
const fillers = new Set(
  'the a an of for and or in de des du la le les l d a et pour el los las del y para il lo gli di da dei della e per der die das und fur von zu van voor en het och for i w z na'.split(
    ' ',
  ),
);

/** Words that name a place of any kind, in several languages. */
const places = new Set(
  'shop shops store stores office offices place places joint joints salon salons laden geschaft geschafte magasin magasins boutique boutiques tienda tiendas negozio negozi winkel winkels loja lojas sklep sklepy butik butiker affar affarer kauppa kaupat'.split(
    ' ',
  ),
);

/** Words for places of any kind that end compounds: `Fahrradladen`. */
const placeEnds = [...places].filter((word) => /^(?:laden|geschaft|winkel|butik|affar|kaup)/.test(word));

/** The words without words for any place: `shoe` of `shoe store`. All words if they all name any place. */
export function withoutPlaces(words: readonly string[]): readonly string[] {
  const rest = words.flatMap(withoutPlace);
  return rest.some((word) => !fillers.has(word)) ? rest : words;
}

function withoutPlace(word: string): string[] {
  if (places.has(word)) return [];
  const end = placeEnds.find((end) => word.endsWith(end) && word.length >= end.length + minBefore);
  return [end === undefined ? word : word.slice(0, -end.length)];
}

/** Fewest letters before the word for a place in a compound. */
const minBefore = 3;

/** Languages in which the first word of a name says what it is: `gare routière`. In other languages the last word does: `bus station`. */
const headFirst = new Set(['fr', 'es', 'it', 'pt', 'ca', 'vi', 'ar', 'he']);

/** The main word of several, or its stem: `school` of `primary school`. */
export function headOf(words: readonly string[], language: string): string {
  return (headFirst.has(language) ? words[0] : words.at(-1)) as string;
}

/** Letters of languages that write words without spaces between them. */
const withoutSpaces = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;

/** Latin letters without accents: most words have only these, and the test for them is faster. */
const letters = /^[\0-\u2e7f]*$/;

/** The stems of words, without fillers. Where words have no spaces between them, each pair of letters stands for a word. */
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

/** The parts of a name that are names of their own: `Gym / Fitness Center`, `Bushaltestelle (Wartebereich)`. */
export function nameParts(name: string): string[] {
  if (!/[(/|,]/.test(name)) return name === '' ? [] : [name];
  const plain = name.replace(/\s*\([^)]*\)/g, '');
  return [...new Set([name, plain, ...plain.split(/\s*[/|,]\s*/)])].filter((part) => part !== '');
}
