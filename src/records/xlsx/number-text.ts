import { type ZeroFormat, zeroFormatOf, zeroText } from './zero-format.ts';

/** The properties of a number format that determine how a cell becomes text. */
export interface CellFormat {
  readonly showsDay: boolean;
  readonly showsTime: boolean;
  /** True if the format shows fractions of a second. */
  readonly showsFraction: boolean;
  /** True for the format of a duration, such as `[h]:mm`. */
  readonly isSpan: boolean;
  /** The format of a number that is shown with leading zeros; undefined for other formats. */
  readonly zeros?: ZeroFormat | undefined;
}

/** The number format of a cell that shows neither a date nor a time. */
export const plainNumber: CellFormat = { showsDay: false, showsTime: false, showsFraction: false, isSpan: false };

const day: CellFormat = { ...plainNumber, showsDay: true };
const time: CellFormat = { ...plainNumber, showsTime: true };

/** The built-in number formats of dates and times, as ranges of ids (ECMA-376, 18.8.30). A workbook uses them without defining them. */
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

/**
 * Returns the number format for a format code such as `dd.mm.yyyy`. If `code` is undefined, returns the built-in format with the number
 * `id`.
 */
export function formatOfCode(id: number, code: string | undefined): CellFormat {
  if (code === undefined) return builtIn.find(([first, last]) => id >= first && id <= last)?.[2] ?? plainNumber;
  // Quoted text, escaped characters and padding do not show parts of the date, so they are removed. Only the first section is used, because
  // the second is for negative numbers.
  const [first = ''] = code.replace(/"[^"]*"|\\.|[_*]./g, '').split(';');
  const isSpan = /\[(?:h+|m+|s+)\]/i.test(first);
  const letters = first.replace(/\[[^\]]*\]/g, '');
  const showsTime = isSpan || /[hs]|am\/pm/i.test(letters);
  const showsDay = !isSpan && (/[yd]/i.test(letters) || (!showsTime && /m/i.test(letters)));
  if (!showsDay && !showsTime) return { ...plainNumber, zeros: zeroFormatOf(code) };
  return { showsDay, showsTime, showsFraction: /s[.,]0/i.test(letters), isSpan };
}

const msOfDay = 86_400_000;

/**
 * The serial number of the day after 9999-12-31, the last day in Excel. It depends on whether the workbook counts days from 1900 or from
 * 1904.
 */
const endOfDays = { 1900: 2_958_466, 1904: 2_957_004 };

/**
 * Returns the number in a cell as text. It is a date or time if the cell's number format shows one, and has leading zeros if the format
 * does. `is1904` is true if the workbook counts days from 1904.
 */
export function numberText(stored: string, format: CellFormat, is1904: boolean): string {
  const { showsDay, showsTime, isSpan, showsFraction, zeros } = format;
  const serial = Number(stored);
  if (zeros && Number.isFinite(serial)) return zeroText(serial, stored, zeros) ?? plainText(stored, serial);
  if (!(showsDay || showsTime) || !(serial >= 0 && serial < endOfDays[is1904 ? 1904 : 1900])) return plainText(stored, serial);
  const unit = showsFraction ? 1 : 1000;
  const ms = Math.round((serial * msOfDay) / unit) * unit;
  if (isSpan || (!showsDay && serial < 1)) return spanText(ms);
  // Excel shows such a number as 0 January 1900, which is not a valid date.
  if (serial < 1 && !is1904) return plainText(stored, serial);
  return dateText(ms, showsTime, is1904);
}

/**
 * Returns an ISO date. `ms` counts from the first day that the workbook counts from. Excel also counts 29 February 1900, which never
 * existed, so dates after it are corrected.
 */
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

/** Returns a number with the digits that Excel shows. An integer keeps all digits, and any other number has at most 15. */
function plainText(stored: string, value: number): string {
  if (/^-?\d+$/.test(stored) || !Number.isFinite(value)) return stored;
  return String(Number(value.toPrecision(15)));
}
