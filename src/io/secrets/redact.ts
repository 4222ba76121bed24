import { isObject, type Value } from '../../core/value/value.ts';
import { maxEscapes, shortestSecret } from './secret-forms.ts';
import { SecretSearch } from './secret-search.ts';

/** Masks secrets in everything that is written. */
export interface Redactor {
  /** Adds a secret. Of the secrets in one slot, such as successive access tokens, only the last three are known. */
  add(secret: string, slot?: string): void;
  /** True if a text contains a secret in any encoding, or the beginning of one before the dots of a cut text. */
  isIn(text: string): boolean;
  /** True if values in this JSON or CSV text may contain a secret. Writing them has added escapes, so there may be more than the search knows. */
  mayBeWrittenIn(text: string): boolean;
  /** The text with `***` for every secret. */
  text(text: string): string;
  /** The value with `***` for every secret in its texts, names and numbers. */
  value(value: Value): Value;
  /** The names with `***` for every secret, all different: `***`, `***_2`. */
  names(names: readonly string[]): string[];
  /** JSON text with `***` for every secret, still JSON. Text without secrets stays as it is. */
  json(text: string, indent?: number): string;
}

/** Matches more escapes than the search knows. */
const moreEscapes = new RegExp(`[\\\\"]{${maxEscapes + 1}}`);

/** Number of secrets in a slot: the secret in use, and earlier secrets that requests in flight may still carry. */
const slotSize = 3;

/** Creates a redactor without secrets. */
export function createRedactor(): Redactor {
  const permanent = new Set<string>();
  const slots = new Map<string, readonly string[]>();
  /** The prepared search; absent after a secret was added, since many more secrets may be added before the next text. */
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

/** The name, with the next number if it is used already. Adds it to `used`. `numbers`: the last number of each name. */
function uniqueName(name: string, used: Set<string>, numbers: Map<string, number>): string {
  let number = (numbers.get(name) ?? 0) + 1;
  const numbered = () => (number === 1 ? name : `${name}_${number}`);
  while (used.has(numbered())) number++;
  numbers.set(name, number);
  used.add(numbered());
  return numbered();
}
