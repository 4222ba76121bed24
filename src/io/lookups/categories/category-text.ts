/** Words that say nothing about a category, in several languages. */
const fillers = new Set(
  'the a an of for and or in de des du la le les l d a et pour el los las del y para il lo gli di da dei della e per der die das und fur von zu van voor en het och for i w z na'.split(
    ' ',
  ),
);

/** Words that name a place of any kind, in several languages. */
const places = new Set(
  'shop shops store stores office offices place places salon salons laden geschaft magasin magasins boutique tienda tiendas negozio negozi winkel loja lojas sklep butik affar'.split(
    ' ',
  ),
);

/** The words without words for any place: `shoe` of `shoe store`. All words if they all name any place. */
export function withoutPlaces(words: readonly string[]): readonly string[] {
  const rest = words.filter((word) => !places.has(word));
  return stemsOf(rest).length > 0 ? rest : words;
}

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
export function stemsOf(words: readonly string[]): string[] {
  const stems: string[] = [];
  addStems(stems, words, false);
  if (stems.length === 0) addStems(stems, words, true);
  return stems;
}

function addStems(stems: string[], words: readonly string[], takesFillers: boolean): void {
  for (const word of words) {
    if (!takesFillers && fillers.has(word)) continue;
    if (letters.test(word) || !withoutSpaces.test(word)) stems.push(stemOf(word));
    else stems.push(...pairsOf(word));
  }
}

/** A word without the endings of plurals and genders. It is only compared with other stems. There are 100,000 at the first look-up: hence no patterns. */
function stemOf(word: string): string {
  if (word.length < 4) return word;
  let end = 'snx'.includes(word.charAt(word.length - 1)) ? word.length - 1 : word.length;
  while (end > 0 && 'aeiouy'.includes(word.charAt(end - 1))) end--;
  const stem = end < 3 ? word : word.slice(0, end);
  return stem.endsWith('ch') || stem.endsWith('gh') ? stem.slice(0, -1) : stem;
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
