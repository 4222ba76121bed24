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

/** True for a text that stands for no value: `None`, `null`, `n/a`, `-` and the like. */
export function isBlank(text: string): boolean {
  if (text.length > 20) return false;
  return blanks.has(text.trim().toLowerCase()) || !/[\p{L}\p{N}]/u.test(text);
}
