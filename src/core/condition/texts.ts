import { inQuotes } from '../answer/response.ts';
import { remembered } from './remembered.ts';

/** Letters that are not made of another letter and an accent, so that Unicode does not take them apart. */
const plainLetters: Readonly<Record<string, string>> = { ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ı: 'i' };
export const otherLetters = new RegExp(`[${Object.keys(plainLetters).join('')}]`, 'g');

/** Returns the text in lower case and without accents, for comparisons. */
export function folded(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().replace(otherLetters, plainLetter);
}

export function plainLetter(letter: string): string {
  return plainLetters[letter] as string;
}

export function squeezed(text: string): string {
  return text.replace(/\p{White_Space}+/gu, ' ').replace(/^ | $/g, '');
}

/** Percent-encodes everything but the unreserved characters (RFC 3986, 2.3). */
export function urlEncoded(text: string): string {
  if (!text.isWellFormed()) throw new Error(`url.encode: ${inQuotes(text)} is no valid Unicode text`);
  return encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

interface NumberForm {
  readonly form: RegExp;
  /** The separator of thousands, as it can occur in a number. */
  readonly thousands: RegExp;
  readonly decimals: string;
}

/** Compiles the example of `number.parse`. Throws an Error if it does not show how a number is written. */
export const numberForm = remembered(compiledForm);

const exampleAdvice = 'write an example with thousands and decimals, such as 1,234.56 or 1.234,56 or 1234.5';

function compiledForm(example: string): NumberForm {
  const grouped =
    /^[-+\u2212]?\d{1,3}(?<thousands>[^\da-z+-])\d{3}(?:\k<thousands>\d{3})*(?:(?!\k<thousands>)(?<decimals>[.,])\d+)?$/i.exec(example);
  const plain = /^[-+\u2212]?\d+(?:(?<decimals>[.,])\d+)?$/.exec(example);
  if (!grouped && !plain) throw new Error(`expected a number as an example, found ${inQuotes(example)}\n${exampleAdvice}`);
  // 1.234 can be more than a thousand, or a bit more than one.
  if (grouped && plain && !/^[-+\u2212]?0/.test(example)) {
    throw new Error(
      `expected an example that shows thousands or decimals, found ${inQuotes(example)}, which can be both\n${exampleAdvice}`,
    );
  }
  const { thousands = '', decimals = '' } = (plain ?? grouped)?.groups ?? {};
  const separator = thousands === '' ? '(?!)' : separatorForm(thousands);
  const point = decimals === '' ? '(?!)' : `[${decimals}]`;
  return {
    form: new RegExp(`^[-+\\u2212]?(?:(?:\\d{1,3}(?:${separator}\\d{3})+|\\d+)(?:${point}\\d+)?|${point}\\d+)$`),
    thousands: new RegExp(separator, 'g'),
    decimals,
  };
}

/** The separators that look the same are the same: programs write a narrow no-break space where people type a space. */
function separatorForm(thousands: string): string {
  if (/\s/.test(thousands)) return '[ \\u00a0\\u2009\\u202f]';
  return /['\u2019]/.test(thousands) ? "['\\u2019]" : `[${thousands.replace(/[\\\]^]/, '\\$&')}]`;
}

/** Throws an Error if the text is not a number that is written like the example. */
export function parseNumber(text: string, example: string): number {
  const { form, thousands, decimals } = numberForm(example);
  const digits = text.replace(thousands, '').replace('\u2212', '-');
  const number = form.test(text) ? Number(decimals === '' ? digits : digits.replace(decimals, '.')) : Number.NaN;
  if (Number.isFinite(number)) return number;
  throw new Error(`number.parse: ${inQuotes(text)} is no number of the form ${example}`);
}
