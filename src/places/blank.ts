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

/** The length of the longest text that means "no value". */
const longest = 20;

/** True for text that means "no value": `None`, `null`, `n/a` and the like. */
export function isNoValue(text: string): boolean {
  return text.length <= longest && blanks.has(text.trim().toLowerCase());
}

/** True for text that means "no value", or that contains no letters or digits. */
export function isBlank(text: string): boolean {
  return isNoValue(text) || !/[\p{L}\p{N}]/u.test(text);
}
