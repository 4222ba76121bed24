import { ExactNumber, isObject, type Value } from '../../core/value/value.ts';

/** Maximum number of significant digits of a number that is converted to a double. No digits are lost up to this number. */
const safeDigits = 15;

/** Converts a value to a form that JSON.stringify accepts. A number that would lose digits as a double becomes a string. */
export function plainOf(value: Value): unknown {
  if (value instanceof ExactNumber) return plainNumber(value);
  if (Array.isArray(value)) return value.map(plainOf);
  return isObject(value) ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plainOf(member)])) : value;
}

function plainNumber({ text }: ExactNumber): number | string {
  const number = Number(text);
  const [mantissa = ''] = text.split(/[eE]/);
  const digits = mantissa.replace(/\D/g, '').replace(/^0+|0+$/g, '');
  return Number.isFinite(number) && digits.length <= safeDigits ? number : text;
}
