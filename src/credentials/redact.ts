import { isObject, jsonOf, type Value } from '../core/value/value.ts';
import { maxEscapes, shortestSecret } from './secret-forms.ts';
import { SecretSearch } from './secret-search.ts';

/** Masks secrets in everything that the program prints or writes. */
export interface Redactor {
  /**
   * Adds a secret to be masked. Secrets that are renewed, such as access tokens, share a slot. Only the last three secrets of a slot are
   * masked.
   */
  add(secret: string, slot?: string): void;
  /** Returns true if the text contains a secret in any encoding. The beginning of a secret that is cut off by `...` also counts. */
  isIn(text: string): boolean;
  /**
   * Returns true if a value in this JSON or CSV text might contain a secret. Also returns true if the text has too many escape characters
   * in a row for the search, because it might then overlook a secret.
   */
  mayBeWrittenIn(text: string): boolean;
  /** Returns the text with every secret replaced by `***`. */
  text(text: string): string;
  /** Returns the value with every secret in its strings, names and numbers replaced by `***`. */
  value(value: Value): Value;
  /** Returns the value as JSON text with every secret replaced by `***`. Numbers keep all their digits. */
  jsonOf(value: Value): string;
  /**
   * Returns the names with every secret in them replaced by `***`. If masking makes names equal, numbers such as in `***_2` keep them
   * unique.
   */
  names(names: readonly string[]): string[];
  /** Returns JSON text with every secret replaced by `***`. The result is still valid JSON. Text without secrets is returned unchanged. */
  json(text: string, indent?: number): string;
}

/** Matches more escape characters in a row than the search for secrets can handle. */
const moreEscapes = new RegExp(`[\\\\"]{${maxEscapes + 1}}`);

/**
 * Number of values that are masked for each slot. These are the current value and earlier ones, which requests in flight may still contain.
 */
const slotSize = 3;

/** Creates a redactor to which no secrets have been added. */
export function createRedactor(): Redactor {
  const permanent = new Set<string>();
  const slots = new Map<string, readonly string[]>();
  /**
   * The search for all secrets. When a secret is added, it becomes undefined, and it is created again for the next text. This saves time if
   * many secrets are added in a row.
   */
  let current: SecretSearch | undefined;
  let last: SecretSearch | undefined;
  const search = () => {
    current ??= new SecretSearch(new Set([...permanent, ...[...slots.values()].flat()]), last);
    last = current;
    return current;
  };
  const redactor: Redactor = {
    add(secret, slot) {
      if (secret.length < shortestSecret || permanent.has(secret)) return;
      if (slot === undefined) permanent.add(secret);
      else slots.set(slot, [...(slots.get(slot) ?? []).filter((other) => other !== secret), secret].slice(-slotSize));
      current = undefined;
    },
    isIn: (text) => redactor.text(text) !== text,
    text: (text) => search().mask(text),
    mayBeWrittenIn: (text) => redactor.isIn(text) || moreEscapes.test(text),
    value(value) {
      if (typeof value === 'string') return redactor.text(value);
      if (Array.isArray(value)) return value.map(redactor.value);
      if (isObject(value)) {
        const names = redactor.names(Object.keys(value));
        return Object.fromEntries(Object.values(value).map((member, index) => [names[index], redactor.value(member)]));
      }
      if (value === null || typeof value === 'boolean') return value;
      const digits = typeof value === 'number' ? String(value) : value.text;
      return redactor.isIn(digits) ? redactor.text(digits) : value;
    },
    jsonOf(value) {
      const text = jsonOf(value);
      // Masking a value makes a copy of it, which takes much longer than searching its text.
      return redactor.mayBeWrittenIn(text) ? jsonOf(redactor.value(value)) : text;
    },
    names(names) {
      const masked = names.map(redactor.text);
      const used = new Set(names.filter((name, index) => name === masked[index]));
      const numbers = new Map<string, number>();
      return names.map((name, index) => (name === masked[index] ? name : uniqueName(masked[index] as string, used, numbers)));
    },
    json(text, indent) {
      return redactor.mayBeWrittenIn(text) ? JSON.stringify(redactor.value(JSON.parse(text)), null, indent) : text;
    },
  };
  return redactor;
}

/**
 * Returns a name that is not in `used` and adds it there. If `name` is already used, a number is appended to it. `numbers` contains the
 * last number for each name.
 */
function uniqueName(name: string, used: Set<string>, numbers: Map<string, number>): string {
  let number = (numbers.get(name) ?? 0) + 1;
  const numbered = () => (number === 1 ? name : `${name}_${number}`);
  while (used.has(numbered())) number++;
  numbers.set(name, number);
  used.add(numbered());
  return numbered();
}
