export interface CellFormat {
  readonly showsDay: boolean;
  readonly showsTime: boolean;
  readonly showsFraction: boolean;
  /** True for the format of a duration, such as `[h]:mm`. */
  readonly isSpan: boolean;
  /** For a number that is shown with leading zeros. */
  readonly zeros?: ZeroFormat;
}

export const plainNumber: CellFormat = { showsDay: false, showsTime: false, showsFraction: false, isSpan: false };

const day: CellFormat = { ...plainNumber, showsDay: true };
const time: CellFormat = { ...plainNumber, showsTime: true };

/** Dates and times, as ranges of ids (ECMA-376, 18.8.30). A workbook uses these formats without defining them. */
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

/** For a code such as `dd.mm.yyyy`. If `code` is undefined, the built-in format with the number `id`. */
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

/** The day after 9999-12-31, Excel's last day, if the workbook counts days from 1900 or from 1904. */
const endOfDays = { 1900: 2_958_466, 1904: 2_957_004 };

/** A date or time, or a number with leading zeros, if the format shows one. `is1904`: the workbook counts days from 1904. */
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

/** ISO. `ms` counts from the workbook's first day. Corrects for 29 February 1900, which Excel counts although it never existed. */
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

/** As Excel shows it: an integer keeps all digits, and any other number has at most 15. */
function plainText(stored: string, value: number): string {
  if (/^-?\d+$/.test(stored) || !Number.isFinite(value)) return stored;
  return String(Number(value.toPrecision(15)));
}

/** Sections of a number format are separated by `;`. */
interface FormatSection {
  /** The condition in brackets, such as `[<=9999999]`. */
  readonly accepts: ((value: number) => boolean) | undefined;
  /** The texts between the zeros. The first is before the first zero. Undefined if the section shows anything else than zeros and text. */
  readonly texts: readonly string[] | undefined;
}

/** For example `00000` for postcodes or `000-00-0000`. The zeros stand for digits that are shown in any case. */
type ZeroFormat = readonly FormatSection[];

/** Undefined if no section consists of at least two zeros and text. */
function zeroFormatOf(code: string): ZeroFormat | undefined {
  const sections: string[][] = [[]];
  for (const [token] of code.matchAll(/"[^"]*"|\\.|[_*].|\[[^\]]*\]|./gs)) {
    if (token === ';') sections.push([]);
    else sections.at(-1)?.push(token);
  }
  // The last section can be the format of text, which numbers do not use.
  if (sections.length > 1 && sections.at(-1)?.includes('@')) sections.pop();
  const format = sections.slice(0, 3).map(sectionOf);
  return format.some(({ texts }) => texts) ? format : undefined;
}

function sectionOf(tokens: readonly string[]): FormatSection {
  const condition = tokens.map(bracketCondition).find((found) => found !== undefined);
  const texts = [''];
  for (const token of tokens) {
    const text = token === '0' ? '' : shownText(token);
    if (text === undefined) return { accepts: condition, texts: undefined };
    if (token === '0') texts.push('');
    else texts[texts.length - 1] += text;
  }
  return { accepts: condition, texts: texts.length > 2 ? texts : undefined };
}

/** Undefined for a part of a format code that is not a literal, such as `#`. */
function shownText(token: string): string | undefined {
  if (token.length === 1) return /[\0a-z#?.,%/@"\\_*[\]]/i.test(token) ? undefined : token;
  if (token.startsWith('"')) return token.slice(1, -1);
  if (token.startsWith('\\')) return token.slice(1);
  if (!token.startsWith('[')) return '';
  // A currency or language, such as [$€-407] (ECMA-376, 18.8.31).
  const symbol = /^\[\$([^\]-]*)/.exec(token)?.[1];
  if (symbol !== undefined) return symbol;
  const isColor = /^\[(?:black|blue|cyan|green|magenta|red|white|yellow|color ?\d+)\]$/i.test(token);
  return isColor || bracketCondition(token) ? '' : undefined;
}

const comparisons: Readonly<Record<string, (value: number, limit: number) => boolean>> = {
  '<': (value, limit) => value < limit,
  '<=': (value, limit) => value <= limit,
  '>': (value, limit) => value > limit,
  '>=': (value, limit) => value >= limit,
  '=': (value, limit) => value === limit,
  '<>': (value, limit) => value !== limit,
};

function bracketCondition(token: string): FormatSection['accepts'] {
  const [, sign = '', limit] = /^\[([<>=]{1,2})(-?\d+(?:\.\d+)?)\]$/.exec(token) ?? [];
  const compare = comparisons[sign];
  return compare && ((value) => compare(value, Number(limit)));
}

/** As Excel shows the number. Undefined if the format shows it in another way than with zeros and text. */
function zeroText(value: number, stored: string, format: ZeroFormat): string | undefined {
  const index = format.findIndex(({ accepts }, at) => (accepts ? accepts(value) : acceptsByPlace(value, at, format.length)));
  const { accepts, texts } = format[index] ?? {};
  if (!texts) return undefined;
  const zeros = texts.length - 1;
  const digits = wholeDigits(value, stored).padStart(zeros, '0');
  // The first zero shows all digits for which there are no zeros.
  const first = digits.length - zeros;
  let text = `${texts[0]}${digits.slice(0, first)}`;
  for (let at = 0; at < zeros; at++) text += `${digits[first + at]}${texts[at + 1]}`;
  const isForNegative = index === 1 && !accepts && (format.length > 2 || !format[0]?.accepts);
  return value < 0 && !isForNegative ? `-${text}` : text;
}

/** Without conditions, the first of several sections is for positive numbers, the second for negative ones, and the last for all others. */
function acceptsByPlace(value: number, at: number, count: number): boolean {
  if (at === count - 1) return true;
  if (at === 1) return value < 0;
  return count === 2 ? value >= 0 : value > 0;
}

/** Rounded to an integer, without its sign. Excel rounds what it shows, with 15 digits. */
function wholeDigits(value: number, stored: string): string {
  if (/^-?\d+$/.test(stored)) return stored.replace(/^-?0*(?=\d)/, '');
  const [mantissa = '', exponent] = Math.abs(value).toExponential(14).split('e');
  const more = Number(exponent) - 14;
  return more < 0 ? String(Math.round(Number(Math.abs(value).toPrecision(15)))) : mantissa.replace('.', '') + '0'.repeat(more);
}
