import type { Environment } from '@marcbachmann/cel-js';
import { inQuotes } from '../answer/response.ts';
import { bytesOfBase64, toBase64 } from '../text/base64.ts';
import { ExactNumber, isObject, jsonOf, type Value } from '../value/value.ts';
import { formatDate, parseDate } from './dates.ts';
import { Evaluation } from './evaluation.ts';
import { hashOf, uuidOf } from './hashes.ts';
import { folded, parseNumber, squeezed, urlEncoded } from './texts.ts';

/** The functions that are called with a library name before the dot, as in `base64.encode`. */
export const libraries: Readonly<Record<string, readonly string[]>> = {
  base64: ['encode', 'decode'],
  date: ['parse', 'format'],
  hash: ['md5', 'sha1', 'sha256', 'sha512'],
  json: ['text'],
  math: ['round'],
  number: ['parse'],
  regex: ['extract'],
  text: ['lower', 'upper', 'fold', 'squeeze'],
  url: ['encode'],
  uuid: ['of'],
};

/** The functions of a library; empty for any other name. */
export function functionsOf(library: string): readonly string[] {
  return Object.hasOwn(libraries, library) ? (libraries[library] as readonly string[]) : [];
}

/** In CEL, a library such as `base64` is a constant, and its functions are methods of this constant. */
class CelLibrary {}

/**
 * Registers the functions that the CEL library lacks. Names and meanings follow cel-go's extensions
 * (github.com/google/cel-go/blob/master/ext/README.md). The exceptions are `now`, `round`, null in place of an optional value, and the
 * libraries that cel-go lacks.
 */
export function registerFunctions(environment: Environment): Environment {
  for (const name of Object.keys(libraries)) {
    // Each library needs its own type, because methods belong to types.
    const type = class extends CelLibrary {};
    environment.registerType(name, type).registerConstant(name, name, new type());
  }
  environment.registerType('ExactNumber', ExactNumber).registerType('Evaluation', Evaluation);
  for (const [signature, handler] of Object.entries(handlers)) environment.registerFunction(signature, handler as () => unknown);
  return environment;
}

const handlers: Readonly<Record<string, (...values: never[]) => unknown>> = {
  'now(Evaluation): google.protobuf.Timestamp': ({ nowMs }: Evaluation) => new Date(nowMs),
  'string.matches(string, Evaluation): bool': (text: string, pattern: string, { patterns }: Evaluation) => patterns.matches(text, pattern),
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
  'regex.extract(string, string, Evaluation): dyn': (_: unknown, text: string, pattern: string, { patterns }: Evaluation) =>
    patterns.extract(text, pattern),
  ...hashHandlers(),
  'uuid.of(string): string': (_: unknown, text: string) => uuidOf(text),
  'text.lower(string): string': (_: unknown, text: string) => text.toLowerCase(),
  'text.upper(string): string': (_: unknown, text: string) => text.toUpperCase(),
  'text.fold(string): string': (_: unknown, text: string) => folded(text),
  'text.squeeze(string): string': (_: unknown, text: string) => squeezed(text),
  'url.encode(string): string': (_: unknown, text: string) => urlEncoded(text),
  'json.text(dyn): string': (_: unknown, value: unknown) => jsonText(value),
  'number.parse(string, string): double': (_: unknown, text: string, example: string) => parseNumber(text, example),
  'date.parse(string, string): google.protobuf.Timestamp': (_: unknown, text: string, pattern: string) => parseDate(text, pattern),
  'date.parse(string, string, string): google.protobuf.Timestamp': (_: unknown, text: string, pattern: string, zone: string) =>
    parseDate(text, pattern, zone),
  'date.format(google.protobuf.Timestamp, string): string': (_: unknown, time: Date, pattern: string) => formatDate(time, pattern),
  'date.format(google.protobuf.Timestamp, string, string): string': (_: unknown, time: Date, pattern: string, zone: string) =>
    formatDate(time, pattern, zone),
};

function hashHandlers(): typeof handlers {
  const hashing = (name: Parameters<typeof hashOf>[0]) => (_: unknown, of: string | Uint8Array) => hashOf(name, of);
  return Object.fromEntries(
    (['md5', 'sha1', 'sha256', 'sha512'] as const).flatMap((name) =>
      ['string', 'bytes'].map((type) => [`hash.${name}(${type}): string`, hashing(name)]),
    ),
  );
}

function jsonText(value: unknown): string {
  if (value !== null) return jsonOf(fromCel(value));
  throw new Error('json.text: expected a value, found null (test it first, as in has(note) ? json.text(note) : "")');
}

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

/** The same as `toCel`, but the digits of numbers stay as they are, so that nothing can be calculated with some of them. */
export function toExactCel(value: Value): unknown {
  if (Array.isArray(value)) return value.map(toExactCel);
  if (isObject(value)) return new Map(Object.entries(value).map(([name, member]) => [name, toExactCel(member)]));
  return value instanceof ExactNumber ? value : toCel(value);
}

/** Converts what `toExactCel` has returned to what `toCel` would have returned. */
export function plainCel(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainCel);
  if (value instanceof Map) return new Map([...value].map(([name, member]) => [name, plainCel(member)]));
  return value instanceof ExactNumber ? toCel(value) : value;
}

/** Throws an Error for a number that JSON cannot represent. */
export function fromCel(value: unknown): Value {
  if (typeof value === 'bigint') return fromBigInt(value);
  if (typeof value === 'number') return finite(value);
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (Array.isArray(value)) return value.map(fromCel);
  if (value instanceof ExactNumber) return value;
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
