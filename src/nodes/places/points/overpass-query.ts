import { Failure } from '../../../core/failure.ts';
import type { Around, Box, Tags } from '../../../core/lookups/points.ts';

/** The place where points are looked for. */
export type Where = Around | { readonly area: string } | Box;

/** A question for Overpass. */
export interface OverpassQuestion {
  readonly where: Where;
  /** The tags of each category; empty for any category. */
  readonly categories: readonly Tags[];
  readonly chain: Tags | undefined;
  /** Maximum of points in the answer. */
  readonly limit: number;
}

/** Seconds and bytes that the server may spend. */
const settings = '[out:json][timeout:60][maxsize:268435456];';

/** The query in Overpass QL, on one line. Throws a Failure (`request`) for a control character. */
export function overpassQuery({ where, categories, chain, limit }: OverpassQuestion): string {
  const place = placeText(where);
  const area = 'area' in where ? `${where.area}->.a;` : '';
  const filters = (categories.length === 0 ? [{}] : categories).map((tags) => `nwr${tagText({ ...tags, ...chain })}${place};`);
  const union = filters.length === 1 ? (filters[0] as string) : `(${filters.join('')});`;
  return `${settings}${area}${union}out tags center ${limit + 1};`;
}

function placeText(where: Where): string {
  if ('near' in where) return `(around:${number(where.radius)},${number(where.near.lat)},${number(where.near.lon)})`;
  return 'area' in where ? '(area.a)' : `(${where.bbox.map(number).join(',')})`;
}

function tagText(tags: Tags): string {
  return Object.entries(tags)
    .map(([key, value]) => (value === '*' ? `[${quoted(key)}]` : `[${quoted(key)}=${quoted(value)}]`))
    .join('');
}

/** The area that has these tags. */
export function areaWith(tags: Tags): string {
  return `area${tagText(tags)}`;
}

/** A text in quotes, from which no character can break out. */
function quoted(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused
  const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.exec(text)?.[0];
  if (control === undefined) return `"${text.replace(/[\\"]/g, '\\$&')}"`;
  const code = control.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
  throw new Failure('request', `expected a name without control characters, found U+${code}`, { sent: false });
}

/** The shortest form without an exponent. */
function number(value: number): string {
  const text = String(value);
  return text.includes('e') ? value.toFixed(12).replace(/\.?0+$/, '') : text;
}
