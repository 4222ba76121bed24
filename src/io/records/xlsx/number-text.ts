/** The part of a cell's format that its text depends on. */
export interface CellFormat {
  readonly showsDay: boolean;
  readonly showsTime: boolean;
  /** True if it shows parts of a second. */
  readonly showsFraction: boolean;
  /** True for a span of time such as `[h]:mm`. */
  readonly isSpan: boolean;
}

/** The format of a number. */
export const plainNumber: CellFormat = { showsDay: false, showsTime: false, showsFraction: false, isSpan: false };

const day: CellFormat = { ...plainNumber, showsDay: true };
const time: CellFormat = { ...plainNumber, showsTime: true };

/** The formats that are not stored in a file (ECMA-376, 18.8.30), by their first and last number. */
const builtIn: readonly (readonly [number, number, CellFormat])[] = [
  [14, 17, day],
  [18, 21, time],
  [22, 22, { ...day, showsTime: true }],
  [27, 31, day],
  [32, 33, time],
  [34, 36, day],
  [45, 45, time],
  [46, 46, { ...time, isSpan: true }],
  [47, 47, { ...time, showsFraction: true }],
  [50, 58, day],
];

/** The format of a number, from its code such as `dd.mm.yyyy`; undefined for one of those that every reader knows. */
export function formatOfCode(id: number, code: string | undefined): CellFormat {
  if (code === undefined) return builtIn.find(([first, last]) => id >= first && id <= last)?.[2] ?? plainNumber;
  // Texts, single characters, and filling are no parts of a date; nor are the formats of negative numbers.
  const [first = ''] = code.replace(/"[^"]*"|\\.|[_*]./g, '').split(';');
  const isSpan = /\[(?:h+|m+|s+)\]/i.test(first);
  const letters = first.replace(/\[[^\]]*\]/g, '');
  const showsTime = isSpan || /[hs]|am\/pm/i.test(letters);
  const showsDay = !isSpan && (/[yd]/i.test(letters) || (!showsTime && /m/i.test(letters)));
  return { showsDay, showsTime, showsFraction: /s[.,]0/i.test(letters), isSpan };
}

const msOfDay = 86_400_000;

/** The day after the last one that Excel knows, 9999-12-31, in both systems of dates. */
const endOfDays = { 1900: 2_958_466, 1904: 2_957_004 };

/** The text of a number in a cell: a date or a time if its format shows one. `is1904`: the workbook counts days from 1904. */
export function numberText(stored: string, format: CellFormat, is1904: boolean): string {
  const { showsDay, showsTime, isSpan, showsFraction } = format;
  const serial = Number(stored);
  if (!(showsDay || showsTime) || !(serial >= 0 && serial < endOfDays[is1904 ? 1904 : 1900])) return plainText(stored, serial);
  const unit = showsFraction ? 1 : 1000;
  const ms = Math.round((serial * msOfDay) / unit) * unit;
  if (isSpan || (!showsDay && serial < 1)) return spanText(ms);
  // Excel shows a day 0 of January 1900: no date.
  if (serial < 1 && !is1904) return plainText(stored, serial);
  return dateText(ms, showsTime, is1904);
}

/** Excel counts a 29 February 1900, which was none. */
function dateText(ms: number, showsTime: boolean, is1904: boolean): string {
  const start = is1904 ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, ms < 60 * msOfDay ? 31 : 30);
  const iso = new Date(start + ms).toISOString();
  return ms % msOfDay === 0 && !showsTime ? iso.slice(0, 10) : iso.replace(/(?:\.000)?Z$/, '');
}

function spanText(ms: number): string {
  const two = (count: number) => String(Math.floor(count)).padStart(2, '0');
  const rest = ms % 1000 === 0 ? '' : `.${String(ms % 1000).padStart(3, '0')}`;
  return `${two(ms / 3_600_000)}:${two((ms / 60_000) % 60)}:${two((ms / 1000) % 60)}${rest}`;
}

/** The digits that Excel has: all of a whole number as it is stored, 15 of any other. */
function plainText(stored: string, value: number): string {
  if (/^-?\d+$/.test(stored) || !Number.isFinite(value)) return stored;
  return String(Number(value.toPrecision(15)));
}
