// This file imports nothing, because the script that builds the embedded data uses it, too. Both then normalize names in the same way.

const letters: Readonly<Record<string, string>> = { ß: 'ss', ø: 'o', đ: 'd', ł: 'l', æ: 'ae', œ: 'oe', ı: 'i', þ: 'th', ð: 'd' };

const words: Readonly<Record<string, string>> = { st: 'saint', ste: 'sainte', ft: 'fort', mt: 'mount' };

/**
 * Returns the normalized form in which names of places are compared: lower case, no accents or punctuation, and `st` expanded to `saint`.
 */
export function placeKey(name: string): string {
  const plain = isAscii(name) ? name.toLowerCase() : withoutAccents(name);
  return plain
    .replace(/['`’‘ʻʼ´]/g, '')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .replace(/\b(?:ste?|[fm]t)\b/g, (word) => words[word] as string);
}

function isAscii(text: string): boolean {
  return /^[\0-\x7f]*$/.test(text);
}

function withoutAccents(name: string): string {
  const lower = name
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase();
  return lower.replace(/[ßøđłæœıþð]/g, (letter) => letters[letter] as string).normalize('NFC');
}
