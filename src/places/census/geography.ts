import { Failure } from '../../core/failure.ts';

/** The levels of geographic units for which the US census has figures. */
export type Level = 'state' | 'county' | 'tract' | 'block group' | 'zcta';

/** A geographic unit of the US census. */
export interface Unit {
  readonly level: Level;
  readonly geoid: string;
}

/**
 * The level of a geographic unit, by the number of digits in its code. A block's code begins with the code of its block group, which is
 * used instead.
 */
const levels: Readonly<Record<number, Level>> = { 2: 'state', 5: 'county', 11: 'tract', 12: 'block group', 15: 'block group' };

/**
 * Returns the geographic unit with that code; undefined if the text is not a code. A leading zero that was lost, for example in a
 * spreadsheet, is restored.
 */
export function unitOf(text: string): Unit | undefined {
  const code = text.trim();
  const digits = levels[code.length + 1] !== undefined && [1, 4, 10].includes(code.length) ? `0${code}` : code;
  const level = levels[digits.length];
  return level !== undefined && /^\d+$/.test(digits) ? { level, geoid: digits.slice(0, 12) } : undefined;
}

/**
 * Returns the geographic unit for a ZIP code, or for the first five digits of a ZIP+4; undefined for any other text. A leading zero that
 * was lost, for example in a spreadsheet, is restored.
 */
export function zctaOf(text: string): Unit | undefined {
  const [, code] = /^(\d{4,5})(?: ?- ?\d{4})?$/.exec(text.trim()) ?? /^(\d{5})\d{4}$/.exec(text.trim()) ?? [];
  return code === undefined ? undefined : { level: 'zcta', geoid: code.padStart(5, '0') };
}

/** Returns the message for text that is not the code of a geographic unit. */
export function noUnit(option: 'geoid' | 'zcta', text: string): string {
  const expected =
    option === 'zcta' ? 'a ZIP code of 5 digits' : 'a code of 2 (state), 5 (county), 11 (tract), 12 (block group) or 15 digits (block)';
  const code = text.trim();
  const found = JSON.stringify(code.length > 40 ? `${code.slice(0, 40)}…` : code);
  return `expected ${expected}, found ${found}${/^\d+$/.test(code) ? `, which has ${code.length}` : ''}`;
}

/** Parses the code of a geographic unit. Throws a Failure (`request`) if the text is not a code. */
export function readUnit(option: 'geoid' | 'zcta', text: string): Unit {
  const unit = option === 'zcta' ? zctaOf(text) : unitOf(text);
  if (!unit) throw new Failure('request', noUnit(option, text), { sent: false });
  return unit;
}

/**
 * Returns the query parameters that select all geographic units in the same larger unit, such as all counties of a state. Records for these
 * units can then share a request. ZIP code tabulation areas are in no larger unit.
 */
export function predicatesOf({ level, geoid }: Unit): { readonly for: string; readonly in?: string } {
  const county = `state:${geoid.slice(0, 2)} county:${geoid.slice(2, 5)}`;
  if (level === 'state') return { for: 'state:*' };
  if (level === 'county') return { for: 'county:*', in: `state:${geoid.slice(0, 2)}` };
  if (level === 'tract') return { for: 'tract:*', in: county };
  if (level === 'block group') return { for: 'block group:*', in: `${county} tract:${geoid.slice(5, 11)}` };
  return { for: `zip code tabulation area:${geoid}` };
}
