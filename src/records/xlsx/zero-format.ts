/** A section of a number format. Sections are separated by `;`. */
interface Section {
  /** The condition in brackets, such as `[<=9999999]`; undefined if there is none. */
  readonly accepts: ((value: number) => boolean) | undefined;
  /** The texts between the zeros. The first is before the first zero. Undefined if the section shows anything else than zeros and text. */
  readonly texts: readonly string[] | undefined;
}

/** A number format of zeros, such as `00000` for postcodes or `000-00-0000`. The zeros stand for digits that are shown in any case. */
export type ZeroFormat = readonly Section[];

/** Returns the format for a format code; undefined if no section of the code consists of at least two zeros and text. */
export function zeroFormatOf(code: string): ZeroFormat | undefined {
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

function sectionOf(tokens: readonly string[]): Section {
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

/** Returns the text that a part of a format code shows; undefined for a part that is not a literal, such as `#`. */
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

function bracketCondition(token: string): Section['accepts'] {
  const [, sign = '', limit] = /^\[([<>=]{1,2})(-?\d+(?:\.\d+)?)\]$/.exec(token) ?? [];
  const compare = comparisons[sign];
  return compare && ((value) => compare(value, Number(limit)));
}

/** Returns a number as Excel shows it. Returns undefined if the format shows this number in another way than with zeros and text. */
export function zeroText(value: number, stored: string, format: ZeroFormat): string | undefined {
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

/** Without a condition, the first of several sections is for positive numbers and the second for negative ones. The last is for all others. */
function acceptsByPlace(value: number, at: number, count: number): boolean {
  if (at === count - 1) return true;
  if (at === 1) return value < 0;
  return count === 2 ? value >= 0 : value > 0;
}

/** Returns the digits of a number that is rounded to an integer, without its sign. Excel rounds what it shows, with 15 digits. */
function wholeDigits(value: number, stored: string): string {
  if (/^-?\d+$/.test(stored)) return stored.replace(/^-?0*(?=\d)/, '');
  const [mantissa = '', exponent] = Math.abs(value).toExponential(14).split('e');
  const more = Number(exponent) - 14;
  return more < 0 ? String(Math.round(Number(Math.abs(value).toPrecision(15)))) : mantissa.replace('.', '') + '0'.repeat(more);
}
