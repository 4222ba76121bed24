/** Letters that Unicode does not take apart into a letter and an accent. */
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

/** A text in lower case, without accents, with one form for each character. */
export function foldedText(text: string): string {
  const lower = text.toLowerCase();
  // For most texts this is enough.
  if (isAscii.test(lower)) return lower;
  return lower
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
    .replace(/[ßæœøłđðþı]/g, (letter) => letters[letter] as string);
}

/** The words of a folded text: apostrophes join, all other punctuation divides. */
export function wordsOfFolded(folded: string): string[] {
  const joined = folded.replace(/['’‘`´]/g, '');
  return joined.match(isAscii.test(joined) ? /[a-z0-9]+/g : /[\p{L}\p{M}\p{N}]+/gu) ?? [];
}
