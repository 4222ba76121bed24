/** A number whose digits a double would change: too large, too precise, or in another notation (`1.50`, `1e5`). */
export class ExactNumber {
  constructor(readonly text: string) {}
}

/** The value of a field: any JSON, with the digits of every number unchanged. */
export type Value = string | number | boolean | null | ExactNumber | Value[] | JsonObject;

/** A nested JSON object. Only own properties are data: `__proto__` is an ordinary name. */
export interface JsonObject {
  [name: string]: Value;
}

/** True for a nested JSON object. */
export function isObject(value: Value | undefined): value is JsonObject {
  return isMapping(value) && !(value instanceof ExactNumber);
}

/** True for an object that is neither `null` nor a list. */
export function isMapping(value: unknown): value is Record<PropertyKey, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value as a person writes it in a cell, a URL or a header: `null` is empty, objects and arrays are JSON text. */
export function textOf(value: Value): string {
  if (typeof value === 'string') return value;
  if (value === null) return '';
  return jsonOf(value);
}

/** The value as JSON text, digits unchanged. */
export function jsonOf(value: Value): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (value === null || typeof value !== 'object') return numberOrLiteral(value);
  if (value instanceof ExactNumber) return value.text;
  if (Array.isArray(value)) return `[${value.map(jsonOf).join(',')}]`;
  return `{${Object.keys(value)
    .map((name) => `${JSON.stringify(name)}:${jsonOf(value[name] as Value)}`)
    .join(',')}}`;
}

/** A double has no JSON text for infinities and NaN: they become `null`, as in JSON.stringify. */
function numberOrLiteral(value: number | boolean | null): string {
  return typeof value === 'number' && !Number.isFinite(value) ? 'null' : String(value);
}

/** Returns the result of `act`, or undefined if it throws. */
export function orUndefined<Result>(act: () => Result): Result | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
