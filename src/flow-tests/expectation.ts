import { ExactNumber, isMapping, jsonOf, textOf, type Value } from '../core/value/value.ts';
import { patternOf } from './test-file.ts';

/**
 * Compares an expected value with the value found. Returns a line for each difference. `place` is the value's path inside the row or
 * request; empty at the top level.
 */
export type Compare = (expected: unknown, found: Value | undefined, place: string) => string[];

/** Compares two values completely. Members that are found but not expected count as differences. */
export const compareWhole: Compare = (expected, found, place) => {
  const isSame = patternOf(expected) ? isAsExpected(expected, found) : isEqual(expected, found);
  return isSame ? [] : [differenceText(expected, found, place)];
};

/** Compares only the expected members of an object. Ignores other members of the found object. */
export const compareParts: Compare = (expected, found, place) => {
  if (Array.isArray(expected) && Array.isArray(found) && expected.length === found.length)
    return expected.flatMap((member, index) => compareParts(member, found[index], `${place}[${index}]`));
  if (!isObjectOf(expected) || !isObjectOf(found)) return compareWhole(expected, found, place);
  return Object.entries(expected).flatMap(([name, member]) =>
    compareParts(member, Object.hasOwn(found, name) ? found[name] : undefined, place === '' ? name : `${place}.${name}`),
  );
};

/** Compares an output row with the expected one. `isExact` is true if the row must have no other fields than the expected ones. */
export function compareRow(expected: Readonly<Record<string, unknown>>, found: ReadonlyMap<string, Value>, isExact: boolean): string[] {
  const named = Object.entries(expected).flatMap(([name, value]) => compareWhole(value, found.get(name), name));
  const others = isExact ? [...found.keys()].filter((name) => !Object.hasOwn(expected, name)) : [];
  return [...named, ...others.map((name) => `${name}: expected no such field in the row, found ${shownValue(found.get(name))}`)];
}

/** True if the found value matches the expected one. An expected string between slashes is a regular expression. */
export function isAsExpected(expected: unknown, found: Value | undefined): boolean {
  const pattern = patternOf(expected);
  return pattern ? found !== undefined && pattern.test(textOf(found)) : isEqual(expected, found);
}

/** Returns a value in the form in which messages show it. */
export function shownValue(value: unknown): string {
  return value === undefined ? 'nothing' : jsonOf(value as Value);
}

function differenceText(expected: unknown, found: Value | undefined, place: string): string {
  const pattern = patternOf(expected);
  const wanted = pattern ? `text that matches ${expected as string}` : shownValue(expected);
  return `${place === '' ? '' : `${place}: `}expected ${wanted}, found ${shownValue(found)}`;
}

/** True if two values are equal. Expected strings inside lists and objects can be regular expressions, too. */
function isEqual(expected: unknown, found: Value | undefined): boolean {
  if (Array.isArray(expected))
    return Array.isArray(found) && expected.length === found.length && expected.every((one, index) => isAsExpected(one, found[index]));
  if (isObjectOf(expected)) {
    if (!isObjectOf(found)) return false;
    const names = Object.keys(expected);
    if (names.length !== Object.keys(found).length) return false;
    return names.every((name) => Object.hasOwn(found, name) && isAsExpected(expected[name], found[name]));
  }
  return isNumber(expected) && isNumber(found) ? isSameNumber(expected, found) : expected === found;
}

function isObjectOf(value: unknown): value is Record<string, Value> {
  return isMapping(value) && !(value instanceof ExactNumber);
}

function isNumber(value: unknown): value is number | ExactNumber {
  return typeof value === 'number' || value instanceof ExactNumber;
}

/**
 * True if two numbers are equal, even if written differently, as 1 and 1.0. If both have more digits than a double can hold, compares all
 * digits.
 */
function isSameNumber(one: number | ExactNumber, other: number | ExactNumber): boolean {
  if (jsonOf(one) === jsonOf(other)) return true;
  return (typeof one === 'number' || typeof other === 'number') && Number(jsonOf(one)) === Number(jsonOf(other));
}
