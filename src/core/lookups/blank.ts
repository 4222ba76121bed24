const blanks = new Set(
  ['', 'none', 'null', 'nil', 'na', 'n/a', 'n.a.', 'n.a', 'unknown', 'undefined', 'nan', '#n/a', 'tbd', 'tba', 'empty', 'missing'].concat([
    'not available',
    'not applicable',
    'not provided',
    'not known',
    'no address',
    'same as above',
    'see above',
    'as above',
    'keine angabe',
    'k.a.',
    'unbekannt',
    'inconnu',
    'desconocido',
    's/n',
  ]),
);

/** Longest of these texts. */
const longest = 20;

/** True for words that stand for no value: `None`, `null`, `n/a` and the like. */
export function isNoValue(text: string): boolean {
  return text.length <= longest && blanks.has(text.trim().toLowerCase());
}

/** True for a text that stands for no value, or has neither letters nor digits. */
export function isBlank(text: string): boolean {
  return isNoValue(text) || !/[\p{L}\p{N}]/u.test(text);
}
