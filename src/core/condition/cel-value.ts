import { ExactNumber, isObject, type Value } from '../value/value.ts';

/** Converts a field's value to a value in CEL. A whole number becomes an int, every other number a double. */
export function toCel(value: Value): unknown {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (value instanceof ExactNumber) return /^-?\d+$/.test(value.text) ? BigInt(value.text) : Number(value.text);
  if (Array.isArray(value)) return value.map(toCel);
  if (isObject(value)) return new Map(Object.entries(value).map(([name, member]) => [name, toCel(member)]));
  return value;
}

/** Converts the result of an expression to a field's value. Throws an Error for a number that JSON cannot represent. */
export function fromCel(value: unknown): Value {
  if (typeof value === 'bigint') return fromBigInt(value);
  if (typeof value === 'number') return finite(value);
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (Array.isArray(value)) return value.map(fromCel);
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  if (value instanceof Map) return fromMembers(value);
  if (typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype) return fromMembers(Object.entries(value));
  const primitive = (value as object).valueOf();
  return typeof primitive === 'bigint' ? fromBigInt(primitive) : String(value);
}

function fromMembers(members: Iterable<[unknown, unknown]>): Value {
  return Object.fromEntries([...members].map(([name, member]) => [String(name), fromCel(member)]));
}

function finite(number: number): number {
  if (Number.isFinite(number)) return number;
  throw new Error(`the expression gave ${number}, which JSON cannot hold as a number`);
}

function fromBigInt(value: bigint): number | ExactNumber {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : new ExactNumber(String(value));
}
