import type { Environment } from '@marcbachmann/cel-js';
import { inQuotes } from '../answer/response.ts';
import { bytesOfBase64, toBase64 } from '../text/base64.ts';
import { ExactNumber, isObject, type Value } from '../value/value.ts';
import { evaluationTime } from './evaluation.ts';
import { extractPattern } from './pattern.ts';

/** The functions that are called with a library name before the dot, as in `base64.encode`. */
const libraries = { base64: ['encode', 'decode'], math: ['round'], regex: ['extract'] };

/** True if the library has this function. Both names must match, because a field can have the same name as a library. */
export function isLibraryFunction(library: string, name: string): boolean {
  return Object.hasOwn(libraries, library) && libraries[library as keyof typeof libraries].includes(name);
}

/** In CEL, a library such as `base64` is a constant, and its functions are methods of this constant. */
class CelLibrary {}

/**
 * Registers the functions that the CEL library lacks. Names and meanings follow cel-go's extensions
 * (github.com/google/cel-go/blob/master/ext/README.md). The exceptions are `now`, `round`, and null in place of an optional value.
 */
export function registerFunctions(environment: Environment): Environment {
  for (const name of Object.keys(libraries)) {
    // Each library needs its own type, because methods belong to types.
    const type = class extends CelLibrary {};
    environment.registerType(name, type).registerConstant(name, name, new type());
  }
  for (const [signature, handler] of Object.entries(handlers)) environment.registerFunction(signature, handler as () => unknown);
  return environment;
}

const handlers: Readonly<Record<string, (...values: never[]) => unknown>> = {
  'now(): google.protobuf.Timestamp': () => new Date(evaluationTime()),
  'string(google.protobuf.Timestamp): string': (time: Date) => time.toISOString().replace('.000Z', 'Z'),
  'int(google.protobuf.Timestamp): int': (time: Date) => BigInt(Math.floor(time.getTime() / 1000)),
  'string.replace(string, string): string': replaced,
  'string.replace(string, string, int): string': replaced,
  'round(int): int': (number: bigint) => number,
  'round(double): int': (number: number) => BigInt(roundedTo(whole(number), 0)),
  'round(int, int): int': (number: bigint, digits: bigint) => (digits < 0n ? BigInt(roundedTo(Number(number), checked(digits))) : number),
  'round(double, int): double': (number: number, digits: bigint) => roundedTo(number, checked(digits)),
  'math.round(int): double': (_: unknown, number: bigint) => Number(number),
  'math.round(double): double': (_: unknown, number: number) => roundedTo(number, 0),
  'base64.encode(string): string': (_: unknown, text: string) => toBase64(text),
  'base64.encode(bytes): string': (_: unknown, bytes: Uint8Array) => toBase64(bytes),
  'base64.decode(string): bytes': (_: unknown, text: string) => decoded(text),
  'regex.extract(string, string): dyn': (_: unknown, text: string, pattern: string) => extractPattern(text, pattern),
};

/** Replaces all occurrences of a string. If the limit is not negative, at most that many are replaced. */
function replaced(text: string, old: string, replacement: string, limit = -1n): string {
  if (limit < 0n) return text.replaceAll(old, () => replacement);
  let left = Number(limit);
  // Occurrences beyond the limit stay unchanged.
  return text.replaceAll(old, (found) => (left-- > 0 ? replacement : found));
}

/** Maximum number of digits for rounding. They are digits after the decimal point, or before it if the number of digits is negative. */
const maxDigits = 15;

function checked(digits: bigint): number {
  if (digits >= -maxDigits && digits <= maxDigits) return Number(digits);
  throw new Error(`expected ${-maxDigits} to ${maxDigits} digits to round to, found ${digits}`);
}

function whole(number: number): number {
  if (Number.isFinite(number)) return number;
  throw new Error(`expected a number to round, found ${number}`);
}

/** Rounds halves away from zero, as on paper: 1.005 becomes 1.01, although the nearest double is below 1.005. */
function roundedTo(number: number, digits: number): number {
  const shifted = (value: number, by: number) => {
    const [mantissa = '', exponent = '0'] = String(value).split('e');
    return Number(`${mantissa}e${Number(exponent) + by}`);
  };
  const rounded = shifted(Math.round(shifted(Math.abs(number), digits)), -digits);
  return Number.isFinite(rounded) ? Math.sign(number) * rounded : number;
}

function decoded(text: string): Uint8Array {
  const bytes = text === '' ? '' : bytesOfBase64(text);
  if (bytes === undefined) throw new Error(`expected base64, found ${inQuotes(text)}`);
  return Uint8Array.from(bytes, (byte) => byte.charCodeAt(0));
}

/** A whole number becomes an int, every other number a double. */
export function toCel(value: Value): unknown {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (value instanceof ExactNumber) return /^-?\d+$/.test(value.text) ? BigInt(value.text) : Number(value.text);
  if (Array.isArray(value)) return value.map(toCel);
  if (isObject(value)) return new Map(Object.entries(value).map(([name, member]) => [name, toCel(member)]));
  return value;
}

/** Throws an Error for a number that JSON cannot represent. */
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
