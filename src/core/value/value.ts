/** A number whose digits a double would change: it is too large, too precise, or written in a different notation (`1.50`, `1e5`). */
export class ExactNumber {
  constructor(readonly text: string) {}
}

/** A number with this many significant digits loses none as a double. */
const safeDigits = 15;

/** Undefined if a double would change the number's value. */
export function asDouble({ text }: ExactNumber): number | undefined {
  const number = Number(text);
  const [mantissa = ''] = text.split(/[eE]/);
  const digits = mantissa.replace(/\D/g, '').replace(/^0+|0+$/g, '');
  return Number.isFinite(number) && digits.length <= safeDigits ? number : undefined;
}

/** JSON numbers keep all their digits, so their text is what is written. */
export const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Any JSON value. The digits of every number are unchanged. */
export type Value = string | number | boolean | null | ExactNumber | Value[] | JsonObject;

/** A nested JSON object. Only its own properties are data, so `__proto__` is an ordinary name. */
export interface JsonObject {
  [name: string]: Value;
}

/** Leads to a value inside another, by names of members and positions in lists. */
export type ValuePath = readonly (string | number)[];

export function isObject(value: Value | undefined): value is JsonObject {
  return isMapping(value) && !(value instanceof ExactNumber);
}

/** True for an object that is neither `null` nor a list. */
export function isMapping(value: unknown): value is Record<PropertyKey, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the value as a person would write it in a cell, a URL or a header. `null` becomes empty; objects and lists become JSON text. */
export function textOf(value: Value): string {
  if (typeof value === 'string') return value;
  if (value === null) return '';
  return jsonOf(value);
}

/** The digits of numbers stay unchanged. */
export function jsonOf(value: Value): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (value === null || typeof value !== 'object') return numberOrLiteral(value);
  if (value instanceof ExactNumber) return value.text;
  if (Array.isArray(value)) return `[${value.map(jsonOf).join(',')}]`;
  return `{${Object.keys(value)
    .map((name) => `${JSON.stringify(name)}:${jsonOf(value[name] as Value)}`)
    .join(',')}}`;
}

/** Infinities and NaN become `null`, as in JSON.stringify. */
function numberOrLiteral(value: number | boolean | null): string {
  return typeof value === 'number' && !Number.isFinite(value) ? 'null' : String(value);
}

export function orUndefined<Result>(act: () => Result): Result | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}

/** The members of objects in the order in which they were written. Only objects that JavaScript would reorder are included. */
const written = new WeakMap<object, readonly (readonly [string, unknown])[]>();

/** `membersOf` returns the members in this order, even if some names are numbers, which a JavaScript object would put first. */
export function objectOf<Value>(members: readonly (readonly [string, Value])[]): Record<string, Value> {
  const object = Object.fromEntries(members) as Record<string, Value>;
  if (members.some(([name]) => /^\d+$/.test(name))) written.set(object, members);
  return object;
}

/** Returns an object's names and values in the order in which they were written. */
export function membersOf<Value>(object: Readonly<Record<string, Value>>): readonly (readonly [string, Value])[] {
  return (written.get(object) as (readonly [string, Value])[] | undefined) ?? Object.entries(object);
}
