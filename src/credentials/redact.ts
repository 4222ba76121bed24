import { isObject, jsonOf, type Value } from '../core/value/value.ts';
import { createSearch, type Form, formsOf, maxEscapes, shortestSecret } from './secret-search.ts';

/** Masks secrets in everything that the program prints or writes. */
export interface Redactor {
  /** Secrets that are renewed, such as access tokens, share a slot. Only the last three secrets of a slot are masked. */
  add(secret: string, slot?: string): void;
  /** Searches for secrets in any encoding, and for the beginning of a secret that is cut off by `...`. */
  isIn(text: string): boolean;
  /** True if a value in this JSON or CSV text might contain a secret, or if too many escape characters in a row prevent the search. */
  mayBeWrittenIn(text: string): boolean;
  /** Replaces every secret by `***`. */
  text(text: string): string;
  /** Replaces every secret in strings, names and numbers by `***`. */
  value(value: Value): Value;
  /** Returns the value as JSON text with every secret replaced by `***`. Numbers keep all their digits. */
  jsonOf(value: Value): string;
  /** Replaces every secret by `***`. If masking makes names equal, numbers such as in `***_2` keep them unique. */
  names(names: readonly string[]): string[];
  /** Replaces every secret by `***`. The result is still valid JSON; text without secrets is returned unchanged. */
  json(text: string, indent?: number): string;
}

/** Matches more escape characters in a row than the search for secrets can handle. */
const moreEscapes = new RegExp(`[\\\\"]{${maxEscapes + 1}}`);

/** The values masked for each slot: the current one and earlier ones, which requests in flight may still contain. */
const slotSize = 3;

export function createRedactor(): Redactor {
  const permanent = new Map<string, readonly Form[]>();
  const slots = new Map<string, ReadonlyMap<string, readonly Form[]>>();
  /** Undefined after a secret is added, and created again for the next text. This saves time if many secrets are added in a row. */
  let search: ((text: string) => string) | undefined;
  const createCurrent = () => {
    // Longer secrets come first. A shorter secret may be the beginning of a longer one. If it came first, only this beginning would be
    // masked.
    const secrets = new Map([permanent, ...slots.values()].flatMap((all) => [...all]));
    return createSearch([...secrets].sort(([a], [b]) => b.length - a.length).flatMap(([, forms]) => forms));
  };
  const redactor: Redactor = {
    add(secret, slot) {
      if (secret.length < shortestSecret || permanent.has(secret)) return;
      const last = slot === undefined ? [] : [...(slots.get(slot) ?? [])];
      const added = last.find(([other]) => other === secret) ?? ([secret, formsOf(secret)] as const);
      if (slot === undefined) permanent.set(...added);
      else slots.set(slot, new Map([...last.filter((other) => other !== added), added].slice(-slotSize)));
      search = undefined;
    },
    isIn: (text) => redactor.text(text) !== text,
    text(text) {
      search ??= createCurrent();
      return search(text);
    },
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

/** Adds the name to `used`, with a number if it is taken. `numbers` contains the last number for each name. */
function uniqueName(name: string, used: Set<string>, numbers: Map<string, number>): string {
  let number = (numbers.get(name) ?? 0) + 1;
  const numbered = () => (number === 1 ? name : `${name}_${number}`);
  while (used.has(numbered())) number++;
  numbers.set(name, number);
  used.add(numbered());
  return numbered();
}
