import { Failure } from '../../core/failure.ts';

/** The kinds of units that the census counts. */
export type Level = 'state' | 'county' | 'tract' | 'block group' | 'zcta';

/** A unit of the census. */
export interface Unit {
  readonly level: Level;
  readonly geoid: string;
}

/** The level of a code by its digits. A block lies in a block group, whose code begins its own. */
const levels: Readonly<Record<number, Level>> = { 2: 'state', 5: 'county', 11: 'tract', 12: 'block group', 15: 'block group' };

/** The unit that a code means; undefined if it is not the code of a unit. Puts a lost leading zero back. */
export function unitOf(text: string): Unit | undefined {
  const code = text.trim();
  const digits = levels[code.length + 1] !== undefined && [1, 4, 10].includes(code.length) ? `0${code}` : code;
  const level = levels[digits.length];
  return level !== undefined && /^\d+$/.test(digits) ? { level, geoid: digits.slice(0, 12) } : undefined;
}

/** The unit of a ZIP code, or of the first five digits of a ZIP+4; undefined for any other text. Puts a lost leading zero back. */
export function zctaOf(text: string): Unit | undefined {
  const [, code] = /^(\d{4,5})(?: ?- ?\d{4})?$/.exec(text.trim()) ?? /^(\d{5})\d{4}$/.exec(text.trim()) ?? [];
  return code === undefined ? undefined : { level: 'zcta', geoid: code.padStart(5, '0') };
}

/** The message for a text that is not a code. */
export function noUnit(option: 'geoid' | 'zcta', text: string): string {
  const expected =
    option === 'zcta' ? 'a ZIP code of 5 digits' : 'a code of 2 (state), 5 (county), 11 (tract), 12 (block group) or 15 digits (block)';
  const code = text.trim();
  const found = JSON.stringify(code.length > 40 ? `${code.slice(0, 40)}…` : code);
  return `expected ${expected}, found ${found}${/^\d+$/.test(code) ? `, which has ${code.length}` : ''}`;
}

/** Reads a code. Throws a Failure (`request`) for any other text. */
export function readUnit(option: 'geoid' | 'zcta', text: string): Unit {
  const unit = option === 'zcta' ? zctaOf(text) : unitOf(text);
  if (!unit) throw new Failure('request', noUnit(option, text), { sent: false });
  return unit;
}

/** The predicates for all units within the parent of a unit: their records share a request. ZIP code tabulation areas have no parent. */
export function predicatesOf({ level, geoid }: Unit): { readonly for: string; readonly in?: string } {
  const county = `state:${geoid.slice(0, 2)} county:${geoid.slice(2, 5)}`;
  if (level === 'state') return { for: 'state:*' };
  if (level === 'county') return { for: 'county:*', in: `state:${geoid.slice(0, 2)}` };
  if (level === 'tract') return { for: 'tract:*', in: county };
  if (level === 'block group') return { for: 'block group:*', in: `${county} tract:${geoid.slice(5, 11)}` };
  return { for: `zip code tabulation area:${geoid}` };
}
