/** Replacements for letters that Unicode does not split into a base letter and an accent. */
const letters: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
};

const isAscii = /^[\0-\x7f]*$/;

/**
 * Folds text, which converts it to lower case without accents, so it can be compared. Variants of the same character become equal (Unicode
 * NFKD).
 */
export function foldedText(text: string): string {
  const lower = text.toLowerCase();
  // Most text contains only ASCII characters and needs no further conversion.
  if (isAscii.test(lower)) return lower;
  return lower
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
    .replace(/[ßæœøłđðþı]/g, (letter) => letters[letter] as string);
}

/** Splits folded text into words at spaces and punctuation. Apostrophes are removed and do not split words. */
export function wordsOfFolded(folded: string): string[] {
  const joined = folded.replace(/['’‘`´]/g, '');
  return joined.match(isAscii.test(joined) ? /[a-z0-9]+/g : /[\p{L}\p{M}\p{N}]+/gu) ?? [];
}
