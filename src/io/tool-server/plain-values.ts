import { ExactNumber, isObject, type Value } from '../../core/value/value.ts';

/** A double holds any number of this many digits. */
const safeDigits = 15;

/** A value as JSON.stringify writes it. A number that a double would change becomes a text with its digits. */
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
