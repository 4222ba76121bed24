/** Words that say nothing about a category, in several languages. */
const fillers = new Set(
  'the a an of for and or in de des du la le les l d a et pour el los las del y para il lo gli di da dei della e per der die das und fur von zu van voor en het och for i w z na'.split(
    ' ',
  ),
);

/** Letters of languages that write words without spaces between them. */
const withoutSpaces = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;

/** The stems of words, without fillers. Where words have no spaces between them, each pair of letters stands for a word. */
export function stemsOf(words: readonly string[]): string[] {
  const telling = words.filter((word) => !fillers.has(word));
  return (telling.length > 0 ? telling : words).flatMap((word) => (withoutSpaces.test(word) ? pairsOf(word) : [stemOf(word)]));
}

/** A word without the endings of plurals and genders. It is only compared with other stems. */
function stemOf(word: string): string {
  if (word.length < 4) return word;
  const stem = word.replace(/(?:s|n|x)$/, '').replace(/[aeiouy]+$/, '');
  return (stem.length < 3 ? word : stem).replace(/([cg])h$/, '$1');
}

function pairsOf(word: string): string[] {
  const letters = [...word];
  return letters.length < 2 ? letters : letters.slice(1).map((letter, index) => `${letters[index]}${letter}`);
}

/** The parts of a name that are names of their own: `Gym / Fitness Center`, `Bushaltestelle (Wartebereich)`. */
export function partsOf(name: string): string[] {
  const plain = name.replace(/\s*\([^)]*\)/g, '');
  return [...new Set([name, plain, ...plain.split(/\s*[/|,]\s*/)])].filter((part) => part !== '');
}
